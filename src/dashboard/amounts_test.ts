import assert from "@std/assert";
import { Random } from "../../tests/support/random.ts";
import {
  bytes,
  changeOf,
  compact,
  count,
  counted,
  duration,
  percent,
  usd,
  usdText,
} from "./amounts.ts";

Deno.test("amounts of money are as exact as their size asks for", () => {
  const shown: [bigint, string][] = [
    [0n, "$0.00"],
    [1n, "$0.000000001"],
    [54_399n, "$0.000054"],
    [999_999n, "$0.001"],
    [9_999_999n, "$0.01"],
    [42_100_000n, "$0.0421"],
    [120_000_000n, "$0.12"],
    [123_000_000n, "$0.123"],
    [500_000_000n, "$0.50"],
    [999_999_999n, "$1.00"],
    [1_005_000_000n, "$1.01"],
    [1_284_104_000_000n, "$1,284.10"],
    [-2_500_000_000n, "−$2.50"],
  ];
  for (const [nanos, text] of shown) assert.equal(usd(nanos), text);
  assert.equal(usdText("12.3"), "$12.30");
  assert.equal(usdText("-0.000054399"), "−$0.000054");
});

Deno.test("digits are grouped as the runtime groups them", () => {
  const random = new Random(7);
  const numbers = [0, 1, -1, 12, 123, 1234, -1234, 999_999, 1_000_000, 2 ** 53 - 1];
  for (let n = 0; n < 500; n++) numbers.push(Math.floor(random.next() * 10 ** random.below(16)));
  for (const one of numbers) {
    assert.equal(count(one), one.toLocaleString("en-US"));
    assert.equal(count(BigInt(one)), one.toLocaleString("en-US"));
  }
  assert.equal(count(1e21), (1e21).toLocaleString("en-US", { maximumSignificantDigits: 4 }));
});

Deno.test("counts, sizes and times are short", () => {
  assert.deepEqual([count(1284), count(0.123456), count(10n ** 6n)], [
    "1,284",
    "0.1235",
    "1,000,000",
  ]);
  assert.deepEqual([1, 999, 1000, 1400, 9960, 999_499, 999_500, 52_000_000, 2e15].map(bytes), [
    ...["1 byte", "999 bytes", "1.0 kB", "1.4 kB", "10 kB", "999 kB", "1.0 MB", "52 MB", "2000 TB"],
  ]);
  assert.deepEqual([counted(1, "row"), counted(0, "row")], ["1 row", "0 rows"]);
  assert.deepEqual([undefined, 0, 850.4, 999.4, 999.6, 1000, 1240, 12_345].map(duration), [
    ...["–", "0 ms", "850 ms", "999 ms", "1 s", "1 s", "1.24 s", "12.3 s"],
  ]);
  assert.deepEqual([59_949, 59_999, 60_000, 125_000, 3_599_999].map(duration), [
    ...["59.9 s", "1 min 0 s", "1 min 0 s", "2 min 5 s", "60 min 0 s"],
  ]);
  assert.deepEqual([0, 999, 1000, 12_345, 999_960, 4_560_000n, 7e12].map(compact), [
    ...["0", "999", "1k", "12.3k", "1M", "4.56M", "7T"],
  ]);
  assert.deepEqual(
    [percent(0, 0), percent(0, 9), percent(1, 9999), percent(1, 80), percent(1, 4)],
    [
      ...["–", "0 %", "< 0.1 %", "1.3 %", "25 %"],
    ],
  );
});

Deno.test("a figure that was zero while there were calls has gone up, and lacks no data", () => {
  assert.equal(changeOf(0, 0.017, true), "up from zero");
  assert.equal(changeOf(0, 5, false), "no earlier data");
  assert.equal(changeOf(0, 0, true), "unchanged");
  assert.equal(changeOf(200, 100, true), "down 50 %");
  assert.equal(changeOf(100, 100.01, true), "unchanged");
  assert.equal(changeOf(1, 16.4, true), "16 times what it was");
});
