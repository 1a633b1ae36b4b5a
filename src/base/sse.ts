// Our own, not eventsource-parser: events keep their exact bytes, which are forwarded.

/** One server-sent event, or a run of comments and blank lines, with its exact bytes. */
export interface SseEvent {
  /**
   * The whole event as it arrived, its blank line included; a view of the chunk where it lies in
   * one chunk. The `bytes` of all events, joined, are exactly the bytes that were pushed.
   */
  readonly bytes: Uint8Array;
  /** Value of the last `event:` line. */
  readonly event?: string | undefined;
  /** Values of the `data:` lines, joined by \n; undefined without any (comments, pings). */
  readonly data: string | undefined;
  /** The value of its data, if it was parsed before it is decoded, as large ones are. */
  json?: unknown;
  /** Its data was to be parsed before it is decoded, and isn't JSON. */
  isNotJson?: boolean;
  /** False only for a last event whose blank line never came. */
  readonly terminated: boolean;
}

/** An event exceeds a limit. `before` holds the earlier events of the same chunk. */
export class SseEventTooLargeError extends Error {
  constructor(limit: string, readonly before: readonly SseEvent[]) {
    super(`A server-sent event has more than ${limit}`);
    this.name = "SseEventTooLargeError";
  }
}

/**
 * Splits bytes into server-sent events, as the WHATWG HTML standard parses them: LF, CRLF and CR
 * end a line, a BOM at the start is skipped, a blank line ends the event. Runs for every chunk of
 * every stream: an event that lies in one chunk is neither copied nor scanned twice.
 *
 * A CR at the very end of a chunk may be half a CRLF, so an event that ends with it is handed over
 * with the next byte or by `end`. Comments and blank lines that follow one another in a chunk are
 * one event: a stream of nothing but line ends costs no more than one of data. The other events
 * don't depend on where the chunks were cut.
 */
export class SseSplitter {
  readonly #maxEventBytes: number;
  /** Bytes of an incomplete event, in a buffer that doubles. */
  #carry: Uint8Array = nothing;
  #carryLength = 0;
  /** Lines since the last event. */
  #lines = 0;
  /** Whether the line being read has no byte yet. */
  #lineEmpty = true;
  /** The last byte was a CR, which an LF may follow; and it ended a blank line. */
  #afterCr = false;
  #blankCr = false;
  /** How many bytes of a BOM were seen; -1 once the start of the stream is behind us. */
  #bom = 0;
  /** Where the event's first line begins: behind the BOM, in the first event. */
  #from = 0;

  constructor(options: { maxEventBytes: number }) {
    this.#maxEventBytes = options.maxEventBytes;
  }

  /** Whether the next byte begins an event. */
  get isBetweenEvents(): boolean {
    return this.#bom < 0 && this.#carryLength === 0 && this.#lineEmpty && !this.#afterCr;
  }

  /** The events that this chunk completes. Throws SseEventTooLargeError. */
  push(chunk: Uint8Array): SseEvent[] {
    const at = this.#bom < 0 ? 0 : this.#skipBom(chunk);
    return this.#afterCr || chunk.includes(CR)
      ? this.#pushMixed(chunk, at)
      : this.#pushLines(chunk, at);
  }

