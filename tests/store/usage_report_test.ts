/** Sums by any labels add up to what the ledger was charged, erased calls included. */
import assert from "@std/assert";
import { type UsageGroup, usageGroups } from "../../contracts/data/usage.ts";
import type { Fault } from "../../src/shared/fault.ts";
import type { Interaction } from "../../src/shared/interaction.ts";
import type { Database } from "../../src/database/database.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { createRecords } from "../../src/records/store/records.ts";
import { createLedger } from "../../src/credit/store/ledger.ts";
import { createUsageSums } from "../../src/usage/store/usage_sums.ts";
import {
  reportUsage,
  type UsageReport,
  type UsageReportRequest,
} from "../../src/usage/usage_report.ts";
import { eachDatabase } from "../support/databases.ts";
import { Random } from "../support/random.ts";
import { erase, request } from "./erasing.ts";
import { interaction, newAccount } from "./samples.ts";

const start = Date.parse("2026-09-20T00:00:00Z");
const hourMs = 3_600_000;

function report(database: Database, asked: UsageReportRequest): Promise<UsageReport> {
  const { groupedCalls } = createAnalyticsStore(database);
  return reportUsage({ usage: createUsageSums(database), groupedCalls }, asked);
}

/** Calls of 60 days, across three months, of all kinds. */
function anyCalls(random: Random, accountId: number, count: number): Interaction[] {
  return Array.from({ length: count }, (_, n) => {
    const costNanos = random.chance(10) ? null : BigInt(random.below(1_000_000_000));
    const managed = random.chance(70);
    return interaction(accountId, `call ${accountId} ${n}`, {
      createdAt: new Date(start + random.below(60 * 24 * hourMs)),
      userId: random.pick([null, "ada", "bob", "=cmd"]),
      app: random.pick([null, "shop", "desk"]),
      flow: random.pick([null, "pay", "ask"]),
      cohortId: random.pick([null, "a", "b"]),
      apiKeyId: random.pick(["key 1", "key 2"]),
      vendor: random.pick(["vendor-a", "vendor-b"]),
      model: random.pick(["gpt-x", "some/model", "m".repeat(300)]),
      mode: managed ? "managed" : "stored_key",
      status: random.pick(["completed", "failed", "truncated", "cancelled", "interrupted"]),
      billingBasis: "reported",
      inputTokens: random.chance(20) ? null : random.below(5000),
      outputTokens: random.chance(20) ? null : random.below(5000),
      costNanos,
      chargedNanos: managed ? costNanos ?? 0n : 0n,
    });
  });
}

/** What the report must have of a call, independent of how it is read. */
function labelsOf(call: Interaction, groups: readonly UsageGroup[], isErased: boolean) {
  const labels: Record<UsageGroup, string | null> = {
    model: `${call.vendor}/${call.model}`.slice(0, 256),
    vendor: call.vendor,
    app: call.app,
    flow: call.flow,
    user: call.userId,
    api_key: call.apiKeyId,
    cohort: call.cohortId,
    day: call.createdAt.toISOString().slice(0, 10),
  };
  const named = groups.filter((group) => group !== "day");
  const left = (["model", "api_key", "vendor"] as const).find((one) => groups.includes(one));
  const isKnown = (group: UsageGroup) =>
    !isErased || group === "day" || group === left || (group === "vendor" && left === "model");
  const values = groups.map((group) => isKnown(group) ? labels[group] : null);
  return { values, erased: isErased && named.some((group) => !isKnown(group)) };
}

function expected(
  calls: readonly Interaction[],
  erased: ReadonlySet<string>,
  groups: readonly UsageGroup[],
): Map<string, bigint[]> {
  const rows = new Map<string, bigint[]>();
  for (const call of calls) {
    const { values, erased: isErased } = labelsOf(call, groups, erased.has(call.transactionId));
    const key = JSON.stringify([values, isErased]);
    const failed = ["failed", "truncated", "interrupted"].includes(call.status);
    const add = [
      ...[1n, failed ? 1n : 0n, BigInt(call.inputTokens ?? 0), BigInt(call.outputTokens ?? 0)],
      ...[call.costNanos ?? 0n, call.chargedNanos],
    ];
    rows.set(key, (rows.get(key) ?? add.map(() => 0n)).map((sum, at) => sum + add[at]!));
  }
  return rows;
}

