import type { SettledCall } from "../shared/interaction.ts";

/** Where records lie anyway and can be read back from; implemented in `src/records/journal/journal.ts`. */
export interface SpillSpace {
  /** Throws `overloaded` when no new call may begin. */
  admit(): void;
  /** Keeps the record of the call that has just ended, and those after it. False: can't. */
  spill(transactionId: string): boolean;
  /** Records that are kept so. */
  readonly spilled: number;
  /** The oldest of them, in their order; they are not kept so any more. */
  readSpilled(): Promise<SettledCall[]>;
}

/** What waits in memory at most, if the rest can be kept elsewhere. */
export interface MemoryLimit {
  rows: number;
  /** Units of UTF-16, and bytes of media. */
  chars: number;
}

const defaultLimit: MemoryLimit = { rows: 5_000, chars: 16 * 1024 * 1024 };

/**
 * Records that wait for the store, oldest first. Only the oldest are in memory: while the store is
 * away for long, the others are left where they were written before.
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
    return this.#rows.length + (this.#space?.spilled ?? 0);
  }

  /** False when a record is in memory that is younger than some which are not. */
  get isInOrder(): boolean {
    return this.#isInOrder;
  }

  /** When the call ended whose record waits the longest. */
  get oldest(): Date | undefined {
    // Between two files that are read back the last one stands for the next.
    const [row] = this.#rows;
    return row ? endOf(row) : this.waiting > 0 ? this.#lastRemoved : undefined;
  }

  add(row: SettledCall): void {
    const { spilled = 0 } = this.#space ?? {};
    const isFull = this.#rows.length >= this.#limit.rows || this.#chars >= this.#limit.chars;
    if ((isFull || spilled > 0) && this.#space?.spill(row.transactionId)) return;
    if (spilled > 0) this.#isInOrder = false;
    this.#rows.push(row);
    this.#chars += weigh(row);
  }

  /** The oldest records, at most so many; they stay. */
  async first(count: number): Promise<SettledCall[]> {
    if (this.#rows.length === 0 && this.#space) {
      const rows = await this.#space.readSpilled();
      // What was added meanwhile is younger.
      this.#rows = [...rows, ...this.#rows];
      for (const row of rows) this.#chars += weigh(row);
    }
    return this.#rows.slice(0, count);
  }

  /** The oldest so many are done; gives how many. */
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

function weigh(row: SettledCall): number {
  const { requestText, responseText, retained, media = [] } = row;
  const response = retained?.response;
  const responseChars = (response?.inputItemsText.length ?? 0) + (response?.answerText.length ?? 0);
  const mediaBytes = media.reduce((sum, { content }) => sum + content.length, 0);
  return (requestText?.length ?? 0) + (responseText?.length ?? 0) + responseChars + mediaBytes +
    1000;
}
