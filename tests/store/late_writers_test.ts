import assert from "@std/assert";
import type { Database } from "../../src/database/database.ts";
import { lockForWriting } from "../../src/database/erasure_lock.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { createLedger } from "../../src/credit/store/ledger.ts";
import { createRecords } from "../../src/records/store/records.ts";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { Fault } from "../../src/shared/fault.ts";
import { createMigrated, eachDatabase, onPostgres } from "../support/databases.ts";
import { asked, erase, fullCall, left, request, storeOf } from "./erasing.ts";
import { newAccount, untilOneWaits } from "./samples.ts";

eachDatabase("a call that repeats an erased one's words is not written after it", async (db) => {
  const account = await newAccount(db);
  const rows = createAnalyticsStore(db);
  await rows.insert([fullCall(account, "t1"), fullCall(account, "t2")]);
  await erase(db, request(account, { transactionIds: ["t1"] }));
  // As of a call in the background, whose request repeats them until its end.
  await db.query(
    `insert into background_calls (account_id, response_id, transaction_id, created_at, api_key_id,
       state, request) select $1, id, id, $2, 'k', 'in_progress', '{}' from unnest($3::text[]) as id`,
    [account, asked, ["answer 1", "another"]],
  );
  await rows.insert([
    fullCall(account, "answer 1", { sourceCallIds: ["t1"] }),
    fullCall(account, "answer 2", { sourceCallIds: ["t2"] }),
  ]);
  assert.deepEqual((await left(db)).interactions, ["answer 2", "t2"]);
  assert.deepEqual(await db.query("select transaction_id as id from background_calls"), [
    { id: "another" },
  ]);
  // Nor what repeats that one.
  await rows.insert([fullCall(account, "answer 3", { sourceCallIds: ["answer 1"] })]);
  assert.deepEqual((await left(db)).interactions, ["answer 2", "t2"]);
});

eachDatabase("no answer is kept that continues an erased call, and others are", async (db) => {
  const account = await newAccount(db);
  const rows = createAnalyticsStore(db);
  await rows.insert([fullCall(account, "erased")]);
  await erase(db, request(account, { transactionIds: ["erased"] }));
  const continuing = (id: string, source: string) => {
    const call = fullCall(account, id, { createdAt: new Date() });
    call.retained!.response!.sources = [source];
    return call;
  };
  await rows.insert([continuing("one", "erased"), continuing("another", "there")]);
  assert.deepEqual((await left(db)).interactions, ["another", "one"]);
  assert.deepEqual((await left(db)).responses, ["another"]);
});

eachDatabase("of a record so late that nobody knows its sources no answer is kept", async (db) => {
  const account = await newAccount(db);
  const late = (id: string, sources: string[]) => {
    const call = fullCall(account, id, { createdAt: new Date(Date.now() - 8 * 24 * 3_600_000) });
    call.retained!.response!.sources = sources;
    return call;
  };
  await createAnalyticsStore(db).insert([late("first", []), late("second", ["forgotten"])]);
  const kept = await db.query("select transaction_id as id from kept_responses", []);
  assert.deepEqual(kept, [{ id: "first" }]);
});

eachDatabase("a call that ends after its erasure is not written, and is charged", async (db) => {
  const account = await newAccount(db);
  await createLedger(db).grant(account, 1000n);
  const dropped: string[] = [];
  const onDropped = (ids: readonly string[]) => {
    dropped.push(...ids);
    return Promise.resolve();
  };
  const analytics = createAnalyticsStore(db, db, { onDropped });
  const records = createRecords(db, analytics);
  await erase(db, request(account, { userIds: ["ann"] }));
  const late = new Date(asked.getTime() + 1);
  await records.insert([
    fullCall(account, "under way", { userId: "ann", createdAt: asked, chargedNanos: 7n }),
    fullCall(account, "of another", { userId: "bob", createdAt: asked, chargedNanos: 11n }),
    fullCall(account, "later", { userId: "ann", createdAt: late, chargedNanos: 13n }),
  ]);
  assert.deepEqual((await left(db)).interactions, ["later", "of another"]);
  assert.deepEqual((await left(db)).responses, ["later", "of another"]);
  assert.deepEqual(dropped, ["under way"]);
  assert.equal((await createLedger(db).show(account)).balanceNanos, 1000n - 31n);
});

