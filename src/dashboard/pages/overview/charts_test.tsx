import assert from "@std/assert";
import { noUsage } from "../../../usage/usage_sums.ts";
import { RequestsChart } from "./charts.tsx";
import type { Overview } from "./load.ts";
import { readRange } from "./range.ts";

Deno.test("under the chart of requests the errors are those of its layer, and the share says of how many", () => {
  const detail = (sums: Partial<Overview["total"]>) => {
    const total = { ...noUsage, refused: 0, ...sums };
    const step = { ...total, from: new Date(0), to: new Date(3_600_000) };
    const overview = { total, steps: [step] } as unknown as Overview;
    const range = readRange(() => undefined, new Date("2026-11-21T12:00:00Z"));
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
});
