import type { Context } from "hono";
import { newToken } from "../people/link_token.ts";
import type { PageContext } from "./bind.tsx";
import type { Form } from "./form.ts";
import { sameText } from "../base/hash.ts";
import { csrfOf } from "./secrets.ts";

/** How long a sign-in page's form stays valid; after that the page has to be opened again. */
const visitorSeconds = 24 * 3600;

/** Returns the token for forms of a browser without a session; it is derived from a cookie. */
export function visitorToken(ctx: PageContext, context: Context): string {
  const visitor = ctx.cookies.read(context, "visitor") || newToken();
  ctx.cookies.write(context, "visitor", visitor, visitorSeconds);
  return csrfOf(visitor);
}

/** Whether one of our own pages sent this form from this browser. */
export function isVisitorsForm(ctx: PageContext, context: Context, form: Form): boolean {
  const visitor = ctx.cookies.read(context, "visitor");
  if (!visitor || isFromElsewhere(context)) return false;
  return sameText(form.text("csrf"), csrfOf(visitor));
}

/**
 * Whether a page of another site sent the browser here. Browsers send `Sec-Fetch-Site` only to
 * addresses that they trust (https, loopback); without it, only the forms' tokens protect.
 */
export function isFromElsewhere(context: Context): boolean {
  const site = context.req.header("sec-fetch-site");
  return site !== undefined && site !== "same-origin" && site !== "none";
}

/** Returns the browser's IP address; behind a trusted proxy, the one that the proxy names. */
export function addressOf(context: Context): string {
  return (context as Context<Addressed>).get("requestContext").remoteHost;
}

/** The context that the middleware sets on every request. */
interface Addressed {
  Variables: { requestContext: { readonly remoteHost: string } };
}
