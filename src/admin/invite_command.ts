import type { Clock } from "../base/clock.ts";
import type { AccountStore } from "../keys/account.ts";
import { type Audited, commandLine } from "../audit/audit.ts";
import { inviteeOf, makeInvitation, readEmail } from "../people/invitation.ts";
import { type PeopleStore, type Role, roles } from "../people/person.ts";
import {
  chosenAccount,
  type Command,
  type CommandResult,
  done,
  optional,
  textOption,
  UsageError,
  type Values,
} from "./command.ts";

export interface InviteDeps {
  accounts: AccountStore;
  people: Pick<Audited<PeopleStore>, "invite">;
  clock: Clock;
  newId: () => string;
  /** The dashboard's public URL, without a slash at the end. */
  dashboardBase: string;
  /** Whether an identity provider is configured. */
  hasSignIn: boolean;
}

/** `invite`: makes a link into an account; without `--email` the first to open it gets in. */
export const inviteCommands: Readonly<Record<string, Command<InviteDeps>>> = {
  invite: {
    summary: "Prints a link that invites a person to an account.",
    example: "invite --role member --email ann@example.com",
    usage: "invite --role owner|member|viewer [--account A] [--email E]",
    options: { role: textOption, account: textOption, email: textOption },
    run: invite,
  },
};

async function invite(deps: InviteDeps, values: Values): Promise<CommandResult> {
  const role = roleOf(values);
  const email = emailOf(values);
  const account = await chosenAccount(deps.accounts, values);
  const now = deps.clock.now();
  const { newId, dashboardBase: baseUrl } = deps;
  const { invitation, link } = makeInvitation({ email, role, now, newId, baseUrl });
  await deps.people.invite(account.id, invitation, {
    accountId: account.id,
    actor: commandLine,
    action: "person.invited",
    subject: inviteeOf({ email }),
    detail: `as ${role}`,
    at: now,
  });
  const { id, expiresAt } = invitation;
  return done({
    ...{ id, account_id: account.id, role, email: email === "" ? null : email, link },
    expires_at: expiresAt.toISOString(),
  }, [
    link,
    `It makes ${
      email === "" ? "whoever opens it first" : email
    } ${role} of account '${account.name}', once, until ${expiresAt.toISOString()}.`,
    ...(deps.hasSignIn
      ? []
      : ["Sign-in is off: set the OAUTH_ variables before the link is opened."]),
  ]);
}

function roleOf(values: Values): Role {
  const text = optional(values, "role");
  const role = roles.find((one) => one === text);
  if (role) return role;
  throw new UsageError(
    text === undefined
      ? "--role is missing: expected owner, member or viewer"
      : `--role ${text}: expected owner, member or viewer`,
  );
}

/** Returns the address of `--email`, or an empty text without the option. */
function emailOf(values: Values): string {
  const text = optional(values, "email");
  if (text === undefined) return "";
  const email = readEmail(text);
  if (email !== undefined) return email;
  throw new UsageError(`--email ${text}: expected an address such as ann@example.com`);
}
