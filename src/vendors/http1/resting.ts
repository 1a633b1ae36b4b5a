import { type SetTimer, systemSetTimer } from "../../base/deadline.ts";

/** What reads piece by piece, and rests in between. */
export interface Reader {
  readOn(): void;
}

/**
 * Small pieces that come faster than this are read together at this pace, since each read costs a
 * turn of the event loop.
 */
export const paceMs = 2;

/**
 * A reader whose last read took longer than this to handle rests, too: the runtime looks for what
 * others sent when it has nothing to do, else only every 61 turns.
 */
const longReadMs = 1;
/** One tick lets readers go on until their last reads add up to more than this. */
const tickMs = 8;
/** Readers whose last read took no longer go on at each tick: so do streams at a model's pace. */
const briefReadMs = 0.1;
/** Once the reads within this time have taken `tickMs` in total, the next reader rests, too. */
const windowMs = 2 * tickMs;

export function isLong(tookMs: number): boolean {
  return tookMs > longReadMs;
}

/** Readers that resume at the next tick; one timer serves them all. */
export class Resting {
  readonly #setTimer: SetTimer;
  /** With how long their last read took; who has rested longest comes first. */
  readonly #readers = new Map<Reader, number>();
  #stopTimer: (() => void) | undefined;
  /** How long all reads took since the window began. */
  #spentMs = 0;
  #windowBeganMs = -Infinity;
  #isDue = false;

  constructor(setTimer: SetTimer = systemSetTimer) {
    this.#setTimer = setTimer;
  }

  /** Whether all reads together have taken long: until the next tick nobody reads. */
  get isDue(): boolean {
    return this.#isDue;
  }

  /** Counts a read that has ended; returns whether its reader rests. */
  count(tookMs: number, endedMs: number): boolean {
    if (endedMs - this.#windowBeganMs >= windowMs) {
      this.#windowBeganMs = endedMs - tookMs;
      this.#spentMs = 0;
    }
    this.#spentMs += tookMs;
    this.#isDue ||= this.#spentMs > tickMs;
    return this.#isDue || isLong(tookMs);
  }

  has(reader: Reader): boolean {
    return this.#readers.has(reader);
  }

  /** The reader has read. */
  add(reader: Reader, tookMs: number): void {
    // A timer that is due when this turn ends would leave the runtime with something to do.
    if (isLong(tookMs) || this.#isDue) this.#stop();
    this.wait(reader, tookMs);
  }

  /** The reader hasn't read, and doesn't postpone the tick. */
  wait(reader: Reader, tookMs: number): void {
    this.#readers.set(reader, tookMs);
    this.#tickLater();
  }

  delete(reader: Reader): void {
    if (this.#readers.delete(reader) && this.#readers.size === 0) this.#stop();
  }

  #stop(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  #tickLater(): void {
    this.#stopTimer ??= this.#setTimer(paceMs, () => this.#tick());
  }

  #tick(): void {
    this.#stopTimer = undefined;
    this.#spentMs = 0;
    this.#isDue = false;
    let admittedMs = 0;
    for (const [reader, tookMs] of [...this.#readers]) {
      if (tookMs > briefReadMs) {
        // What was read before may be parsed at once, and take longer than the last time.
        if (admittedMs > tickMs || this.#isDue) continue;
        admittedMs += tookMs;
      }
      this.#readers.delete(reader);
      reader.readOn();
    }
    if (this.#readers.size > 0) this.#tickLater();
  }
}

export const resting = new Resting();
