/** Whatever is asked of an account's calls, nothing of another's comes back. */
import assert from "@std/assert";
import { startOfDay } from "../../src/shared/time_span.ts";
import type { Database } from "../../src/database/database.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { createLabelRows } from "../../src/records/store/label_days.ts";
import { createUsageSums } from "../../src/usage/store/usage_sums.ts";
import { eachDatabase } from "../support/databases.ts";
import { interaction, newAccount } from "./samples.ts";

const dayOf = (day: number) => new Date(Date.UTC(2026, 10, day));
const hourOf = (hour: number) => new Date(Date.UTC(2026, 10, 21, hour));
const [before, at, after] = [hourOf(9), hourOf(10), hourOf(11)];
const key = { transactionId: "our", createdAt: at };

/** Calls of theirs before and after ours, named alike in every way that a read asks for. */
async function twins(database: Database) {
  const theirs = await newAccount(database, "theirs");
  const ours = await newAccount(database);
  const store = createAnalyticsStore(database);
  const named = {
    ...{ requestId: "r", sessionId: "s", userId: "u", app: "a", cohortId: "c", apiKeyId: "k" },
    ...{ status: "completed", costNanos: 5n, chargedNanos: 7n, requestText: "rhubarb" } as const,
  };
  await store.insert([
    interaction(ours, "our", { ...named, createdAt: at }),
    interaction(theirs, "first", { ...named, createdAt: before, model: "theirs" }),
    interaction(theirs, "last", { ...named, createdAt: after, model: "theirs" }),
    interaction(theirs, "else", { ...named, createdAt: after, cohortId: "d" }),
  ]);
  return { ours, theirs, store };
}

eachDatabase("a call is found by its own account alone", async (database) => {
  const { ours, theirs, store } = await twins(database);
  const { endpoint } = (await store.findCall(ours, key))!;
  const request = { requestId: "r", since: before };
  assert.deepEqual(
    [
      await store.findCall(theirs, key),
      (await store.findCall(ours, { requestId: "r", completedSince: before }))?.transactionId,
      await store.has(theirs, key),
      await store.keysOf(theirs, ["our"]),
      await store.idsOfRequests({ accountId: ours, endpoint, requests: [request] }),
      await store.oldestCall(ours),
      await store.lastUses(ours, ["k"]),
      await store.chargedSince(ours, {}, startOfDay(before)),
      await store.sessionsEndingWith(ours, [key], after),
      await store.sessionsEndingWith(theirs, [key], before),
    ],
    [undefined, "our", false, [], ["our"], at, new Map([["k", at]]), 7n, ["s"], []],
  );
});

eachDatabase("lists and searches have the account's own calls", async (database) => {
  const { ours, theirs, store } = await twins(database);
  const repository = { accountId: ours, order: "newest", limit: 9 } as const;
  for (
    const more of [
      {},
      { search: "rhubarb" },
      { costNanos: { min: 5n } },
      { filters: { request_id: ["r"] } },
      { filters: { session_id: ["s", "t"] } },
    ]
  ) {
    const { rows } = await store.page({ ...repository, ...more });
    assert.deepEqual(rows.map(({ transactionId }) => transactionId), ["our"], Object.keys(more)[0]);
  }
  assert.deepEqual(
    [
      await store.totals(repository),
      (await store.sessionCalls(ours, "s", 9)).calls.length,
      await store.texts(theirs, ["our"], 9),
      await store.find(theirs, "our", 9),
      await store.sample(repository),
      await store.count({ accountId: ours }),
    ],
    [{ calls: 1, costNanos: 5n, isAll: true }, 1, [], undefined, [key], 1],
  );
});

eachDatabase("cohorts are of the account's own calls", async (database) => {
  const { ours, store } = await twins(database);
  const bounds = { since: null, most: 9 };
  for (const some of [undefined, bounds]) {
    const [sums, ...others] = await store.cohortSums(ours, ["c", "d"], some);
    assert.deepEqual([sums?.interactions, others], [1n, []]);
    const byModel = await store.cohortModels(ours, "c", { limit: 9, bounds: some });
    assert.deepEqual([byModel.interactions, byModel.models.length], [1n, 1]);
  }
  const outcome = { transactionId: null, sessionId: null, at: after.toISOString() };
  const models = await store.modelsOfOutcomes(ours, "c", [
    { ...outcome, transactionId: "last" },
    { ...outcome, sessionId: "s" },
  ]);
  assert.deepEqual(models.map((one) => one?.model), [undefined, "gpt-4.1"]);
  assert.deepEqual(await store.cohortNames(ours, "", 9), ["c"]);
  const costs = await store.cohortCosts(ours, ["c"], bounds);
  assert.deepEqual(costs.map(({ lastCallAt, calls }) => [lastCallAt, calls]), [[at, 1]]);
});

eachDatabase("usage is of the account's own calls", async (database) => {
  const { ours, store } = await twins(database);
  const span = { from: before, to: new Date(after.getTime() + 1) };
  const groups = await store.groupedCalls({ ...span, accountId: ours, labels: ["app"], most: 9 });
  assert.deepEqual(groups!.map(({ calls }) => calls), [1n]);
  const labels = createLabelRows(database);
  for (const label of ["user", "cohort"] as const) {
    const [day, ...none] = await labels.read({ ...span, accountId: ours, span: "day" }, label);
    assert.deepEqual([day!.sums.calls, none], [[1], []]);
  }
  const usage = createUsageSums(database);
  const day = { accountId: ours, span: "day", from: dayOf(21), to: dayOf(22) } as const;
  const grouped = (await usage.groups(day, { part: "app", byDay: false }, 9))!;
  const { values, all } = await usage.values(day, "app", 9);
  const counted = [await usage.steps(day), grouped, values];
  for (const sums of counted) {
    assert.deepEqual(sums.map(({ calls, chargedNanos }) => [Number(calls), chargedNanos]), [[
      1,
      7n,
    ]]);
  }
  assert.deepEqual([all, await usage.firstHour(ours)], [1, at]);
});
