import assert from "@std/assert";
import { sha256Hex } from "../../src/base/hash.ts";
import { createCohorts } from "../../src/cohorts/store/cohorts.ts";
import type { Database } from "../../src/database/database.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { createRetention } from "../../src/erasure/store/retention.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import { collect, interaction, newAccount, observed } from "./samples.ts";

const day = 24 * 60 * 60 * 1000;
const limit = new Date("2026-10-15T12:00:00.000Z");
const before = (days: number) => new Date(limit.getTime() - days * day);
const justBefore = new Date(limit.getTime() - 1);

/** Ages of calls: months before, in the limit's month, right before, at it, after it. */
const ages = {
  ancient: new Date("2025-01-31T23:59:59.999Z"),
  old: before(40),
  month: before(10),
  edge: justBefore,
  kept: limit,
  young: before(-3),
} as const;

async function fill(database: Database): Promise<number> {
  const accountId = await newAccount(database);
  const content = (fill: number) => new Uint8Array(70_000).fill(fill);
  await createAnalyticsStore(database).insert(
    Object.entries(ages).map(([id, createdAt], n) =>
      interaction(accountId, id, {
        createdAt,
        requestText: `"${id}"`,
        media: [{ sha256: sha256Hex(content(n)), mimeType: "image/png", content: content(n) }],
        retained: {
          response: {
            responseId: id,
            inputItemsText: "[]",
            answerText: "{}",
            itemIds: [],
            sources: [],
          },
          reasoning: [{ callId: id, reasoningText: "{}" }],
        },
      })
    ),
  );
  for (const [id, createdAt] of Object.entries(ages)) {
    await database.query(
      `insert into background_calls (account_id, response_id, transaction_id, created_at,
         api_key_id, state) values ($1, $2, $2, $3, 'k', 'completed')`,
      [accountId, id, createdAt],
    );
    await database.query(
      `insert into cached_answers (account_id, transaction_id, key, created_at, stored_at, until,
         status, headers, body, streamed, vendor, model, translation_loss, bytes)
       values ($1, $2, $2, $3, $3, 'infinity', 200, '{}', '', false, 'v', 'm', '{}', 0)`,
      [accountId, id, createdAt],
    );
  }
  for (const run of ["old", "young"] as const) {
    await database.query(
      `insert into eval_runs (eval_run_id, created_at, account_id, api_key_id, model, filters,
         graders, state, counts) values ($1, $2, $3, 'k', 'm', '{}', '[]', 'done', '{}')`,
      [run, ages[run], accountId],
    );
  }
  for (const id of ["month", "young"]) {
    await database.query(
      `insert into eval_results (eval_run_id, created_at, account_id, transaction_id, grader_index,
         grader, passed, detail) values ('young', $1, $2, $3, 0, '{}', true, 'said')`,
      [ages.young, accountId, id],
    );
  }
  return accountId;
}

async function ids(database: Database, table: string, column = "transaction_id") {
  const rows = await database.query(`select ${column} as id from ${table} order by created_at`);
  return rows.map(({ id }) => id);
}

async function months(database: Database, table: string): Promise<string[]> {
  const rows = await database.query(
    `select relname as name from pg_class join pg_inherits on inhrelid = oid
     where inhparent = $1::text::regclass and relname < $1 || '_2026_11' order by 1`,
    [table],
  );
  return rows.map(({ name }) => String(name).slice(table.length + 1));
}

eachDatabase(
  "payloads go to the millisecond, with what is like them; rows stay",
  async (database) => {
    const accountId = await fill(database);
    const retention = createRetention(database, createAnalyticsStore(database));
    assert.ok(Math.abs(Date.now() - (await retention.now()).getTime()) < 60_000);
    const counts = await retention.erasePayloads(limit);
    assert.deepEqual(counts, {
      partitions: 2,
      payloads: 2,
      mediaRefs: 4,
      storedResponses: 4,
      storedReasoning: 4,
      evalDetails: 1,
    });
    const left = ["kept", "young"];
    for (
      const table of [
        ...["interaction_payloads", "media_refs", "kept_responses", "kept_reasoning"],
        ...["background_calls", "cached_answers"],
      ]
    ) assert.deepEqual(await ids(database, table), left, table);
    assert.equal((await database.query("select 1 as x from media")).length, 2);
    assert.deepEqual(await months(database, "interaction_payloads"), ["2026_10"]);
    const details = await database.query(
      "select transaction_id, detail from eval_results order by 1",
    );
    assert.deepEqual(details, [
      { transaction_id: "month", detail: null },
      { transaction_id: "young", detail: "said" },
    ]);
    const rows = await collect(createAnalyticsStore(database).read({ accountId }));
    assert.deepEqual(
      rows.map(({ transactionId, requestText }) => [transactionId, requestText]),
      Object.keys(ages).map((id) => [id, left.includes(id) ? `"${id}"` : null]),
    );
  },
);