onTwoDatabases(
  "with two databases nothing is kept of a call that is erased between their transactions",
  async (main, rows) => {
    const account = await newAccount(main);
    const continued = (id: string, source: string) => {
      const call = fullCall(account, id);
      const response = { ...call.retained!.response!, sources: [source] };
      return { ...call, retained: { ...call.retained!, response } };
    };
    for (const isRetried of [true, false]) {
      const id = isRetried ? "retried" : "written";
      const batch = [fullCall(account, id, { userId: id }), continued(`after ${id}`, id)];
      const erasing: Database = {
        ...rows,
        async transaction(work) {
          await erase(
            main,
            request(account, { userIds: [id] }),
            createAnalyticsStore(rows, main),
          );
          if (isRetried) throw new Fault("store_unavailable");
          return await rows.transaction(work);
        },
      };
      const first = createAnalyticsStore(erasing, main).insert(batch);
      if (isRetried) {
        await assert.rejects(first, Fault);
        await createAnalyticsStore(rows, main).insert(batch);
      } else await first;
      const { responses, reasoning } = await left(main);
      assert.deepEqual(responses, [], id);
      assert.ok(!reasoning!.includes(id), id);
      assert.ok(!(await left(rows)).interactions!.includes(id), id);
      // Nor is what continues it later.
      await createAnalyticsStore(rows, main).insert([continued(`later than ${id}`, id)]);
      assert.deepEqual((await left(main)).responses, [], id);
    }
  },
);

onTwoDatabases(
  "with two databases nothing comes back of a call that was erased with another",
  async (main, rows) => {
    const account = await newAccount(main);
    const analytics = createAnalyticsStore(rows, main);
    // The grading of a call, say: the deletion does not name it.
    const graded = fullCall(account, "graded");
    await analytics.insert([graded]);
    await analytics.erase(await analytics.keysOf(account, ["graded"]));
    await analytics.insert([graded]);
    assert.deepEqual((await left(rows)).interactions, []);

    const away: Database = {
      ...rows,
      transaction: () => Promise.reject(new Fault("store_unavailable")),
    };
    const repeating = fullCall(account, "repeating", { sourceCallIds: ["source"] });
    await analytics.insert([fullCall(account, "source")]);
    await assert.rejects(createAnalyticsStore(away, main).insert([repeating]), Fault);
    await erase(main, request(account, { transactionIds: ["source"] }), analytics);
    assert.deepEqual((await left(main)).responses, ["repeating"], "its row was not written");
    await assert.rejects(createAnalyticsStore(away, main).insert([repeating]), Fault);
    const { responses, reasoning } = await left(main);
    assert.deepEqual([responses, reasoning], [[], []]);
  },
);

onTwoDatabases(
  "with two databases a call that repeats one is not written while that is being erased",
  async (main, rows) => {
    const account = await newAccount(main);
    const analytics = createAnalyticsStore(rows, main);
    await analytics.insert([fullCall(account, "source")]);
    // The main database has noted the erasure, the rows' one has not.
    const erasing: typeof analytics = {
      ...analytics,
      async erase(calls) {
        await analytics.insert([fullCall(account, "repeating", { sourceCallIds: ["source"] })]);
        return await analytics.erase(calls);
      },
    };
    await erase(main, request(account, { transactionIds: ["source"] }), erasing);
    const { interactions, payloads } = await left(rows);
    assert.deepEqual([interactions, payloads], [[], []]);
    assert.deepEqual((await left(main)).responses, []);
  },
);

eachDatabase("a restored store is told again, and erases by the tombstone alone", async (db) => {
  const account = await newAccount(db);
  const rows = createAnalyticsStore(db);
  const backup = [
    fullCall(account, "a1", { userId: "ann", sessionId: "s1" }),
    fullCall(account, "a2", { userId: "ann", sessionId: "s2" }),
    fullCall(account, "b1", { userId: "bob", sessionId: "s1" }),
  ];
  await rows.insert(backup);
  const store = storeOf(db);
  const tombstone = await store.add(request(account, { userIds: ["ann"], sessionIds: ["s1"] }));
  await db.query("delete from deletions; delete from tombstones; delete from erased_calls");
  assert.equal(await store.restore(tombstone), true);
  assert.equal(await store.restore(tombstone), false, "once");
  const claimed = (await store.claim())!;
  assert.equal(claimed.selectors, null);
  while (!(await store.eraseBatch(claimed)).isLast);
  await store.finish(tombstone.deletionId);
  assert.deepEqual((await left(db)).interactions, ["a2", "b1"]);
  const receipt = await store.find(account, tombstone.deletionId);
  assert.equal(receipt?.counts.interactions, 1);
  assert.equal(receipt?.selectorsHash, tombstone.selectorsHash);
});

