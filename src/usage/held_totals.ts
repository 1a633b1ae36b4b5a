import type { HeldSums } from "./shown_values.ts";

/** The sums by which values are ranked, by slot. */
export interface RankTotals {
  calls: Float64Array;
  costs: Float64Array;
}

/**
 * Totals over the steps of the last read, so that the next read of the same span adds only the
 * steps that changed: 90 days have half a million numbers, of which a new call changes those of its
 * hour.
 */
export class HeldTotals {
  #steps: ReadonlySet<HeldSums> = new Set();
  #totals: RankTotals = emptyTotals(0);

  get bytes(): number {
    return 2 * this.#totals.calls.byteLength;
  }

  /** Whether the held totals include this step. */
  has(step: HeldSums): boolean {
    return this.#steps.has(step);
  }

  /**
   * Returns the totals of `steps` for `length` slots. `isHeld` tells which steps a later read may
   * have again.
   */
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

/** Adds calls and costs in the same loop, so that each value is visited only once. */
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