eachDatabase("usage rows go to the millisecond, with evaluations of them", async (database) => {
  await fill(database);
  const retention = createRetention(database, createAnalyticsStore(database));
  const counts = await retention.eraseUsage(limit);
  assert.deepEqual(counts, { partitions: 2, interactions: 2, evalRuns: 1, evalResults: 1 });
  assert.deepEqual(await ids(database, "interactions"), ["kept", "young"]);
  assert.deepEqual(await months(database, "interactions"), ["2026_10"]);
  assert.deepEqual(await ids(database, "eval_runs", "eval_run_id"), ["young"]);
  assert.deepEqual(await ids(database, "eval_results"), ["young"]);
  const again = await retention.eraseUsage(limit);
  assert.deepEqual(again, { partitions: 0, interactions: 0, evalRuns: 0, evalResults: 0 });
});

eachDatabase("many rows of one month go, and none of the others", async (database) => {
  const accountId = await newAccount(database);
  const interactions = createAnalyticsStore(database);
  for (let batch = 0; batch < 12; batch++) {
    await interactions.insert(
      Array.from({ length: 500 }, (_, n) =>
        interaction(accountId, `${batch}-${n}`, {
          createdAt: new Date(limit.getTime() + (n % 2 === 0 ? -1 - n : n)),
          requestText: JSON.stringify("x".repeat(1500)),
        })),
    );
  }
  const counts = await createRetention(database, createAnalyticsStore(database)).erasePayloads(
    limit,
  );
  assert.equal(counts?.payloads, 3000);
  assert.equal((await ids(database, "interaction_payloads")).length, 3000);
});

onPostgres("payloads go in steps, for which erasures and writers wait", async (database) => {
  await database.query("select open_month($1)", [before(10)]);
  await database.query(
    `insert into interaction_payloads (transaction_id, created_at, request)
     select i, $1, '{}' from generate_series(1, 5000) i`,
    [before(10)],
  );
  const steps: number[] = [];
  const counted = observed(database, (rows, text) => {
    if (text.startsWith("delete from interaction_payloads")) steps.push(rows.length);
  });
  await createAnalyticsStore(counted).erasePayloadsBefore(limit);
  assert.equal(steps.reduce((sum, rows) => sum + rows, 0), 5000);
  assert.ok(Math.max(...steps) <= 1500, `${steps}`);
});

onPostgres("one process erases at a time", async (database, open) => {
  await fill(database);
  const other = await open();
  await database.transaction(async (tx) => {
    await tx.query("select pg_advisory_xact_lock(7305112604913)");
    assert.equal(
      await createRetention(other, createAnalyticsStore(other)).erasePayloads(limit),
      undefined,
    );
    assert.equal(
      await createRetention(other, createAnalyticsStore(other)).eraseUsage(limit),
      undefined,
    );
  });
  assert.equal((await ids(database, "interactions")).length, 6);
  const counts = await Promise.all([
    createRetention(database, createAnalyticsStore(database)).eraseUsage(limit),
    createRetention(other, createAnalyticsStore(other)).eraseUsage(limit),
  ]);
  assert.ok(counts.some((one) => one !== undefined));
});

onPostgres(
  "a table that is locked keeps its old rows, and no other table does",
  async (database, open) => {
    await fill(database);
    const other = await open();
    const retention = createRetention(other, createAnalyticsStore(other));
    await database.transaction(async (tx) => {
      await tx.query("lock table background_calls");
      const payloads = await retention.erasePayloads(limit);
      assert.ok(payloads && payloads.storedReasoning > 0, JSON.stringify(payloads));
    });
    assert.deepEqual(await ids(database, "kept_reasoning"), ["kept", "young"]);
    assert.equal((await ids(database, "background_calls")).length, 6);
    await retention.erasePayloads(limit);
    assert.deepEqual(await ids(database, "background_calls"), ["kept", "young"]);
  },
);

onPostgres(
  "a partition that is being read is emptied, and dropped later",
  async (database, open) => {
    await fill(database);
    const other = await open();
    await database.transaction(async (tx) => {
      await tx.query("select count(*) from interactions_2025_01");
      const counts = await createRetention(other, createAnalyticsStore(other)).eraseUsage(limit);
      assert.deepEqual([counts?.partitions, counts?.interactions], [1, 3]);
    });
    assert.equal(
      (await createRetention(other, createAnalyticsStore(other)).eraseUsage(limit))?.partitions,
      1,
    );
    assert.deepEqual(await months(database, "interactions"), ["2026_10"]);
  },
);

eachDatabase("outcomes stay, and lose the names of calls that are gone", async (database) => {
  const accountId = await fill(database);
  const items = Object.keys(ages).map((age) => (
    { type: "clicks", label: null, valueNanos: 1n, itemId: age, transactionId: age, sessionId: age }
  ));
  const post = { accountId, apiKeyId: "k", cohortId: "c", requestId: "r", items };
  await createCohorts(database, createAnalyticsStore(database)).post(post);
  for (const [age, at] of Object.entries(ages)) {
    await database.query("update cohort_outcomes set created_at = $1 where item_id = $2", [
      at,
      age,
    ]);
  }
  const retention = createRetention(database, createAnalyticsStore(database));
  await retention.erasePayloads(limit);
  const linked = async () =>
    (await database.query(
      `select item_id as id from cohort_outcomes
       where session_id is not null and transaction_id is not null order by created_at`,
    )).map(({ id }) => id);
  assert.equal((await linked()).length, items.length);
  await retention.eraseUsage(limit);
  assert.deepEqual(await linked(), ["kept", "young"]);
  assert.equal((await ids(database, "cohort_outcomes", "item_id")).length, items.length);
});
