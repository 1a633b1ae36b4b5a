import type { Context, Hono } from "hono";
import { hashToken, newToken } from "../people/link_token.ts";
import { signInMs } from "../people/sign_in.ts";
import { action, expiredForm, type PageContext } from "./bind.tsx";
import { readForm } from "./form.ts";
import type { IdentityProvider } from "./identity_provider.ts";
import { joinAnswer, joinPage, joinPath, letIn } from "./join.tsx";
import { returnPath } from "./return_path.ts";
import { flowSecrets, sameText } from "./secrets.ts";
import {
  claimPage,
  invitationPage,
  linksOf,
  providerFailed,
  signInPage,
  startedElsewhere,
  tooMany,
} from "./sign_in_pages.tsx";
import { addressOf, isVisitorsForm } from "./visitor.ts";

/** Signing in, with claim link or invitation or without, and out. */
export function signInRoutes(app: Hono, desk: PageContext, provider: IdentityProvider): void {
  app.get("/dashboard/sign-in", (context) => signInPage(desk, context));
  app.get("/dashboard/claim", (context) => claimPage(desk, context));
  app.get("/dashboard/invitation", (context) => invitationPage(desk, context));
  app.get("/dashboard/sign-in/start", (context) => context.redirect(pageOf(context), 303));
  app.post("/dashboard/sign-in/start", (context) => begin(desk, provider, context));
  app.get("/dashboard/callback", (context) => finish(desk, provider, context));
  app.get(joinPath, (context) => joinPage(desk, context));
  app.post(joinPath, (context) => joinAnswer(desk, context));
  app.post(
    "/dashboard/sign-out",
    action(desk, "viewer", async (_form, visit) => {
      await visit.end();
      return { to: "/dashboard/sign-in?signed_out=1" };
    }),
  );
  app.post(
    "/dashboard/sign-out-everywhere",
    action(desk, "viewer", async (_form, visit) => {
      await desk.sessions.endAll(visit.session.person.id);
      await visit.end();
      return { to: "/dashboard/sign-in?signed_out=1" };
    }),
  );
  app.post(
    "/dashboard/account",
    action(desk, "viewer", async (form, visit) => {
      const id = Number(form.text("account"));
      if (Number.isSafeInteger(id)) await visit.switchAccount(id);
      return { to: "/dashboard" };
    }),
  );
}

/** The page that asks before it begins; an address alone begins nothing. */
function pageOf(context: Context): string {
  const { claim, invitation, return_to: wanted } = context.req.query();
  const page = (path: string, fields: Record<string, string>) =>
    `/dashboard/${path}?${new URLSearchParams(fields)}`;
  if (claim !== undefined) return page("claim", { token: claim });
  if (invitation !== undefined) return page("invitation", { token: invitation });
  return page("sign-in", { return_to: returnPath(wanted) });
}

/** Sends the browser to the provider, with a secret in a cookie that only this browser has. */
async function begin(
  desk: PageContext,
  provider: IdentityProvider,
  context: Context,
): Promise<Response> {
  const form = await readForm(context);
  if (!form || !isVisitorsForm(desk, context, form)) return await expiredForm(desk, context);
  const waitSeconds = desk.starts.fail(addressOf(context));
  if (waitSeconds > 0) return await tooMany(desk, context, waitSeconds);
  const links = linksOf({ claim: form.text("claim"), invitation: form.text("invitation") });
  const secret = newToken();
  const flow = flowSecrets(secret);
  try {
    const address = await provider.authorizeUrl(flow);
    const now = desk.clock.now();
    await desk.signIns.begin({
      stateHash: hashToken(flow.state),
      returnTo: returnPath(form.text("return_to")),
      ...links,
      identity: null,
      expiresAt: new Date(now.getTime() + signInMs),
    }, now);
    desk.cookies.write(context, "sign_in", secret, signInMs / 1000);
    return context.redirect(address, 303);
  } catch (thrown) {
    return await providerFailed(desk, context, thrown);
  }
}

/** Takes the person whom the provider sent back; each state, code and secret counts once. */
async function finish(
  desk: PageContext,
  provider: IdentityProvider,
  context: Context,
): Promise<Response> {
  const secret = desk.cookies.read(context, "sign_in");
  desk.cookies.clear(context, "sign_in");
  const flow = secret === undefined ? undefined : flowSecrets(secret);
  const state = context.req.query("state") ?? "";
  if (!flow || !sameText(state, flow.state)) return await startedElsewhere(desk, context);
  const now = desk.clock.now();
  const started = await desk.signIns.take(hashToken(state), now);
  if (!started || started.identity) return await startedElsewhere(desk, context);
  try {
    const callback = new URL(`${desk.baseUrl}/dashboard/callback`);
    callback.search = new URL(context.req.url).search;
    const identity = await provider.identify(callback, flow);
    return await letIn(desk, context, identity, started, false);
  } catch (thrown) {
    return await providerFailed(desk, context, thrown);
  }
}
