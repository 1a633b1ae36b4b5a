import assert from "@std/assert";
import type { CohortBounds, OutcomeItem } from "../../src/cohorts/cohort.ts";
import { modelsBody } from "../../src/cohorts/model_comparison.ts";
import { createCohorts } from "../../src/cohorts/store/cohorts.ts";
import type { Database } from "../../src/database/database.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import type { SettledCall } from "../../src/shared/interaction.ts";
import { eachDatabase } from "../support/databases.ts";
import { interaction, newAccount } from "./samples.ts";

const folder = new URL("../fixtures/cohort_models/", import.meta.url);
const start = Date.parse("2026-11-21T10:00:00.000Z");

async function table(name: string): Promise<Record<string, string>[]> {
  const [head, ...lines] = (await Deno.readTextFile(new URL(name, folder))).trimEnd().split("\n");
  const columns = head!.split(",");
  return lines.map((line) => {
    const cells = line.split(",");
    return Object.fromEntries(columns.map((column, at) => [column, cells[at]!]));
  });
}

const orNull = (cell: string | undefined) => cell === undefined || cell === "" ? null : cell;

function cohortsOf(database: Database) {
  return createCohorts(database, createAnalyticsStore(database));
}

/** Items with their times in milliseconds; the posts themselves have the database's time. */
async function postItems(
  database: Database,
  accountId: number,
  items: readonly (Partial<OutcomeItem> & { itemId: string; atMs: number })[],
  cohortId = "c",
): Promise<void> {
  await cohortsOf(database).post({
    ...{ accountId, apiKeyId: "key_1", cohortId, requestId: crypto.randomUUID() },
    items: items.map(({ atMs: _, ...item }) => ({
      ...{ type: "signups", label: null, valueNanos: 10n ** 9n },
      ...{ transactionId: null, sessionId: null },
      ...item,
    })),
  });
  await database.query(
    `update cohort_outcomes set created_at = at from unnest($1::text[], $2::timestamptz[])
       as times(name, at) where item_id = name and cohort_id = $3`,
    [
      items.map(({ itemId }) => itemId),
      items.map(({ atMs }) => new Date(start + atMs).toISOString()),
      cohortId,
    ],
  );
}

function call(accountId: number, id: string, more: Partial<SettledCall> & { atMs?: number } = {}) {
  const { atMs = 0, ...row } = more;
  return interaction(accountId, id, {
    cohortId: "c",
    status: "completed",
    createdAt: new Date(start + atMs),
    ...row,
  });
}

async function seed(database: Database): Promise<number> {
  const accountId = await newAccount(database);
  const calls = await table("calls.csv");
  await createAnalyticsStore(database).insert(calls.map((row) => {
    const [vendor, ...model] = row.model!.split("/");
    return call(accountId, row.id!, {
      vendor: vendor!,
      model: model.join("/"),
      atMs: Number(row.at_ms),
      cohortId: row.cohort!,
      sessionId: orNull(row.session),
      status: row.status as SettledCall["status"],
      costNanos: row.cost_nanos === "" ? null : BigInt(row.cost_nanos!),
      latencyMs: Number(row.latency_ms),
      inputTokens: Number(row.input_tokens),
      outputTokens: Number(row.output_tokens),
    });
  }));
  const outcomes = await table("outcomes.csv");
  await postItems(
    database,
    accountId,
    outcomes.map((row) => ({
      itemId: row.id!,
      type: row.type!,
      label: orNull(row.label),
      valueNanos: BigInt(Math.round(Number(row.value) * 100)) * 10n ** 7n,
      transactionId: orNull(row.transaction),
      sessionId: orNull(row.session),
      atMs: Number(row.at_ms),
    })),
  );
  return accountId;
}

async function byModel(
  database: Database,
  accountId: number,
  { cohortId = "c", bounds }: { cohortId?: string; bounds?: CohortBounds } = {},
) {
  return modelsBody(await cohortsOf(database).readModels(accountId, cohortId, bounds));
}

type Three = readonly [at: number, low: number, high: number];

interface Expected {
  unattributed: [type: string, label: string, count: number, value: number][];
  by_model: {
    model: string;
    interactions: number;
    completed: number;
    cost_usd: number;
    cost_mean: Three;
    error_rate: Three;
    conversion_rate: Three;
    latency: [number, number];
    conversions: [type: string, label: string, count: number, value: number][];
    versus_first: Record<"cost" | "latency" | "conversion_rate" | "error_rate", Three> | null;
  }[];
}

interface Shown {
  difference: string | number | null;
  low95: string | number | null;
  high95: string | number | null;
}

function near(actual: readonly (string | number | null)[], expected: Three, within: number): void {
  const isNear = expected.every((value, at) => Math.abs(Number(actual[at]) - value) <= within);
  assert.ok(isNear, `${actual.join(" ")}, not ${expected.join(" ")} within ${within}`);
}

