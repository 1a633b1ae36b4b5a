import assert from "@std/assert";
import { parseUsd } from "../../src/base/money.ts";
import { fieldOfColumn } from "../../src/records/columns.ts";
import type {
  Interaction,
  InteractionListQuery,
  ListPosition,
  SettledCall,
} from "../../src/shared/interaction.ts";
import type { Database } from "../../src/database/database.ts";
import {
  createAnalyticsReads,
  createAnalyticsStore,
} from "../../src/records/store/analytics_store.ts";
import { listInteractions, trySelectiveRange } from "../../src/records/store/interactions_list.ts";
import { eachDatabase } from "../support/databases.ts";
import { Random, seeds } from "../support/random.ts";
import { collect, interaction, newAccount } from "./samples.ts";

type Shape = Partial<Omit<InteractionListQuery, "accountId">>;
type Column = keyof typeof fieldOfColumn;

const first = Date.UTC(2026, 8, 29);
const minute = 60_000;

/** Calls of three months, many of them at the same time, with frequent and rare values. */
function callsOf(accountId: number, count: number, random: Random): SettledCall[] {
  let at = first;
  return Array.from({ length: count }, (_, n) => {
    if (random.chance(60)) at += random.below(200) * minute;
    const rare = random.chance(2);
    return interaction(accountId, `txn_${String(n).padStart(5, "0")}`, {
      createdAt: new Date(at),
      userId: random.pick([null, "everybody", "everybody", `user ${random.below(20)}`]),
      model: random.pick(["model 0", "model 0", "model 1", "model 2"]),
      vendor: random.pick(["vendor-b", "vendor-c"]),
      app: random.pick([null, "app"]),
      mode: rare ? "dual_key" : "managed",
      status: random.weighted([[20, "completed"], [2, "failed"], [1, "cancelled"]]),
      endpoint: rare ? "/embeddings" : "/chat",
      errorCode: random.chance(3) ? "invalid_value" : null,
      httpStatus: random.pick([null, 200, 200, 200, 429]),
      finishReason: random.pick([null, "stop", "stop", "length"]),
      stream: random.chance(50),
      latencyMs: random.below(40),
      costNanos: random.pick([null, BigInt(random.below(30)) * 1_000_000n]),
      inputTokens: random.below(5),
    });
  });
}

const values: Readonly<Partial<Record<Column, readonly (string | number | boolean)[]>>> = {
  user_id: ["everybody", "user 3", "user 7", "nobody"],
  model: ["model 0", "model 1", "model 2"],
  vendor: ["vendor-b", "vendor-c"],
  app: ["app"],
  mode: ["managed", "dual_key", "stored_key"],
  status: ["completed", "failed", "cancelled"],
  endpoint: ["/chat", "/embeddings", "/none"],
  error_code: ["invalid_value", "model_not_found"],
  http_status: [200, 429, 500],
  finish_reason: ["stop", "length"],
  stream: [true, false],
  latency_ms: [0, 7, 39, 40],
  cost_usd: ["0.001", "0.029000000", "1"],
  input_tokens: [0, 4, 1.5],
  transaction_id: ["txn_00003", "txn_00400"],
  request_id: ["request of txn_00005"],
};

function shapeOf(random: Random): Shape {
  const columns = Object.keys(values) as Column[];
  const wanted = columns.slice(0, 14).filter(() => random.chance(14));
  if (random.chance(4)) wanted.push(random.pick(columns));
  const filters = Object.fromEntries(wanted.map((column) => {
    const some = values[column]!.filter(() => random.chance(50));
    return [column, some.length === 0 ? [random.pick(values[column]!)] : some];
  }));
  const at = (day: number) => new Date(first + day * 1440 * minute + random.below(2));
  return {
    filters,
    order: random.pick(["newest", "oldest"]),
    limit: 3 + random.below(30),
    ...random.chance(20) && { start: at(random.below(40)) },
    ...random.chance(20) && { end: at(10 + random.below(40)) },
    ...random.chance(15) && { costNanos: { min: BigInt(random.below(30)) * 1_000_000n } },
    ...random.chance(15) && { latencyMs: { min: random.below(10), max: 10 + random.below(30) } },
  };
}

