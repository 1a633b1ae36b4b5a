/**
 * Places in a text as dialects count them: chat and responses in characters (code points), the
 * neutral form in UTF-16 units. The text comes in pieces.
 */
export class TextUnits {
  /** Places of characters that are two units long. */
  readonly #pairs: number[] = [];
  #length = 0;

  /** UTF-16 units so far. */
  get length(): number {
    return this.#length;
  }

  add(piece: string): void {
    if (highSurrogate.test(piece) && this.#pairs.length < mostPairs) {
      for (let at = 0; at < piece.length; at++) {
        if ((piece.charCodeAt(at) & 0xfc00) === 0xd800) this.#pairs.push(this.#length + at);
      }
    }
    this.#length += piece.length;
  }

  /** The place in characters of a place in units. */
  pointsAt(units: number): number {
    return units - this.#count((position) => position < units);
  }

  /** The place in units of a place in characters. */
  unitsAt(points: number): number {
    return points + this.#count((position, index) => position - index < points);
  }

  /** How many of the pairs, in their order, are in front of a place. */
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
/** No answer has more of them; behind them places are not exact. */
const mostPairs = 1_000_000;
