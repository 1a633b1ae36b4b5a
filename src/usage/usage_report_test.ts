import assert from "@std/assert";
import type { Fault } from "../shared/fault.ts";
import type { GroupedCalls, GroupedCallsQuery } from "../shared/interaction.ts";
import { dayMs, hourMs } from "../shared/time_span.ts";
import { reportUsage } from "./usage_report.ts";
import { noUsage, type UsageQuery } from "./usage_sums.ts";

const start = Date.parse("2026-10-25T00:00:00Z");

/** A store with so many calls in these hours after `start`; notes what is read of the calls. */
function storeOf(hours: Readonly<Record<number, number>>) {
  const stored = Object.entries(hours).map(([hour, calls]) => ({
    at: start + Number(hour) * hourMs,
    calls,
  }));
  const within = ({ from, to }: Pick<UsageQuery, "from" | "to">) =>
    stored.filter(({ at }) => at >= from.getTime() && at < to.getTime());
  const countIn = (span: Pick<UsageQuery, "from" | "to">) =>
    within(span).reduce((sum, { calls }) => sum + calls, 0);
  const reads: { from: number; to: number; calls: number }[] = [];
  return {
    reads,
    countIn,
    usage: {
      steps(query: UsageQuery) {
        const ms = query.span === "day" ? dayMs : hourMs;
        const steps = Map.groupBy(within(query), ({ at }) => Math.floor(at / ms) * ms);
        return Promise.resolve([...steps].map(([at, all]) => ({
          ...noUsage,
          at: new Date(at),
          calls: all.reduce((sum, { calls }) => sum + calls, 0),
        })));
      },
      groups: () => Promise.resolve([]),
    },
    groupedCalls(query: GroupedCallsQuery): Promise<GroupedCalls[]> {
      const calls = countIn(query);
      reads.push({ from: query.from.getTime(), to: query.to.getTime(), calls });
      return Promise.resolve([rowOf("ada", calls)]);
    },
  };
}

function rowOf(user: string, calls: number): GroupedCalls {
  const sums = { failed: 0n, inputTokens: 0n, outputTokens: 0n, chargedNanos: 0n };
  return { values: [user], calls: BigInt(calls), costNanos: BigInt(calls), ...sums };
}

Deno.test("calls are read once each and not too many at once, a busy day's by the hour", async () => {
  const store = storeOf({
    ...{ 1: 10_000, 26: 15_000, 47: 10_000 },
    // The third day is busy, and one of its hours is more so.
    ...{ 49: 20_000, 50: 5_000, 51: 1, 60: 30_000, 71: 7 },
    ...{ 72: 7, 100: 3 },
  });
  const spans = [
    {},
    { start: new Date(start + 50 * hourMs), end: new Date(start + 61 * hourMs) },
    { start: new Date(start + 60 * hourMs), end: new Date(start + 100 * hourMs) },
  ];
  for (const span of spans) {
    store.reads.length = 0;
    const { rows, total } = await reportUsage(store, { accountId: 1, groups: ["user"], ...span });
    const all = { from: span.start ?? new Date(0), to: span.end ?? new Date(start + 9 * dayMs) };
    assert.equal(total.calls, BigInt(store.countIn(all)));
    assert.deepEqual(rows.map(({ values, calls }) => [values, calls]), [[["ada"], total.calls]]);
    for (const [at, { from, to, calls }] of store.reads.entries()) {
      assert.ok(calls > 0 && (calls <= 10_000 || to - from === hourMs), `${calls} at once`);
      assert.ok(from >= (store.reads[at - 1]?.to ?? all.from.getTime()), "no call twice");
    }
  }
  // Neighbours are read together while they are few enough.
  assert.deepEqual(store.reads.map(({ calls }) => calls), [30_000, 14]);
});

Deno.test("a report of more groups than anybody reads is refused by the field's name", async () => {
  const store = storeOf({ 1: 25_000, 25: 25_000, 49: 1 });
  const request = { accountId: 1, groups: ["user"] as const };
  const isRefused = ({ code, param }: Fault) => code === "invalid_value" && param === "group_by";
  // Each read's groups are few enough.
  let user = 0;
  const groupedCalls = ({ from, to }: GroupedCallsQuery) =>
    Promise.resolve(
      Array.from({ length: store.countIn({ from, to }) }, () => rowOf(`${user++}`, 1)),
    );
  await assert.rejects(reportUsage({ ...store, groupedCalls }, request), isRefused);
  const tooMany = { ...store, groupedCalls: () => Promise.resolve(undefined) };
  await assert.rejects(reportUsage(tooMany, request), isRefused);
});
