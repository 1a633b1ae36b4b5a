import type { Clock } from "../base/clock.ts";
import { commandLine } from "../audit/audit.ts";
import { readEmail } from "../people/invitation.ts";
import { hashToken, newToken } from "../people/link_token.ts";
import { linkMs, type SignInStore } from "../people/sign_in.ts";
import {
  type Command,
  type CommandResult,
  done,
  optional,
  UsageError,
  type Values,
} from "./command.ts";

export interface SignInDeps {
  signIns: Pick<SignInStore, "offerLink">;
  clock: Clock;
  /** Makes links into the dashboard, or says why there can't be any. */
  signInLinks: { linkOf: (token: string) => string } | { refusal: string };
}

/** `sign-in`: makes a link that signs in to the dashboard without an identity provider. */
export const signInCommands: Readonly<Record<string, Command<SignInDeps>>> = {
  "sign-in": {
    usage: "sign-in [--person EMAIL]",
    summary: "Prints a link that signs in to the dashboard once, valid for ten minutes.",
    options: { person: { type: "string" } },
    example: "sign-in",
    run: printLink,
  },
};

async function printLink(deps: SignInDeps, values: Values): Promise<CommandResult> {
  const person = optional(values, "person");
  const email = person === undefined ? undefined : readEmail(person);
  if (person !== undefined && email === undefined) {
    throw new UsageError(`--person ${person}: expected an address such as ann@example.com`);
  }
  if ("refusal" in deps.signInLinks) throw new Error(deps.signInLinks.refusal);
  const token = newToken();
  const now = deps.clock.now();
  const offer = await deps.signIns.offerLink(
    { tokenHash: hashToken(token), email, now },
    ({ accountId, name }) => ({
      ...{ accountId, actor: commandLine, action: "sign_in_link.created" },
      ...{ subject: name, detail: "", at: now },
    }),
  );
  if (!offer) {
    throw new Error(
      email === undefined
        ? "No accounts yet: start the service once."
        : `Nobody has the address ${email}: invite them with 'invite --email ${email}'.`,
    );
  }
  const link = deps.signInLinks.linkOf(token);
  const expiresAt = new Date(now.getTime() + linkMs).toISOString();
  return done({ link, person: offer.name, expires_at: expiresAt }, [
    link,
    `It signs in ${offer.name} once, until ${expiresAt}.`,
    ...(offer.becomesOwner
      ? [`${offer.name} becomes the account's owner by it: there is none yet.`]
      : []),
  ]);
}