  /** A chunk whose lines all end with LF, as nearly all do: `indexOf` skips most of its bytes. */
  #pushLines(chunk: Uint8Array, from: number): SseEvent[] {
    const events: SseEvent[] = [];
    const length = chunk.length;
    let start = 0;
    let at = from;
    /** While all lines since `start` are silent: where the last of their blank lines ends. */
    let silentEnd = this.#silentFrom();
    while (at < length) {
      if (silentEnd !== undefined && !isSilent(chunk[at])) {
        start = this.#finishBefore(chunk, start, silentEnd, events);
        silentEnd = undefined;
      }
      const end = chunk[at] === LF ? at : chunk.indexOf(LF, at);
      if (end < 0) {
        this.#lineEmpty = false;
        break;
      }
      this.#countLine(events);
      const blank = this.#lineEmpty && end === at;
      this.#lineEmpty = true;
      at = end + 1;
      if (!blank) continue;
      if (silentEnd === undefined) start = this.#finishBefore(chunk, start, at, events);
      silentEnd = at;
    }
    if (silentEnd !== undefined) start = this.#finishBefore(chunk, start, silentEnd, events);
    this.#keep(chunk, start, length, events);
    return events;
  }

  #pushMixed(chunk: Uint8Array, from: number): SseEvent[] {
    const events: SseEvent[] = [];
    const length = chunk.length;
    let start = 0;
    let at = from;
    let silentEnd = this.#silentFrom();
    const endEvent = () => {
      if (silentEnd === undefined) start = this.#finishBefore(chunk, start, at, events);
      silentEnd = at;
    };
    while (at < length) {
      if (this.#afterCr) {
        this.#afterCr = false;
        if (chunk[at] === LF) at++;
        if (this.#blankCr) endEvent();
        continue;
      }
      const lineFrom = at;
      let byte = chunk[at];
      if (silentEnd !== undefined && !isSilent(byte)) {
        start = this.#finishBefore(chunk, start, silentEnd, events);
        silentEnd = undefined;
      }
      while (byte !== LF && byte !== CR && ++at < length) byte = chunk[at];
      if (at > lineFrom) this.#lineEmpty = false;
      if (at === length) break;
      this.#countLine(events);
      const blank = this.#lineEmpty;
      this.#lineEmpty = true;
      at++;
      if (byte === CR) {
        this.#afterCr = true;
        this.#blankCr = blank;
      } else if (blank) {
        endEvent();
      }
    }
    if (silentEnd !== undefined) start = this.#finishBefore(chunk, start, silentEnd, events);
    this.#keep(chunk, start, length, events);
    return events;
  }

  /** The remaining event, if any, when the stream has ended. */
  end(): SseEvent[] {
    if (this.#carryLength === 0) return [];
    const terminated = this.#afterCr && this.#blankCr;
    this.#afterCr = false;
    return [this.#finish(nothing, 0, 0, [], terminated)];
  }

  /** 0 if the chunk begins between events, or with the stream; undefined within an event. */
  #silentFrom(): number | undefined {
    return this.#carryLength === 0 && this.#lineEmpty && !this.#afterCr ? 0 : undefined;
  }

  /** Adds the event or run that ends before `end`, if there is one. Returns where the next begins. */
  #finishBefore(chunk: Uint8Array, start: number, end: number, events: SseEvent[]): number {
    if (end <= start && this.#carryLength === 0) return start;
    events.push(this.#finish(chunk, start, end, events));
    return end;
  }

  #finish(
    chunk: Uint8Array,
    start: number,
    end: number,
    before: SseEvent[],
    terminated = true,
  ): SseEvent {
    if (this.#carryLength + end - start > this.#maxEventBytes) {
      throw this.#tooLarge(before);
    }
    // Most chunks are exactly one event, which needs no view of its own.
    let bytes = end - start === chunk.length ? chunk : chunk.subarray(start, end);
    if (this.#carryLength > 0) {
      this.#keep(chunk, start, end, before);
      bytes = this.#carry.subarray(0, this.#carryLength);
      this.#carry = nothing;
      this.#carryLength = 0;
    }
    const from = this.#from;
    this.#from = 0;
    this.#lineEmpty = true;
    this.#lines = 0;
    return new LazyEvent(bytes, from, terminated);
  }

  #keep(chunk: Uint8Array, start: number, end: number, before: SseEvent[]): void {
    const needed = this.#carryLength + end - start;
    if (needed > this.#maxEventBytes) throw this.#tooLarge(before);
    if (needed > this.#carry.length) {
      const grown = new Uint8Array(needed * 2);
      grown.set(this.#carry.subarray(0, this.#carryLength));
      this.#carry = grown;
    }
    if (end > start) this.#carry.set(chunk.subarray(start, end), this.#carryLength);
    this.#carryLength = needed;
  }

  #tooLarge(before: readonly SseEvent[]): SseEventTooLargeError {
    return new SseEventTooLargeError(`${this.#maxEventBytes} bytes`, before);
  }

  #countLine(before: readonly SseEvent[]): void {
    if (++this.#lines > maxEventLines) {
      throw new SseEventTooLargeError(`${maxEventLines} lines`, before);
    }
  }

  /** Index of the first byte after the part of a BOM that this chunk holds. */
  #skipBom(chunk: Uint8Array): number {
    let at = 0;
    while (at < chunk.length && this.#bom < BOM.length) {
      if (chunk[at] !== BOM[this.#bom]) {
        // Not a BOM after all: these bytes belong to the first line.
        this.#lineEmpty = this.#bom === 0;
        this.#bom = -1;
        return at;
      }
      at++;
      this.#bom++;
    }
    if (this.#bom === BOM.length) {
      this.#bom = -1;
      this.#from = BOM.length;
    }
    return at;
  }
}

