/** A source of choices that a seed decides (mulberry32), so that a failure can be run again. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = Math.imul(seed, 0x9e3779b9) | 0;
  }

  /** A whole number from 0 to below `end`. */
  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % end;
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }

  /** From `least` to `most` things. */
  list<T>(least: number, most: number, make: (index: number) => T): T[] {
    const length = least + this.below(most - least + 1);
    return Array.from({ length }, (_, index) => make(index));
  }

  /** The same things in another order. */
  shuffled<T>(values: readonly T[]): T[] {
    const rest = [...values];
    const out: T[] = [];
    while (rest.length > 0) out.push(...rest.splice(this.below(rest.length), 1));
    return out;
  }

  /** A text of words that are awkward somewhere: quotes, line ends, marks of the wire, emoji. */
  words(): string {
    const awkward = ["a", "née", "日本", '"', "\\", "\n\n", "🙂", "data: [DONE]", "},{", "\u2028"];
    return this.pick(["We", "It", "So"]) + this.list(1, 6, () => this.pick(awkward)).join(" ") +
      ".";
  }

  /** The text in pieces, between whole characters. */
  cut(text: string): string[] {
    const pieces: string[] = [];
    for (const character of text) {
      if (pieces.length === 0 || this.chance(30)) pieces.push(character);
      else pieces[pieces.length - 1] += character;
    }
    return pieces;
  }

  /** The bytes in pieces; also between the bytes of one character. */
  split(bytes: Uint8Array, longest: number): Uint8Array[] {
    const pieces: Uint8Array[] = [];
    for (let at = 0; at < bytes.length;) {
      const length = 1 + this.below(longest);
      pieces.push(bytes.subarray(at, at + length));
      at += length;
    }
    return pieces;
  }
}