const shown = ({ difference, low95, high95 }: Shown) => [difference, low95, high95];

/** A nano-dollar and a half: the amounts are rounded. */
const roundedUsd = 1.5e-9;
/** Byar's limits of a count are that near to the exact ones of Poisson. */
const byar = 0.06;

eachDatabase("figures by model are those of scipy and statsmodels", async (database) => {
  const accountId = await seed(database);
  const expected = JSON.parse(
    await Deno.readTextFile(new URL("expected.json", folder)),
  ) as Expected;
  const body = await byModel(database, accountId);
  const listed = (items: typeof body.unattributed_conversions) =>
    items.map(({ type, label, count, value }) => [type, label ?? "", count, value]);
  assert.deepEqual(listed(body.unattributed_conversions), expected.unattributed);
  assert.deepEqual(body.by_model.map(({ model }) => model), expected.by_model.map((o) => o.model));
  const first = expected.by_model[0]!;
  for (const [at, own] of expected.by_model.entries()) {
    const model = body.by_model[at]!;
    assert.equal(model.interactions, own.interactions);
    assert.equal(model.completed, own.completed);
    assert.equal(Number(model.cost_usd), own.cost_usd);
    assert.deepEqual(listed(model.conversions), own.conversions);
    near([model.latency_ms.p50, model.latency_ms.p95, 0], [...own.latency, 0], 1e-9);
    const { mean, low95, high95 } = model.cost_per_interaction_usd;
    near([mean, low95, high95], own.cost_mean, roundedUsd);
    const errors = model.error_rate_95;
    near([model.error_rate, errors.low95, errors.high95], own.error_rate, 1e-12);
    const rate = model.conversions_per_interaction!;
    near([rate.rate, rate.low95, rate.high95], own.conversion_rate, byar / own.interactions);
    const [versus, told] = [model.versus_first, own.versus_first];
    assert.equal(versus === null, told === null);
    if (versus === null || told === null) continue;
    near(shown(versus.cost_per_interaction_usd), told.cost, roundedUsd);
    near(shown(versus.latency_per_interaction_ms), told.latency, 1e-6);
    near(shown(versus.error_rate), told.error_rate, 1e-12);
    const fewest = Math.min(own.interactions, first.interactions);
    near(shown(versus.conversion_rate), told.conversion_rate, byar * Math.SQRT2 / fewest);
  }
  // Every outcome is somewhere, once.
  const [whole] = await cohortsOf(database).read(accountId, ["c"]);
  const count = (items: readonly { count: number }[]) =>
    items.reduce((sum, one) => sum + one.count, 0);
  assert.equal(
    body.by_model.reduce((sum, one) => sum + count(one.conversions), 0) +
      count(body.unattributed_conversions),
    whole!.outcomes.reduce((sum, one) => sum + Number(one.count), 0),
  );
});

eachDatabase(
  "an outcome that came before its call was stored is the call's once it is",
  async (database) => {
    const accountId = await newAccount(database);
    await postItems(database, accountId, [
      { itemId: "1", transactionId: "late", atMs: 0 },
      { itemId: "2", sessionId: "s", atMs: 0 },
    ]);
    const before = await byModel(database, accountId);
    assert.deepEqual(before.by_model, []);
    assert.equal(before.unattributed_conversions[0]?.count, 2);
    await createAnalyticsStore(database).insert([
      call(accountId, "late", { sessionId: "s", atMs: 40 }),
    ]);
    const after = await byModel(database, accountId);
    assert.deepEqual(after.unattributed_conversions, []);
    assert.equal(after.by_model[0]?.conversions[0]?.count, 2);
  },
);

eachDatabase(
  "a session's outcomes are its last call's in the cohort; another account's or cohort's never",
  async (database) => {
    const accountId = await newAccount(database);
    const other = await newAccount(database, "other");
    await createAnalyticsStore(database).insert([
      call(accountId, "a", { sessionId: "s", model: "one", atMs: 0 }),
      call(accountId, "b", { sessionId: "s", model: "two", atMs: 100 }),
      call(accountId, "c", { sessionId: "s", model: "three", cohortId: "d", atMs: 200 }),
      call(accountId, "d", { sessionId: "s", model: "four", cohortId: null, atMs: 300 }),
      call(other, "e", { sessionId: "s", model: "five", atMs: 400 }),
    ]);
    await postItems(database, accountId, [
      { itemId: "after both", sessionId: "s", atMs: 500 },
      { itemId: "at the second", sessionId: "s", atMs: 100 },
      { itemId: "between", sessionId: "s", atMs: 99 },
      { itemId: "the first by name, though later", sessionId: "s", transactionId: "a", atMs: 500 },
      { itemId: "of another cohort", transactionId: "c", atMs: 500 },
      { itemId: "of another account", transactionId: "e", atMs: 500 },
    ]);
    const body = await byModel(database, accountId);
    assert.deepEqual(
      body.by_model.map(({ model, conversions }) => [model, conversions[0]?.count]),
      [["vendor-b/one", 2], ["vendor-b/two", 2]],
    );
    assert.equal(body.unattributed_conversions[0]?.count, 2);
    const theirs = await byModel(database, other);
    assert.deepEqual(theirs.by_model.map(({ model }) => model), ["vendor-b/five"]);
    assert.deepEqual(theirs.by_model[0]?.conversions, []);
  },
);

