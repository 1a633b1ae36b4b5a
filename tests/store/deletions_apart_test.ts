/** Deletions where calls have a database of their own. */
import assert from "@std/assert";
import type { Database } from "../../src/database/database.ts";
import { Fault } from "../../src/shared/fault.ts";
import { createDeletions } from "../../src/erasure/store/deletions.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { migrate } from "../../src/database/migrate.ts";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { onPostgres, productMigrations } from "../support/databases.ts";
import { startPostgres } from "../support/postgres.ts";
import {
  asked,
  evalCall,
  evaluate,
  fullCall,
  left,
  request,
  startRun,
  storeOf,
} from "./erasing.ts";
import { newAccount } from "./samples.ts";

onPostgres("records in a database of their own go with what hangs on them in the other", async (
  main,
) => {
  const created = await (await startPostgres()).createDatabase();
  const records = await openPostgres(created.url);
  await migrate(records, await productMigrations());
  const account = await newAccount(main);
  assert.equal(await newAccount(records), account, "rows refer to it");
  const call = fullCall(account, "t1", { userId: "ann" });
  const rows = [call, fullCall(account, "t2"), fullCall(account, "answer of t1")];
  for (const database of [main, records]) await createAnalyticsStore(database).insert(rows);
  await evaluate(main, account, "t1", "answer of t1");
  // What of each table stands in the other database.
  await main.query("delete from interactions; delete from interaction_payloads");
  await records.query("delete from kept_responses; delete from kept_reasoning");
  const store = createDeletions({ main, analytics: createAnalyticsStore(records, main) }, {
    newSalt: () => "salt",
    workerId: "a/1",
  });
  const wanted = request(account, { userIds: ["ann"] });
  const expected = { interactions: 2, eval_runs: 0, eval_results: 1 };
  assert.deepEqual(await store.count(wanted), expected);
  const deletion = { tombstone: await store.add(wanted, "claimed"), selectors: wanted.selectors };
  while (!(await store.eraseBatch(deletion)).isLast);
  assert.deepEqual((await store.find(account, wanted.deletionId))?.counts, expected);
  assert.deepEqual((await left(records)).payloads, ["t2"]);
  assert.deepEqual((await left(records)).interactions, ["t2"]);
  assert.deepEqual((await left(main)).responses, ["t2"]);
  assert.deepEqual((await left(main)).results, []);
  for (const database of [main, records]) {
    await createAnalyticsStore(database).insert([{ ...call, transactionId: "late" }]);
    assert.ok(!(await left(database)).interactions?.includes("late"));
  }
  await records.close();
  await created.drop();
});

onPostgres("what runs made goes though the database of the calls is away in between", async (
  main,
) => {
  const created = await (await startPostgres()).createDatabase();
  const records = await openPostgres(created.url);
  try {
    await migrate(records, await productMigrations());
    const account = await newAccount(main);
    const analytics = createAnalyticsStore(records, main);
    const times = {
      start: new Date("2026-11-21T00:00:00Z"),
      end: new Date("2026-11-22T00:00:00Z"),
    };
    for (const selectors of [{ transactionIds: ["t1"] }, times]) {
      await main.query("delete from erased_calls; delete from tombstones; delete from eval_runs");
      await records.query("delete from erased_calls; delete from tombstones");
      const createdAt = new Date("2026-11-23T10:00:00Z");
      await analytics.insert([
        fullCall(account, "t1"),
        evalCall(account, "failed try of t1", "run/0", { createdAt }),
        evalCall(account, "answer of t1", "run/0", { createdAt }),
      ]);
      await startRun(main, account, { evalRunId: "run", createdAt: asked, ids: ["t1"] });
      await main.query(
        `insert into eval_results (eval_run_id, created_at, account_id, transaction_id,
           answer_transaction_id, grader_index, grader)
         values ('run', $2, $1, 't1', 'answer of t1', 0, '{}')`,
        [account, createdAt],
      );
      const away = { ...analytics, erase: () => Promise.reject(new Fault("store_unavailable")) };
      const wanted = request(account, selectors);
      const expected = {
        interactions: 3,
        eval_runs: "start" in selectors ? 1 : 0,
        eval_results: 1,
      };
      assert.deepEqual(await storeOf(main, analytics).count(wanted), expected);
      const tombstone = await storeOf(main, analytics).add(wanted, "claimed");
      const deletion = { tombstone, selectors };
      await assert.rejects(storeOf(main, away).eraseBatch(deletion), Fault);
      while (!(await storeOf(main, analytics).eraseBatch(deletion)).isLast);
      const receipt = await storeOf(main, analytics).find(account, wanted.deletionId);
      assert.deepEqual(receipt?.counts, expected);
      assert.deepEqual((await left(records)).interactions, []);
    }
  } finally {
    await records.close();
    await created.drop();
  }
});

