import { type Context, Hono, type Next } from "hono";
import { createFailureLimit } from "../rate_limits/failure_limit.ts";
import { Fault, reasonOf } from "../shared/fault.ts";
import { readAssets } from "./assets.ts";
import { createRoutes, notFoundPage, type PageContext, unsent } from "./bind.tsx";
import { createCookies } from "./cookies.ts";
import { createOpenIdProvider } from "./openid_provider.ts";
import { auditRoutes } from "./pages/settings/audit.tsx";
import { cohortRoutes } from "./pages/cohorts/cohorts.tsx";
import { deletionRoutes } from "./pages/data/deletion.tsx";
import { evalRoutes } from "./pages/evals/evals.tsx";
import { exportRoutes } from "./pages/data/exports.tsx";
import { interactionRoutes } from "./pages/interactions/detail_page.tsx";
import { interactionExportRoutes } from "./pages/interactions/export.ts";
import { interactionListRoutes } from "./pages/interactions/list_page.tsx";
import { refusedRoutes } from "./pages/interactions/refused_page.tsx";
import { keyRoutes } from "./pages/keys/keys.tsx";
import { limitRoutes } from "./pages/keys/limits.tsx";
import { oneKeyRoutes } from "./pages/keys/key.tsx";
import { newKeyRoutes } from "./pages/keys/new_key.tsx";
import { overviewRoutes } from "./pages/overview/page.tsx";
import { playgroundRoutes } from "./pages/playground/page.tsx";
import { peopleRoutes } from "./pages/people/people.tsx";
import { sessionRoutes } from "./pages/sessions/session_page.tsx";
import { retentionRoutes } from "./pages/data/retention.tsx";
import { vendorKeyRoutes } from "./pages/settings/vendor_keys.tsx";
import { budgetRoutes } from "./pages/settings/budgets.tsx";
import { webhookRoutes } from "./pages/settings/webhooks.tsx";
import { virtualModelRoutes } from "./pages/settings/virtual_models.tsx";
import type { DashboardDeps } from "./deps.ts";
import { createPlainProvider } from "./plain_provider.ts";
import { home } from "./return_path.ts";
import { hashToken, newToken } from "../people/link_token.ts";
import { linkRoutes, signInLink } from "./local_sign_in.tsx";
import { providerRoutes, signOutRoutes } from "./sign_in.tsx";
import { signInOff, signInPage } from "./sign_in_pages.tsx";
import type { IdentityProvider, SignInSettings } from "./identity_provider.ts";

/** How many sign-ins one IP address may start: enough for an office that shares one address. */
const signInStarts = { burst: 100, perSecond: 1 };

export function createDashboard(deps: DashboardDeps): Hono {
  const ctx: PageContext = {
    ...deps,
    assets: readAssets(),
    cookies: createCookies(deps.baseUrl),
    signInLimit: createFailureLimit(deps.clock, signInStarts),
  };
  const app = new Hono();
  app.use("/dashboard/*", async (context, next) => {
    const elsewhere = otherLoopback(ctx.baseUrl, context);
    if (elsewhere !== undefined) return context.redirect(elsewhere, 302);
    await next();
    context.header("referrer-policy", "same-origin");
    if (!context.res.headers.has("cache-control")) context.header("cache-control", "no-store");
    return undefined;
  });
  app.get("/dashboard/assets/:name", (context) => assetAnswer(ctx, context));
  app.get("/", browserHome);
  if (deps.signIn) {
    providerRoutes(app, ctx, providerOf(deps.signIn, `${deps.baseUrl}/dashboard/callback`));
  }
  if (deps.hasLocalSignIn) linkRoutes(app, ctx);
  if (deps.signIn || deps.hasLocalSignIn) {
    const routes = createRoutes(app, ctx);
    app.get("/dashboard/sign-in", (context) => signInPage(ctx, context));
    signOutRoutes(routes, ctx);
    app.get("/dashboard", (context) => context.redirect(home, 303));
    overviewRoutes(routes, ctx);
    interactionListRoutes(routes, ctx);
    refusedRoutes(routes, ctx);
    interactionExportRoutes(routes, ctx);
    interactionRoutes(routes, ctx);
    sessionRoutes(routes, ctx);
    newKeyRoutes(routes, ctx);
    keyRoutes(routes, ctx);
    oneKeyRoutes(routes, ctx);
    playgroundRoutes(routes, ctx);
    cohortRoutes(routes, ctx);
    evalRoutes(routes, ctx);
    exportRoutes(routes, ctx);
    deletionRoutes(routes, ctx);
    app.get(
      "/dashboard/settings",
      (context) => context.redirect("/dashboard/settings/vendor-keys", 303),
    );
    vendorKeyRoutes(routes, ctx);
    virtualModelRoutes(routes, ctx);
    budgetRoutes(routes, ctx);
    webhookRoutes(routes, ctx);
    peopleRoutes(routes, ctx);
    limitRoutes(routes, ctx);
    retentionRoutes(routes, ctx);
    auditRoutes(routes, ctx);
    routes.leadBack();
  } else {
    signInOff(app, ctx);
  }
  app.all("/dashboard/*", (context) => notFoundPage(ctx, context));
  app.onError((thrown, context) => failed(ctx, context, thrown));
  return app;
}

