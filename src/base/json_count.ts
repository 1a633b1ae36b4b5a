/** How much a JSON text may hold. */
export interface JsonLimits {
  /** Values in all, containers and what is in them. */
  readonly values: number;
  /** Containers within each other. */
  readonly depth: number;
  /** Members of one object. */
  readonly members: number;
}

/** Which limit a text exceeds. */
export type JsonExcess = keyof JsonLimits;

/** A container that is large in text: where it begins, and the end behind its bracket. */
export type LargeSpans = ReadonlyMap<number, number>;

/** Containers of fewer UTF-16 units are no large spans. */
export const largeSpanUnits = 128 * 1024;

/**
 * Counts what a JSON text holds while its pieces arrive, so that one that holds too much is refused
 * before anything is made of it. One pass, and nothing of the text is kept. Of text that is no JSON
 * the count means nothing, but it still ends.
 */
export class JsonCount {
  /** Values so far; never fewer than there are. */
  values = 1;
  excess: JsonExcess | undefined;
  /** Brackets close what they didn't open: this is no JSON. */
  isBroken = false;
  readonly #limits: JsonLimits;
  readonly #large = new Map<number, number>();
  /** By depth: where the container begins, whether it is an object, and its commas. */
  readonly #starts: Float64Array;
  readonly #isObject: Uint8Array;
  readonly #commas: Uint32Array;
  #depth = 0;
  /** Units of the pieces before this one. */
  #before = 0;
  #inString = false;
  #isEscaped = false;
  /** Nothing but space since a container was opened. */
  #isEmpty = false;

  constructor(limits: JsonLimits, readonly largeUnits: number = largeSpanUnits) {
    this.#limits = limits;
    this.#starts = new Float64Array(limits.depth + 1);
    this.#isObject = new Uint8Array(limits.depth + 1);
    this.#commas = new Uint32Array(limits.depth + 1);
  }

  /** Large containers that have ended. */
  get large(): LargeSpans {
    return this.#large;
  }

  /** Looks at the next piece; after an excess there is nothing more to be known. */
  add(piece: string): JsonExcess | undefined {
    if (this.excess !== undefined) return this.excess;
    const { length } = piece;
    for (let at = this.#inString ? this.#skipString(piece, 0) : 0; at < length; at++) {
      const code = piece.charCodeAt(at);
      if (code <= space) continue;
      if (code === quote) {
        this.#isEmpty = false;
        at = this.#skipString(piece, at + 1) - 1;
      } else if (code === comma) {
        if (!this.#countComma()) break;
      } else if (code === openBracket || code === openBrace) {
        if (!this.#open(this.#before + at, code === openBrace)) break;
      } else if (code === closeBracket || code === closeBrace) {
        this.#close(this.#before + at, code === closeBrace);
      } else {
        this.#isEmpty = false;
      }
    }
    this.#before += length;
    return this.excess;
  }

  /** Behind the string that the index stands in, or the piece's end. */
  #skipString(piece: string, from: number): number {
    const { length } = piece;
    this.#inString = true;
    let at = from;
    if (this.#isEscaped && at < length) {
      this.#isEscaped = false;
      at++;
    }
    for (; at < length; at++) {
      const code = piece.charCodeAt(at);
      if (code === quote) {
        this.#inString = false;
        return at + 1;
      }
      if (code === backslash) {
        at++;
        this.#isEscaped = at >= length;
      }
    }
    return length;
  }

  #countComma(): boolean {
    this.#isEmpty = false;
    const { values, members } = this.#limits;
    const commas = ++this.#commas[this.#depth]!;
    if (++this.values > values) this.excess = "values";
    else if (this.#isObject[this.#depth] && commas >= members) this.excess = "members";
    return this.excess === undefined;
  }

  #open(start: number, isObject: boolean): boolean {
    if (this.#depth === this.#limits.depth) this.excess = "depth";
    // Until it turns out to be empty, a container has a first value in it.
    else if (++this.values > this.#limits.values) this.excess = "values";
    else {
      const depth = ++this.#depth;
      this.#starts[depth] = start;
      this.#isObject[depth] = isObject ? 1 : 0;
      this.#commas[depth] = 0;
      this.#isEmpty = true;
    }
    return this.excess === undefined;
  }

  #close(at: number, isObject: boolean): void {
    if (this.#isEmpty) this.values--;
    this.#isEmpty = false;
    if (this.#depth === 0 || isObject !== (this.#isObject[this.#depth] === 1)) {
      this.isBroken = true;
      return;
    }
    const start = this.#starts[this.#depth--]!;
    if (at - start >= this.largeUnits) this.#large.set(start, at + 1);
  }
}

const space = 0x20;
const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
