import type { Context, Hono } from "hono";
import type { Child } from "hono/jsx";
import { hashToken } from "../people/link_token.ts";
import { type Offer, signInMs, type SignInStart } from "../people/sign_in.ts";
import { card, message, type PageContext } from "./bind.tsx";
import { PostForm } from "./components.tsx";
import { ProviderError } from "./identity_provider.ts";
import { home, returnPath } from "./return_path.ts";
import { addressOf, visitorToken } from "./visitor.ts";

const signInVariables = "OAUTH_ISSUER=https://…\nOAUTH_CLIENT_ID=…\nOAUTH_CLIENT_SECRET=…";

/** The only page while sign-in is off: it explains how to turn sign-in on. */
export function signInOff(app: Hono, ctx: PageContext): void {
  app.get("/dashboard/*", (context) =>
    card(
      ctx,
      context,
      "Sign-in is off",
      <>
        <p>
          The dashboard is for people who sign in through your identity provider. To turn it on,
          register this service there with the redirect address
        </p>
        <pre tabindex={0}><code>{`${ctx.baseUrl}/dashboard/callback`}</code></pre>
        <p>and start the service with the values from the provider:</p>
        <pre tabindex={0}><code>{signInVariables}</code></pre>
        <p>
          Providers without OpenID take <code>OAUTH_AUTHORIZE_URL</code>,{" "}
          <code>OAUTH_TOKEN_URL</code> and <code>OAUTH_USERINFO_URL</code>{" "}
          in place of the issuer. Without a provider, <code>LOCAL_SIGN_IN=true</code>{" "}
          lets the operator sign in by links that <code>{`${ctx.publicAdminCommand} sign-in`}</code>
          {" "}
          prints.
        </p>
      </>,
    ));
}

/** The page for signing in without a claim link, an invitation or a sign-in link. */
export async function signInPage(ctx: PageContext, context: Context): Promise<Response> {
  if (ctx.hasLocalSignIn) rememberPage(ctx, context);
  if (!ctx.signIn) return await localSignInPage(ctx, context);
  // With roles from the provider's groups even the owner gets in without a claim link.
  const mayBegin = ctx.signIn.roles !== undefined || await ctx.signIns.hasOwner();
  const signedOut = context.req.query("signed_out") !== undefined;
  const notice = unsentForm(context);
  return await card(
    ctx,
    context,
    signedOut ? "You are signed out" : "Sign in",
    mayBegin
      ? (
        <>
          {notice ?? <p>Keys, vendor keys and people of this gateway are managed here.</p>}
          <StartForm
            csrf={visitorToken(ctx, context)}
            fields={{ return_to: returnPath(context.req.query("return_to")) }}
          >
            Sign in
          </StartForm>
        </>
      )
      : (
        <p>
          This gateway has no owner yet. To become the owner, open the claim link that it printed at
          its start.
        </p>
      ),
  );
}

/** Stores the wanted page in a cookie, since the operator's sign-in links don't contain it. */
function rememberPage(ctx: PageContext, context: Context): void {
  const page = returnPath(context.req.query("return_to"));
  // Browsers ignore a cookie above 4096 bytes, and would keep an older page's.
  const isShort = encodeURIComponent(page).length <= 3000;
  ctx.cookies.write(context, "return_to", isShort ? page : home, signInMs / 1000);
}

/** Returns a notice for people whose session had ended when they sent a form; else undefined. */
function unsentForm(context: Context): Child {
  if (context.req.query("unsent") === undefined) return undefined;
  return (
    <p class="notice notice-failed" role="alert" data-unsent>
      Your session had ended before you sent the form, so nothing was changed. Sign in to return to
      it.
    </p>
  );
}

/** The sign-in page if there is no identity provider. */
function localSignInPage(ctx: PageContext, context: Context): Promise<Response> {
  const body = (
    <>
      {unsentForm(context)}
      <p>
        Run this command where the service runs, and open the link that it prints. The link works
        once, within ten minutes.
      </p>
      <pre tabindex={0}><code>{`${ctx.publicAdminCommand} sign-in`}</code></pre>
      <p>
        Teams sign in at an identity provider: set <code>OAUTH_ISSUER</code>,{" "}
        <code>OAUTH_CLIENT_ID</code> and <code>OAUTH_CLIENT_SECRET</code>, with the redirect address
      </p>
      <pre tabindex={0}><code>{`${ctx.baseUrl}/dashboard/callback`}</code></pre>
    </>
  );
  const signedOut = context.req.query("signed_out") !== undefined;
  return card(ctx, context, signedOut ? "You are signed out" : "Sign in", body);
}

/** The page of a claim link. */
export async function claimPage(ctx: PageContext, context: Context): Promise<Response> {
  const token = context.req.query("token") ?? "";
  const offer = await offerOf(ctx, context, { claim: token });
  if (offer instanceof Response) return offer;
  const body = (
    <>
      <p>
        You are about to become its owner: sign in, and its first account,{" "}
        <strong>{offer.accountName}</strong>, with its keys and settings is yours. This link works
        once.
      </p>
      <StartForm csrf={visitorToken(ctx, context)} fields={{ claim: token }}>
        Sign in and claim
      </StartForm>
    </>
  );
  return await card(ctx, context, "Claim this gateway", body);
}

