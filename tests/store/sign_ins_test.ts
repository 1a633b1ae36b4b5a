import assert from "@std/assert";
import { FakeClock } from "../../src/base/clock.ts";
import type { Identity } from "../../src/people/person.ts";
import { type Admission, claimMs } from "../../src/people/sign_in.ts";
import { createAccounts } from "../../src/keys/store/accounts.ts";
import type { Database } from "../../src/database/database.ts";
import { createPeople } from "../../src/people/store/people.ts";
import { createSignIns, sweepSignIns } from "../../src/people/store/sign_ins.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import { startInTurn } from "../support/lock_queue.ts";

const limits = { tier: "pro", requestsPerMinute: 600, burst: 1000 } as const;

function personOf(admission: Admission): string {
  if (admission.kind !== "admitted") throw new Error(admission.kind);
  return admission.personId;
}

function identity(name: string, email: string | null = `${name}@example.com`): Identity {
  return { issuer: "https://id.example.com", subject: `subject of ${name}`, email, name };
}

async function setUp(database: Database) {
  const accounts = createAccounts(database);
  const first = await accounts.create({ name: "first", ...limits });
  const second = await accounts.create({ name: "second", ...limits });
  const clock = new FakeClock();
  const signIns = createSignIns(database);
  let made = 0;
  const admit = (
    who: Identity,
    links: { claim?: string; invitation?: string } = {},
    allowedDomains: string[] = [],
    hasAgreed = true,
  ) =>
    signIns.admit(who, {
      claimHash: links.claim ?? null,
      invitationHash: links.invitation ?? null,
    }, { now: clock.now(), newPersonId: `person ${++made}`, allowedDomains, hasAgreed });
  const people = createPeople(database, clock);
  const invite = (
    accountId: number,
    email: string,
    role: "owner" | "member" | "viewer",
    tokenHash: string,
  ) =>
    people.invite(accountId, {
      id: `invitation ${tokenHash}`,
      email,
      role,
      tokenHash,
      createdAt: clock.now(),
      expiresAt: new Date(clock.now().getTime() + 1000),
    });
  return { first, second, clock, signIns, people, admit, invite };
}

eachDatabase("a role that groups take away ends the permission that it had", async (database) => {
  const { first, people, admit } = await setUp(database);
  const permission = async () => {
    const [ann] = await people.list(first.id);
    return [ann!.role, ann!.payloads];
  };
  const ann = personOf(await admit({ ...identity("ann"), role: "viewer" }));
  await people.changeRole(first.id, ann, "viewer", undefined, true);
  await admit({ ...identity("ann"), role: "viewer" });
  assert.deepEqual(await permission(), ["viewer", true], "the same role changes nothing");
  await admit({ ...identity("ann"), role: "member" });
  await admit({ ...identity("ann"), role: "viewer" });
  assert.deepEqual(await permission(), ["viewer", false]);
});

eachDatabase("an invitation gives no other role than the groups", async (database) => {
  const { first, second, people, admit, invite } = await setUp(database);
  const roleIn = async ({ id }: { id: number }) =>
    (await people.list(id)).find(({ person }) => person.name === "ben")?.role;
  await invite(first.id, "ann@example.com", "owner", "a");
  await admit(identity("ann"));
  const ben = { ...identity("ben"), role: "owner" as const };
  await admit(ben);
  // While he is owner he invites himself; then his groups make him a viewer.
  await invite(first.id, "ben@example.com", "owner", "b");
  await invite(second.id, "ben@example.com", "owner", "b elsewhere");
  const lowered = { ...ben, role: "viewer" as const };
  assert.equal((await admit(lowered, { invitation: "b" })).kind, "admitted");
  assert.equal(await roleIn(first), "viewer");
  // Groups decide about the first account alone.
  assert.equal((await admit(lowered, { invitation: "b elsewhere" })).kind, "admitted");
  assert.deepEqual([await roleIn(first), await roleIn(second)], ["viewer", "owner"]);
});

