import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";

/** `visitor`: a browser without a session, for its forms; `join`: a sign-in awaiting consent. */
export type CookieKind = "session" | "sign_in" | "notice" | "visitor" | "join";

/** The dashboard's cookies: HttpOnly, SameSite=Lax, for the whole host and for no script. */
export interface Cookies {
  read(context: Context, kind: CookieKind): string | undefined;
  write(context: Context, kind: CookieKind, value: string, seconds: number): void;
  clear(context: Context, kind: CookieKind): void;
}

/**
 * Over https they are `__Host-` cookies, of this very host over TLS. On plain http not every
 * browser takes those: there the name has the port, which cookies don't know.
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
