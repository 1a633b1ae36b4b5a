import assert from "@std/assert";
import { LatencyHistogram } from "../../../usage/latency_histogram.ts";
import { noUsage } from "../../../usage/usage_sums.ts";
import { retainedSpan } from "../interactions/refused_page.tsx";
import { OverviewFigures } from "./figures.tsx";
import type { RequestSums } from "./load.ts";
import { readRange } from "./range.ts";

const now = new Date("2026-11-21T12:00:00Z");

/** The changes that are shown, by the figure's name. */
function changes(query: Record<string, string>, total: RequestSums, previous: RequestSums) {
  const range = readRange((name) => query[name], now);
  const overview = { total, previous, refusedSince: retainedSpan(now).from };
  const html = String(<OverviewFigures overview={overview} range={range} />);
  const figures = html.matchAll(/class="muted">([^<]*)<.*?class="muted change">([^<]*)</g);
  return new Map([...figures].map(([_, name, change]) => [name, change]));
}

Deno.test("the error rate is compared with a period whose refused calls are all still counted", () => {
  const sums = { ...noUsage, calls: 100, refused: 100 };
  const [total, before, deleted] = [sums, { ...sums, refused: 25 }, { ...sums, refused: 0 }];
  const rate = (query: Record<string, string>, previous: RequestSums) =>
    changes(query, { ...total, failed: 10 }, { ...previous, failed: 10 }).get("Error rate");
  assert.equal(rate({ range: "7d" }, before), "up 96.4 %");
  assert.equal(rate({ from: "2026-11-08", to: "2026-11-21" }, before), "up 96.4 %");
  for (const range of ["30d", "month"]) {
    assert.equal(rate({ range }, deleted), "no earlier data", range);
  }
  for (const range of ["90d", "last-month"]) {
    assert.equal(rate({ range }, deleted), "refused calls: last 30 days only", range);
  }
  const requests = changes({ range: "30d" }, { ...total, calls: 110 }, deleted).get("Requests");
  assert.equal(requests, "up 10 %", "calls are counted longer");
});

Deno.test("a latency is compared with another one, not with that of no calls", () => {
  const none = { ...noUsage, calls: 1, failed: 1, refused: 0 };
  const some = { ...none, latency: new LatencyHistogram([0, 1]) };
  const latency = (total: RequestSums, previous: RequestSums) =>
    changes({ range: "7d" }, total, previous).get("Latency, p95");
  assert.equal(latency(some, some), "unchanged");
  assert.equal(latency(some, none), "no earlier data");
  assert.equal(latency(none, some), "no completed calls");
});