eachDatabase("the claim link makes one owner, once, and no other is offered", async (database) => {
  const { first, second, clock, signIns, people, admit, invite } = await setUp(database);
  // Neither another account's owner nor a member is the first account's owner.
  await invite(second.id, "zoe@example.com", "owner", "zoe");
  await admit(identity("zoe"));
  await admit(identity("mel"), {}, ["example.com"]);
  assert.equal(await signIns.hasOwner(), false);
  assert.equal(await signIns.offerClaim("one", clock.now()), true);
  assert.equal(await signIns.offerClaim("two", clock.now()), true);
  assert.equal(
    (await signIns.offer({ claimHash: "one", invitationHash: null }, clock.now()))?.role,
    "owner",
  );
  assert.deepEqual(await admit(identity("eve"), { claim: "guess" }), { kind: "claim_void" });
  assert.equal((await admit(identity("ann"), { claim: "one" })).kind, "admitted");
  assert.deepEqual(await admit(identity("ben"), { claim: "two" }), { kind: "claim_void" });
  assert.equal(await signIns.hasOwner(), true);
  assert.equal(await signIns.offerClaim("three", clock.now()), false);
  // Groups take nothing from the last owner, however many members there are.
  await admit({ ...identity("ann"), role: "viewer" });
  const list = await people.list(first.id);
  assert.deepEqual(list.map(({ role }) => role), ["member", "owner"]);
});

onPostgres(
  "of two who claim at once, by claim link or sign-in link, one becomes owner",
  async (database) => {
    const { first, clock, signIns, people, admit } = await setUp(database);
    await signIns.offerClaim("one", clock.now());
    await signIns.offerLink({ tokenHash: "two", email: undefined, now: clock.now() });
    const byLink = () => signIns.admitByLink("two", { now: clock.now(), newPersonId: "ben" });
    const byClaim = () => admit(identity("ann"), { claim: "one" });
    // Each has seen that there is no owner when it has to wait.
    const held = "lock table memberships in exclusive mode";
    const ended = await startInTurn(database, held, byClaim, byLink);
    assert.deepEqual(ended.map((one) => (one as Admission).kind), ["admitted", "stranger"]);
    assert.equal((await people.list(first.id)).length, 1);
  },
);

eachDatabase("a claim link ends with its time", async (database) => {
  const { clock, signIns, admit } = await setUp(database);
  await signIns.offerClaim("one", clock.now());
  const offer = (claimHash: string) =>
    signIns.offer({ claimHash, invitationHash: null }, clock.now());
  assert.equal(await offer("guess"), undefined);
  clock.advance(claimMs - 1);
  assert.equal((await offer("one"))?.role, "owner");
  clock.advance(1);
  assert.equal(await offer("one"), undefined);
  assert.deepEqual(await admit(identity("ann"), { claim: "one" }), { kind: "claim_void" });
  await signIns.offerClaim("two", clock.now());
  const left = await database.query("select token_hash from claim_tokens");
  assert.deepEqual(left.map(({ token_hash: hash }) => hash), ["two"]);
});

eachDatabase("a claim link is void once there is an owner, however they came", async (database) => {
  const { first, clock, signIns, people, admit, invite } = await setUp(database);
  await signIns.offerClaim("one", clock.now());
  const links = { claimHash: "one", invitationHash: null };
  assert.deepEqual(await signIns.offer(links, clock.now()), {
    accountName: "first",
    role: "owner",
  });
  await invite(first.id, "ann@example.com", "owner", "ann");
  await admit(identity("ann"));
  assert.equal(await signIns.offer(links, clock.now()), undefined);
  assert.deepEqual(await admit(identity("eve"), { claim: "one" }), { kind: "claim_void" });
  // Nor does an invitation to less take the owner's role.
  await invite(first.id, "ann@example.com", "viewer", "less");
  await admit(identity("ann"), { invitation: "less" });
  assert.deepEqual((await people.list(first.id)).map(({ role }) => role), ["owner"]);
});

