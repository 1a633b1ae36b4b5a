/** Returns consecutive seeds, from `HISTORIES_SEED` or 1 on; a failing test names its seed. */
export function seeds(count: number): number[] {
  const first = Number(Deno.env.get("HISTORIES_SEED") ?? 1);
  return Array.from({ length: Math.floor(count) }, (_, index) => first + index);
}

/** A source of random choices by a seed, so that a failure can be reproduced. */
export class Random {
  #state: number;

  constructor(seed: number) {
    // Spreads the seeds, so that neighbouring ones differ from the first number on.
    this.#state = Math.imul(seed, 0x9e3779b9) | 0;
  }

  /** Returns a number from 0 to below 1. Mulberry32, by Tommy Ettinger (public domain). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Returns a whole number from 0 to below `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }

  /** Returns one of the values, with probabilities proportional to their weights. */
  weighted<T>(choices: readonly (readonly [weight: number, value: T])[]): T {
    let at = this.below(choices.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, value] of choices) {
      if (at < weight) return value;
      at -= weight;
    }
    throw new Error("nothing to choose from");
  }
}
