import assert from "@std/assert";
import { Fault } from "../../src/shared/fault.ts";
import type { Queryable } from "../../src/database/database.ts";
import { createFairReads } from "../../src/database/fair_reads.ts";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { createMigrated, eachDatabase, onPostgres } from "../support/databases.ts";
import { createEvalWork } from "../../src/evals/store/eval_work.ts";
import { openEvalWorld } from "../support/eval_world.ts";
import { request, storeOf } from "./erasing.ts";
import { newAccount } from "./samples.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";

/** Works for about this many times what a page of rows takes. */
const heavy = (database: Queryable) =>
  database.query(
    "select count(*) from generate_series(1, 100000) as n where md5(n::text) < '1'",
    [],
  );

eachDatabase(
  "one account's heavy reads hold up neither another's nor the writers",
  async (database) => {
    const reads = createFairReads(database);
    let done = 0;
    const crowd = Array.from({ length: 15 }, () => heavy(reads.of(1)).then(() => done++));
    const bulk = Array.from({ length: 5 }, () => heavy(reads.inBulk(1)).then(() => done++));
    await new Promise((resolve) => setTimeout(resolve, 100));
    const before = done;
    await reads.of(2).query("select 1", []);
    await database.query("create table written as select 1 as one", []);
    await reads.inBulk(2).query("select 1", []);
    // Whoever comes waits for what is at work, not for what waits.
    assert(done - before <= 12, `${done - before} came first`);
    await Promise.all([...crowd, ...bulk]);
  },
);

eachDatabase("more reads of an account than may wait are refused", async (database) => {
  const reads = createFairReads(database);
  const asked = await Promise.allSettled(
    Array.from({ length: 200 }, () => reads.of(1).query("select 1", [])),
  );
  const refused = asked.flatMap((one) => one.status === "rejected" ? [one.reason] : []);
  assert(refused.length >= 98, `${refused.length}`);
  for (const thrown of refused) {
    assert(thrown instanceof Fault && thrown.code === "rate_limit_exceeded");
  }
});

onPostgres("a read that somebody waits for ends after a time, others go on", async () => {
  const created = await createMigrated();
  const database = await openPostgres(created.url, { readMs: 300 });
  try {
    const reads = createFairReads(database);
    const isAway = (thrown: unknown) =>
      thrown instanceof Fault && thrown.code === "store_unavailable" &&
      /narrow/.test(thrown.message);
    await assert.rejects(reads.of(1).query("select pg_sleep(20)"), isAway);
    assert.equal((await reads.of(1).query("select 1 as one"))[0]?.one, 1);
    await reads.inBulk(1).query("select pg_sleep(0.6)");
    await database.query("select pg_sleep(0.6)");
    await database.ping();
  } finally {
    await database.close();
    await created.drop();
  }
});

eachDatabase(
  "an account with many deletions does not make others wait, and has bounds",
  async (database) => {
    const [many, other] = [await newAccount(database, "many"), await newAccount(database, "other")];
    const store = storeOf(database);
    for (let n = 0; n < 100; n++) {
      await store.add({ ...request(many, { userIds: [`u${n}`] }), deletionId: `m${n}` });
    }
    await assert.rejects(
      store.add({ ...request(many, { userIds: ["v"] }), deletionId: "more" }),
      (thrown: unknown) => thrown instanceof Fault && thrown.code === "rate_limit_exceeded",
    );
    await store.add({ ...request(other, { userIds: ["u"] }), deletionId: "theirs" });
    assert.equal((await store.claim())?.tombstone.accountId, many);
    assert.equal((await store.claim())?.tombstone.deletionId, "theirs");
    assert.equal(await store.claim({ accounts: [many, other] }), undefined);
    assert.equal((await store.claim({ accounts: [other] }))?.tombstone.accountId, many);
  },
);

eachDatabase("an account with many evaluations does not make others wait", async (database) => {
  const world = await openEvalWorld(database);
  await world.store(3);
  const first = await world.create();
  await world.create({ evalRunId: crypto.randomUUID(), requestId: "second" });
  const work = createEvalWork(database, {
    workerId: "us",
    analytics: createAnalyticsStore(database),
  });
  const none = { runs: [], accounts: [] };
  assert.equal(await work.othersWait(none), true);
  assert.equal((await work.claim(none))?.evalRunId, first);
  const other = await newAccount(database, "other");
  await database.query(
    `insert into eval_runs (eval_run_id, created_at, account_id, api_key_id, name, model, filters,
       graders, state, counts, request_id, request_hash)
     select 'theirs', clock_timestamp(), $1, api_key_id, name, model, filters, graders, 'queued',
       counts, 'r', 'h' from eval_runs limit 1`,
    [other],
  );
  const beside = { runs: [first], accounts: [] };
  assert.equal((await work.claim(beside))?.evalRunId, "theirs");
  const both = { runs: [], accounts: [world.accountId, other] };
  assert.equal(await work.othersWait(both), false);
  await world.close();
});
