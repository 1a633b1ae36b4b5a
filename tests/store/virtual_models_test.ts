import assert from "@std/assert";
import type { Database } from "../../src/database/database.ts";
import { createVirtualModelStore } from "../../src/routing/store/virtual_models.ts";
import {
  type VirtualModelDefinition,
  virtualModelLimits,
} from "../../src/routing/virtual_model.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import { startInTurn } from "../support/lock_queue.ts";
import { newAccount } from "./samples.ts";

const to = (model: string): VirtualModelDefinition => ({
  targets: [{ model, weight: 3 }],
  fallbacks: ["openai/b"],
  stickBy: "user",
});

/** Account and name → the first target's model, or null where it was removed. */
async function changes(database: Database, since: Date | null) {
  const look = await createVirtualModelStore(database).changedSince(since);
  return Object.fromEntries(
    look.changes.map(({ accountId, name, definition }) => [
      ...[`${accountId} ${name}`, definition?.targets[0]?.model ?? null],
    ]),
  );
}

eachDatabase(
  "a virtual model comes back as it was set, and is replaced as a whole",
  async (database) => {
    const account = await newAccount(database);
    const other = await newAccount(database, "other");
    const store = createVirtualModelStore(database);
    const first = (await store.set(account, "fast", to("openai/a")))!;
    assert.deepEqual(
      [first.accountId, first.name, first.definition],
      [account, "fast", to("openai/a")],
    );
    assert.deepEqual(await store.list(), [first]);
    await store.set(other, "fast", to("openai/theirs"));
    const plain: VirtualModelDefinition = { targets: [{ model: "x/y", weight: 1 }], fallbacks: [] };
    const second = (await store.set(account, "fast", plain))!;
    assert.deepEqual(second.definition, plain);
    assert.deepEqual(second.createdAt, first.createdAt);
    assert.ok(second.updatedAt > first.updatedAt);
    assert.deepEqual(await store.list(account), [second]);
    assert.deepEqual((await store.list()).map(({ accountId }) => accountId), [account, other]);
  },
);

eachDatabase(
  "a removed one is gone, once, and others learn of it until it is forgotten",
  async (database) => {
    const account = await newAccount(database);
    const store = createVirtualModelStore(database);
    await store.set(account, "fast", to("openai/a"));
    await store.set(account, "slow", to("openai/b"));
    // A time is read to the millisecond, and what changed in that one counts.
    await new Promise((resolve) => setTimeout(resolve, 2));
    const { now } = await store.changedSince(null);
    assert.equal(await store.remove(account, "fast"), true);
    assert.equal(await store.remove(account, "fast"), false);
    assert.equal(await store.remove(account + 1, "slow"), false);
    assert.deepEqual(await changes(database, now), { [`${account} fast`]: null });
    assert.deepEqual(await changes(database, null), { [`${account} slow`]: "openai/b" });
    assert.deepEqual((await store.list()).map(({ name }) => name), ["slow"]);
    await store.forgetRemoved(60);
    assert.deepEqual(await changes(database, now), { [`${account} fast`]: null });
    await database.query(
      "update virtual_models set updated_at = updated_at - interval '61 minutes'",
    );
    await store.forgetRemoved(60);
    const [row] = await database.query("select count(*)::int as rows from virtual_models");
    assert.equal(row!.rows, 1, "only the removed one");
    const again = (await store.set(account, "fast", to("openai/c")))!;
    assert.ok(again.createdAt > now, "made anew");
  },
);

eachDatabase("what is done is noted with it, and what isn't done is not", async (database) => {
  const account = await newAccount(database);
  const store = createVirtualModelStore(database);
  const note = (action: string) => ({
    ...{ accountId: account, actor: { personId: null, name: "ann" }, action },
    ...{ subject: "fast", detail: "", at: new Date() },
  });
  await store.set(account, "fast", to("openai/a"), note("set"));
  await store.remove(account, "nothing", note("not removed"));
  await store.remove(account, "fast", note("removed"));
  const rows = await database.query("select action from audit_log order by id");
  assert.deepEqual(rows.map(({ action }) => action), ["set", "removed"]);
});

eachDatabase("an account has a bound; replacing one and others' don't count", async (database) => {
  const account = await newAccount(database);
  const other = await newAccount(database, "other");
  const { perAccount } = virtualModelLimits;
  await database.query(
    `insert into virtual_models (account_id, name, definition)
     select $1, 'm' || n, $2 from generate_series(1, $3::int) n`,
    [account, JSON.stringify(to("openai/a")), perAccount],
  );
  const store = createVirtualModelStore(database);
  assert.equal(await store.set(account, "one-more", to("openai/a")), undefined);
  assert.equal((await store.set(account, "m1", to("openai/b")))?.name, "m1");
  assert.equal((await store.set(other, "one-more", to("openai/a")))?.name, "one-more");
  await store.remove(account, "m2");
  assert.equal((await store.set(account, "one-more", to("openai/a")))?.name, "one-more");
});

onPostgres("two that are made at the same moment keep the bound", async (database) => {
  const account = await newAccount(database);
  await database.query(
    `insert into virtual_models (account_id, name, definition)
     select $1, 'm' || n, $2 from generate_series(1, $3::int) n`,
    [account, JSON.stringify(to("openai/a")), virtualModelLimits.perAccount - 1],
  );
  const store = createVirtualModelStore(database);
  const acts = ["one", "two"].map((name) => () => store.set(account, name, to("openai/a")));
  const made = await startInTurn(database, "select from accounts for update", ...acts);
  assert.deepEqual(made.map((one) => (one as { name: string } | undefined)?.name), [
    "one",
    undefined,
  ]);
});