/** Whether a line that begins with this byte is blank or a comment. */
function isSilent(first: number | undefined): boolean {
  return first === LF || first === CR || first === COLON;
}

/** More lines of an event take too long to read; a vendor writes one or a few. */
const maxEventLines = 250_000;

const LF = 10;
const CR = 13;
const COLON = 58;
const SPACE = 32;
const BOM = [0xef, 0xbb, 0xbf] as const;
const nothing = new Uint8Array(0);
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** An event whose fields are parsed on demand. */
class LazyEvent implements SseEvent {
  json: unknown;
  readonly #from: number;
  #data: { value: string | undefined } | undefined;

  constructor(readonly bytes: Uint8Array, from: number, readonly terminated: boolean) {
    this.#from = from;
  }

  get event(): string | undefined {
    let last: [start: number, end: number] | undefined;
    eachValue(this.bytes, this.#from, "event", (start, end) => last = [start, end]);
    return last && decoder.decode(this.bytes.subarray(...last));
  }

  get data(): string | undefined {
    this.#data ??= { value: joinedData(this.bytes, this.#from) };
    return this.#data.value;
  }
}

/** Decodes all values at once: an event may have millions of lines. */
function joinedData(bytes: Uint8Array, from: number): string | undefined {
  /** The first value, which nearly always is the only one. */
  let only: Uint8Array | undefined;
  let joined: Uint8Array | undefined;
  let length = 0;
  eachValue(bytes, from, "data", (start, end) => {
    if (only === undefined) return void (only = bytes.subarray(start, end));
    if (joined === undefined) {
      joined = new Uint8Array(bytes.length);
      joined.set(only);
      length = only.length;
    }
    joined[length++] = LF;
    if (end - start > shortValue) joined.set(bytes.subarray(start, end), length);
    else for (let at = start; at < end; at++) joined[length + at - start] = bytes[at]!;
    length += end - start;
  });
  return only && decoder.decode(joined?.subarray(0, length) ?? only);
}

/** Up to this many bytes, a loop copies faster than `set` with a view. */
const shortValue = 32;

/** Calls `take` with where each value of the field begins and ends. */
function eachValue(
  bytes: Uint8Array,
  from: number,
  name: string,
  take: (start: number, end: number) => void,
): void {
  const hasCr = bytes.includes(CR);
  for (let start = from, end; start < bytes.length; start = end + 1) {
    end = lineEnd(bytes, start, hasCr);
    if (isField(bytes, start, end, name)) {
      take(valueStart(bytes, start + name.length + 1, end), end);
    }
  }
}

/** Index of the line's end. A CRLF is read as two line ends, with an empty line between them. */
function lineEnd(bytes: Uint8Array, start: number, hasCr: boolean): number {
  let end = start;
  if (hasCr) {
    while (end < bytes.length && bytes[end] !== LF && bytes[end] !== CR) end++;
    return end;
  }
  end = bytes.indexOf(LF, start);
  return end < 0 ? bytes.length : end;
}

/** The line is `name` alone or begins with `name:`. */
function isField(bytes: Uint8Array, start: number, end: number, name: string): boolean {
  const nameEnd = start + name.length;
  if (nameEnd > end || (nameEnd < end && bytes[nameEnd] !== COLON)) return false;
  for (let index = 0; index < name.length; index++) {
    if (bytes[start + index] !== name.charCodeAt(index)) return false;
  }
  return true;
}

/** One space after the colon belongs to the syntax, not to the value. */
function valueStart(bytes: Uint8Array, afterColon: number, end: number): number {
  if (afterColon >= end) return end;
  return bytes[afterColon] === SPACE ? afterColon + 1 : afterColon;
}
