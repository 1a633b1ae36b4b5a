import assert from "@std/assert";
import { niceTop } from "./chart.tsx";

Deno.test("a chart's top is a round number not far above what it shows", () => {
  const tops = [0, 1, 1.09, 5.18, 7, 9.5, 100, 101, 1_090_000_000, 0.0023].map(niceTop);
  assert.deepEqual(tops, [1, 1, 1.2, 6, 8, 10, 100, 120, 1_200_000_000, 0.003]);
  for (let value = 0.000_01; value < 1e18; value *= 1.37) {
    const top = niceTop(value);
    assert.ok(top >= value * 0.9999 && top <= value * 1.6, `${value}: ${top}`);
  }
});
