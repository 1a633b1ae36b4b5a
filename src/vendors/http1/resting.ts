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
/** One tick lets readers with long reads go on until their last ones add up to more than this. */
const tickMs = 8;

export function isLong(tookMs: number): boolean {
  return tookMs > longReadMs;
}

/** Readers that resume at the next tick; one timer serves them all. */
class Resting {
  /** With how long their last read took; who has rested longest comes first. */
  readonly #readers = new Map<Reader, number>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  has(reader: Reader): boolean {
    return this.#readers.has(reader);
  }

  add(reader: Reader, tookMs: number): void {
    this.#readers.set(reader, tookMs);
    // A timer that is due when this turn ends would leave the runtime with something to do.
    if (isLong(tookMs)) this.#stop();
    this.#timer ??= setTimeout(() => this.#tick(), paceMs);
  }

  delete(reader: Reader): void {
    if (this.#readers.delete(reader) && this.#readers.size === 0) this.#stop();
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #tick(): void {
    let longMs = 0;
    for (const [reader, tookMs] of [...this.#readers]) {
      if (isLong(tookMs)) {
        if (longMs > tickMs) continue;
        longMs += tookMs;
      }
      this.#readers.delete(reader);
      reader.readOn();
    }
    const isDone = this.#readers.size === 0;
    this.#timer = isDone ? undefined : setTimeout(() => this.#tick(), paceMs);
  }
}

export const resting = new Resting();