eachDatabase("nothing is kept of a stranger", async (database) => {
  const { admit } = await setUp(database);
  assert.deepEqual(await admit(identity("eve")), { kind: "stranger" });
  assert.deepEqual(await admit(identity("eve"), {}, ["example.org"]), { kind: "stranger" });
  assert.deepEqual(await admit(identity("eve", null), {}, ["example.com"]), { kind: "stranger" });
  assert.deepEqual(await database.query("select id from people"), []);
});

eachDatabase("an allowed domain makes a member of the first account", async (database) => {
  const { first, people, admit } = await setUp(database);
  const admitted = await admit(identity("ann"), {}, ["example.com"]);
  assert.equal(admitted.kind, "admitted");
  assert.deepEqual((await people.list(first.id)).map(({ role }) => role), ["member"]);
  // A name that only ends like it is another domain.
  const other = identity("eve", "eve@notexample.com");
  assert.deepEqual(await admit(other, {}, ["example.com"]), { kind: "stranger" });
});

eachDatabase(
  "an allowed domain lets nobody in again who was removed, until they are invited",
  async (database) => {
    const { first, clock, people, admit, invite } = await setUp(database);
    const domains = ["example.com"];
    const ann = personOf(await admit(identity("ann"), {}, domains));
    assert.equal((await people.changeRole(first.id, ann, "viewer") as { id: string }).id, ann);
    await people.remove(first.id, ann);
    assert.deepEqual(await admit(identity("ann"), {}, domains), { kind: "stranger" });
    assert.equal((await admit(identity("ben"), {}, domains)).kind, "admitted");
    clock.advance(1);
    await invite(first.id, "ann@example.com", "viewer", "again");
    assert.equal((await admit(identity("ann"), {}, domains)).kind, "admitted");
    assert.deepEqual((await people.list(first.id)).map(({ role }) => role).sort(), [
      "member",
      "viewer",
    ]);
  },
);

eachDatabase(
  "who belongs to another account joins the first one too, by a group or an allowed domain",
  async (database) => {
    const { first, second, people, admit, invite } = await setUp(database);
    const domains = ["example.com"];
    const roleOf = async (name: string) =>
      (await people.list(first.id)).find(({ person }) => person.name === name)?.role;
    for (const name of ["ann", "ben", "cat"]) {
      await invite(second.id, `${name}@example.com`, "viewer", name);
      await admit(identity(name), { invitation: name });
    }
    const ann = await admit({ ...identity("ann"), role: "owner" });
    assert.equal(await roleOf("ann"), "owner");
    assert.equal((ann as { accountId: number }).accountId, second.id, "the account that she had");
    const ben = personOf(await admit(identity("ben"), {}, domains));
    assert.equal(await roleOf("ben"), "member");
    await people.changeRole(first.id, ben, "viewer");
    await admit(identity("ben"), {}, domains);
    assert.equal(await roleOf("ben"), "viewer");
    await people.remove(first.id, ben);
    await admit(identity("ben"), {}, domains);
    await admit(identity("cat"));
    assert.deepEqual([await roleOf("ben"), await roleOf("cat")], [undefined, undefined]);
    assert.deepEqual((await people.list(second.id)).map(({ role }) => role), [
      ...["viewer", "viewer", "viewer"],
    ]);
  },
);

eachDatabase(
  "the role of an invitation counts, not an allowed domain, for people of other accounts too",
  async (database) => {
    const { first, second, people, admit, invite } = await setUp(database);
    await invite(second.id, "ann@example.com", "member", "other");
    await admit(identity("ann"), { invitation: "other" });
    await invite(first.id, "ann@example.com", "viewer", "link");
    await admit(identity("ann"), {}, ["example.com"]);
    await admit(identity("ann"), { invitation: "link" }, ["example.com"]);
    assert.deepEqual((await people.list(first.id)).map(({ role }) => role), ["viewer"]);
  },
);

