import assert from "@std/assert";
import { FakeClock } from "../../src/base/clock.ts";
import { createAuditLog } from "../../src/audit/store/audit.ts";
import { createAccounts } from "../../src/keys/store/accounts.ts";
import type { Database } from "../../src/database/database.ts";
import { linkMs } from "../../src/people/sign_in.ts";
import { createPeople } from "../../src/people/store/people.ts";
import { createSignIns } from "../../src/people/store/sign_ins.ts";
import { eachDatabase } from "../support/databases.ts";

const limits = { tier: "pro", requestsPerMinute: 600, burst: 1000 } as const;
const ann = { issuer: "https://id.example", subject: "1", email: "ann@example.com", name: "Ann" };

async function setUp(database: Database) {
  const clock = new FakeClock();
  const account = await createAccounts(database).create({ name: "first", ...limits });
  const signIns = createSignIns(database);
  let made = 0;
  const noted =
    (action: string) => (who: { accountId: number; name: string; personId?: string }) => ({
      ...{ accountId: who.accountId, actor: { personId: who.personId ?? null, name: who.name } },
      ...{ action, subject: who.name, detail: "", at: clock.now() },
    });
  const offer = (tokenHash: string, email?: string) =>
    signIns.offerLink({ tokenHash, email, now: clock.now() }, noted("sign_in_link.created"));
  const enter = (tokenHash: string) =>
    signIns.admitByLink(tokenHash, {
      ...{ now: clock.now(), newPersonId: `person ${++made}` },
      signedIn: ({ accountId, person: { id, email, name } }) =>
        noted("person.signed_in")({ accountId, personId: id, name: email ?? name }),
    });
  const claimed = async () => {
    await signIns.offerClaim("claim", clock.now());
    return await signIns.admit(ann, { claimHash: "claim", invitationHash: null }, {
      ...{ now: clock.now(), newPersonId: "ann", allowedDomains: [], hasAgreed: true },
    });
  };
  const join = (name: string) =>
    signIns.admit({ issuer: ann.issuer, subject: name, email: null, name, role: "member" }, {
      ...{ claimHash: null, invitationHash: null },
    }, { now: clock.now(), newPersonId: name, allowedDomains: [], hasAgreed: true });
  const people = createPeople(database, clock);
  return { clock, account, signIns, offer, enter, claimed, join, people };
}

eachDatabase(
  "a sign-in link makes the first owner, and signs in the same one later",
  async (database) => {
    const { account, signIns, offer, enter, people, clock } = await setUp(database);
    assert.deepEqual(await offer("one"), { name: "Owner", becomesOwner: true });
    assert.equal(await signIns.hasOwner(), false, "a link that nobody has opened owns nothing");
    const first = await enter("one");
    assert.deepEqual(first, { kind: "admitted", personId: "person 1", accountId: account.id });
    assert.equal(await signIns.hasOwner(), true);
    await offer("two");
    assert.deepEqual(await enter("two"), first);
    const list = await people.list(account.id);
    assert.deepEqual(list.map(({ role, person }) => [role, person.name]), [["owner", "Owner"]]);
    const acts = await createAuditLog(database, () => clock.now()).list(account.id, {
      ...{ before: null, limit: 10 },
    });
    const [offered, entered] = ["sign_in_link.created", "person.signed_in"];
    assert.deepEqual(acts.map(({ action }) => action), [entered, offered, entered, offered]);
  },
);

eachDatabase("a link works once, for ten minutes, whoever opens it first", async (database) => {
  const { clock, signIns, offer, enter } = await setUp(database);
  await offer("one");
  assert.deepEqual(await signIns.lookUpLink("one", clock.now()), { name: "Owner" });
  const both = await Promise.all([enter("one"), enter("one")]);
  assert.deepEqual(both.map(({ kind }) => kind).sort(), ["admitted", "link_void"]);
  assert.equal(await signIns.lookUpLink("one", clock.now()), undefined);
  await offer("old");
  clock.advance(linkMs);
  assert.equal(await signIns.lookUpLink("old", clock.now()), undefined);
  assert.deepEqual(await enter("old"), { kind: "link_void" });
  assert.deepEqual(await enter("guess"), { kind: "link_void" });
  await offer("lapsed");
  clock.advance(linkMs);
  await offer("last");
  assert.equal((await database.query("select state_hash from sign_in_states")).length, 1);
});

eachDatabase("a link is for a person who belongs here, and ends with them", async (database) => {
  const { account, offer, enter, claimed, people, join } = await setUp(database);
  await offer("before");
  // An earlier member is no owner.
  await join("abe");
  await claimed();
  assert.deepEqual(
    await offer("one"),
    { name: "ann@example.com", becomesOwner: false },
    "the owner, without an address",
  );
  assert.deepEqual(await offer("two", "ann@example.com"), {
    name: "ann@example.com",
    becomesOwner: false,
  });
  assert.equal(await offer("three", "eve@example.com"), undefined);
  assert.equal((await enter("two")).kind, "admitted");
  // The gateway was claimed since: there is no second owner by an earlier link.
  assert.deepEqual(await enter("before"), { kind: "stranger" });
  const members = await people.list(account.id);
  assert.deepEqual(members.map(({ person }) => person.id).sort(), ["abe", "ann"]);
});

eachDatabase(
  "a link's token is no state of a provider's sign-in, nor the other way round",
  async (database) => {
    const { clock, signIns, offer, enter } = await setUp(database);
    await offer("token");
    assert.equal(await signIns.take("token", clock.now()), undefined);
    await signIns.begin({
      ...{ stateHash: "state", returnTo: "/dashboard", claimHash: null, invitationHash: null },
      ...{ identity: ann, expiresAt: new Date(clock.now().getTime() + linkMs) },
    }, clock.now());
    assert.deepEqual(await enter("state"), { kind: "link_void" });
    assert.equal((await enter("token")).kind, "admitted");
  },
);
