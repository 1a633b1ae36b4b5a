import type { Context, Hono } from "hono";
import { personAsActor, personText } from "../audit/audit.ts";
import { hashToken } from "../people/link_token.ts";
import { card, expiredForm, type PageContext } from "./bind.tsx";
import { PostForm } from "./components.tsx";
import { readForm } from "./form.ts";
import { openSession } from "./join.tsx";
import { returnPath } from "./return_path.ts";
import { refused, tooMany } from "./sign_in_pages.tsx";
import { addressOf, isVisitorsForm, visitorToken } from "./visitor.ts";

const linkPath = "/dashboard/sign-in/link";

/** Returns the address of a sign-in link; only a hash of its token is stored. */
export function signInLink(baseUrl: string, token: string): string {
  return `${baseUrl}${linkPath}?token=${token}`;
}

/**
 * Signing in by a link that the operator has printed. Opening the link signs nobody in: its page
 * asks for confirmation by a form, which must come from the same browser.
 */
export function linkRoutes(app: Hono, ctx: PageContext): void {
  app.get(linkPath, (context) => askPage(ctx, context));
  app.post(linkPath, (context) => enter(ctx, context));
}

async function askPage(ctx: PageContext, context: Context): Promise<Response> {
  const address = addressOf(context);
  if (ctx.signInLimit.isReached(address)) {
    return await tooMany(ctx, context, ctx.signInLimit.fail(address));
  }
  const token = context.req.query("token") ?? "";
  const offer = await ctx.signIns.lookUpLink(hashToken(token), ctx.clock.now());
  if (!offer) {
    ctx.signInLimit.fail(address);
    return await refused(ctx, context, "link_void");
  }
  const body = (
    <>
      <p>
        You are about to sign in as{" "}
        <strong>{offer.name}</strong>. Go on only if you, or somebody you trust, printed this link.
      </p>
      <PostForm action={linkPath} csrf={visitorToken(ctx, context)}>
        <input type="hidden" name="token" value={token} />
        <button type="submit" class="button button-primary">Sign in</button>
      </PostForm>
    </>
  );
  return await card(ctx, context, "Sign in to this gateway", body);
}

async function enter(ctx: PageContext, context: Context): Promise<Response> {
  const form = await readForm(context);
  if (!form || !isVisitorsForm(ctx, context, form)) return await expiredForm(ctx, context);
  const address = addressOf(context);
  const waitSeconds = ctx.signInLimit.fail(address);
  if (waitSeconds > 0) return await tooMany(ctx, context, waitSeconds);
  const now = ctx.clock.now();
  const admission = await ctx.signIns.admitByLink(hashToken(form.text("token")), {
    now,
    newPersonId: ctx.newId(),
    signedIn: ({ accountId, person }) => ({
      ...{ accountId, actor: personAsActor(person), action: "person.signed_in" },
      ...{ subject: personText(person), detail: "by a sign-in link", at: now },
    }),
  });
  if (admission.kind === "asks") throw new Error("a sign-in link asks for no further consent");
  if (admission.kind !== "admitted") return await refused(ctx, context, admission.kind);
  await openSession(ctx, context, admission, { claimHash: null, invitationHash: null });
  const wanted = ctx.cookies.read(context, "return_to");
  ctx.cookies.clear(context, "return_to");
  return context.redirect(returnPath(wanted), 303);
}