eachDatabase("an invitation works once, in its time, for its address", async (database) => {
  const { first, second, clock, signIns, people, admit, invite } = await setUp(database);
  await invite(second.id, "ann@example.com", "viewer", "link");
  assert.deepEqual(await admit(identity("eve"), { invitation: "link" }), { kind: "other_address" });
  const ann = await admit(identity("ann"), { invitation: "link" });
  assert.ok(ann.kind === "admitted" && ann.accountId === second.id);
  assert.deepEqual(await admit(identity("ann"), { invitation: "link" }), {
    kind: "invitation_void",
  });
  assert.deepEqual((await people.list(second.id)).map(({ role }) => role), ["viewer"]);
  assert.deepEqual(await people.list(first.id), []);
  // A verified address needs no link; a provider that verifies none takes the link.
  await invite(first.id, "ben@example.com", "member", "ben's");
  assert.equal((await admit(identity("ben"))).kind, "admitted");
  await invite(first.id, "cat@example.com", "member", "cat's");
  assert.equal((await admit(identity("cat", null), { invitation: "cat's" })).kind, "admitted");
  await invite(first.id, "dan@example.com", "member", "dan's");
  clock.advance(1000);
  const dans = { claimHash: null, invitationHash: "dan's" };
  assert.equal(await signIns.offer(dans, clock.now()), undefined);
  assert.deepEqual(await admit(identity("dan")), { kind: "stranger" });
  assert.deepEqual(await admit(identity("dan"), { invitation: "dan's" }), {
    kind: "invitation_void",
  });
});

eachDatabase("who was removed is a stranger again", async (database) => {
  const { first, people, admit, invite } = await setUp(database);
  await invite(first.id, "ann@example.com", "owner", "a");
  await invite(first.id, "ben@example.com", "owner", "b");
  const ann = personOf(await admit(identity("ann")));
  const ben = personOf(await admit(identity("ben")));
  assert.equal((await admit(identity("ben"))).kind, "admitted");
  const removed = await people.remove(first.id, ben);
  const about = { id: ben, email: "ben@example.com", name: "ben" };
  assert.deepEqual(removed, { ...about, revokedKeyIds: [] });
  assert.deepEqual(await admit(identity("ben")), { kind: "stranger" });
  const kept = await database.query("select name from people");
  assert.deepEqual(kept.map(({ name }) => name), ["ann"], "nothing but a hash is kept of him");
  // The last owner stays, in the role of one.
  assert.equal(await people.remove(first.id, ann), "last_owner");
  assert.equal(await people.changeRole(first.id, ann, "viewer"), "last_owner");
  assert.equal(await people.changeRole(first.id, ben, "viewer"), "not_found");
});

eachDatabase("no invitation from before undoes a removal or a lower role", async (database) => {
  const { first, second, clock, people, admit, invite } = await setUp(database);
  const left = async () => (await people.invitations(first.id, clock.now())).map(({ id }) => id);
  const notes: boolean[] = [];
  const audit = ({ id }: { id: string }, { isWithdrawn }: { isWithdrawn: boolean }) => {
    notes.push(isWithdrawn);
    return {
      ...{ accountId: first.id, actor: { personId: null, name: "ann" }, at: clock.now() },
      ...{ action: "person.changed", subject: id, detail: "" },
    };
  };
  await invite(first.id, "ann@example.com", "owner", "a");
  const ann = personOf(await admit(identity("ann")));
  // As the last owner she stays as she is, and so does her invitation.
  await invite(first.id, "ann@example.com", "owner", "a again");
  assert.equal(await people.remove(first.id, ann), "last_owner");
  assert.deepEqual(await left(), ["invitation a again"]);
  await invite(first.id, "ben@example.com", "owner", "b");
  const ben = personOf(await admit(identity("ben")));
  await invite(first.id, "ben@example.com", "owner", "b again");
  await invite(second.id, "ben@example.com", "viewer", "b elsewhere");
  await people.changeRole(first.id, ben, "viewer", audit);
  assert.deepEqual(await left(), ["invitation a again"]);
  const again = await admit(identity("ben"), { invitation: "b again" });
  assert.deepEqual(again, { kind: "invitation_void" });
  await people.changeRole(first.id, ben, "member", audit);
  await invite(first.id, "ben@example.com", "owner", "b once more");
  await people.remove(first.id, ben, audit);
  assert.deepEqual(notes, [true, false, true]);
  const stranger = await admit(identity("ben"), { invitation: "b once more" });
  assert.deepEqual(stranger, { kind: "invitation_void" });
  // Another account's invitation is its own.
  assert.equal((await admit(identity("ben"), { invitation: "b elsewhere" })).kind, "admitted");
});

