import assert from "@std/assert";
import { duration, size, usd } from "./figures.ts";

Deno.test("amounts keep the decimals that say something", () => {
  const amounts: [bigint, string][] = [
    [0n, "$0"],
    [3n, "$0.000000003"],
    [54_399n, "$0.000054"],
    [12_345_678n, "$0.0123"],
    [1_204_999_999n, "$1.20"],
    [999_999_999n, "$1.0000"],
    [12_000_000_000_000n, "$12000.00"],
    [-54_399n, "-$0.000054"],
  ];
  for (const [nanos, text] of amounts) assert.equal(usd(nanos), text);
});

Deno.test("times and sizes are told in the unit that fits", () => {
  const times = [0, 999, 1000, 12_345, 125_000].map(duration);
  assert.deepEqual(times, ["0 ms", "999 ms", "1.00 s", "12.3 s", "2 min 5 s"]);
  assert.deepEqual([5, 4300, 5_000_000].map(size), ["5 B", "4.2 KB", "4.8 MB"]);
});
