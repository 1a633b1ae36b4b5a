/**
 * Converts offsets in a text that arrives in pieces: chat and responses count characters (code
 * points), the canonical form UTF-16 units.
 */
export class TextUnits {
  /** Offsets of the characters that take two units. */
  readonly #pairs: number[] = [];
  #length = 0;

  /** UTF-16 units so far. */
  get length(): number {
    return this.#length;
  }

  add(piece: string): void {
    if (highSurrogate.test(piece) && this.#pairs.length < maxPairs) {
      for (let at = 0; at < piece.length; at++) {
        if ((piece.charCodeAt(at) & 0xfc00) === 0xd800) this.#pairs.push(this.#length + at);
      }
    }
    this.#length += piece.length;
  }

  /** Converts an offset in units to characters. */
  pointsAt(units: number): number {
    return units - this.#count((position) => position < units);
  }

  /** Converts an offset in characters to units. */
  unitsAt(points: number): number {
    return points + this.#count((position, index) => position - index < points);
  }

  #count(isBefore: (position: number, index: number) => boolean): number {
    let low = 0;
    let high = this.#pairs.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBefore(this.#pairs[middle]!, middle)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const highSurrogate = /[\ud800-\udbff]/;
/** No real answer has more; after them offsets are approximate. */
const maxPairs = 1_000_000;
