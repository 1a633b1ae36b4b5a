import type { HeldSums } from "./shown_values.ts";

/** What orders values, by their numbers. */
export interface RankTotals {
  calls: Float64Array;
  costs: Float64Array;
}

/**
 * Sums over the steps of the last look, so that the next one at the same time adds those that changed
 * alone: over 90 days half a million numbers, to which a call adds those of its hour.
 */
export class HeldTotals {
  #steps: ReadonlySet<HeldSums> = new Set();
  #totals: RankTotals = emptyTotals(0);

  get bytes(): number {
    return 2 * this.#totals.calls.byteLength;
  }

  /** Whether the step is in the sums that are held. */
  has(step: HeldSums): boolean {
    return this.#steps.has(step);
  }

  /** `length`: how many numbers there are. `isHeld` says which steps a next look may have again. */
  of(
    length: number,
    steps: readonly HeldSums[],
    isHeld: (step: HeldSums) => boolean,
  ): RankTotals {
    const asked = new Set(steps);
    const lacking = steps.filter((step) => isHeld(step) && !this.#steps.has(step)).length;
    if (!this.#steps.isSubsetOf(asked) || lacking > this.#steps.size) {
      const held = steps.filter(isHeld);
      this.#totals = emptyTotals(length);
      for (const step of held) add(this.#totals, step);
      this.#steps = new Set(held);
    }
    const totals = emptyTotals(length);
    totals.calls.set(this.#totals.calls);
    totals.costs.set(this.#totals.costs);
    for (const step of steps) if (!this.#steps.has(step)) add(totals, step);
    return totals;
  }
}

function emptyTotals(length: number): RankTotals {
  return { calls: new Float64Array(length), costs: new Float64Array(length) };
}

/** In one loop, which meets each value once. */
function add({ calls, costs }: RankTotals, { slots, sums }: HeldSums): void {
  const [ofCalls, ofCosts] = [sums.calls, sums.costNanos];
  for (let at = 0; at < slots.length; at++) {
    const slot = slots[at]!;
    calls[slot]! += ofCalls[at]!;
    costs[slot]! += ofCosts[at]!;
  }
  for (const [at, added] of sums.more) {
    calls[slots[at]!]! += added.calls;
    costs[slots[at]!]! += added.costNanos;
  }
}
