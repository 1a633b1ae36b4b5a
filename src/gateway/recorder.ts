import type { Log } from "../base/log.ts";
import { Fault, messageOf } from "../domain/fault.ts";
import type { Interaction, InteractionStore } from "../domain/interaction.ts";

/**
 * Takes the records of ended calls and writes them to the store behind the caller's back, in
 * batches as large as the store is slow. Nothing on the hot path waits for it.
 */
export interface Recorder {
  record(interaction: Interaction): void;
  /**
   * Resolves when everything recorded so far is in the store, so that a read that begins now
   * includes it. Throws `store_unavailable` when the store can't be reached.
   */
  drain(): Promise<void>;
  /** Throws `overloaded` when so much waits that no new call may begin. */
  admit(): void;
  /** How many records wait. */
  readonly waiting: number;
}

const maxBatch = 500;
/** Records that may wait while the store is away. */
const maxWaiting = 50_000;
/** Bytes of payload (UTF-16 units) that may wait. */
const maxWaitingChars = 512 * 1024 * 1024;

export function createRecorder(parts: RecorderParts): Recorder {
  return new QueueRecorder(parts);
}

interface RecorderParts {
  store: Pick<InteractionStore, "insert">;
  log: Log;
  /** Waits between attempts while the store is away; a timer in production. */
  pause: (ms: number) => Promise<void>;
  /** Told which records need not be kept elsewhere any more. */
  stored?: (transactionIds: readonly string[]) => void;
}

interface Waiter {
  resolve: () => void;
  reject: (fault: unknown) => void;
  /** Resolved when this many records are written. */
  upTo: number;
}

class QueueRecorder implements Recorder {
  readonly #parts: RecorderParts;
  readonly #queue: Interaction[] = [];
  #waitingChars = 0;
  #waiters: Waiter[] = [];
  #recorded = 0;
  #written = 0;
  #writing = false;
  #away = false;

  constructor(parts: RecorderParts) {
    this.#parts = parts;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  record(interaction: Interaction): void {
    this.#queue.push(interaction);
    this.#waitingChars += weigh(interaction);
    this.#recorded++;
    if (this.#writing) return;
    this.#writing = true;
    // Records of the same turn of the event loop go in one batch.
    queueMicrotask(() => void this.#run());
  }

  drain(): Promise<void> {
    if (this.#recorded === this.#written) return Promise.resolve();
    return new Promise((resolve, reject) =>
      this.#waiters.push({ resolve, reject, upTo: this.#recorded })
    );
  }

  admit(): void {
    if (this.#queue.length < maxWaiting && this.#waitingChars < maxWaitingChars) return;
    throw new Fault("overloaded", { note: "too many records wait for the store" });
  }

  /** Writes until nothing waits; an outage of the store only makes it take longer. */
  async #run(): Promise<void> {
    let delayMs = 50;
    while (this.#queue.length > 0) {
      const batch = this.#queue.slice(0, maxBatch);
      try {
        await this.#write(batch);
      } catch (thrown) {
        this.#noteAway(thrown);
        await this.#parts.pause(delayMs);
        delayMs = Math.min(delayMs * 2, 2000);
        continue;
      }
      this.#away = false;
      delayMs = 50;
      this.#queue.splice(0, batch.length);
      this.#written += batch.length;
      for (const one of batch) this.#waitingChars -= weigh(one);
      this.#parts.stored?.(batch.map(({ transactionId }) => transactionId));
      this.#release((waiter) => waiter.upTo <= this.#written, (waiter) => waiter.resolve());
    }
    this.#writing = false;
  }

  /** Throws only when the store is away. */
  async #write(batch: readonly Interaction[]): Promise<void> {
    try {
      await this.#parts.store.insert(batch);
    } catch (thrown) {
      if (isAway(thrown)) throw thrown;
      if (batch.length > 1) {
        // One bad row must not take the others with it.
        for (const one of batch) await this.#write([one]);
        return;
      }
      this.#parts.log.error("an interaction could not be stored", {
        transaction: batch[0]!.transactionId,
        reason: messageOf(thrown),
      });
    }
  }

  /** Who waits for a read is told at once; the records stay and are tried again. */
  #noteAway(thrown: unknown): void {
    if (!this.#away) {
      this.#parts.log.warn("the store is away, records wait", { waiting: this.#queue.length });
    }
    this.#away = true;
    this.#release(() => true, (waiter) => waiter.reject(thrown));
  }

  #release(which: (waiter: Waiter) => boolean, act: (waiter: Waiter) => void): void {
    const ready = this.#waiters.filter(which);
    this.#waiters = this.#waiters.filter((waiter) => !which(waiter));
    ready.forEach(act);
  }
}

function weigh(interaction: Interaction): number {
  return (interaction.requestText?.length ?? 0) + (interaction.responseText?.length ?? 0) + 1000;
}

function isAway(thrown: unknown): boolean {
  return thrown instanceof Fault && thrown.code === "store_unavailable";
}