/** What a query means, said once more. */
function matches(row: SettledCall, { filters = {}, start, end, costNanos, latencyMs }: Shape) {
  if (start && row.createdAt < start || end && row.createdAt >= end) return false;
  const cost = row.costNanos;
  if (costNanos && (cost === null || cost < costNanos.min!)) return false;
  if (latencyMs && (row.latencyMs < latencyMs.min! || row.latencyMs > latencyMs.max!)) return false;
  return Object.entries(filters).every(([column, wanted]) => {
    const value = row[fieldOfColumn[column as Column]];
    return value !== null &&
      wanted.some((one) =>
        column === "cost_usd" ? value === parseUsd(String(one), 9) : value === one
      );
  });
}

async function idsOfPages(database: Database, query: InteractionListQuery, sizes: number[]) {
  const ids: string[] = [];
  let after: ListPosition | undefined;
  do {
    const asked = { ...query, ...(after && { after }) };
    const page = await trySelectiveRange(database, asked) ??
      await listInteractions(database, asked, sizes);
    assert.ok(page.rows.length === query.limit || !page.next || page.searchedBackTo);
    assert.ok(page.rows.length < query.limit || !page.searchedBackTo);
    ids.push(...page.rows.map(({ transactionId }) => transactionId));
    after = page.next;
  } while (after);
  return ids;
}

eachDatabase(
  "filters find every call once and in order, in windows of any size",
  async (database) => {
    const accountId = await newAccount(database);
    const seed = seeds(1)[0]!;
    const random = new Random(seed);
    const rows = callsOf(accountId, 400, random);
    await createAnalyticsStore(database).insert(rows.toReversed());
    for (let round = 0; round < 60; round++) {
      const query = { order: "newest", limit: 9, ...shapeOf(random), accountId } as const;
      const sizes = Array.from({ length: 1 + random.below(4) }, () => 5 + random.below(150));
      const expected = rows.filter((row) => matches(row, query)).map((row) => row.transactionId);
      if (query.order === "newest") expected.reverse();
      const told = `seed ${seed}, round ${round}: ${sizes} of ${
        JSON.stringify(query, (_, value) => typeof value === "bigint" ? `${value}` : value)
      }`;
      assert.deepEqual(await idsOfPages(database, query, sizes), expected, told);
    }
  },
);

eachDatabase("long pages of many users have each call once and in order", async (database) => {
  const accountId = await newAccount(database);
  const rows = callsOf(accountId, 400, new Random(seeds(1)[0]!));
  await createAnalyticsStore(database).insert(rows);
  const users = Array.from({ length: 30 }, (_, n) => `user ${n}`);
  const query = { accountId, limit: 1_000, filters: { user_id: users } };
  const expected = rows.filter(({ userId }) => users.includes(userId ?? ""))
    .map((row) => row.transactionId);
  for (const order of ["oldest", "newest"] as const) {
    assert.deepEqual(await idsOfPages(database, { ...query, order }, [30, 150]), expected, order);
    expected.reverse();
  }
  const reads = createAnalyticsReads(database);
  const totals = await reads.totals({ ...query, order: "newest" });
  assert.deepEqual([totals.calls, totals.isAll], [expected.length, true]);
  expected.sort();
  assert.equal(await reads.count(query), expected.length);
  for (const withoutPayloads of [true, false]) {
    const exported = await collect(reads.read({ ...query, withoutPayloads }));
    assert.deepEqual(exported.map(({ transactionId }) => transactionId), expected);
  }
  const sampled = await reads.sample({ ...query, order: "random" });
  assert.deepEqual(sampled.map(({ transactionId }) => transactionId).sort(), expected);
});

eachDatabase("a short page of more values than are looked up ends early, too", async (database) => {
  const accountId = await newAccount(database);
  await createAnalyticsStore(database).insert(callsOf(accountId, 60, new Random(seeds(1)[0]!)));
  // Names as in usage are looked for twice each, so that a caller's 500 may be 1,000.
  const model = Array.from({ length: 501 }, (_, n) => `nothing ${n}`);
  const query = { accountId, limit: 10, filters: { model }, order: "newest" } as const;
  const { rows, searchedBackTo } = await listInteractions(database, query, [30]);
  assert.deepEqual(rows, []);
  assert.ok(searchedBackTo && searchedBackTo.getTime() > first);
});

