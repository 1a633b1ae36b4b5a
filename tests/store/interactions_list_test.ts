import assert from "@std/assert";
import type {
  Interaction,
  InteractionListQuery,
  ListPosition,
} from "../../src/shared/interaction.ts";
import { Fault } from "../../src/shared/fault.ts";
import type { Database } from "../../src/database/database.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { eachDatabase } from "../support/databases.ts";
import { interaction, newAccount } from "./samples.ts";

type Shape = Partial<Omit<InteractionListQuery, "accountId">>;

/** Ids of all pages, and how many pages there were. */
async function pages(database: Database, accountId: number, query: Shape = {}) {
  const ids: string[] = [];
  let after: ListPosition | undefined;
  for (let count = 1;; count++) {
    const page = await createAnalyticsStore(database).list({
      accountId,
      order: "newest",
      limit: 7,
      ...query,
      ...(after ? { after } : {}),
    });
    ids.push(...page.rows.map(({ transactionId }) => transactionId));
    if (!page.next) return { ids, count };
    after = page.next;
  }
}

/** Rows over three months, several at one time, whose labels repeat with different periods. */
function rowsOf(accountId: number): Interaction[] {
  return Array.from(
    { length: 100 },
    (_, n) =>
      interaction(accountId, `txn_${String(n).padStart(3, "0")}`, {
        createdAt: new Date(Date.UTC(2026, 8, 15) + Math.floor(n / 3) * 2 * 24 * 60 * 60 * 1000),
        requestId: `request ${n % 30}`,
        userId: n % 2 === 0 ? `user ${n % 10}` : null,
        sessionId: n % 3 === 0 ? `session ${n % 9}` : null,
        cohortId: n % 5 === 0 ? "cohort" : null,
        app: n % 4 === 0 ? "app" : null,
        flow: n % 7 === 0 ? "flow" : null,
        apiKeyId: `key_${n % 4}`,
        model: `model ${n % 3}`,
        vendor: n % 2 === 0 ? "vendor-b" : "vendor-c",
        mode: n % 6 === 0 ? "dual_key" : "managed",
        status: n % 5 === 1 ? "failed" : n % 5 === 2 ? "cancelled" : "completed",
        costNanos: n % 8 === 0 ? null : BigInt(n),
        latencyMs: n * 10,
      }),
  );
}

eachDatabase("the sum over a list is that of its first rows", async (database) => {
  const accountId = await newAccount(database);
  const store = createAnalyticsStore(database);
  const at = (minute: number) => new Date(Date.UTC(2026, 10, 21, 10, minute));
  await store.insert([
    interaction(accountId, "first", { createdAt: at(0), costNanos: 1n }),
    // Two of one time: the later id comes first.
    interaction(accountId, "b", { createdAt: at(1), costNanos: 10n }),
    interaction(accountId, "c", { createdAt: at(1), costNanos: 100n }),
    interaction(accountId, "unpriced", { createdAt: at(2), costNanos: null }),
  ]);
  const totals = async (limit: number) => await store.totals({ accountId, order: "newest", limit });
  assert.deepEqual(await totals(2), { calls: 2, costNanos: 100n, isAll: false });
  assert.deepEqual(await totals(3), { calls: 3, costNanos: 110n, isAll: false });
  assert.deepEqual(await totals(4), { calls: 4, costNanos: 111n, isAll: true });
  const oldest = await store.totals({ accountId, order: "oldest", limit: 2 });
  assert.deepEqual(oldest, { calls: 2, costNanos: 11n, isAll: false });
});

eachDatabase("pages in both orders lose and repeat nothing, across months", async (database) => {
  const accountId = await newAccount(database);
  const rows = rowsOf(accountId);
  await createAnalyticsStore(database).insert(rows.toReversed());
  const all = rows.map(({ transactionId }) => transactionId);
  const oldest = await pages(database, accountId, { order: "oldest" });
  assert.deepEqual(oldest, { ids: all, count: 15 });
  assert.deepEqual((await pages(database, accountId)).ids, all.toReversed());
  assert.equal((await pages(database, accountId, { limit: 100 })).count, 1);
  assert.equal((await pages(database, accountId, { limit: 50 })).count, 2);
});

