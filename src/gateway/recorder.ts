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

export function createRecorder(
  parts: {
    store: InteractionStore;
    log: Log;
    /** Waits between attempts while the store is away; a timer in production. */
    pause: (ms: number) => Promise<void>;
  },
): Recorder {
  const queue: Interaction[] = [];
  let waitingChars = 0;
  let writing: Promise<void> | undefined;
  let away = false;
  let waiters: { resolve: () => void; reject: (fault: unknown) => void; upTo: number }[] = [];
  let recorded = 0;
  let written = 0;

  async function write(batch: readonly Interaction[]): Promise<void> {
    try {
      await parts.store.insert(batch);
    } catch (thrown) {
      if (isAway(thrown) || batch.length === 1) throw thrown;
      // One bad row must not take the others with it.
      for (const one of batch) await write([one]).catch((cause) => reject(one, cause));
    }
  }

  function reject(interaction: Interaction, cause: unknown): void {
    if (isAway(cause)) throw cause;
    parts.log.error("an interaction could not be stored", {
      transaction: interaction.transactionId,
      reason: messageOf(cause),
    });
  }

  async function run(): Promise<void> {
    let delayMs = 50;
    while (queue.length > 0) {
      const batch = queue.slice(0, maxBatch);
      try {
        await write(batch).catch((thrown) => reject(batch[0]!, thrown));
        away = false;
        delayMs = 50;
        queue.splice(0, batch.length);
        written += batch.length;
        for (const one of batch) waitingChars -= weigh(one);
      } catch (thrown) {
        if (!away) parts.log.warn("the store is away, records wait", { waiting: queue.length });
        away = true;
        release((waiter) => waiter.reject(thrown), () => true);
        await parts.pause(delayMs);
        delayMs = Math.min(delayMs * 2, 2000);
        continue;
      }
      release((waiter) => waiter.resolve(), (waiter) => waiter.upTo <= written);
    }
    writing = undefined;
  }

  function release(
    act: (waiter: typeof waiters[number]) => void,
    which: (waiter: typeof waiters[number]) => boolean,
  ): void {
    const ready = waiters.filter(which);
    waiters = waiters.filter((waiter) => !which(waiter));
    ready.forEach(act);
  }

  return {
    record(interaction) {
      queue.push(interaction);
      waitingChars += weigh(interaction);
      recorded++;
      writing ??= Promise.resolve().then(run);
    },
    drain() {
      if (recorded === written) return Promise.resolve();
      return new Promise((resolve, reject) => waiters.push({ resolve, reject, upTo: recorded }));
    },
    admit() {
      if (queue.length < maxWaiting && waitingChars < maxWaitingChars) return;
      throw new Fault("overloaded", { note: "too many records wait for the store" });
    },
    get waiting() {
      return queue.length;
    },
  };
}

function weigh(interaction: Interaction): number {
  return (interaction.requestText?.length ?? 0) + (interaction.responseText?.length ?? 0) + 1000;
}

function isAway(thrown: unknown): boolean {
  return thrown instanceof Fault && thrown.code === "store_unavailable";
}
