import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";

/**
 * `visitor`: a browser that has no session yet, for its forms' tokens; `join`: a sign-in that waits
 * for consent; `return_to`: the page that a sign-in link, which is opened from outside, leads back to.
 */
export type CookieKind = "session" | "sign_in" | "notice" | "visitor" | "join" | "return_to";

/** The dashboard's cookies: HttpOnly, SameSite=Lax, for the whole host and for no script. */
export interface Cookies {
  read(context: Context, kind: CookieKind): string | undefined;
  write(context: Context, kind: CookieKind, value: string, seconds: number): void;
  clear(context: Context, kind: CookieKind): void;
}

/**
 * Over https they are `__Host-` cookies, which browsers take from this very host over TLS alone.
 * On plain http (loopback) not every browser takes those, so there they have another name, with
 * the port in it since cookies don't know ports.
 */
export function createCookies(baseUrl: string): Cookies {
  const { protocol, port } = new URL(baseUrl);
  const secure = protocol === "https:";
  const nameOf = (kind: CookieKind) =>
    secure ? `__Host-gateway_${kind}` : `gateway_${kind}_${port || "80"}`;
  const options = { httpOnly: true, secure, sameSite: "Lax", path: "/" } as const;
  return {
    read: (context, kind) => getCookie(context, nameOf(kind)),
    write: (context, kind, value, seconds) =>
      setCookie(context, nameOf(kind), value, { ...options, maxAge: seconds }),
    clear: (context, kind) => {
      deleteCookie(context, nameOf(kind), { path: "/", secure });
    },
  };
}
