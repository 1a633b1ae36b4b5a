import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import type { Account, AccountStore } from "../keys/account.ts";
import type { AuditNote } from "../audit/audit.ts";
import { hashToken } from "../people/link_token.ts";
import type { Invitation } from "../people/person.ts";
import { UsageError } from "./command.ts";
import { inviteCommands } from "./invite_command.ts";

function setup(hasSignIn = true) {
  const made: { accountId: number; invitation: Invitation & { tokenHash: string } }[] = [];
  const notes: (AuditNote | undefined)[] = [];
  const accounts = {
    first: () => Promise.resolve({ id: 1, name: "default" } as Account),
    find: (name: string) =>
      Promise.resolve(name === "team" ? { id: 2, name: "team" } as Account : undefined),
  } as AccountStore;
  const deps = {
    accounts,
    people: {
      invite: (accountId: number, invitation: typeof made[0]["invitation"], note?: AuditNote) => {
        made.push({ accountId, invitation });
        notes.push(note);
        return Promise.resolve();
      },
    },
    clock: new FakeClock(),
    newId: () => "id-1",
    dashboardBase: "https://gateway.example.com",
    hasSignIn,
  };
  const run = (values: Record<string, string>) => inviteCommands.invite!.run(deps, values, [], "");
  return { run, made, notes };
}

Deno.test("an invitation names account, role and address, and its link is nowhere but in the answer", async () => {
  const { run, made, notes } = setup();
  const { json, lines } = await run({ role: "owner", account: "team", email: "Ann@Example.com" });
  const { link, role, email } = json as Record<string, string>;
  assert.deepEqual([role, email, made[0]?.accountId], ["owner", "ann@example.com", 2]);
  const [base, token] = link!.split("?token=");
  assert.equal(base, "https://gateway.example.com/dashboard/invitation");
  assert.equal(made[0]?.invitation.tokenHash, hashToken(token!));
  assert.ok(!JSON.stringify([made, notes]).includes(token!));
  assert.deepEqual(
    [notes[0]?.action, notes[0]?.subject, notes[0]?.detail, notes[0]?.accountId],
    ["person.invited", "ann@example.com", "as owner", 2],
  );
  assert.equal(lines[0], link);
});

Deno.test("without an e-mail address the link is for the first person who opens it", async () => {
  const { run, made } = setup(false);
  const { lines } = await run({ role: "viewer" });
  assert.deepEqual([made[0]?.accountId, made[0]?.invitation.email], [1, ""]);
  assert.match(lines.join("\n"), /whoever opens it first viewer of account 'default'/);
  assert.match(lines.join("\n"), /Sign-in is off/);
});

Deno.test("a wrong role, address or account is named in the error", async () => {
  const { run, made } = setup();
  await assert.rejects(run({}), /--role is missing/);
  await assert.rejects(run({ role: "king" }), UsageError);
  await assert.rejects(run({ role: "owner", email: "nobody" }), /--email nobody: expected/);
  await assert.rejects(run({ role: "owner", account: "none" }), /No account/);
  assert.equal(made.length, 0);
});
