import { pushAll } from "../base/lists.ts";
import type { Clock } from "../base/clock.ts";
import type { DeletionStore } from "./deletion.ts";
import { covers, type Tombstone } from "./tombstone.ts";
import type { SelectableCall } from "../shared/interaction.ts";

/** Tells whether a call was erased. Built first: both the writers and the eraser depend on it. */
export interface ErasureIndex {
  /** Whether a call that arrived since this process started is erased. */
  covers(call: SelectableCall): boolean;
  /** These calls were erased while they were under way, and were not written. */
  dropped(transactionIds: readonly string[]): Promise<void>;
  /** Adds a listener for dropped calls; `dropped` waits for it. */
  onDropped(listener: (transactionIds: readonly string[]) => Promise<void>): void;
  /** Adds tombstones; a call that was under way when one was made may end after it. */
  add(tombstones: readonly Tombstone[]): void;
  /**
   * The time that a call is recorded with which arrived at `at`. It is after the account's deletions
   * that this process had read by then, even if their clock is ahead or this one was set back (by an
   * hour at most): else they would cover the record of a later call.
   */
  arrivalOf(accountId: number, at: Arrival): Date;
  /** Drops tombstones that no call under way can be older than. */
  prune(): void;
}

/** A moment by this process's two clocks. */
export interface Arrival {
  readonly arrivedAt: Date;
  /** Of the monotonic clock, which decides what came first. */
  readonly arrivedMs: number;
}

/** Clocks that are further apart are broken. */
const clocksApartMs = 60 * 60 * 1000;
/** No call takes longer. */
const rememberMs = 24 * 60 * 60 * 1000;
const dropsRemembered = 10_000;

export function createErasureIndex(clock: Clock): ErasureIndex {
  const startedAt = clock.now();
  let live: Tombstone[] = [];
  const latest = new LatestDeletions(clock);
  const drops = new Set<string>();
  const listeners: ((transactionIds: readonly string[]) => Promise<void>)[] = [];
  return {
    covers: (call) => drops.has(call.transactionId) || live.some((stone) => covers(stone, call)),
    async dropped(transactionIds) {
      for (const id of transactionIds) drops.add(id);
      for (const id of drops) {
        if (drops.size <= dropsRemembered) break;
        drops.delete(id);
      }
      for (const listener of listeners) await listener(transactionIds);
    },
    onDropped: (listener) => void listeners.push(listener),
    add(tombstones) {
      const recent = tombstones.filter(({ before }) => before >= startedAt);
      pushAll(live, recent);
      for (const one of recent) latest.add(one);
    },
    arrivalOf: (accountId, at) => latest.arrivalOf(accountId, at),
    prune() {
      latest.prune();
      const limit = clock.now().getTime() - rememberMs;
      live = live.filter(({ before }) => before.getTime() > limit);
    },
  };
}

/** The deletions that later calls of their accounts stand behind. */
class LatestDeletions {
  /** By account; `knownMs` is of the monotonic clock. */
  readonly #latest = new Map<number, { beforeMs: number; knownMs: number }>();

  constructor(readonly clock: Pick<Clock, "monotonicMs">) {}

  add({ accountId, before, transactionIds }: Tombstone): void {
    // No later call has one of these ids.
    if (transactionIds !== null) return;
    const beforeMs = before.getTime();
    const latest = this.#latest.get(accountId);
    // Calls that arrived since the earlier one was read are recorded as after both.
    if (latest !== undefined && latest.beforeMs >= beforeMs) return;
    this.#latest.set(accountId, { beforeMs, knownMs: this.clock.monotonicMs() });
  }

  /** See `ErasureIndex`. */
  arrivalOf(accountId: number, { arrivedAt, arrivedMs }: Arrival): Date {
    const last = this.#latest.get(accountId);
    if (!last || arrivedMs <= last.knownMs) return arrivedAt;
    const behindMs = last.beforeMs - arrivedAt.getTime();
    return behindMs < 0 || behindMs > clocksApartMs ? arrivedAt : new Date(last.beforeMs + 1);
  }

  prune(): void {
    const limit = this.clock.monotonicMs() - rememberMs;
    for (const [accountId, { knownMs }] of this.#latest) {
      if (knownMs <= limit) this.#latest.delete(accountId);
    }
  }
}

/**
 * Follows what any process erases, and removes it from this process's memory, journal and stored
 * replays.
 */
export interface Erasures {
  /** Reads the feed of erasures; when it resolves, this process has forgotten what was erased. */
  refresh(): Promise<void>;
}

export interface ErasureDeps {
  index: ErasureIndex;
  store: Pick<DeletionStore, "changeFeed">;
  /** Keeps tombstones where a restored store doesn't lose them. */
  keep: (tombstones: readonly Tombstone[]) => Promise<void>;
  /** Removes records that the store has refused from beside the journal, of whichever age. */
  eraseRejected: (tombstones: readonly Tombstone[]) => Promise<void>;
  /** Removes these calls from caches and stored replays. */
  forget: (transactionIds: readonly string[]) => Promise<void>;
  /** Removes records from the journal that the store has, or that were erased. */
  compactJournal: () => Promise<void>;
}

export function createErasures(deps: ErasureDeps): Erasures {
  const { index } = deps;
  const reader = deps.store.changeFeed();
  let refreshing: Promise<void> = Promise.resolve();
  let tidiesDue = 0;
  /** Read, and not yet seen through to the disk. */
  let unkept: readonly Tombstone[] = [];

  async function forget(transactionIds: readonly string[]): Promise<void> {
    await deps.forget(transactionIds);
    // Once more a moment later: a record is open in the journal until its writer has come back.
    tidiesDue = 2;
  }

  async function pollFeed(): Promise<void> {
    for (;;) {
      if (unkept.length > 0) {
        await deps.keep(unkept);
        // The index has none of before this process started, and the records may be older.
        await deps.eraseRejected(unkept);
        unkept = [];
      }
      const { tombstones, transactionIds } = await reader.next();
      if (tombstones.length === 0 && transactionIds.length === 0) break;
      index.add(tombstones);
      unkept = tombstones;
      if (transactionIds.length > 0) await forget(transactionIds);
    }
    if (tidiesDue > 0) {
      await deps.compactJournal();
      tidiesDue--;
    }
    index.prune();
  }

  index.onDropped(forget);
  return {
    refresh() {
      // One after the other: each has seen all that was there when it was asked.
      refreshing = refreshing.catch(() => {}).then(pollFeed);
      return refreshing;
    },
  };
}
