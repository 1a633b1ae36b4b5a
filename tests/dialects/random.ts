import { Random as Choices } from "../support/random.ts";

/** Choices that the tests of dialects need beside the common ones. */
export class Random extends Choices {
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
