import assert from "@std/assert";
import { FakeClock } from "../../src/base/clock.ts";
import { sessionIdleMs, sessionMs } from "../../src/people/session.ts";
import { createAccounts } from "../../src/keys/store/accounts.ts";
import type { Database } from "../../src/database/database.ts";
import { createPeople } from "../../src/people/store/people.ts";
import { createSessions } from "../../src/people/store/sessions.ts";
import { createSignIns } from "../../src/people/store/sign_ins.ts";
import { eachDatabase } from "../support/databases.ts";

const limits = { tier: "pro", requestsPerMinute: 600, burst: 1000 } as const;

async function setUp(database: Database) {
  const accounts = createAccounts(database);
  const account = await accounts.create({ name: "ours", ...limits });
  const other = await accounts.create({ name: "other", ...limits });
  const clock = new FakeClock();
  const admitted = await createSignIns(database).admit(
    { issuer: "i", subject: "ann", email: "ann@example.com", name: "Ann" },
    { claimHash: null, invitationHash: null },
    { now: clock.now(), newPersonId: "ann", allowedDomains: ["example.com"], hasAgreed: true },
  );
  assert.ok(admitted.kind === "admitted");
  const sessions = createSessions(database);
  const start = (tokenHash: string, replaces?: string) =>
    sessions.start(
      { tokenHash, personId: "ann", accountId: account.id, now: clock.now() },
      replaces,
    );
  return { account, other, clock, sessions, start, people: createPeople(database, clock) };
}

eachDatabase("a session says who, where and in which role", async (database) => {
  const { account, clock, sessions, start } = await setUp(database);
  await start("t");
  assert.deepEqual(await sessions.find("t", clock.now()), {
    person: { id: "ann", email: "ann@example.com", name: "Ann" },
    account,
    role: "member",
    seesPayloads: true,
    accounts: [{ id: account.id, name: "ours" }],
  });
  assert.equal(await sessions.find("another", clock.now()), undefined);
});

eachDatabase("a session ends when idle, and at its end however busy", async (database) => {
  const { clock, sessions, start } = await setUp(database);
  await start("idle");
  clock.advance(sessionIdleMs - 1);
  await start("busy");
  assert.ok(await sessions.find("idle", clock.now()));
  clock.advance(sessionIdleMs);
  assert.equal(await sessions.find("idle", clock.now()), undefined);
  await start("third");
  for (let passed = 0; passed < sessionMs - sessionIdleMs; passed += sessionIdleMs / 2) {
    clock.advance(sessionIdleMs / 2);
    assert.ok(await sessions.find("third", clock.now()), `${passed}`);
  }
  clock.advance(sessionIdleMs - 1);
  assert.ok(await sessions.find("third", clock.now()));
  await start("fourth");
  clock.advance(1);
  assert.equal(await sessions.find("third", clock.now()), undefined);
  // The next sign-in removes the ended ones, and no other.
  await start("fifth");
  assert.deepEqual(
    await database.query("select token_hash from dashboard_sessions order by created_at"),
    [{ token_hash: "fourth" }, { token_hash: "fifth" }],
  );
});

eachDatabase(
  "a session that is replaced, ended or whose person leaves is none",
  async (database) => {
    const { account, clock, sessions, start, people } = await setUp(database);
    await start("a");
    await start("b", "a");
    assert.equal(await sessions.find("a", clock.now()), undefined);
    await start("c");
    await sessions.end("b");
    assert.equal(await sessions.find("b", clock.now()), undefined);
    await start("d");
    assert.equal(await sessions.endAll("ann"), 2);
    assert.equal(await sessions.find("d", clock.now()), undefined);
    await start("e");
    await people.changeRole(account.id, "ann", "viewer");
    assert.equal((await sessions.find("e", clock.now()))?.role, "viewer");
    await people.remove(account.id, "ann");
    assert.equal(await sessions.find("e", clock.now()), undefined);
    await start("f");
    assert.equal(await sessions.find("f", clock.now()), undefined);
  },
);

eachDatabase("a session looks at accounts of its person only", async (database) => {
  const { other, clock, sessions, start, people } = await setUp(database);
  await start("t");
  assert.equal(await sessions.switchAccount("t", other.id), false);
  assert.equal((await sessions.find("t", clock.now()))?.account.name, "ours");
  await database.query(
    "insert into memberships values ($1, 'ann', 'owner', now())",
    [other.id],
  );
  assert.equal(await sessions.switchAccount("t", other.id), true);
  const switched = await sessions.find("t", clock.now());
  assert.deepEqual([switched?.account.name, switched?.role], ["other", "owner"]);
  assert.equal(switched?.accounts.length, 2);
  assert.equal((await people.list(other.id)).length, 1);
});

eachDatabase("what becomes of one person's sessions leaves another's as they are", async (
  database,
) => {
  const { account, other, clock, sessions, start, people } = await setUp(database);
  await database.query(
    `insert into people (id, issuer, subject, name, created_at, signed_in_at)
     values ('ben', 'i', 'ben', 'Ben', now(), now())`,
  );
  await database.query(
    "insert into memberships values ($1, 'ben', 'viewer', now()), ($2, 'ben', 'member', now())",
    [account.id, other.id],
  );
  const shown = async (token: string) => {
    const found = await sessions.find(token, clock.now());
    return found && [found.person.name, found.account.name, found.role, found.seesPayloads];
  };
  await start("ann's");
  const ben = { tokenHash: "ben's", personId: "ben", accountId: account.id, now: clock.now() };
  await sessions.start(ben, undefined);
  assert.deepEqual(await shown("ann's"), ["Ann", "ours", "member", true]);
  assert.deepEqual(await shown("ben's"), ["Ben", "ours", "viewer", false]);
  assert.equal(await sessions.switchAccount("ann's", other.id), false, "only ben belongs there");
  assert.equal(await sessions.switchAccount("ben's", other.id), true);
  assert.deepEqual(await shown("ann's"), ["Ann", "ours", "member", true]);
  assert.deepEqual(await shown("ben's"), ["Ben", "other", "member", true]);
  await start("ann's other");
  assert.equal(await sessions.endAll("ann"), 2);
  // What one is used for keeps no other from its end.
  await start("ann's");
  clock.advance(sessionIdleMs - 1);
  assert.deepEqual(await shown("ann's"), ["Ann", "ours", "member", true]);
  clock.advance(1);
  assert.equal(await shown("ben's"), undefined);
  assert.deepEqual(await shown("ann's"), ["Ann", "ours", "member", true]);
  // Of viewers only those whom an owner lets see payloads, which ends with their role.
  const change = (role: "member" | "viewer", payloads?: boolean) =>
    people.changeRole(account.id, "ann", role, undefined, payloads);
  await change("viewer", true);
  assert.deepEqual(await shown("ann's"), ["Ann", "ours", "viewer", true]);
  await change("viewer");
  assert.deepEqual(await shown("ann's"), ["Ann", "ours", "viewer", false]);
  await change("member", true);
  const rows = await database.query("select from memberships where payloads");
  assert.deepEqual(rows, []);
  await sessions.start({ ...ben, tokenHash: "ben's second", now: clock.now() }, undefined);
  await people.remove(account.id, "ben");
  assert.equal(await shown("ben's second"), undefined);
  assert.deepEqual(await shown("ann's"), ["Ann", "ours", "member", true]);
});
