import type { Log } from "../base/log.ts";
import { Fault, messageOf } from "../shared/fault.ts";
import { bareInteraction, type InteractionStore, type SettledCall } from "../shared/interaction.ts";
import { type MemoryLimit, RecordQueue, type SpillSpace } from "./record_queue.ts";

export type { SpillSpace } from "./record_queue.ts";

/**
 * Takes the records of ended calls and writes them to the store behind the caller's back, in
 * batches as large as the store is slow. Nothing on the hot path waits for it.
 */
export interface Recorder {
  record(interaction: SettledCall): void;
  /**
   * Resolves when everything recorded so far is in the store, so that a read that begins now
   * includes it. Throws `store_unavailable`, at once while the store is known to be away.
   */
  drain(): Promise<void>;
  /** Throws `overloaded` when so much waits that no new call may begin. */
  admit(): void;
  /** How many records wait. */
  readonly waiting: number;
  /** When the call ended whose record waits the longest. */
  readonly oldest: Date | undefined;
  /** Records that the store has refused. */
  readonly rejected: number;
  /** Stops trying; what waits is the journal's. */
  close(): void;
}

export interface RecorderDeps {
  store: Pick<InteractionStore, "insert">;
  log: Log;
  /** Waits between attempts while the store is away; a timer in production. */
  pause: (ms: number) => Promise<void>;
  /** Told which records need not be kept elsewhere any more. */
  stored?: (transactionIds: readonly string[]) => void;
  /** Where records stay that are too many for memory; all are kept in memory without. */
  spillSpace?: SpillSpace;
  /** What waits in memory at most; 5,000 records and 16 Mi units of text when absent. */
  memory?: MemoryLimit;
  /** Keeps a record that the store refuses; it counts as stored once this resolves. */
  reject?: (interaction: SettledCall, reason: string) => Promise<void>;
}

export function createRecorder(deps: RecorderDeps): Recorder {
  return new QueueRecorder(deps);
}

const maxBatch = 500;
const firstDelayMs = 50;
const longestDelayMs = 2000;

interface Waiter {
  resolve: () => void;
  reject: (fault: unknown) => void;
  /** Records before it that are not written yet. */
  left: number;
}

class QueueRecorder implements Recorder {
  readonly #deps: RecorderDeps;
  readonly #queue: RecordQueue;
  #waiters: Waiter[] = [];
  #writing = false;
  #away = false;
  #closed = false;
  #rejected = 0;
  #wake = () => {};

  constructor(deps: RecorderDeps) {
    this.#deps = deps;
    this.#queue = new RecordQueue(deps.spillSpace, deps.memory);
  }

  get waiting(): number {
    return this.#queue.waiting;
  }

  get oldest(): Date | undefined {
    return this.#queue.oldest;
  }

  get rejected(): number {
    return this.#rejected;
  }

