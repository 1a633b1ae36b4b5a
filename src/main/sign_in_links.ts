import type { AdminDeps } from "../admin/commands.ts";
import { signInLink } from "../dashboard/local_sign_in.tsx";
import { type Config, isLoopback } from "./config.ts";

/** Returns how sign-in links are made, or why they can't be; the dashboard is at `address`. */
export function signInLinksOf(
  { localSignIn, oauth, baseUrl, host }: Config,
  address: string,
): AdminDeps["signInLinks"] {
  if (!localSignIn) {
    const why = oauth
      ? "Sign-in is through the identity provider"
      : "Sign-in by links is off (LOCAL_SIGN_IN=false)";
    return { refusal: `${why}: set LOCAL_SIGN_IN=true to allow links as well.` };
  }
  if (baseUrl === undefined && !isLoopback(host)) {
    return {
      refusal: `HOST=${host} is beyond this machine: set BASE_URL, with which the link begins.`,
    };
  }
  return { linkOf: (token) => signInLink(address, token) };
}