eachDatabase("calls of one moment are found, however many more than a window", async (database) => {
  const accountId = await newAccount(database);
  const ids = Array.from({ length: 12 }, (_, n) => `txn_${10 + n}`);
  const rows = ids.map((id, n) =>
    interaction(accountId, id, {
      createdAt: new Date(first + (n < 10 ? 0 : n - 10)),
      errorCode: [0, 9, 10].includes(n) ? "invalid_value" : null,
    })
  );
  await createAnalyticsStore(database).insert(rows);
  const query = { accountId, limit: 2, filters: { error_code: ["invalid_value"] } };
  const found = (order: "newest" | "oldest") =>
    idsOfPages(database, { ...query, order }, [4, 4, 4]);
  assert.deepEqual(await found("oldest"), ["txn_10", "txn_19", "txn_20"]);
  assert.deepEqual(await found("newest"), ["txn_20", "txn_19", "txn_10"]);
});

eachDatabase("a page whose calls are of one moment doesn't lead to itself", async (database) => {
  const accountId = await newAccount(database);
  const rows = Array.from({ length: 40 }, (_, n) =>
    interaction(accountId, `txn_${n}`, {
      createdAt: new Date(first + (n < 20 ? 0 : minute)),
      userId: "everybody",
    }));
  await createAnalyticsStore(database).insert(rows);
  const filters = { user_id: ["everybody"], error_code: ["none"] };
  const query = { accountId, order: "newest", limit: 5, filters } as const;
  let after: ListPosition | undefined;
  for (let page = 0; page < 5; page++) {
    ({ next: after } = await listInteractions(database, { ...query, ...(after && { after }) }, [
      8,
    ]));
    if (!after) return;
  }
  assert.fail("no end");
});

eachDatabase("of several filters, calls are checked that fewest have", async (database) => {
  const accountId = await newAccount(database);
  const rows = Array.from({ length: 200 }, (_, n) =>
    interaction(accountId, `txn_${n}`, {
      createdAt: new Date(first + n * minute),
      userId: "everybody",
      model: n < 100 ? "older" : "newer",
      app: n < 100 ? null : "new app",
      flow: n === 3 ? "rare" : null,
    }));
  await createAnalyticsStore(database).insert(rows);
  const pageOf = (filters: Record<string, string[]>) =>
    listInteractions(database, { accountId, order: "newest", limit: 5, filters }, [40, 40]);
  const rare = await pageOf({ error_code: ["none"], user_id: ["everybody"], flow: ["rare"] });
  assert.deepEqual(rare, { rows: [] });
  // Many calls have one, and as many the other, but none has both.
  const { rows: both, searchedBackTo } = await pageOf({ model: ["older"], app: ["new app"] });
  assert.deepEqual([both, searchedBackTo], [[], new Date(first + 81 * minute + 1)]);
});

eachDatabase("totals, counts, samples and exports are those of a list", async (database) => {
  const accountId = await newAccount(database);
  const random = new Random(seeds(1)[0]!);
  // More than the first window has.
  const rows = callsOf(accountId, 1_300, random);
  await createAnalyticsStore(database).insert(rows);
  const reads = createAnalyticsReads(database);
  const ids = (some: readonly { transactionId: string }[]) => some.map((row) => row.transactionId);
  const queries: Shape[] = [
    { filters: { endpoint: ["/embeddings"] } },
    { filters: { error_code: ["invalid_value"], user_id: ["everybody"] } },
    { filters: { error_code: ["invalid_value"], model: ["model 1", "model 2"] } },
    { filters: { http_status: [429, 500], status: ["completed"] } },
    { filters: { error_code: ["none"] } },
    { filters: { user_id: ["everybody"] } },
    {},
  ];
  for (const query of queries.map((shape) => ({ accountId, ...shape }))) {
    const expected = rows.filter((row) => matches(row, query));
    const told = JSON.stringify(query);
    const totals = await reads.totals({ ...query, order: "newest", limit: 5_000 });
    const costNanos = expected.reduce((sum, row) => sum + (row.costNanos ?? 0n), 0n);
    assert.deepEqual(totals, { calls: expected.length, costNanos, isAll: true }, told);
    assert.equal(await reads.count(query), expected.length, told);
    const read: Interaction[] = await collect(reads.read(query));
    assert.deepEqual(ids(read), ids(expected), told);
    const newest = await reads.sample({ ...query, order: "newest", limit: 15 });
    assert.deepEqual(ids(newest), ids(expected.slice(-15)), told);
    const all = await reads.sample({ ...query, order: "random", limit: 5_000 });
    assert.deepEqual(ids(all), ids(expected), told);
    const some = ids(await reads.sample({ ...query, order: "random", limit: 5 }));
    assert.equal(new Set(some).size, Math.min(5, expected.length), told);
    assert.deepEqual(some.filter((id) => !ids(expected).includes(id)), [], told);
  }
});