/**
 * Makes a new claim link if sign-in is on and nobody owns the first account; undefined otherwise.
 */
export async function claimLink(
  deps: Pick<DashboardDeps, "baseUrl" | "signIn" | "signIns" | "clock">,
): Promise<string | undefined> {
  if (!deps.signIn) return undefined;
  const token = newToken();
  const isOpen = await deps.signIns.offerClaim(hashToken(token), deps.clock.now());
  return isOpen ? `${deps.baseUrl}/dashboard/claim?token=${token}` : undefined;
}

/** Makes a new sign-in link for the owner; undefined if people sign in by a provider only. */
export async function firstSignInLink({ baseUrl, hasLocalSignIn, signIns, clock }: Pick<
  DashboardDeps,
  "baseUrl" | "hasLocalSignIn" | "signIns" | "clock"
>): Promise<string | undefined> {
  if (!hasLocalSignIn) return undefined;
  const token = newToken();
  const link = { tokenHash: hashToken(token), email: undefined, now: clock.now() };
  return await signIns.offerLink(link) && signInLink(baseUrl, token);
}

/** Redirects browsers to the dashboard: people open the service's address like a web site's. */
async function browserHome(context: Context, next: Next): Promise<Response | undefined> {
  if (!context.req.header("accept")?.includes("text/html")) {
    await next();
    return undefined;
  }
  context.header("vary", "accept");
  return context.redirect("/dashboard", 302);
}

function providerOf(settings: SignInSettings, redirectUri: string): IdentityProvider {
  const { issuer, authorizeUrl, tokenUrl, userinfoUrl } = settings;
  if (issuer !== undefined) return createOpenIdProvider({ ...settings, issuer }, redirectUri);
  if (authorizeUrl === undefined || tokenUrl === undefined || userinfoUrl === undefined) {
    throw new Error("sign-in takes an issuer or three addresses");
  }
  return createPlainProvider({ ...settings, authorizeUrl, tokenUrl, userinfoUrl }, redirectUri);
}

/**
 * Returns the page's address on the configured loopback host, if it was requested on another one:
 * cookies of `localhost` aren't sent to `127.0.0.1`.
 */
function otherLoopback(baseUrl: string, context: Context): string | undefined {
  const base = new URL(baseUrl);
  const asked = new URL(context.req.url);
  const isLoopback = (url: URL) => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (context.req.method !== "GET" || asked.hostname === base.hostname) return undefined;
  if (!isLoopback(base) || !isLoopback(asked) || asked.port !== base.port) return undefined;
  return base.origin + asked.pathname + asked.search;
}

function assetAnswer(ctx: PageContext, context: Context): Response | Promise<Response> {
  const asset = ctx.assets.find(context.req.param("name") ?? "");
  if (!asset) return notFoundPage(ctx, context);
  const isExact = context.req.query("v") === asset.version;
  return context.body(asset.body, 200, {
    "content-type": asset.type,
    "cache-control": isExact ? "public, max-age=31536000, immutable" : "no-cache",
  });
}

function failed(ctx: PageContext, context: Context, thrown: unknown): Promise<Response> {
  // The person has asked for too much at once: nothing is wrong with the service.
  if (thrown instanceof Fault && thrown.code === "rate_limit_exceeded") {
    context.header("retry-after", String(thrown.retryAfterSeconds ?? 1));
    return unsent(ctx, context, 429, "Too much at once", thrown.message, "Try again");
  }
  ctx.log.error("a page failed", { path: context.req.path, reason: reasonOf(thrown) });
  const why = "The service's log says why. API calls may not be affected.";
  const text = context.req.method === "POST"
    ? `What you sent may not have been saved: look before you send it again. ${why}`
    : `The page can't be shown right now. ${why}`;
  return unsent(ctx, context, 503, "Something went wrong", text, "Try again");
}
