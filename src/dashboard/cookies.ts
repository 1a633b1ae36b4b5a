import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";

/**
 * `visitor` identifies a browser without a session, for the tokens of its forms. `join` holds the
 * token of a sign-in that waits for consent. `return_to` is the page to show after signing in by a
 * link, which is opened from outside the dashboard.
 */
export type CookieKind = "session" | "sign_in" | "notice" | "visitor" | "join" | "return_to";

/** The dashboard's cookies: for the whole host, SameSite=Lax, HttpOnly (hidden from scripts). */
export interface Cookies {
  read(context: Context, kind: CookieKind): string | undefined;
  write(context: Context, kind: CookieKind, value: string, seconds: number): void;
  clear(context: Context, kind: CookieKind): void;
}

/**
 * Over https their names begin with `__Host-`: browsers accept such cookies only from this very
 * host over TLS. On plain http (loopback) not every browser accepts them, so the names there differ
 * and contain the port, since browsers share cookies between the ports of a host.
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
