/** Writers of records and deletions take turns. */
import assert from "@std/assert";
import { lockForWriting } from "../../src/database/erasure_lock.ts";
import { restoreTombstones } from "../../src/erasure/store/restore_tombstones.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { onPostgres } from "../support/databases.ts";
import { untilWaiting } from "../support/lock_queue.ts";
import { within } from "../support/within.ts";
import { fullCall, left, request, storeOf } from "./erasing.ts";
import { newAccount } from "./samples.ts";

onPostgres("records are written while a deletion waits for a long writer", async (database) => {
  const account = await newAccount(database);
  const write = (id: string) =>
    createAnalyticsStore(database).insert([fullCall(account, id, { userId: "ann" })]);
  const written = Promise.withResolvers<void>();
  const longWriter = database.transaction(async (tx) => {
    await lockForWriting(tx);
    await written.promise;
  });
  let isAdded = false;
  const adding = storeOf(database).add(request(account, { userIds: ["ann"] }), "claimed")
    .then(() => isAdded = true);
  let waited: string;
  try {
    await untilWaiting(database, () => 1);
    await within(30_000, write("before"));
    assert.equal(isAdded, false);
    waited = String((await database.query("select clock_timestamp()::text as now", []))[0]!.now);
  } finally {
    written.resolve();
    await Promise.all([longWriter, adding]);
  }
  const claims = await database.query(
    `select held_until >= $1::text::timestamptz + interval '60 s' as is_whole from deletions`,
    [waited],
  );
  assert.deepEqual(claims, [{ is_whole: true }], "the claim begins after the wait");
  await write("after");
  assert.deepEqual(
    (await left(database)).interactions,
    ["before"],
    "the deletion covers the other",
  );
});

onPostgres("a deletion has its turn though there is always a writer", async (database) => {
  const account = await newAccount(database);
  let isAdded = false;
  const writers = [0, 1, 2].map(async (at) => {
    await database.query(`select pg_sleep(${at} * 0.1)`);
    while (!isAdded) {
      await database.transaction(async (tx) => {
        await lockForWriting(tx);
        await tx.query("select pg_sleep(0.3)");
      });
    }
  });
  const adding = storeOf(database).add(request(account, { userIds: ["ann"] }));
  try {
    await within(30_000, adding);
  } finally {
    isAdded = true;
    await Promise.all(writers);
  }
});

for (const isApart of [false, true]) {
  const where = isApart ? ", in two databases" : "";
  onPostgres(
    `a start waits for no writer where no deletion is lost${where}`,
    async (main, open) => {
      // Another connection represents another database: no transaction is shared.
      const analytics = isApart ? createAnalyticsStore(await open(), main) : undefined;
      const account = await newAccount(main);
      const store = storeOf(main, analytics);
      const wanted = request(account, { userIds: ["ann"] });
      const deletion = {
        tombstone: await store.add(wanted, "claimed"),
        selectors: wanted.selectors,
      };
      assert.ok((await store.eraseBatch(deletion)).isLast);
      await store.finish(wanted.deletionId);
      await main.transaction(async (tx) => {
        await lockForWriting(tx);
        assert.equal(await within(60_000, store.restore(deletion.tombstone)), false);
      });
    },
  );
}

onPostgres(
  "a start waits for the locked row of a deletion that it applies again",
  async (database) => {
    const account = await newAccount(database);
    const store = storeOf(database);
    const wanted = request(account, { userIds: ["ann"] });
    const tombstone = await store.add(wanted, "claimed");
    await store.finish(wanted.deletionId);
    await database.query("delete from tombstones");
    const warned: string[] = [];
    let isEnded = false;
    const restoring = await database.transaction(async (tx) => {
      await tx.query("select from deletions for update");
      const all = restoreTombstones(store, [tombstone], { warn: (line) => void warned.push(line) });
      // The caller awaits it later.
      void all.catch(() => {}).finally(() => isEnded = true);
      while (warned.length === 0 && !isEnded) await tx.query("select pg_sleep(0.1)");
      await tx.query("select pg_sleep(1.5)");
      assert.equal(isEnded, false);
      return { all };
    });
    await within(60_000, restoring.all);
    assert.deepEqual(warned, [
      "the start waits for a deletion whose rows another session has locked",
      "a deletion that the database had lost is applied again",
    ]);
    assert.equal((await store.find(account, wanted.deletionId))?.state, "queued");
  },
);