/** What each filter means, said once more. */
const filters: readonly (readonly [Shape, (row: Interaction, n: number) => boolean])[] = [
  [{ filters: { user_id: ["user 4"] } }, (row) => row.userId === "user 4"],
  [
    { filters: { user_id: ["user 4", "user 2", "nobody", "user 4"] } },
    (row) => row.userId === "user 4" || row.userId === "user 2",
  ],
  [{ filters: { session_id: ["session 3"] } }, (row) => row.sessionId === "session 3"],
  [{ filters: { request_id: ["request 7"] } }, (_, n) => n % 30 === 7],
  [{ filters: { request_id: ["request 7", "request 9"] } }, (_, n) => [7, 9].includes(n % 30)],
  [
    { filters: { request_id: ["request 6"], user_id: ["user 6", "user 8"] } },
    (row, n) => n % 30 === 6 && row.userId === "user 6",
  ],
  [{ filters: { cohort_id: ["cohort"], app: ["app"] } }, (row) => !!row.cohortId && !!row.app],
  [{ filters: { flow: ["flow"] } }, (row) => row.flow === "flow"],
  [{ filters: { api_key_id: ["key_1", "key_3"] } }, (_, n) => n % 2 === 1],
  [{ filters: { status: ["failed"] } }, (row) => row.status === "failed"],
  [
    { filters: { status: ["failed", "cancelled"], model: ["model 1", "model 2"] } },
    (row) => row.status !== "completed" && row.model !== "model 0",
  ],
  [{ filters: { status: ["failed", "completed"] } }, (row) => row.status !== "cancelled"],
  [{ filters: { mode: ["dual_key", "stored_key"] } }, (row) => row.mode === "dual_key"],
  [{ filters: { mode: ["managed"], vendor: ["vendor-c"] } }, (row) => row.vendor === "vendor-c"],
  [{ filters: { user_id: [] } }, () => false],
  [
    { filters: { user_id: Array.from({ length: 30 }, (_, n) => `user ${n}`) } },
    (row) => row.userId !== null,
  ],
  [
    { costNanos: { min: 10n, max: 20n } },
    ({ costNanos }) => costNanos !== null && costNanos >= 10n && costNanos <= 20n,
  ],
  [{ latencyMs: { min: 900 } }, ({ latencyMs }) => latencyMs >= 900],
  [
    { latencyMs: { max: 100 }, costNanos: { min: 5n } },
    ({ latencyMs, costNanos }) => latencyMs <= 100 && costNanos !== null && costNanos >= 5n,
  ],
  [
    { start: new Date("2026-10-01T00:00:00Z"), end: new Date("2026-10-11T00:00:00Z") },
    ({ createdAt }) =>
      createdAt >= new Date("2026-10-01T00:00:00Z") && createdAt < new Date("2026-10-11T00:00:00Z"),
  ],
];

eachDatabase(
  "every filter narrows the list, alone and with others, in both orders",
  async (database) => {
    const accountId = await newAccount(database);
    const rows = rowsOf(accountId);
    await createAnalyticsStore(database).insert(rows);
    for (const [query, matches] of filters) {
      const expected = rows.filter(matches).map(({ transactionId }) => transactionId);
      const oldest = await pages(database, accountId, { ...query, order: "oldest" });
      assert.deepEqual(oldest.ids, expected, JSON.stringify(query.filters));
      const newest = await pages(database, accountId, query);
      assert.deepEqual(newest.ids, expected.toReversed(), JSON.stringify(query.filters));
    }
  },
);

eachDatabase("a list shows a row's columns, and no payload", async (database) => {
  const accountId = await newAccount(database);
  const row = interaction(accountId, "txn_1", { requestText: "{}", costNanos: 5n });
  await createAnalyticsStore(database).insert([row]);
  const page = await createAnalyticsStore(database).list({ accountId, order: "newest", limit: 1 });
  const { requestText: _, responseText: __, ...summary } = row;
  assert.deepEqual(page, { rows: [summary] });
});

eachDatabase("another account's rows are in no list", async (database) => {
  const [ours, theirs] = [await newAccount(database), await newAccount(database, "theirs")];
  await createAnalyticsStore(database).insert([
    interaction(ours, "txn_1", { userId: "u", sessionId: "s" }),
    interaction(theirs, "txn_2", { userId: "u", sessionId: "s" }),
  ]);
  for (
    const filters of [{}, { user_id: ["u"] }, { user_id: ["u", "v"] }, {
      transaction_id: ["txn_2", "txn_1"],
    }]
  ) {
    assert.deepEqual((await pages(database, ours, { filters })).ids, ["txn_1"]);
  }
});

eachDatabase("a filter by what is no column is refused by name", async (database) => {
  const accountId = await newAccount(database);
  for (const column of ["account_id", "cost_nanos", "x; drop table interactions"]) {
    await assert.rejects(
      pages(database, accountId, { filters: { [column]: ["1"] } }),
      (thrown: unknown) => thrown instanceof Fault && thrown.param === `filters.${column}`,
    );
  }
});
