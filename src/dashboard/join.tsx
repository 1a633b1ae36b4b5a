import type { Context } from "hono";
import { personAsActor } from "../audit/audit.ts";
import { hashToken, newToken } from "../people/link_token.ts";
import type { Identity } from "../people/person.ts";
import { sessionMs } from "../people/session.ts";
import { type Admission, signInMs, type SignInStart } from "../people/sign_in.ts";
import { card, expiredForm, type PageContext } from "./bind.tsx";
import { PostForm } from "./components.tsx";
import { readForm } from "./form.ts";
import { sameText } from "../base/hash.ts";
import { csrfOf } from "./secrets.ts";
import { refused, startedElsewhere } from "./sign_in_pages.tsx";
import { isFromElsewhere } from "./visitor.ts";

export const joinPath = "/dashboard/join";

/**
 * Lets a person in, or asks for their consent first, on a page of ours with a form: the link that
 * began the sign-in may have come from anybody.
 */
export async function letIn(
  ctx: PageContext,
  context: Context,
  identity: Identity,
  started: SignInStart,
  hasAgreed: boolean,
): Promise<Response> {
  const now = ctx.clock.now();
  const by = (id: string) => {
    const actor = personAsActor({ ...identity, id });
    return { actor, subject: actor.name, at: now };
  };
  const admission = await ctx.signIns.admit(identity, started, {
    now,
    hasAgreed,
    newPersonId: ctx.newId(),
    allowedDomains: ctx.allowedDomains,
    joined: ({ accountId, personId, role }) => ({
      ...{ ...by(personId), accountId, action: "person.joined" },
      detail: started.claimHash !== null ? `as ${role}, by the claim link` : `as ${role}`,
    }),
    roleChanged: ({ accountId, personId, role, was }) => ({
      ...{ ...by(personId), accountId, action: "person.role_changed" },
      detail: `from ${was} to ${role}, by the identity provider's groups`,
    }),
  });
  if (admission.kind === "admitted") {
    await openSession(ctx, context, admission, started);
    return context.redirect(started.returnTo, 303);
  }
  if (admission.kind !== "asks") return await refused(ctx, context, admission.kind);
  const token = newToken();
  const { claimHash, invitationHash } = admission;
  await ctx.signIns.begin({
    ...{ stateHash: hashToken(token), returnTo: started.returnTo, claimHash, invitationHash },
    ...{ identity, expiresAt: new Date(now.getTime() + signInMs) },
  }, now);
  ctx.cookies.write(context, "join", token, signInMs / 1000);
  return context.redirect(joinPath, 303);
}

/** Asks the person whom the provider identified whether to join. */
export async function joinPage(ctx: PageContext, context: Context): Promise<Response> {
  const token = ctx.cookies.read(context, "join");
  const now = ctx.clock.now();
  const waiting = token && await ctx.signIns.find(hashToken(token), now);
  if (!token || !waiting || !waiting.identity) return await startedElsewhere(ctx, context);
  const offer = await ctx.signIns.offer(waiting, now);
  if (!offer) {
    return await refused(ctx, context, waiting.claimHash ? "claim_void" : "invitation_void");
  }
  const { email, name } = waiting.identity;
  const { accountName, role } = offer;
  const body = (
    <>
      <p>
        Join <strong>{accountName}</strong> as <strong>{role}</strong>? You are signed in as{" "}
        {email ?? name}.
      </p>
      <p>
        The dashboard then shows this account. Its members see what you create and store in it: join
        only if you know who invited you.
      </p>
      <PostForm action={joinPath} csrf={csrfOf(token)} class="buttons">
        <button type="submit" name="answer" value="yes" class="button button-primary">
          {`Join ${accountName}`}
        </button>
        <button type="submit" name="answer" value="no" class="button">Don't join</button>
      </PostForm>
    </>
  );
  const title = waiting.claimHash === null ? "Join this account?" : "Own this gateway?";
  return await card(ctx, context, title, body);
}

/** Takes the person's answer, once. */
export async function joinAnswer(ctx: PageContext, context: Context): Promise<Response> {
  const token = ctx.cookies.read(context, "join");
  const form = await readForm(context);
  const isOurs = token !== undefined && form !== undefined && !isFromElsewhere(context) &&
    sameText(form.text("csrf"), csrfOf(token));
  if (!isOurs) return await expiredForm(ctx, context);
  ctx.cookies.clear(context, "join");
  const waiting = await ctx.signIns.take(hashToken(token), ctx.clock.now());
  if (!waiting || !waiting.identity) return await startedElsewhere(ctx, context);
  if (form.text("answer") !== "yes") return context.redirect("/dashboard", 303);
  return await letIn(ctx, context, waiting.identity, waiting, true);
}

/**
 * Starts a session, always with a new token: an attacker may have planted the old one in this
 * browser (session fixation).
 */
export async function openSession(
  ctx: PageContext,
  context: Context,
  { personId, accountId }: Extract<Admission, { kind: "admitted" }>,
  started: Pick<SignInStart, "claimHash" | "invitationHash">,
): Promise<void> {
  const before = ctx.cookies.read(context, "session");
  const replaces = before === undefined ? undefined : hashToken(before);
  const now = ctx.clock.now();
  const token = newToken();
  // People who sign in again see the same account as before, unless they have just joined one.
  const earlier = replaces === undefined ? undefined : await ctx.sessions.find(replaces, now);
  const isSame = earlier?.person.id === personId && started.claimHash === null &&
    started.invitationHash === null;
  const shown = isSame ? earlier.account.id : accountId;
  await ctx.sessions.start(
    { tokenHash: hashToken(token), personId, accountId: shown, now },
    replaces,
  );
  ctx.cookies.write(context, "session", token, sessionMs / 1000);
}