  record(interaction: SettledCall): void {
    this.#queue.add(interaction);
    if (this.#writing || this.#closed) return;
    this.#writing = true;
    // Records of the same turn of the event loop go in one batch.
    queueMicrotask(() => void this.#run());
  }

  async drain(): Promise<void> {
    const left = this.#queue.waiting;
    if (left === 0) return;
    if (this.#away || this.#closed) {
      // It may be back before the next attempt was due.
      this.#wake();
      throw new Fault("store_unavailable", { note: "the store is unavailable: records wait" });
    }
    await new Promise<void>((resolve, reject) => this.#waiters.push({ resolve, reject, left }));
  }

  admit(): void {
    this.#deps.spillSpace?.admit();
  }

  close(): void {
    this.#closed = true;
    this.#wake();
  }

  /** Writes until nothing waits; an outage of the store only makes it take longer. */
  async #run(): Promise<void> {
    let delayMs = firstDelayMs;
    let size = maxBatch;
    while (this.#queue.waiting > 0 && !this.#closed) {
      try {
        const batch = await this.#queue.first(size);
        const isWritten = await this.#write(batch);
        // One bad row takes no others with it: it is looked for in ever smaller batches.
        size = isWritten ? Math.min(maxBatch, size * 2) : Math.ceil(batch.length / 2);
        this.#away = false;
        delayMs = firstDelayMs;
        if (isWritten) this.#release(this.#queue.remove(batch.length));
      } catch (thrown) {
        this.#noteAway(thrown);
        await this.#rest(delayMs);
        delayMs = Math.min(delayMs * 2, longestDelayMs);
      }
    }
    this.#writing = false;
  }

  /** False when a row in the batch is refused. Throws when the store is away. */
  async #write(batch: readonly SettledCall[]): Promise<boolean> {
    try {
      await this.#deps.store.insert(batch);
    } catch (thrown) {
      if (isAway(thrown)) throw thrown;
      if (batch.length > 1) return false;
      const [row] = batch as [SettledCall];
      const isSaved = await this.#writeBare(row, thrown) ||
        await this.#reject(row, messageOf(thrown));
      if (!isSaved) return true;
    }
    this.#deps.stored?.(batch.map(({ transactionId }) => transactionId));
    return true;
  }

  /** A payload that the store refuses takes no row with it. Throws when the store is away. */
  async #writeBare(row: SettledCall, refusal: unknown): Promise<boolean> {
    try {
      await this.#deps.store.insert([bareInteraction(row)]);
    } catch (thrown) {
      if (isAway(thrown)) throw thrown;
      return false;
    }
    this.#deps.log.error("the record of a call is stored without its payload", {
      transaction: row.transactionId,
      reason: messageOf(refusal),
    });
    return true;
  }

  /** Whether the record is kept elsewhere now; if not, the journal's files still have it. */
  async #reject(interaction: SettledCall, reason: string): Promise<boolean> {
    this.#rejected++;
    const { log, reject } = this.#deps;
    const transaction = interaction.transactionId;
    try {
      await reject?.(interaction, reason);
      log.error("the store rejected the record of a call", {
        transaction,
        reason,
        ...(reject ? { saved_in: "journal/rejected.jsonl" } : {}),
      });
      return true;
    } catch (thrown) {
      log.error("the store rejected the record of a call; it stays in the journal", {
        transaction,
        reason,
        not_saved: messageOf(thrown),
      });
      return false;
    }
  }

  /** Who waits for a read is told at once; the records stay and are tried again. */
  #noteAway(thrown: unknown): void {
    const { log } = this.#deps;
    const fault = isAway(thrown) ? thrown : new Fault("store_unavailable", { cause: thrown });
    if (this.#away) {
      // One outage is one line.
    } else if (fault === thrown) {
      const reason = fault.note ?? fault.code;
      log.warn("the store is unavailable: records wait", { waiting: this.#queue.waiting, reason });
    } else {
      log.error("waiting records can't be read back from the journal", {
        reason: messageOf(thrown),
      });
    }
    this.#away = true;
    for (const waiter of this.#waiters.splice(0)) waiter.reject(fault);
  }

  async #rest(ms: number): Promise<void> {
    if (this.#closed) return;
    const woken = new Promise<void>((resolve) => this.#wake = resolve);
    await Promise.race([this.#deps.pause(ms), woken]);
    this.#wake = () => {};
  }

  #release(written: number): void {
    for (const waiter of this.#waiters) waiter.left -= written;
    const isDone = (waiter: Waiter) =>
      this.#queue.waiting === 0 || this.#queue.isInOrder && waiter.left <= 0;
    const done = this.#waiters.filter(isDone);
    this.#waiters = this.#waiters.filter((waiter) => !isDone(waiter));
    for (const { resolve } of done) resolve();
  }
}

function isAway(thrown: unknown): thrown is Fault {
  return thrown instanceof Fault && thrown.code === "store_unavailable";
}
