import assert from "@std/assert";
import type { OutcomeItem } from "../../src/cohorts/cohort.ts";
import { Fault } from "../../src/shared/fault.ts";
import { createCohorts } from "../../src/cohorts/store/cohorts.ts";
import type { Database } from "../../src/database/database.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { eachDatabase } from "../support/databases.ts";
import { interaction, newAccount } from "./samples.ts";

function item(type: string, value: number, more: Partial<OutcomeItem> = {}): OutcomeItem {
  return {
    ...{ type, label: null, valueNanos: BigInt(Math.round(value * 1e9)), itemId: null },
    ...{ transactionId: null, sessionId: null },
    ...more,
  };
}

function poster(database: Database, accountId: number) {
  const cohorts = createCohorts(database, createAnalyticsStore(database));
  return (items: readonly OutcomeItem[], requestId: string = crypto.randomUUID(), cohortId = "c") =>
    cohorts.post({ accountId, apiKeyId: "key_1", cohortId, requestId, items });
}

async function outcomesOf(database: Database, accountId: number, cohortId = "c") {
  const [sums] = await createCohorts(database, createAnalyticsStore(database)).read(accountId, [
    cohortId,
  ]);
  return sums!.outcomes.map(({ type, label, count, sum }) => [type, label, count, sum]);
}

const conflict = (thrown: unknown) =>
  thrown instanceof Fault && thrown.code === "idempotency_conflict";

eachDatabase(
  "items are summed by type and label, exactly, before any call is there",
  async (database) => {
    const account = await newAccount(database);
    const post = poster(database, account);
    const huge = item("revenue", 0, { label: "eu", valueNanos: 10n ** 18n - 1n });
    assert.deepEqual(
      await post([item("clicks", 1), item("clicks", 2.5), huge, huge, item("revenue", -1)]),
      { accepted: 5, repeated: false },
    );
    assert.deepEqual(await outcomesOf(database, account), [
      ["clicks", null, 2n, 3_500_000_000n],
      ["revenue", null, 1n, -1_000_000_000n],
      ["revenue", "eu", 2n, 2n * 10n ** 18n - 2n],
    ]);
  },
);

eachDatabase(
  "a repeated request adds nothing for a day; with another body it is a conflict",
  async (database) => {
    const account = await newAccount(database);
    const other = await newAccount(database, "other");
    const post = poster(database, account);
    const items = [item("clicks", 1), item("clicks", 1)];
    assert.deepEqual(await post(items, "r-1"), { accepted: 2, repeated: false });
    assert.deepEqual(await post(items, "r-1"), { accepted: 2, repeated: true });
    await assert.rejects(post([item("clicks", 2)], "r-1"), conflict);
    await assert.rejects(post(items, "r-1", "another cohort"), conflict);
    // The id is the account's own.
    assert.equal((await poster(database, other)(items, "r-1")).repeated, false);
    assert.deepEqual(await outcomesOf(database, account), [["clicks", null, 2n, 2_000_000_000n]]);
    await database.query(
      "update cohort_outcomes set created_at = created_at - interval '25 hours'",
    );
    assert.deepEqual(await post([item("clicks", 3)], "r-1"), { accepted: 1, repeated: false });
  },
);

eachDatabase(
  "of thousands of labels the most frequent are listed, and all are counted",
  async (database) => {
    const account = await newAccount(database);
    const post = poster(database, account);
    const few = [item("clicks", 1, { label: "often" }), item("revenue", 2, { label: "often" })];
    await post([...few, ...few]);
    for (const [type, value] of [["clicks", 3], ["revenue", 5]] as const) {
      await post(
        Array.from({ length: 1_000 }, (_, at) => item(type, value, { label: `order ${at}` })),
      );
    }
    const { outcomes } = (await createCohorts(database, createAnalyticsStore(database))
      .read(account, ["c"]))[0]!;
    assert.equal(outcomes.length, 1_002);
    const sumOf = (type: string, label: string) =>
      outcomes.find((one) => one.type === type && one.label === label)?.sum;
    assert.deepEqual([sumOf("clicks", "often"), sumOf("revenue", "often")], [
      2n * 10n ** 9n,
      4n * 10n ** 9n,
    ]);
    const [revenue, others] = [sumOf("revenue", "(others)"), sumOf("(others)", "(others)")];
    assert.deepEqual([others, revenue], [2n * 3n * 10n ** 9n, 5_000n * 10n ** 9n]);
    const total = outcomes.reduce((sum, one) => sum + one.sum, 0n);
    assert.equal(total, 8_006n * 10n ** 9n);
    const { unattributed } = await createCohorts(database, createAnalyticsStore(database))
      .readModels(account, "c");
    const named = (sums: typeof outcomes) =>
      new Map(sums.map(({ type, label, sum }) => [`${type} ${label}`, sum]));
    assert.deepEqual(named(unattributed), named(outcomes));
  },
);

eachDatabase("of the same request sent many times at once one counts", async (database) => {
  const account = await newAccount(database);
  const post = poster(database, account);
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => post([item("clicks", 1)], "r")),
  );
  assert.equal(answers.filter(({ repeated }) => !repeated).length, 1);
  assert.deepEqual(await outcomesOf(database, account), [["clicks", null, 1n, 1_000_000_000n]]);
});

