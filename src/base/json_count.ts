export interface JsonLimits {
  /** Values in all, containers included. */
  readonly values: number;
  /** Nesting of containers. */
  readonly depth: number;
  readonly members: number;
  /** Distinct member names in all: each costs the engine many times its text. */
  readonly names: number;
  /** Member names of more than `maxNameUnits` in the text. */
  readonly longNames?: number;
  /**
   * UTF-16 units in a row without a string, comma or bracket: white space, or a number. Checked at
   * the end of each piece; a longer stretch within a piece is not noticed.
   */
  readonly bare?: number;
}

/**
 * The engine hashes strings of more than 16,383 units by their length alone: looking up many names
 * of one length compares each with all others.
 */
export const maxNameUnits = 16_000;

export type JsonExcess = keyof JsonLimits;

/** Start → end (exclusive) of containers and string values that are long in text. */
export type LargeSpans = ReadonlyMap<number, number>;

/** Shortest large span, in UTF-16 units. */
export const largeSpanUnits = 128 * 1024;

/**
 * Counts the contents of a JSON text while its pieces arrive, so that a text beyond the limits is
 * rejected before it is parsed. One pass, and no text is retained. For invalid JSON the count is
 * meaningless, but it terminates.
 */
export class JsonCount {
  values = 1;
  /** Different member names. */
  names = 0;
  /** String values of more than `maxNameUnits` in the text. */
  longStrings = 0;
  excess: JsonExcess | undefined;
  /** Unbalanced brackets or a control character: this isn't JSON. */
  isBroken = false;
  readonly #limits: JsonLimits;
  #large: Map<number, number> | undefined;
  /** By depth: where the container begins, whether it is an object, and its commas. */
  readonly #starts = [0];
  readonly #isObject = [false];
  readonly #commas = [0];
  #depth = 0;
  /** Units of the pieces before this one. */
  #before = 0;
  /** Range of the text so far without surrounding white space. */
  #solidStart = -1;
  #solidEnd = 0;
  /** End of the last string, comma or bracket so far. */
  #markedEnd = 0;
  #stringStart = 0;
  #inString = false;
  #isEscaped = false;
  /** Only white space since a container was opened. */
  #isEmpty = false;
  /** The current or next string is a member name. */
  #isName = false;
  #hash = 0;
  /** Hashes of the names seen, which may collide: a few in a set, more of them as one bit each. */
  readonly #few = new Set<number>();
  #seen: Uint32Array | undefined;
  #longNames = 0;

  constructor(
    limits: JsonLimits,
    readonly largeUnits: number = largeSpanUnits,
    /** Random, so that callers can't choose names that collide. */
    readonly seed: number = crypto.getRandomValues(new Uint32Array(1))[0]!,
  ) {
    this.#limits = limits;
  }

  /** Large containers and strings that are complete. */
  get large(): LargeSpans {
    return this.#large ??= new Map();
  }

