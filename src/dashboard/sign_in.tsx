import type { Context, Hono } from "hono";
import { type Admission, signInMs } from "../domain/sign_in.ts";
import { sessionMs } from "../domain/session.ts";
import { action, card, type Desk } from "./bind.tsx";
import { type IdentityProvider, ProviderError } from "./identity_provider.ts";
import { returnPath } from "./return_path.ts";
import { hashToken, newToken } from "../domain/link_token.ts";
import { flowSecrets, sameText } from "./secrets.ts";

/** Signing in, with claim link or invitation or without, and out. */
export function signInRoutes(app: Hono, desk: Desk, provider: IdentityProvider): void {
  app.get("/dashboard/sign-in", (context) => signInPage(desk, context));
  app.get("/dashboard/claim", (context) => claimPage(desk, context));
  app.get("/dashboard/invitation", (context) => invitationPage(desk, context));
  app.get("/dashboard/sign-in/start", (context) => begin(desk, provider, context));
  app.get("/dashboard/callback", (context) => finish(desk, provider, context));
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

const signInVariables = "OAUTH_ISSUER=https://…\nOAUTH_CLIENT_ID=…\nOAUTH_CLIENT_SECRET=…";

/** Where the dashboard begins while sign-in is off. */
export function signInOff(app: Hono, desk: Desk): void {
  app.get("/dashboard/*", (context) =>
    card(
      desk,
      context,
      200,
      "Sign-in is off",
      <>
        <p>
          The dashboard is for people who sign in through your identity provider. To turn it on,
          register this service there with the redirect address
        </p>
        <pre tabindex={0}><code>{`${desk.baseUrl}/dashboard/callback`}</code></pre>
        <p>and start it with what the provider gave you:</p>
        <pre
          tabindex={0}
        ><code>{signInVariables}</code></pre>
        <p>
          Providers without OpenID take <code>OAUTH_AUTHORIZE_URL</code>,{" "}
          <code>OAUTH_TOKEN_URL</code> and <code>OAUTH_USERINFO_URL</code>{" "}
          in place of the issuer. To look around first: <code>deno task demo</code>.
        </p>
      </>,
    ));
}

async function signInPage(desk: Desk, context: Context): Promise<Response> {
  const hasOwner = await desk.signIns.hasOwner();
  const start = new URLSearchParams({ return_to: returnPath(context.req.query("return_to")) });
  const signedOut = context.req.query("signed_out") !== undefined;
  return await card(
    desk,
    context,
    200,
    signedOut ? "You are signed out" : "Sign in",
    hasOwner
      ? (
        <>
          <p>Keys, vendor keys and people of this gateway are managed here.</p>
          <p>
            <a class="button button-primary" href={`/dashboard/sign-in/start?${start}`}>Sign in</a>
          </p>
        </>
      )
      : (
        <p>
          Nobody owns this gateway yet. Open the claim link that its start has printed: who signs in
          through it becomes the owner.
        </p>
      ),
  );
}

async function claimPage(desk: Desk, context: Context): Promise<Response> {
  if (await desk.signIns.hasOwner()) return await refused(desk, context, "claim_void");
  const start = new URLSearchParams({ claim: context.req.query("token") ?? "" });
  return await card(
    desk,
    context,
    200,
    "Claim this gateway",
    <>
      <p>
        You are about to become its owner: sign in, and its first account, keys and settings are
        yours. This link works once.
      </p>
      <p>
        <a class="button button-primary" href={`/dashboard/sign-in/start?${start}`}>
          Sign in and claim
        </a>
      </p>
    </>,
  );
}

function invitationPage(desk: Desk, context: Context): Promise<Response> {
  const start = new URLSearchParams({ invitation: context.req.query("token") ?? "" });
  return card(
    desk,
    context,
    200,
    "You are invited",
    <>
      <p>Somebody invited you to their account on this gateway. Sign in to accept.</p>
      <p>
        <a class="button button-primary" href={`/dashboard/sign-in/start?${start}`}>
          Sign in and accept
        </a>
      </p>
    </>,
  );
}

/** Sends the browser to the provider, with a secret in a cookie that only this browser has. */
async function begin(
  desk: Desk,
  provider: IdentityProvider,
  context: Context,
): Promise<Response> {
  const secret = newToken();
  const flow = flowSecrets(secret);
  const hashOf = (name: string) => {
    const token = context.req.query(name);
    return token === undefined ? null : hashToken(token);
  };
  try {
    const address = await provider.authorizeUrl(flow);
    const now = desk.clock.now();
    await desk.signIns.begin({
      stateHash: hashToken(flow.state),
      returnTo: returnPath(context.req.query("return_to")),
      claimHash: hashOf("claim"),
      invitationHash: hashOf("invitation"),
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
  desk: Desk,
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
  if (!started) return await startedElsewhere(desk, context);
  try {
    const callback = new URL(`${desk.baseUrl}/dashboard/callback`);
    callback.search = new URL(context.req.url).search;
    const identity = await provider.identify(callback, flow);
    const admission = await desk.signIns.admit(identity, started, {
      now,
      newPersonId: desk.newId(),
      allowedDomains: desk.allowedDomains,
      joined: ({ accountId, personId }) => {
        const actor = { personId, name: identity.email ?? identity.name };
        const detail = started.claimHash !== null ? "by the claim link" : "";
        const subject = actor.name;
        return { accountId, actor, action: "person.joined", subject, detail, at: now };
      },
    });
    if (admission.kind !== "admitted") return await refused(desk, context, admission.kind);
    await openSession(desk, context, admission);
    return context.redirect(started.returnTo, 303);
  } catch (thrown) {
    return await providerFailed(desk, context, thrown);
  }
}

/** Always a new token: one that somebody put into this browser before is worth nothing. */
async function openSession(
  desk: Desk,
  context: Context,
  { personId, accountId }: Extract<Admission, { kind: "admitted" }>,
): Promise<void> {
  const before = desk.cookies.read(context, "session");
  const token = newToken();
  await desk.sessions.start(
    { tokenHash: hashToken(token), personId, accountId, now: desk.clock.now() },
    before === undefined ? undefined : hashToken(before),
  );
  desk.cookies.write(context, "session", token, sessionMs / 1000);
}

function startedElsewhere(desk: Desk, context: Context): Promise<Response> {
  return card(
    desk,
    context,
    400,
    "This sign-in can't be finished",
    <>
      <p>
        It was finished before, took longer than ten minutes, or began in another browser. Nothing
        was changed.
      </p>
      <p>
        <a class="button button-primary" href="/dashboard/sign-in">Sign in again</a>
      </p>
    </>,
  );
}

async function providerFailed(
  desk: Desk,
  context: Context,
  thrown: unknown,
): Promise<Response> {
  if (!(thrown instanceof ProviderError)) throw thrown;
  desk.log.warn("a sign-in failed", { kind: thrown.kind, reason: thrown.message.slice(0, 200) });
  const isDeclined = thrown.kind === "declined";
  return await card(
    desk,
    context,
    isDeclined ? 403 : 502,
    isDeclined ? "Sign-in was declined" : "The identity provider can't be used",
    <>
      <p>
        {isDeclined
          ? "The identity provider didn't let you through, or you cancelled there."
          : "It can't be reached, or its answer doesn't fit. The service's log says more; if this stays, check the OAUTH_ variables."}
      </p>
      <p>
        <a class="button button-primary" href="/dashboard/sign-in">Try again</a>
      </p>
    </>,
  );
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
      "It was used, is more than a day old, or the gateway has an owner already. While nobody owns it, every start prints a new one.",
  },
  invitation_void: {
    title: "This invitation doesn't work",
    text: "It was used, withdrawn, or is more than a week old. Ask for another one.",
  },
  other_address: {
    title: "This invitation is for somebody else",
    text:
      "It names another e-mail address than the one you signed in with. Sign in with that one, or ask for an invitation of yours.",
  },
} as const;

function refused(desk: Desk, context: Context, kind: keyof typeof refusals): Promise<Response> {
  const { title, text } = refusals[kind];
  return card(
    desk,
    context,
    403,
    title,
    <>
      <p>{text}</p>
      <p>
        <a class="button" href="/dashboard/sign-in">Sign in with another account</a>
      </p>
    </>,
  );
}
