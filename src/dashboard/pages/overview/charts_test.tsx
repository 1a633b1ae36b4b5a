import assert from "@std/assert";
import { noUsage } from "../../../usage/usage_sums.ts";
import { retainedSpan } from "../interactions/refused_page.tsx";
import { axisOf, RequestsChart, SpendChart } from "./charts.tsx";
import type { Overview } from "./load.ts";
import { readRange } from "./range.ts";

Deno.test("under the chart of requests the errors are those of its layer, and the share says of how many", () => {
  const now = new Date("2026-11-21T12:00:00Z");
  const detail = (sums: Partial<Overview["total"]>, key = "30d") => {
    const total = { ...noUsage, refused: 0, ...sums };
    const step = { ...total, from: new Date(0), to: new Date(3_600_000) };
    const refusedSince = retainedSpan(now).from;
    const overview = { total, steps: [step], refusedSince } as unknown as Overview;
    const range = readRange((name) => name === "range" ? key : undefined, now);
    const axis = {
      stepTitle: "Hour (UTC)",
      csv: "/csv",
      steps: [{ name: "a", short: "a", href: "/b" }],
    };
    const props = { overview, range, axis, nameOf: (value: string) => value, partName: "model" };
    const html = String(<RequestsChart {...props} />);
    return /class="muted detail">(.*?)<\/p>/.exec(html)?.[1]?.replace(/<[^>]*>/g, "");
  };
  assert.equal(detail({ calls: 5, failed: 1, truncated: 1 }), "2 with an error, 40 %");
  assert.equal(
    detail({ calls: 5, failed: 2, refused: 1 }),
    "2 with an error and 1 refused, 50 % of 6",
  );
  assert.equal(
    detail({ calls: 5, failed: 2, refused: 1 }, "90d"),
    "2 with an error and 1 refused in the last 30 days, 50 % of 6",
  );
});

Deno.test("what was charged and paid back is refunded, next to what was never charged", () => {
  const total = { ...noUsage, costNanos: 5_000_000_000n, chargedNanos: 3_000_000_000n };
  const steps = [{ ...total, refused: 0, from: new Date(0), to: new Date(3_600_000) }];
  const overview = { total: { ...total, ownKeyNanos: 500_000_000n }, steps, layers: [] };
  const range = readRange(() => undefined, new Date("2026-11-21T12:00:00Z"));
  const shown = overview as unknown as Overview;
  const props = { overview: shown, axis: axisOf(shown, range), nameOf: String, partName: "model" };
  assert.match(
    String(<SpendChart {...props} />),
    />\$3.00 charged to credit · \$0.50 with your own vendor keys · \$1.50 refunded</,
  );
});