eachDatabase("thousands of items are all attributed, in steps", async (database) => {
  const accountId = await newAccount(database);
  await createAnalyticsStore(database).insert([
    call(accountId, "a", { sessionId: "s-0", model: "one" }),
    call(accountId, "b", { sessionId: "s-1", model: "two" }),
    call(accountId, "c", { sessionId: "s-1", model: "two" }),
  ]);
  // All of one moment: pages end between items of the same time.
  for (let post = 0; post < 3; post++) {
    await postItems(
      database,
      accountId,
      Array.from({ length: 1000 }, (_, n) => (
        { itemId: `${post}-${n}`, sessionId: `s-${n % 3}`, atMs: 1000 }
      )),
    );
  }
  const body = await byModel(database, accountId);
  assert.deepEqual(
    body.by_model.map(({ model, conversions }) => [model, conversions[0]?.value]),
    [["vendor-b/two", 999], ["vendor-b/one", 1002]],
  );
  assert.equal(body.unattributed_conversions[0]?.count, 999);
  assert.deepEqual(body.by_model_warnings, []);
  const bounded = await byModel(database, accountId, { bounds: { since: null, most: 1500 } });
  const counted = [...bounded.by_model.map((one) => one.conversions), [
    ...bounded.unattributed_conversions,
  ]].flat().reduce((sum, one) => sum + one.count, 0);
  assert.equal(counted, 1500);
  assert.match(bounded.by_model_warnings.join(), /^many_outcomes: /);
});

eachDatabase(
  "within bounds the latest calls count, with the outcomes since the first of them",
  async (database) => {
    const accountId = await newAccount(database);
    await createAnalyticsStore(database).insert(
      Array.from(
        { length: 20 },
        (_, n) =>
          call(accountId, `t-${n}`, { model: n % 2 === 0 ? "even" : "odd", atMs: n * 1000 }),
      ),
    );
    await postItems(
      database,
      accountId,
      Array.from({ length: 20 }, (_, n) => (
        { itemId: `o-${n}`, transactionId: `t-${n}`, atMs: n * 1000 + 1 }
      )),
    );
    const body = await byModel(database, accountId, { bounds: { since: null, most: 5 } });
    assert.deepEqual(
      body.by_model.map(({ model, interactions, conversions }) => [
        model,
        interactions,
        conversions[0]?.count,
      ]),
      [["vendor-b/odd", 3, 3], ["vendor-b/even", 2, 2]],
    );
  },
);

eachDatabase("a hundred models are listed, and that there are more is said", async (database) => {
  const accountId = await newAccount(database);
  await createAnalyticsStore(database).insert(
    Array.from({ length: 103 }, (_, n) => [
      call(accountId, `t-${n}`, { model: `m-${String(n).padStart(3, "0")}` }),
      ...n === 102 ? [call(accountId, "more", { model: "m-102" })] : [],
    ]).flat(),
  );
  await postItems(database, accountId, [
    { itemId: "1", transactionId: "t-101", atMs: 9 },
    { itemId: "2", transactionId: "t-102", atMs: 9 },
  ]);
  const body = await byModel(database, accountId);
  assert.equal(body.by_model.length, 100);
  assert.deepEqual(body.by_model.slice(0, 2).map(({ model }) => model), [
    "vendor-b/m-102",
    "vendor-b/m-000",
  ]);
  assert.equal(body.by_model[0]?.conversions[0]?.count, 1);
  assert.deepEqual(body.unattributed_conversions, []);
  assert.match(body.by_model_warnings.join(), /^many_models: the 100 models/);
});

eachDatabase(
  "a model without any error has an interval all the same, and a warning while it has few calls",
  async (database) => {
    const accountId = await newAccount(database);
    await createAnalyticsStore(database).insert([call(accountId, "a", { costNanos: null })]);
    const [model] = (await byModel(database, accountId)).by_model;
    assert.equal(model?.error_rate, 0);
    assert.equal(model?.error_rate_95.low95, 0);
    // Wilson: 1.96² / (1 + 1.96²).
    assert.ok(Math.abs(model!.error_rate_95.high95 - 0.7934506856) < 1e-9);
    assert.equal(model?.versus_first, null);
    assert.deepEqual(model?.warnings.map((one) => one.split(":")[0]), [
      "small_sample",
      "unknown_cost",
    ]);
  },
);
