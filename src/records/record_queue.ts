import type { SettledCall } from "../shared/interaction.ts";
import { mediaBytes } from "../shared/media.ts";

/** Holds records outside memory; implemented by the journal, which has all records anyway. */
export interface SpillSpace {
  /** Throws `overloaded` if no new call can begin. */
  admit(): void;
  /** Takes over the record of the call that has just ended, and all later ones. False: it can't. */
  spill(transactionId: string): boolean;
  /** Number of records that only this space holds. */
  readonly spilled: number;
  /** Reads back the oldest spilled records, in order. */
  readSpilled(): Promise<SettledCall[]>;
}

/** Bounds the queue in memory; later records are spilled. */
export interface MemoryLimit {
  rows: number;
  /** UTF-16 units of text plus twice the bytes of media. */
  chars: number;
}

const defaultLimit: MemoryLimit = { rows: 5_000, chars: 16 * 1024 * 1024 };

/**
 * Records that wait for the store, oldest first. Only the oldest are in memory: in a long outage of
 * the store the others stay in the journal.
 */
export class RecordQueue {
  readonly #space: SpillSpace | undefined;
  readonly #limit: MemoryLimit;
  #rows: SettledCall[] = [];
  #chars = 0;
  #isInOrder = true;
  #lastRemoved: Date | undefined;

  constructor(space: SpillSpace | undefined, limit = defaultLimit) {
    this.#space = space;
    this.#limit = limit;
  }

  get waiting(): number {
    return this.#rows.length + this.spilled;
  }

  /** Records that are only in the journal. */
  get spilled(): number {
    return this.#space?.spilled ?? 0;
  }

  /** Units of text, and twice the bytes of media, of the records in memory. */
  get chars(): number {
    return this.#chars;
  }

  /** False while a record in memory is younger than a spilled one. */
  get isInOrder(): boolean {
    return this.#isInOrder;
  }

  /** End time of the call whose record has waited longest. */
  get oldest(): Date | undefined {
    // Between two files that are read back, the time of the last removed record is close enough.
    const [row] = this.#rows;
    return row ? endOf(row) : this.waiting > 0 ? this.#lastRemoved : undefined;
  }

  add(row: SettledCall): void {
    const { spilled } = this;
    const isFull = this.#rows.length >= this.#limit.rows || this.#chars >= this.#limit.chars;
    if ((isFull || spilled > 0) && this.#space?.spill(row.transactionId)) return;
    if (spilled > 0) this.#isInOrder = false;
    this.#rows.push(row);
    this.#chars += weigh(row);
  }

  /**
   * Returns the oldest records, which stay in the queue: at most `count`, and together at most
   * `chars` unless the first alone is larger.
   */
  async first(count: number, chars: number): Promise<SettledCall[]> {
    if (this.#rows.length === 0 && this.#space) {
      const rows = await this.#space.readSpilled();
      // Records that were added in the meantime are younger.
      this.#rows = [...rows, ...this.#rows];
      for (const row of rows) this.#chars += weigh(row);
    }
    let weight = 0;
    const rows = this.#rows.slice(0, count);
    const tooMany = rows.findIndex((row) => (weight += weigh(row)) > chars);
    return tooMany < 0 ? rows : rows.slice(0, Math.max(1, tooMany));
  }

  remove(count: number): number {
    for (const row of this.#rows.splice(0, count)) {
      this.#chars -= weigh(row);
      this.#lastRemoved = endOf(row);
    }
    if (this.waiting === 0) this.#isInOrder = true;
    return count;
  }
}

function endOf({ createdAt, latencyMs }: SettledCall): Date {
  return new Date(createdAt.getTime() + latencyMs);
}

/** On its way to the store media is in memory twice: as bytes and as base64. */
const mediaWeight = 2;

/** Returns the weight of a record, in the units of `MemoryLimit.chars`. */
export function weigh(row: SettledCall): number {
  const { retained, media } = row;
  const texts = [
    ...[row.requestText, row.responseText, row.usageRawText, ...row.translationLoss],
    ...[retained?.response?.inputItemsText, retained?.response?.answerText],
    retained?.background?.answerText,
    ...(retained?.reasoning ?? []).map(({ reasoningText }) => reasoningText),
  ];
  const units = texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
  return units + mediaWeight * mediaBytes(media) + 1000;
}
