/** Numbers that look random and are the same for the same seed. */
export interface Random {
  /** A whole number from 0 up to, but not, `limit`. */
  below(limit: number): number;
  pick<T>(items: readonly T[]): T;
  /** One of the values, each as likely as its weight says. */
  weighted<T>(choices: readonly (readonly [weight: number, value: T])[]): T;
}

export function randomFrom(seed: number): Random {
  // mulberry32, by Tommy Ettinger (public domain).
  let state = seed * 0x9e3779b9 | 0;
  const below = (limit: number) => {
    state = state + 0x6d2b79f5 | 0;
    let mixed = Math.imul(state ^ state >>> 15, 1 | state);
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed;
    return Math.floor(((mixed ^ mixed >>> 14) >>> 0) / 4294967296 * limit);
  };
  return {
    below,
    pick: (items) => items[below(items.length)]!,
    weighted(choices) {
      let at = below(choices.reduce((sum, [weight]) => sum + weight, 0));
      for (const [weight, value] of choices) {
        if (at < weight) return value;
        at -= weight;
      }
      return choices[0]![1];
    },
  };
}
