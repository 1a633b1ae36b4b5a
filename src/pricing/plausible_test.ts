import assert from "@std/assert";
import {
  type CostBounds,
  costBoundsOf,
  maxNanos,
  plausible,
  type Reported,
  storableCount,
} from "./plausible.ts";

const bill = (costNanos: bigint | null, more: Partial<Reported> = {}): Reported => ({
  basis: "reported",
  costNanos,
  listCostNanos: null,
  chargedNanos: costNanos ?? 0n,
  ...more,
});

const bound = (boundNanos: bigint | null): CostBounds => ({ boundNanos });

Deno.test("up to ten times what was set aside a report is believed, beyond it is disputed", () => {
  assert.deepEqual(plausible(bill(1000n), bound(100n)), bill(1000n));
  assert.deepEqual(plausible(bill(1001n), bound(100n)), bill(100n, { basis: "disputed" }));
  assert.deepEqual(
    plausible(bill(1001n, { basis: "vendor_cost", listCostNanos: 5n }), bound(100n)),
    bill(100n, { basis: "disputed" }),
  );
  assert.deepEqual(plausible(bill(0n), bound(0n)), bill(0n));
  assert.deepEqual(plausible(bill(1n), bound(0n)), bill(0n, { basis: "disputed" }));
  assert.deepEqual(plausible(bill(null), bound(100n)), bill(null));
});

Deno.test("an estimate is not disputed, and what is disputed costs an account nothing that it did not", () => {
  const estimate = bill(5000n, { basis: "estimated" });
  assert.deepEqual(plausible(estimate, bound(100n)), estimate);
  assert.deepEqual(
    plausible(bill(1001n, { chargedNanos: 0n }), bound(100n)),
    bill(100n, { basis: "disputed", chargedNanos: 0n }),
  );
});

Deno.test("a report is also believed if the call's pictures can be text; disputed, it costs the bound", () => {
  const bounds = { boundNanos: 100n, believedNanos: 5000n };
  assert.deepEqual(plausible(bill(5000n), bounds), bill(5000n));
  assert.deepEqual(plausible(bill(5001n), bounds), bill(100n, { basis: "disputed" }));
  // It makes no report less credible.
  const less = { boundNanos: 100n, believedNanos: 200n };
  assert.deepEqual(plausible(bill(1000n), less), bill(1000n));
  assert.deepEqual(plausible(bill(1001n), less), bill(100n, { basis: "disputed" }));
});

Deno.test("bounds: the second is there only where more tokens are believed than held", () => {
  const nanos = (tokens: number) => BigInt(tokens * 2);
  assert.deepEqual(costBoundsOf({ inputTokens: 7 }, nanos), { boundNanos: 14n });
  assert.deepEqual(
    costBoundsOf({ inputTokens: 7, believedInputTokens: 7 }, nanos),
    { boundNanos: 14n },
  );
  assert.deepEqual(
    costBoundsOf({ inputTokens: 7, believedInputTokens: 90 }, nanos),
    { boundNanos: 14n, believedNanos: 180n },
  );
});

Deno.test("with a key of the caller's own nothing is disputed, and all of it can be stored", () => {
  const reported = bill(10n ** 40n, { chargedNanos: 0n, listCostNanos: 10n ** 30n });
  assert.deepEqual(
    plausible(reported, bound(null)),
    bill(maxNanos, { chargedNanos: 0n, listCostNanos: maxNanos }),
  );
  assert.deepEqual(plausible(bill(-5n), bound(null)), bill(0n));
  assert.equal(maxNanos, 10n ** 18n);
});

Deno.test("an enormous set aside is charged as far as the store holds it", () => {
  assert.equal(plausible(bill(10n ** 40n), bound(10n ** 30n)).chargedNanos, maxNanos);
});

Deno.test("counts are whole, not negative, and what JSON can hold", () => {
  const cases: [number, number][] = [[3, 3], [-1, 0], [0.5, 1], [NaN, 0], [1e30, 2 ** 53 - 1]];
  for (const [given, expected] of [...cases, [Infinity, 2 ** 53 - 1] as const]) {
    assert.equal(storableCount(given), expected, String(given));
  }
});