  /** The text without the white space around it. */
  get solid(): { readonly start: number; readonly end: number } {
    return { start: Math.max(0, this.#solidStart), end: this.#solidEnd };
  }

  /** Counts the next piece; stops at the first excess. */
  add(piece: string): JsonExcess | undefined {
    if (this.excess !== undefined) return this.excess;
    const { length } = piece;
    let at = this.#inString ? this.#skipString(piece, 0) : 0;
    let solid = at;
    let marked = at;
    for (; at < length; at++) {
      const code = piece.charCodeAt(at);
      if (code <= space) {
        if (code !== space && !isLineSpace(code)) this.isBroken = true;
        continue;
      }
      if (this.#solidStart < 0) this.#solidStart = this.#before + at;
      if (code === quote) {
        if (this.#isEmpty) this.#countFirst();
        this.#hash = this.seed;
        this.#stringStart = this.#before + at;
        at = this.#skipString(piece, at + 1) - 1;
        if (this.excess !== undefined) break;
      } else if (code === comma) {
        if (!this.#countComma()) break;
      } else if (code === openBracket || code === openBrace) {
        if (!this.#open(this.#before + at, code === openBrace)) break;
      } else if (code === closeBracket || code === closeBrace) {
        this.#close(this.#before + at, code === closeBrace);
      } else {
        if (this.#isEmpty) this.#countFirst();
        solid = at + 1;
        continue;
      }
      solid = marked = at + 1;
    }
    if (solid > 0) this.#solidEnd = this.#before + solid;
    if (marked > 0) this.#markedEnd = this.#before + marked;
    this.#before += length;
    const { bare = Infinity } = this.#limits;
    if (this.#before - this.#markedEnd > bare) this.excess ??= "bare";
    return this.excess;
  }

  /** End of the string that `from` is in, or of the piece. */
  #skipString(piece: string, from: number): number {
    const { length } = piece;
    this.#inString = true;
    let at = from;
    if (this.#isEscaped && at < length) {
      this.#isEscaped = false;
      this.#addToHash(piece.charCodeAt(at++));
    }
    const end = this.#isName ? this.#hashName(piece, at) : this.#seekQuote(piece, at);
    if (end < 0) return length;
    this.#inString = false;
    if (this.#isName) this.#countName(this.#before + end - this.#stringStart - 2);
    else this.#endString(this.#before + end - 1);
    return end;
  }

  /** Index after the closing quote, or -1 if the piece ends first; `from` is not escaped. */
  #hashName(piece: string, from: number): number {
    let at = from;
    for (; at < piece.length; at++) {
      const code = piece.charCodeAt(at);
      if (code === quote) return at + 1;
      this.#addToHash(code);
      if (code !== backslash) continue;
      if (++at === piece.length) this.#isEscaped = true;
      else this.#addToHash(piece.charCodeAt(at));
    }
    return -1;
  }

  #addToHash(code: number): void {
    this.#hash = Math.imul(this.#hash ^ code, 0x01000193);
  }

  /** The same for string values, which are skipped. */
  #seekQuote(piece: string, from: number): number {
    const { length } = piece;
    for (let at = from; at < length;) {
      const found = piece.indexOf('"', at);
      const last = found < 0 ? length : found;
      let slashes = 0;
      while (last - slashes > at && piece.charCodeAt(last - 1 - slashes) === backslash) slashes++;
      const isEscaped = slashes % 2 === 1;
      if (found < 0) {
        this.#isEscaped = isEscaped;
        return -1;
      }
      if (!isEscaped) return found + 1;
      // Escaped quotes come in groups: scanning is cheaper than searching for each.
      const end = Math.min(length, found + 1 + walkedUnits);
      for (at = found + 1; at < end; at++) {
        const code = piece.charCodeAt(at);
        if (code === quote) return at + 1;
        if (code === backslash) at++;
      }
      this.#isEscaped = at > length;
    }
    return -1;
  }

  #endString(at: number): void {
    const units = at - this.#stringStart - 1;
    if (units > maxNameUnits) this.longStrings++;
    if (units + 1 >= this.largeUnits) this.#addLarge(this.#stringStart, at + 1);
  }

  #countName(units: number): void {
    this.#isName = false;
    const { longNames = Infinity } = this.#limits;
    if (units > maxNameUnits && ++this.#longNames > longNames) this.excess = "longNames";
    const bit = (this.#hash ^ this.#hash >>> 15) & (nameBits - 1);
    const isNew = this.#seen === undefined ? this.#isNewOfFew(bit) : setBit(this.#seen, bit);
    if (isNew && ++this.names > this.#limits.names) this.excess = "names";
  }

  /**
   * Keeps few names in a set. A bitmap for each request, 128 KiB outside of the heap, made the
   * engine collect the whole heap every 130 calls.
   */
  #isNewOfFew(bit: number): boolean {
    const few = this.#few;
    if (few.has(bit)) return false;
    few.add(bit);
    if (few.size < maxFew) return true;
    const seen = this.#seen = new Uint32Array(nameBits / 32);
    for (const one of few) setBit(seen, one);
    few.clear();
    return true;
  }

  #countFirst(): void {
    this.#isEmpty = false;
    if (++this.values > this.#limits.values) this.excess = "values";
  }

  #countComma(): boolean {
    this.#isName = this.#isObject[this.#depth] === true;
    const { values, members } = this.#limits;
    const commas = ++this.#commas[this.#depth]!;
    if (++this.values > values) this.excess = "values";
    else if (this.#isObject[this.#depth] && commas >= members) this.excess = "members";
    return this.excess === undefined;
  }

  #open(start: number, isObject: boolean): boolean {
    if (this.#isEmpty) this.#countFirst();
    if (this.#depth === this.#limits.depth) this.excess = "depth";
    else {
      const depth = ++this.#depth;
      this.#starts[depth] = start;
      this.#isObject[depth] = isObject;
      this.#commas[depth] = 0;
      this.#isEmpty = true;
      this.#isName = isObject;
    }
    return this.excess === undefined;
  }

  #close(at: number, isObject: boolean): void {
    this.#isName = false;
    this.#isEmpty = false;
    if (this.#depth === 0 || isObject !== this.#isObject[this.#depth]) {
      this.isBroken = true;
      return;
    }
    const start = this.#starts[this.#depth--]!;
    if (at - start >= this.largeUnits) this.#addLarge(start, at + 1);
  }

  #addLarge(start: number, end: number): void {
    this.#large ??= new Map();
    this.#large.set(start, end);
  }
}

/** Units to scan after an escaped quote before searching again. */
const walkedUnits = 1024;

function isLineSpace(code: number): boolean {
  return code === 0x0a || code === 0x0d || code === 0x09;
}

/** A power of two, far above the limit of names. */
const nameBits = 1 << 20;
/** Number of names at which the bitmap replaces the set. */
const maxFew = 1024;

function setBit(bits: Uint32Array, bit: number): boolean {
  const mask = 1 << (bit & 31);
  if ((bits[bit >>> 5]! & mask) !== 0) return false;
  bits[bit >>> 5]! |= mask;
  return true;
}

const space = 0x20;
const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
