import assert from "@std/assert";
import { count } from "./amounts.ts";
import { changeOf, compact, duration, money, percent } from "./figures.ts";

Deno.test("figures read at a glance", () => {
  const usd = (text: string) => BigInt(text.replace(".", ""));
  assert.deepEqual(
    ["1234.560000000", "0.000000000", "0.004200000", "0.120000000", "0.000000001", "-2.500000000"]
      .map((text) => money(usd(text))),
    ["$1,234.56", "$0.00", "$0.0042", "$0.12", "$0.000000001", "−$2.50"],
  );
  assert.deepEqual([0, 999, 1000, 12_345, 999_960, 4_560_000n, 7e12].map(compact), [
    ...["0", "999", "1k", "12.3k", "1M", "4.56M", "7T"],
  ]);
  assert.deepEqual([undefined, 850, 1240, 59_999, 150_000].map(duration), [
    ...["–", "850 ms", "1.24 s", "60 s", "2.5 min"],
  ]);
  assert.deepEqual(
    [percent(0, 0), percent(0, 9), percent(1, 9999), percent(1, 80), percent(1, 4)],
    [
      ...["–", "0 %", "< 0.1 %", "1.3 %", "25 %"],
    ],
  );
  assert.equal(count(1_234_567n), "1,234,567");
});

Deno.test("a figure that was zero while there were calls has gone up, and lacks no data", () => {
  assert.equal(changeOf(0, 0.017, true), "up from zero");
  assert.equal(changeOf(0, 5, false), "no earlier data");
  assert.equal(changeOf(0, 0, true), "unchanged");
  assert.equal(changeOf(200, 100, true), "down 50 %");
  assert.equal(changeOf(100, 100.01, true), "unchanged");
  assert.equal(changeOf(1, 16.4, true), "16 times what it was");
});