eachDatabase(
  "an item with an id counts once for ever; with other content nothing of the post counts",
  async (database) => {
    const account = await newAccount(database);
    const post = poster(database, account);
    const order = item("revenue", 9, { itemId: "order-1" });
    await post([order]);
    await database.query("update cohort_outcomes set created_at = created_at - interval '1 year'");
    assert.deepEqual(await post([order, item("clicks", 1)]), { accepted: 1, repeated: false });
    for (
      const changed of [
        { ...order, valueNanos: 1n },
        { ...order, type: "clicks" },
        { ...order, label: "x" },
        { ...order, sessionId: "s" },
        { ...order, transactionId: "t" },
      ]
    ) {
      await assert.rejects(post([item("clicks", 1), changed]), (thrown: unknown) => {
        return conflict(thrown) && (thrown as Fault).param === "conversions[1].id";
      });
    }
    // In another cohort it is another item.
    assert.equal((await post([order], undefined, "d")).accepted, 1);
    assert.deepEqual(await outcomesOf(database, account), [
      ["clicks", null, 1n, 1_000_000_000n],
      ["revenue", null, 1n, 9_000_000_000n],
    ]);
  },
);

eachDatabase(
  "outcomes of another account count in no cohort of the same name",
  async (database) => {
    const account = await newAccount(database);
    const theirs = poster(database, await newAccount(database, "other"));
    const post = poster(database, account);
    const order = item("revenue", 9, { itemId: "order-1" });
    assert.equal((await post([order])).accepted, 1);
    const linked = [{ sessionId: "s" }, { transactionId: "t" }].map((to) => item("clicks", 1, to));
    await theirs([item("revenue", 5, { itemId: "order-1" }), ...linked]);
    await theirs(linked, undefined, "b");
    await theirs(linked, undefined, "d");
    assert.equal((await post([order])).accepted, 0, "what another has posted is no conflict");

    const cohorts = createCohorts(database, createAnalyticsStore(database));
    const bounds = { since: null, most: 9 };
    const [latest] = await cohorts.readLatest(account, ["c"], bounds);
    const all = [
      (await cohorts.read(account, ["c"]))[0]!.outcomes,
      latest!.sums.outcomes,
      (await cohorts.readModels(account, "c")).unattributed,
      (await cohorts.readModels(account, "c", bounds)).unattributed,
    ];
    for (const sums of all) assert.deepEqual(sums.map(({ sum }) => sum), [9_000_000_000n]);
    const { lines } = await cohorts.list(account, { ...bounds, from: "", limit: 9 });
    assert.deepEqual(
      lines.map(({ cohortId, outcomes }) => [cohortId, outcomes.revenueNanos]),
      [["c", 9_000_000_000n]],
    );
    assert.equal(lines[0]!.outcomes.conversionNanos, 0n);
  },
);

eachDatabase(
  "calls are summed exactly; percentiles are those of completed calls",
  async (database) => {
    const account = await newAccount(database);
    const other = await newAccount(database, "other");
    const call = (n: number, of: number, cohortId = "c") =>
      interaction(of, `${of}-${cohortId}-${n}`, {
        cohortId,
        status: "completed",
        costNanos: BigInt(n) * 10n ** 17n + 1n,
        inputTokens: n,
        outputTokens: 2 * n,
        latencyMs: n * 10,
      });
    const calls = Array.from({ length: 21 }, (_, n) => call(n, account));
    await createAnalyticsStore(database).insert([
      ...calls,
      // A failed one and one of unknown price.
      interaction(account, "failed", { cohortId: "c", latencyMs: 99_999, costNanos: 0n }),
      interaction(account, "unpriced", { cohortId: "c", status: "completed", latencyMs: 100 }),
      call(1, account, "d"),
      call(1, other),
      interaction(account, "without"),
    ]);
    const [sums, empty] = await createCohorts(database, createAnalyticsStore(database)).read(
      account,
      ["c", "nobody"],
    );
    assert.equal(sums?.interactions, 23n);
    assert.equal(sums?.completed, 22n);
    // Σn = 210, Σn² = 2870.
    assert.deepEqual(sums?.cost, {
      count: 22n,
      sum: 210n * 10n ** 17n + 21n,
      sumOfSquares: 2870n * 10n ** 34n + 2n * 210n * 10n ** 17n + 21n,
    });
    assert.deepEqual(sums?.inputTokens, { count: 21n, sum: 210n, sumOfSquares: 2870n });
    assert.deepEqual(sums?.outputTokens, { count: 21n, sum: 420n, sumOfSquares: 11480n });
    // 0, 10 … 100, 100, 110 … 200: positions 10.5 and 19.95 of 0 … 21.
    assert.equal(sums?.latencyP50, 100);
    assert.ok(Math.abs(Number(sums?.latencyP95) - 189.5) < 1e-9, String(sums?.latencyP95));
    assert.deepEqual([empty?.interactions, empty?.cost.sum, empty?.latencyP95], [0n, 0n, null]);
  },
);

eachDatabase(
  "a cohort's calls are found by an index, however many others there are",
  async (database) => {
    const account = await newAccount(database);
    await database.query(
      `insert into interactions (transaction_id, created_at, request_id, account_id, api_key_id,
       cohort_id, endpoint, dialect, vendor, model, requested_model, mode, stream, status,
       charged_nanos, billing_basis, translation_loss, latency_ms, payload_truncated)
     select 't' || n, now(), 'r', $1, 'k', case when n % 1000 = 0 then 'c' end, '/', 'chat', 'v',
       'm', 'm', 'managed', false, 'completed', 0, 'none', '{}', 1, false
     from generate_series(1, 20000) n`,
      [account],
    );
    await database.query("analyze interactions");
    const plan = await database.query(
      `explain select count(*) from interactions
     where account_id = ${account} and cohort_id = any('{c}'::text[])`,
    );
    const text = plan.map((row) => String(row["QUERY PLAN"])).join("\n");
    assert.match(text, /Index \S*\s?Scan using interactions_\d{4}_\d\d_account_id_cohort_id/);
  },
  { fresh: true },
);