eachDatabase(
  "an invitation of another address from before undoes neither, by its link or by the address",
  async (database) => {
    const { first, second, clock, people, admit, invite } = await setUp(database);
    await invite(first.id, "ann@example.com", "owner", "a");
    await admit(identity("ann"));
    // A provider that verifies no addresses: whoever has a link can use it.
    const ben = { ...identity("ben"), email: null };
    await invite(first.id, "ben@example.com", "owner", "b");
    const id = personOf(await admit(ben, { invitation: "b" }));
    for (const name of ["b1", "b2", "b3"]) {
      await invite(first.id, `${name}@example.com`, "owner", name);
    }
    await invite(second.id, "b4@example.com", "viewer", "b4");
    clock.advance(1);
    const roles = async () => (await people.list(first.id)).map(({ role }) => role);
    const isVoid = async (invitation: string) => {
      assert.deepEqual(await admit(ben, { invitation }), { kind: "invitation_void" });
    };
    await people.changeRole(first.id, id, "viewer");
    await isVoid("b1");
    clock.advance(1);
    await invite(first.id, "b5@example.com", "owner", "b5");
    await admit(ben, { invitation: "b5" });
    assert.deepEqual(await roles(), ["owner", "owner"], "a later one counts");
    await isVoid("b1");
    await people.remove(first.id, id);
    await isVoid("b2");
    const named = { ...ben, email: "b3@example.com" };
    assert.deepEqual(await admit(named), { kind: "stranger" });
    assert.deepEqual(await roles(), ["owner"]);
    // It is for others as before, and another account's is its own.
    assert.equal((await admit(identity("b3"))).kind, "admitted");
    assert.equal((await admit(ben, { invitation: "b4" })).kind, "admitted");
  },
);

onPostgres(
  "an invitation from before is accepted while its person is removed",
  async (database) => {
    const { second, people, admit, invite } = await setUp(database);
    // With removals from the first account, sign-ins run one after the other.
    for (const name of ["ann", "ben"]) {
      await invite(second.id, `${name}@example.com`, "owner", name);
    }
    await admit(identity("ann"));
    const ben = personOf(await admit(identity("ben")));
    await invite(second.id, "", "owner", "for anybody");
    const [, admission] = await startInTurn(
      database,
      "select from people where name = 'ben' for update",
      () => people.remove(second.id, ben),
      () => admit(identity("ben"), { invitation: "for anybody" }),
    );
    assert.deepEqual(admission, { kind: "invitation_void" });
    assert.deepEqual((await people.list(second.id)).map(({ person }) => person.name), ["ann"]);
  },
);

