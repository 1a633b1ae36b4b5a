import { withoutEnd } from "../base/trim.ts";

/** Where this service is reached: as configured, else as the caller reached it. */
export interface AddressParts {
  /** `BASE_URL`. */
  readonly baseUrl: string | undefined;
  /** The listener speaks TLS. */
  readonly secure: boolean;
}

/** Without a slash at the end; empty where nobody knows, so that addresses are relative. */
export function ownAddress(
  parts: AddressParts,
  header: (name: string) => string | undefined,
): string {
  if (parts.baseUrl !== undefined) return withoutEnd(parts.baseUrl, "/");
  const host = header("host") ?? "";
  if (!/^[\w.-]+(:\d+)?$|^\[[\da-fA-F:.]+\](:\d+)?$/.test(host)) return "";
  return `${parts.secure ? "https" : "http"}://${host}`;
}