onPostgres(
  "what went counts though the main database is away right after it",
  async (main, open) => {
    // Another connection represents another database: no transaction is shared.
    const analytics = createAnalyticsStore(await open(), main);
    const account = await newAccount(main);
    await analytics.insert([fullCall(account, "t1"), fullCall(account, "t2")]);
    const wanted = request(account, { transactionIds: ["t1", "t2"] });
    const deletion = {
      tombstone: await storeOf(main, analytics).add(wanted, "claimed"),
      selectors: wanted.selectors,
    };
    let isAway = false;
    const cut: Database = {
      ...main,
      transaction: (...args) =>
        isAway ? Promise.reject(new Fault("store_unavailable")) : main.transaction(...args),
    };
    const erasing = {
      ...analytics,
      erase: async (...args: Parameters<typeof analytics.erase>) => {
        const erased = await analytics.erase(...args);
        isAway = true;
        return erased;
      },
    };
    await storeOf(cut, erasing).eraseBatch(deletion).catch(() => {});
    assert.deepEqual((await left(main)).interactions, []);
    const store = storeOf(main, analytics);
    while (!(await store.eraseBatch(deletion)).isLast);
    const receipt = await store.find(account, wanted.deletionId);
    assert.deepEqual(receipt?.counts, { interactions: 2, eval_runs: 0, eval_results: 0 });
    // Otherwise exports that hold these calls would stay.
    const span = await store.erasedSpan(wanted.deletionId);
    assert.deepEqual(span?.tables, ["interactions"]);
  },
);

onPostgres(
  "rows that only an older backup of their own database brings back are erased again",
  async (
    main,
  ) => {
    const created = await (await startPostgres()).createDatabase();
    const records = await openPostgres(created.url);
    try {
      await migrate(records, await productMigrations());
      const account = await newAccount(main);
      const analytics = createAnalyticsStore(records, main);
      const store = storeOf(main, analytics);
      const rows = [fullCall(account, "t1", { userId: "ann" }), fullCall(account, "t2")];
      await analytics.insert(rows);
      const wanted = request(account, { userIds: ["ann"] });
      const tombstone = await store.add(wanted, "claimed");
      const done = { tombstone, selectors: wanted.selectors };
      assert.equal(
        await store.restore(tombstone),
        false,
        "one that is still to be done isn't lost",
      );
      assert.equal((await store.find(account, wanted.deletionId))?.state, "running");
      while (!(await store.eraseBatch(done)).isLast);
      await store.finish(wanted.deletionId);
      assert.equal(await store.restore(tombstone), false, "nothing is lost");

      // An empty database, as where interactions get one of their own, holds nothing to erase.
      for (const table of ["tombstones", "erased_calls", "interactions", "interaction_payloads"]) {
        await records.query(`delete from ${table}`);
      }
      assert.equal(await store.restore(tombstone), false, "there is nothing to erase");

      // As the backup has it: with the call, and without the deletion that the main database has.
      await records.query("delete from tombstones");
      await analytics.insert(rows);
      const cutOff = storeOf(main, {
        ...analytics,
        addTombstone: () => Promise.reject(new Fault("store_unavailable")),
      });
      await assert.rejects(cutOff.restore(tombstone), Fault);
      assert.equal(await store.restore(tombstone), false, "it is queued already");
      const again = await store.claim();
      assert.equal(again?.tombstone.deletionId, wanted.deletionId);
      while (!(await store.eraseBatch(again!)).isLast);
      assert.deepEqual((await left(records)).interactions, ["t2"]);
    } finally {
      await records.close();
      await created.drop();
    }
  },
);