eachDatabase("what becomes of a member in one account leaves the others as they are", async (
  database,
) => {
  const { first, second, clock, signIns, people, admit, invite } = await setUp(database);
  const rolesIn = async ({ id }: { id: number }) =>
    new Map((await people.list(id)).map(({ person, role }) => [person.name, role]));
  await invite(first.id, "ann@example.com", "owner", "ann first");
  await invite(second.id, "ann@example.com", "member", "ann second");
  await invite(second.id, "ben@example.com", "owner", "ben");
  const ann = personOf(await admit(identity("ann"), { invitation: "ann first" }));
  await admit(identity("ann"), { invitation: "ann second" });
  const ben = personOf(await admit(identity("ben"), { invitation: "ben" }));
  // Another account's owner is none of this one.
  assert.equal(await people.remove(first.id, ann), "last_owner");
  await admit({ ...identity("ann"), role: "viewer" });
  assert.deepEqual(await rolesIn(first), new Map([["ann", "owner"]]));
  await invite(first.id, "ben@example.com", "owner", "ben first");
  await admit(identity("ben"), { invitation: "ben first" });
  await admit({ ...identity("ann"), role: "viewer" });
  assert.deepEqual(await rolesIn(first), new Map([["ann", "viewer"], ["ben", "owner"]]));
  assert.deepEqual(await rolesIn(second), new Map([["ann", "member"], ["ben", "owner"]]));
  await people.changeRole(first.id, ann, "member");
  await people.changeRole(second.id, ann, "viewer");
  assert.deepEqual(await rolesIn(first), new Map([["ann", "member"], ["ben", "owner"]]));
  await invite(second.id, "cat@example.com", "owner", "cat");
  assert.equal(await people.withdraw(first.id, "invitation cat"), undefined);
  // The later of two invitations of one address is the one.
  await invite(second.id, "cat@example.com", "viewer", "cat later");
  const offers = () =>
    Promise.all(
      ["cat", "cat later"].map((invitationHash) =>
        signIns.offer({ claimHash: null, invitationHash }, clock.now())
      ),
    );
  assert.deepEqual(await offers(), [undefined, { accountName: "second", role: "viewer" }]);
  assert.equal(await people.withdraw(second.id, "invitation cat later"), "cat@example.com");
  assert.deepEqual(await offers(), [undefined, undefined]);
  await people.remove(first.id, ann);
  assert.equal(await people.changeRole(first.id, ann, "member"), "not_found");
  assert.deepEqual(await rolesIn(second), new Map([["ann", "viewer"], ["ben", "owner"]]));
  assert.equal(await people.remove(second.id, ben), "last_owner");
  // Who was removed from another account comes in by their domain all the same.
  await invite(second.id, "dan@example.com", "member", "dan");
  await people.remove(second.id, personOf(await admit(identity("dan"), { invitation: "dan" })));
  assert.equal((await admit(identity("dan"), {}, ["example.com"])).kind, "admitted");
});

onPostgres("an invitation that is withdrawn at the same moment admits nobody", async (database) => {
  const { first, people, admit, invite } = await setUp(database);
  const held = "select from invitations for update";
  for (const links of [{ invitation: "link" }, {}]) {
    await invite(first.id, "ann@example.com", "member", "link");
    const withdraw = () => people.withdraw(first.id, "invitation link");
    const enter = () => admit(identity("ann"), links);
    const [, entered] = await startInTurn(database, held, withdraw, enter);
    assert.notEqual((entered as Admission).kind, "admitted");
  }
});

onPostgres("two owners who remove each other at once leave one", async (database) => {
  const { first, people, admit, invite } = await setUp(database);
  await invite(first.id, "ann@example.com", "owner", "a");
  await invite(first.id, "ben@example.com", "owner", "b");
  const ids = [];
  for (const name of ["ann", "ben"]) {
    ids.push(personOf(await admit(identity(name))));
  }
  // Each has seen two owners when it has to wait.
  const held = "lock table memberships in exclusive mode";
  const removals = ids.map((id) => () => people.remove(first.id, id));
  const [, ended] = await startInTurn(database, held, ...removals);
  assert.equal(ended, "last_owner");
  assert.equal((await people.list(first.id)).length, 1);
});

eachDatabase("a sign-in's state is taken once, and not after its time", async (database) => {
  const { clock, signIns } = await setUp(database);
  const start = (stateHash: string) => ({
    stateHash,
    returnTo: "/dashboard/keys",
    claimHash: null,
    identity: null,
    invitationHash: "i",
    expiresAt: new Date(clock.now().getTime() + 1000),
  });
  for (const one of ["a", "b", "c"]) await signIns.begin(start(one), clock.now());
  const taken = await Promise.all(["a", "a"].map((one) => signIns.take(one, clock.now())));
  assert.deepEqual(taken.filter((one) => one !== undefined), [start("a")]);
  clock.advance(1000);
  assert.equal(await signIns.take("b", clock.now()), undefined);
  await signIns.begin(start("d"), clock.now());
  const left = await database.query("select state_hash from sign_in_states");
  assert.deepEqual(left.map(({ state_hash: hash }) => hash), ["d"]);
});