function rowsOf({ rows }: UsageReport): Map<string, bigint[]> {
  return new Map(rows.map((row) => [
    JSON.stringify([row.values, row.erased]),
    [row.calls, row.failed, row.inputTokens, row.outputTokens, row.costNanos, row.chargedNanos],
  ]));
}

const sorted = (rows: Map<string, bigint[]>) => [...rows].sort(([a], [b]) => a < b ? -1 : 1);

eachDatabase(
  "whatever it is grouped by, usage is what the calls and the ledger say, erased calls included",
  async (database) => {
    const random = new Random(20261123);
    const [accountId, others] = [await newAccount(database), await newAccount(database, "theirs")];
    const calls = anyCalls(random, accountId, 200);
    const ledger = createLedger(database);
    const granted = 1_000_000_000_000n;
    await ledger.grant(accountId, granted);
    const records = createRecords(database);
    await records.insert(calls);
    await records.insert(anyCalls(random, others, 50));
    const wanted = request(accountId, { userIds: ["bob"] }, {
      requestedAt: new Date("2027-01-01T00:00:00Z"),
    });
    await erase(database, wanted);
    const erased = new Set(
      calls.filter(({ userId }) => userId === "bob").map((call) => call.transactionId),
    );
    assert.ok(erased.size > 25);

    const combinations: UsageGroup[][] = [
      [],
      ...usageGroups.map((one) => [one]),
      ["model", "day"],
      ["day", "app"],
      ["vendor", "model"],
      ["vendor", "api_key"],
      ["user", "model"],
      ["app", "user", "day"],
      ["cohort", "vendor"],
      [...usageGroups],
    ];
    const { balanceNanos } = await ledger.show(accountId);
    for (const groups of combinations) {
      const found = await report(database, { accountId, groups });
      assert.deepEqual(sorted(rowsOf(found)), sorted(expected(calls, erased, groups)), `${groups}`);
      assert.equal(found.total.chargedNanos, granted - balanceNanos, `${groups}`);
      const costs = found.rows.map(({ costNanos }) => costNanos);
      assert.deepEqual(costs, costs.toSorted((a, b) => a < b ? 1 : a > b ? -1 : 0), `${groups}`);
    }
  },
);

eachDatabase("calls that are erased while usage is read count once", async (database) => {
  const accountId = await newAccount(database);
  await createRecords(database).insert(anyCalls(new Random(8), accountId, 100));
  const usage = createUsageSums(database);
  const { groupedCalls } = createAnalyticsStore(database);
  const users = ["ada", "bob"];
  const found = await reportUsage({
    usage,
    async groupedCalls(query) {
      // The first read has one erasure right before it and one right after it.
      const [before, after] = users.splice(0, 2).map((one) =>
        request(accountId, { userIds: [one] })
      );
      if (before) await erase(database, before);
      const calls = await groupedCalls(query);
      if (after) await erase(database, after);
      return calls;
    },
  }, { accountId, groups: ["user"] });
  assert.equal(found.total.calls, 100n);
  assert.deepEqual(found.total, (await report(database, { accountId, groups: [] })).total);
});

eachDatabase("a span counts the calls within it, to the hour", async (database) => {
  const random = new Random(7);
  const accountId = await newAccount(database);
  const calls = anyCalls(random, accountId, 200);
  await createRecords(database).insert(calls);
  for (let turn = 0; turn < 4; turn++) {
    const from = new Date(start + random.below(30 * 24) * hourMs);
    const to = new Date(from.getTime() + (1 + random.below(30 * 24)) * hourMs);
    const within = calls.filter(({ createdAt }) => createdAt >= from && createdAt < to);
    for (const groups of [["day"], ["model"], ["flow", "day"]] as const) {
      const found = await report(database, { accountId, groups, start: from, end: to });
      assert.deepEqual(sorted(rowsOf(found)), sorted(expected(within, new Set(), groups)));
    }
  }
  const late = new Date(start + 1);
  for (const span of [{ start: late }, { end: late }]) {
    await assert.rejects(
      report(database, { accountId, groups: [], ...span }),
      (thrown: Fault) => thrown.param === ("start" in span ? "start_date" : "end_date"),
    );
  }
});
