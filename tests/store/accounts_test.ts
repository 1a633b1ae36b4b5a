import assert from "@std/assert";
import { allAccounts } from "../../src/keys/account.ts";
import { createAccounts } from "../../src/keys/store/accounts.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import { startInTurn } from "../support/lock_queue.ts";
import { untilOneWaits } from "./samples.ts";

const ours = { name: "ours", tier: "free", requestsPerMinute: 60, burst: 100 } as const;

eachDatabase("an account is found by its id and by its name", async (database) => {
  const accounts = createAccounts(database);
  const account = await accounts.create({ ...ours, name: "Käse 漢" });
  assert.deepEqual({ ...account, id: 0, createdAt: 0 }, {
    ...ours,
    name: "Käse 漢",
    id: 0,
    createdAt: 0,
  });
  assert.ok(Number.isSafeInteger(account.id) && account.createdAt instanceof Date);
  assert.deepEqual(await accounts.find(String(account.id)), account);
  assert.deepEqual(await accounts.find("Käse 漢"), account);
});

eachDatabase("what is no account is found as undefined", async (database) => {
  const accounts = createAccounts(database);
  assert.equal(await accounts.first(), undefined);
  await accounts.create(ours);
  for (
    const wrong of [
      "999",
      "999999999999999999",
      "9".repeat(30),
      "",
      "OURS",
      "ours ",
      "1; --",
      "a\u0000b",
    ]
  ) {
    assert.equal(await accounts.find(wrong), undefined, JSON.stringify(wrong));
  }
});

eachDatabase(
  "the first account stays the first, and the list is in order of making",
  async (database) => {
    const accounts = createAccounts(database);
    const made = [];
    for (const name of ["b", "a", "c"]) made.push(await accounts.create({ ...ours, name }));
    assert.deepEqual(await accounts.first(), made[0]);
    assert.deepEqual(await allAccounts(accounts), made);
  },
);

eachDatabase(
  "a second account of the same name, or one with a limit of 0, is refused",
  async (database) => {
    const accounts = createAccounts(database);
    await accounts.create(ours);
    await assert.rejects(
      accounts.create(ours),
      (thrown: unknown) => (thrown as { code?: string }).code === "23505",
    );
    await assert.rejects(
      accounts.create({ ...ours, name: "other", burst: 0 }),
      (thrown: unknown) => (thrown as { code?: string }).code === "23514",
    );
    assert.equal((await allAccounts(accounts)).length, 1);
  },
);

onPostgres("a change of tier keeps what another one changes at the same moment", async (
  database,
  open,
) => {
  const accounts = createAccounts(database);
  const { id } = await accounts.create(ours);
  const other = createAccounts(await open());
  const changing = await database.transaction(async (tx) => {
    await tx.query("update accounts set burst = 7 where id = $1", [id]);
    let isOver = false;
    const changed = other.setTier(id, (old) => ({ ...old, requestsPerMinute: 30 }))
      .finally(() => isOver = true);
    await untilOneWaits(tx, () => isOver);
    return { changed };
  });
  const changed = await changing.changed;
  assert.deepEqual([changed?.requestsPerMinute, changed?.burst], [30, 7]);
});

onPostgres("a change of tier waits for nobody who only names the account", async (database) => {
  const accounts = createAccounts(database);
  const { id } = await accounts.create(ours);
  const order: string[] = [];
  // As whoever writes a row with the account's id does.
  await startInTurn(
    database,
    "select from accounts for key share",
    () => accounts.setTier(id, (old) => ({ ...old, burst: 7 })).then(() => order.push("tier")),
    () => Promise.resolve(order.push("next")),
  );
  assert.deepEqual(order, ["tier", "next"]);
});