eachDatabase("who has not agreed joins nothing, and every link still works", async (database) => {
  const { first, second, clock, signIns, people, admit, invite } = await setUp(database);
  await signIns.offerClaim("claim", clock.now());
  await invite(second.id, "ann@example.com", "member", "link");
  const ask = (links: Parameters<typeof admit>[1]) => admit(identity("ann"), links, [], false);
  const asks = { kind: "asks", claimHash: null, invitationHash: "link" };
  assert.deepEqual(await ask({ claim: "claim" }), {
    kind: "asks",
    claimHash: "claim",
    invitationHash: null,
  });
  assert.deepEqual(await ask({ invitation: "link" }), asks);
  assert.deepEqual(await ask({}), asks, "an invitation of the address");
  for (const { id } of [first, second]) assert.deepEqual(await people.list(id), []);
  const links = { claimHash: null, invitationHash: "link" };
  const offer = { accountName: "second", role: "member" } as const;
  await invite(first.id, "cat@example.com", "owner", "cat's");
  const catsLinks = { claimHash: null, invitationHash: "cat's" };
  const catsOffer = { accountName: "first", role: "owner" } as const;
  assert.deepEqual(await signIns.offer(catsLinks, clock.now()), catsOffer);
  assert.equal(
    await signIns.offer({ claimHash: null, invitationHash: "guess" }, clock.now()),
    undefined,
  );
  assert.deepEqual(await signIns.offer(links, clock.now()), offer);
  assert.equal((await admit(identity("ann"), { invitation: "link" })).kind, "admitted");
  assert.equal((await admit(identity("bob"), { claim: "claim" })).kind, "admitted");
  assert.equal(await signIns.offer(links, clock.now()), undefined);
});

eachDatabase(
  "invitations and sign-ins that have ended are deleted with their addresses",
  async (database) => {
    const { first, clock, signIns, invite } = await setUp(database);
    const rows = () =>
      database.query(
        `select email as left_over from invitations union all select state_hash from sign_in_states
       order by 1`,
      );
    const begin = (stateHash: string) =>
      signIns.begin({
        ...{ stateHash, returnTo: "/", claimHash: null, invitationHash: null },
        ...{ identity: identity("ann"), expiresAt: new Date(clock.now().getTime() + 1000) },
      }, clock.now());
    await database.query(
      `insert into invitations (id, account_id, email, role, token_hash, created_at, expires_at)
     select n, $1, n || '@example.com', 'member', n, $2, $3 from generate_series(1, 1200) as n`,
      [first.id, clock.now(), new Date(clock.now().getTime() + 1000)],
    );
    await begin("early");
    clock.advance(1);
    await invite(first.id, "late@example.com", "member", "late");
    clock.advance(999);
    await begin("late");
    await sweepSignIns(database, clock.now());
    assert.deepEqual(await rows(), [{ left_over: "late" }, { left_over: "late@example.com" }]);
    clock.advance(1000);
    await sweepSignIns(database, clock.now());
    assert.deepEqual(await rows(), []);
  },
);

onPostgres(
  "an ended invitation that somebody holds is left to the next run",
  async (database, open) => {
    const { first, clock, invite } = await setUp(database);
    await invite(first.id, "ann@example.com", "member", "a");
    await invite(first.id, "ben@example.com", "member", "b");
    clock.advance(1000);
    const emails = async () =>
      (await database.query("select email from invitations")).map(({ email }) => email);
    const other = await open();
    await other.transaction(async (tx) => {
      await tx.query("select from invitations where email = 'ben@example.com' for update");
      await sweepSignIns(database, clock.now());
      assert.deepEqual(await emails(), ["ben@example.com"]);
    });
    await sweepSignIns(database, clock.now());
    assert.deepEqual(await emails(), []);
  },
);
