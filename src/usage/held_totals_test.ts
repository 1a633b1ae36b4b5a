import assert from "@std/assert";
import { Random } from "../../tests/support/random.ts";
import { HeldTotals } from "./held_totals.ts";
import { rankSums } from "./packed_step.ts";
import type { HeldSums } from "./shown_values.ts";

const numbers = 50;

function anyStep(random: Random, isStored: boolean): HeldSums {
  const slots = Uint32Array.from({ length: numbers }, (_, at) => at)
    .filter(() => random.below(3) === 0);
  // More calls, and dearer ones, than the narrow arrays take.
  const sums = (most: number) => Float64Array.from(slots, () => random.below(most));
  const rest = isStored
    ? { isStored } as HeldSums["rest"]
    : { isStored, values: [], sums: {} } as HeldSums["rest"];
  return { atMs: 0, slots, sums: rankSums(sums(1_000_000), sums(1e12)), rest };
}

function recount(steps: readonly HeldSums[]) {
  const [calls, costs] = [new Float64Array(numbers), new Float64Array(numbers)];
  for (const { slots, sums } of steps) {
    for (const [at, slot] of slots.entries()) {
      calls[slot]! += sums.calls[at]! + (sums.more.get(at)?.calls ?? 0);
      costs[slot]! += sums.costNanos[at]! + (sums.more.get(at)?.costNanos ?? 0);
    }
  }
  return { calls, costs };
}

const isHeld = ({ rest }: HeldSums) => rest.isStored;

Deno.test("totals are those of the steps, whichever come and go from one look to the next", () => {
  const random = new Random(20261123);
  const totals = new HeldTotals();
  let steps: HeldSums[] = [];
  for (let look = 0; look < 300; look++) {
    if (look % 40 === 39) steps = [];
    if (random.below(4) === 0) steps.splice(random.below(steps.length + 1), 1);
    for (let more = random.below(3); more > 0; more--) steps.push(anyStep(random, true));
    const asked = [...steps, anyStep(random, false)].sort(() => random.below(2) - 0.5);
    assert.deepEqual(totals.of(numbers, asked, isHeld), recount(asked));
  }
});

Deno.test("steps of the last look are not added up again", () => {
  const random = new Random(1);
  const totals = new HeldTotals();
  const held = [anyStep(random, true), anyStep(random, true)];
  const before = totals.of(numbers, held, isHeld);
  assert.ok(held.every((step) => totals.has(step)));
  const newest = anyStep(random, false);
  const expected = recount([...held, newest]);
  // Who looked at them would see it.
  for (const { slots } of held) slots.fill(0);
  assert.deepEqual(totals.of(numbers, [newest, ...held], isHeld), expected);
  assert.ok(!totals.has(newest));
  assert.deepEqual(totals.of(numbers, held, isHeld), before, "what was given is the caller's");
  assert.equal(totals.bytes, 16 * numbers);
});