/** The page of an invitation's link. */
export async function invitationPage(ctx: PageContext, context: Context): Promise<Response> {
  const token = context.req.query("token") ?? "";
  const offer = await offerOf(ctx, context, { invitation: token });
  if (offer instanceof Response) return offer;
  const body = (
    <>
      <p>
        Somebody invited you to the account <strong>{offer.accountName}</strong> as{" "}
        {offer.role}. Sign in, and you are asked whether to join.
      </p>
      <StartForm csrf={visitorToken(ctx, context)} fields={{ invitation: token }}>
        Sign in and accept
      </StartForm>
    </>
  );
  return await card(ctx, context, "You are invited", body);
}

/** Returns what a link offers, or the answer to a void one, which counts as a guess. */
async function offerOf(
  ctx: PageContext,
  context: Context,
  link: { claim?: string; invitation?: string },
): Promise<Offer | Response> {
  const address = addressOf(context);
  if (ctx.signInLimit.isReached(address)) {
    return await tooMany(ctx, context, ctx.signInLimit.fail(address));
  }
  const offer = await ctx.signIns.offer(linksOf(link), ctx.clock.now());
  if (offer) return offer;
  ctx.signInLimit.fail(address);
  return await refused(ctx, context, link.claim === undefined ? "invitation_void" : "claim_void");
}

/** Answers an IP address that began more sign-ins, or guessed more links, than people do. */
export async function tooMany(
  ctx: PageContext,
  context: Context,
  seconds: number,
): Promise<Response> {
  const text = "Too many sign-ins were started from your address. Wait a moment, then try again.";
  const link = { href: "/dashboard/sign-in", text: "Sign in" };
  const answer = await message(ctx, context, 429, "Too many sign-ins", text, link);
  answer.headers.set("retry-after", String(Math.max(1, seconds)));
  return answer;
}

export function linksOf(
  { claim, invitation }: { claim?: string; invitation?: string },
): Pick<SignInStart, "claimHash" | "invitationHash"> {
  const hashOf = (token: string | undefined) =>
    token === undefined || token === "" ? null : hashToken(token);
  return { claimHash: hashOf(claim), invitationHash: hashOf(invitation) };
}

function StartForm(
  { csrf, fields, children }: { csrf: string; fields: Record<string, string>; children?: Child },
) {
  return (
    <PostForm action="/dashboard/sign-in/start" csrf={csrf}>
      {Object.entries(fields).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      <button type="submit" class="button button-primary">{children}</button>
    </PostForm>
  );
}

/** Answers a return from the provider, or a consent, for which no sign-in is pending. */
export function startedElsewhere(ctx: PageContext, context: Context): Promise<Response> {
  const text =
    "It was already completed, took longer than ten minutes, or was started in another browser. Nothing was changed.";
  const link = { href: "/dashboard/sign-in", text: "Sign in again", isPrimary: true };
  return message(ctx, context, 400, "This sign-in can't be completed", text, link);
}

export async function providerFailed(
  ctx: PageContext,
  context: Context,
  thrown: unknown,
): Promise<Response> {
  if (!(thrown instanceof ProviderError)) throw thrown;
  ctx.log.warn("a sign-in failed", { kind: thrown.kind, reason: thrown.message.slice(0, 200) });
  const link = { href: "/dashboard/sign-in", text: "Try again", isPrimary: true };
  if (thrown.kind === "declined") {
    const text = "The identity provider denied access, or you cancelled.";
    return await message(ctx, context, 403, "Sign-in was declined", text, link);
  }
  const text =
    "It can't be reached, or its answer is invalid. See the service's log; if the problem persists, check the OAUTH_ variables.";
  return await message(ctx, context, 502, "The identity provider can't be used", text, link);
}

const refusals = {
  stranger: {
    title: "You have no access",
    text:
      "You are signed in at the identity provider, but you belong to no account here. Ask an owner for an invitation.",
  },
  claim_void: {
    title: "This claim link doesn't work",
    text:
      "It was used, is more than a day old, or the gateway already has an owner. Without an owner, every start prints a new link.",
  },
  invitation_void: {
    title: "This invitation doesn't work",
    text: "It was used, was withdrawn, or is more than a week old. Ask for a new one.",
  },
  link_void: {
    title: "This sign-in link doesn't work",
    text:
      "It was used, is more than ten minutes old, or its user was removed. The command admin sign-in prints a new one.",
  },
  other_address: {
    title: "This invitation is for someone else",
    text:
      "It is for another e-mail address than the one you signed in with. Sign in with that address, or ask for an invitation to yours.",
  },
} as const;

export function refused(
  ctx: PageContext,
  context: Context,
  kind: keyof typeof refusals,
): Promise<Response> {
  const { title, text } = refusals[kind];
  const again = ctx.signIn && kind !== "link_void" ? "Sign in with another account" : "Sign in";
  const link = { href: "/dashboard/sign-in", text: again };
  return message(ctx, context, 403, title, text, link);
}