onPostgres("a deletion waits for records that are being written", async (db, open) => {
  const account = await newAccount(db);
  const writer = await open();
  let isAdded = false;
  const adding = await writer.transaction(async (tx) => {
    await lockForWriting(tx);
    const added = storeOf(db).add(request(account, { end: asked })).then(() => isAdded = true);
    await untilOneWaits(tx, () => isAdded);
    assert.equal(isAdded, false, "a record is written that no erasure sees");
    // Not awaited by the transaction that it waits for.
    return { added };
  });
  assert.ok(await adding.added);
});

/** Whoever writes then has looked at its sources, which are all there, and is not written yet. */
async function stepWaits(
  main: Database,
  writer: Database,
  analytics = createAnalyticsStore(main),
): Promise<void> {
  const wanted = request(await newAccount(main), { userIds: ["ann"] });
  const store = storeOf(main, analytics);
  const deletion = { tombstone: await store.add(wanted, "claimed"), selectors: wanted.selectors };
  let isErased = false;
  const erasing = await writer.transaction(async (tx) => {
    await lockForWriting(tx);
    const erased = store.eraseBatch(deletion).then(() => isErased = true);
    await untilOneWaits(tx, () => isErased);
    assert.equal(isErased, false, "a record is written that no step sees");
    return { erased };
  });
  assert.ok(await erasing.erased);
}

onPostgres(
  "a step of an erasure waits for records that are being written",
  async (database, open) => await stepWaits(database, await open()),
);

onTwoDatabases(
  "with two databases a step waits for what is being written to the main one",
  async (main, rows, open) => await stepWaits(main, await open(), createAnalyticsStore(rows, main)),
);

onPostgres(
  "rows that are written while they are erased are gone afterwards, from any process",
  async (database, open) => {
    const account = await newAccount(database);
    const writers = await Promise.all(Array.from({ length: 4 }, () => open()));
    for (let round = 0; round < 5; round++) {
      const userId = `user ${round}`;
      let hasAnswered = false;
      let written = 0;
      const write = async (writer: Database, name: number) => {
        const rows = createAnalyticsStore(writer);
        // Each continues for a while after the deletion was answered.
        for (let more = 0, after = 0; after < 5; more++) {
          if (hasAnswered) after++;
          const id = `${round}-${name}-${more}`;
          await rows.insert([fullCall(account, id, { userId }), fullCall(account, `${id}b`)]);
          written++;
        }
      };
      const writing = writers.map(write);
      while (written < 20) await database.query("select 1", []);
      await erase(database, request(account, { userIds: [userId] }));
      const [row] = await database.query(
        "select count(*) as count from interactions where user_id = $1",
        [userId],
      );
      assert.equal(Number(row!.count), 0, "right after the answer");
      hasAnswered = true;
      await Promise.all(writing);
      const [still] = await database.query(
        `select count(*) filter (where user_id = $1) as theirs, count(*) as all,
           (select count(*) from kept_responses) as kept from interactions`,
        [userId],
      );
      assert.equal(Number(still!.theirs), 0, "after the last writer");
      assert.equal(still!.kept, still!.all, "nothing is kept of them");
      assert.ok(written > 20);
    }
  },
);

/** Runs a test with a main database and one of the rows. */
function onTwoDatabases(
  name: string,
  run: (main: Database, rows: Database, open: () => Promise<Database>) => Promise<void>,
): void {
  onPostgres(name, async (main, open) => {
    const created = await createMigrated();
    const rows = await openPostgres(created.url);
    try {
      await run(main, rows, open);
    } finally {
      await rows.close();
      await created.drop();
    }
  });
}
