import assert from "@std/assert";
import { interactionRow } from "../../tests/support/interaction_row.ts";
import { Buckets, CallMetrics, maxModelLabels } from "./call_metrics.ts";
import type { SettledCall } from "./interaction.ts";

const timing = { totalMs: 30, vendorMs: 20, overheadMs: 10 };

function call(model: string, more: Partial<SettledCall> = {}): SettledCall {
  return interactionRow("t", { model, status: "completed", ...more });
}

/** Values of the counter of calls by model. */
function callsByModel(metrics: CallMetrics): Map<string, number> {
  const [calls] = metrics.families();
  const sums = new Map<string, number>();
  for (const { labels: { model }, value } of calls!.values()) {
    sums.set(String(model), (sums.get(String(model)) ?? 0) + value);
  }
  return sums;
}

Deno.test("two hundred models have labels of their own, all others count together", () => {
  const metrics = new CallMetrics();
  for (let at = 0; at < maxModelLabels + 50; at++) metrics.settled(call(`m-${at}`), timing);
  const calls = callsByModel(metrics);
  assert.equal(calls.size, maxModelLabels + 1);
  assert.equal(calls.get("other"), 50);
  metrics.settled(call("m-0"), timing);
  assert.equal(callsByModel(metrics).get("m-0"), 2);
});

Deno.test("names that no vendor knows take no label", () => {
  const metrics = new CallMetrics();
  for (let at = 0; at < 1000; at++) {
    metrics.settled(call(`invented-${at}`, { status: "failed", priceVersion: null }), timing);
  }
  metrics.settled(call("x".repeat(5000)), timing);
  metrics.settled(call("priced", { status: "failed", priceVersion: "2026-11" }), timing);
  assert.deepEqual([...callsByModel(metrics)], [["other", 1001], ["priced", 1]]);
});

Deno.test("answers from the cache are hits and no calls", () => {
  const metrics = new CallMetrics();
  metrics.settled(call("m", { cache: "hit", vendor: "vendor-f" }), timing);
  metrics.settled(call("m", { cache: "miss" }), timing);
  assert.deepEqual([...callsByModel(metrics)], [["m", 1]]);
  const hits = metrics.families().find(({ name }) => name === "gateway_cache_hits_total")!;
  assert.deepEqual(hits.values(), [
    { labels: { vendor: "vendor-f" }, value: 1 },
    { labels: { vendor: "vendor-b" }, value: 0 },
  ]);
});

Deno.test("a histogram's buckets hold what is at or below their bound, and add up", () => {
  const buckets = new Buckets([1, 2]);
  for (const value of [0.5, 1, 1.5, 2, 7]) buckets.observe(value);
  const values = buckets.values("h", { vendor: "v" }).map(({ metricName, labels, value }) => [
    metricName,
    labels.le,
    value,
  ]);
  assert.deepEqual(values, [
    ["h_bucket", 1, 2],
    ["h_bucket", 2, 4],
    ["h_bucket", "+Inf", 5],
    ["h_sum", undefined, 12],
    ["h_count", undefined, 5],
  ]);
  assert.deepEqual(new Buckets([1]).values("h", {}), [], "nothing is shown of what never came");
});
