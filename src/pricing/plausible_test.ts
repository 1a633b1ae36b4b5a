import assert from "@std/assert";
import { mostNanos, plausible, type Reported, storableCount } from "./plausible.ts";

const bill = (costNanos: bigint | null, more: Partial<Reported> = {}): Reported => ({
  basis: "reported",
  costNanos,
  listCostNanos: null,
  chargedNanos: costNanos ?? 0n,
  ...more,
});

Deno.test("up to ten times what was set aside a report is believed, beyond it is disputed", () => {
  assert.deepEqual(plausible(bill(1000n), 100n), bill(1000n));
  assert.deepEqual(plausible(bill(1001n), 100n), bill(100n, { basis: "disputed" }));
  assert.deepEqual(
    plausible(bill(1001n, { basis: "vendor_cost", listCostNanos: 5n }), 100n),
    bill(100n, { basis: "disputed" }),
  );
  assert.deepEqual(plausible(bill(0n), 0n), bill(0n));
  assert.deepEqual(plausible(bill(1n), 0n), bill(0n, { basis: "disputed" }));
  assert.deepEqual(plausible(bill(null), 100n), bill(null));
});

Deno.test("with a key of the caller's own nothing is disputed, and all of it can be stored", () => {
  const reported = bill(10n ** 40n, { chargedNanos: 0n, listCostNanos: 10n ** 30n });
  assert.deepEqual(
    plausible(reported, null),
    bill(mostNanos, { chargedNanos: 0n, listCostNanos: mostNanos }),
  );
  assert.deepEqual(plausible(bill(-5n), null), bill(0n));
  assert.ok(mostNanos < 2n ** 63n);
});

Deno.test("an enormous set aside is charged as far as the store holds it", () => {
  assert.equal(plausible(bill(10n ** 40n), 10n ** 30n).chargedNanos, mostNanos);
});

Deno.test("counts are whole, not negative, and what JSON can hold", () => {
  const cases: [number, number][] = [[3, 3], [-1, 0], [0.5, 1], [NaN, 0], [1e30, 2 ** 53 - 1]];
  for (const [given, expected] of [...cases, [Infinity, 2 ** 53 - 1] as const]) {
    assert.equal(storableCount(given), expected, String(given));
  }
});
