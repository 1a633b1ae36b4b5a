import type { Context } from "hono";
import { newToken } from "../people/link_token.ts";
import type { PageContext } from "./bind.tsx";
import type { Form } from "./form.ts";
import { sameText } from "../base/hash.ts";
import { csrfOf } from "./secrets.ts";

/** A sign-in page that was left open for longer is opened again. */
const visitorSeconds = 24 * 3600;

/** The token of forms that are shown to who has no session yet; it follows from a cookie. */
export function visitorToken(ctx: PageContext, context: Context): string {
  const visitor = ctx.cookies.read(context, "visitor") || newToken();
  ctx.cookies.write(context, "visitor", visitor, visitorSeconds);
  return csrfOf(visitor);
}

/** Whether one of our own pages sent this form, in this browser. */
export function isVisitorsForm(ctx: PageContext, context: Context, form: Form): boolean {
  const visitor = ctx.cookies.read(context, "visitor");
  if (!visitor || isFromElsewhere(context)) return false;
  return sameText(form.text("csrf"), csrfOf(visitor));
}

/**
 * Whether a page of another site sent the browser here. Browsers say so where they trust the
 * address (https, loopback); where they say nothing the forms' tokens decide alone.
 */
export function isFromElsewhere(context: Context): boolean {
  const site = context.req.header("sec-fetch-site");
  return site !== undefined && site !== "same-origin" && site !== "none";
}

/** The address of the browser, as a trusted proxy names it where there is one. */
export function addressOf(context: Context): string {
  return (context as Context<Addressed>).get("requestContext").remoteHost;
}

/** What the middleware knows of every request. */
interface Addressed {
  Variables: { requestContext: { readonly remoteHost: string } };
}
