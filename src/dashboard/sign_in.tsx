import type { Context, Hono } from "hono";
import { hashToken, newToken } from "../people/link_token.ts";
import { signInMs } from "../people/sign_in.ts";
import { expiredForm, type PageContext, type Routes } from "./bind.tsx";
import { readForm } from "./form.ts";
import type { IdentityProvider } from "./identity_provider.ts";
import { joinAnswer, joinPage, joinPath, letIn } from "./join.tsx";
import { returnPath } from "./return_path.ts";
import { sameText } from "../base/hash.ts";
import { flowSecrets } from "./secrets.ts";
import {
  claimPage,
  invitationPage,
  linksOf,
  providerFailed,
  startedElsewhere,
  tooMany,
} from "./sign_in_pages.tsx";
import { addressOf, isVisitorsForm } from "./visitor.ts";

/** Signing in by an identity provider, with or without a claim link or an invitation. */
export function providerRoutes(app: Hono, ctx: PageContext, provider: IdentityProvider): void {
  app.get("/dashboard/claim", (context) => claimPage(ctx, context));
  app.get("/dashboard/invitation", (context) => invitationPage(ctx, context));
  app.get("/dashboard/sign-in/start", (context) => context.redirect(pageOf(context), 303));
  app.post("/dashboard/sign-in/start", (context) => begin(ctx, provider, context));
  app.get("/dashboard/callback", (context) => finish(ctx, provider, context));
  app.get(joinPath, (context) => joinPage(ctx, context));
  app.post(joinPath, (context) => joinAnswer(ctx, context));
}

/** Signing out, here or everywhere, and switching accounts. */
export function signOutRoutes(app: Routes, ctx: PageContext): void {
  app.post("/dashboard/sign-out", "viewer", async (_form, request) => {
    await request.end();
    return { to: "/dashboard/sign-in?signed_out=1" };
  }, { ofSession: true });
  app.post("/dashboard/sign-out-everywhere", "viewer", async (_form, request) => {
    await ctx.sessions.endAll(request.session.person.id);
    await request.end();
    return { to: "/dashboard/sign-in?signed_out=1" };
  }, { ofSession: true });
  app.post("/dashboard/account", "viewer", async (form, request) => {
    const id = Number(form.text("account"));
    if (Number.isSafeInteger(id)) await request.switchAccount(id);
    return { to: "/dashboard" };
  }, { ofSession: true });
}

/** Returns the page that asks before a sign-in begins: opening an address must not begin one. */
function pageOf(context: Context): string {
  const { claim, invitation, return_to: wanted } = context.req.query();
  const page = (path: string, fields: Record<string, string>) =>
    `/dashboard/${path}?${new URLSearchParams(fields)}`;
  if (claim !== undefined) return page("claim", { token: claim });
  if (invitation !== undefined) return page("invitation", { token: invitation });
  return page("sign-in", { return_to: returnPath(wanted) });
}

/** Sends the browser to the provider, and adds the sign-in's secret to its cookie. */
async function begin(
  ctx: PageContext,
  provider: IdentityProvider,
  context: Context,
): Promise<Response> {
  const form = await readForm(context);
  if (!form || !isVisitorsForm(ctx, context, form)) return await expiredForm(ctx, context);
  const waitSeconds = ctx.signInLimit.fail(addressOf(context));
  if (waitSeconds > 0) return await tooMany(ctx, context, waitSeconds);
  const links = linksOf({ claim: form.text("claim"), invitation: form.text("invitation") });
  const secret = newToken();
  const flow = flowSecrets(secret);
  try {
    const address = await provider.authorizeUrl(flow);
    const now = ctx.clock.now();
    await ctx.signIns.begin({
      stateHash: hashToken(flow.state),
      returnTo: returnPath(form.text("return_to")),
      ...links,
      identity: null,
      expiresAt: new Date(now.getTime() + signInMs),
    }, now);
    writePending(ctx, context, [...pendingSecrets(ctx, context), secret].slice(-maxPending));
    return context.redirect(address, 303);
  } catch (thrown) {
    return await providerFailed(ctx, context, thrown);
  }
}

/** Signs in the person whom the provider sent back; each state, code and secret works once. */
async function finish(
  ctx: PageContext,
  provider: IdentityProvider,
  context: Context,
): Promise<Response> {
  const state = context.req.query("state") ?? "";
  const pending = pendingSecrets(ctx, context);
  const secret = pending.find((each) => sameText(state, flowSecrets(each).state));
  if (secret === undefined) return await startedElsewhere(ctx, context);
  writePending(ctx, context, pending.filter((each) => each !== secret));
  const flow = flowSecrets(secret);
  const now = ctx.clock.now();
  const started = await ctx.signIns.take(hashToken(state), now);
  if (!started || started.identity) return await startedElsewhere(ctx, context);
  try {
    const callback = new URL(`${ctx.baseUrl}/dashboard/callback`);
    callback.search = new URL(context.req.url).search;
    const identity = await provider.identify(callback, flow);
    return await letIn(ctx, context, identity, started, false);
  } catch (thrown) {
    return await providerFailed(ctx, context, thrown);
  }
}

/** How many sign-ins a browser can have under way, each in a tab of its own. */
const maxPending = 4;

/** Returns the secrets of the browser's sign-ins under way, the oldest first. */
function pendingSecrets(ctx: PageContext, context: Context): string[] {
  return ctx.cookies.read(context, "sign_in")?.split(".").slice(-maxPending) ?? [];
}

function writePending(ctx: PageContext, context: Context, secrets: readonly string[]): void {
  if (secrets.length === 0) ctx.cookies.clear(context, "sign_in");
  else ctx.cookies.write(context, "sign_in", secrets.join("."), signInMs / 1000);
}
