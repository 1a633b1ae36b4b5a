import { pushAll } from "../base/lists.ts";
import type { Clock } from "../base/clock.ts";
import type { DeletionStore } from "./deletion.ts";
import { covers, type Tombstone } from "./tombstone.ts";
import type { SelectableCall } from "../shared/interaction.ts";

/** Tells whether a call was erased. It is built before its users, the writers and the eraser. */
export interface ErasureIndex {
  /**
   * Whether a call that arrived since this process started is erased; `after` leaves out the
   * tombstones up to that number, which the call was compared with before.
   */
  covers(call: SelectableCall, after?: number): boolean;
  /** The number of the latest tombstone. */
  readonly latest: number;
  /** Reports calls that were not written, since they were erased while they were under way. */
  dropped(transactionIds: readonly string[]): Promise<void>;
  /** Adds a listener for dropped calls; `dropped` waits for it. */
  onDropped(listener: (transactionIds: readonly string[]) => Promise<void>): void;
  /** Adds tombstones, which also apply to calls that are under way and end later. */
  add(tombstones: readonly Tombstone[]): void;
  /**
   * Returns the time to record for a call that arrived at `at`. It is later than the account's
   * deletions that this process had read by then, even if their clock is ahead or this one was set
   * back (by an hour at most). Otherwise they would cover the record of a later call.
   */
  arrivalOf(accountId: number, at: Arrival): Date;
  /** Drops tombstones that are older than any call under way. */
  prune(): void;
}

/** A moment by this process's two clocks. */
export interface Arrival {
  readonly arrivedAt: Date;
  /** By the monotonic clock, which decides the order. */
  readonly arrivedMs: number;
}

/** A larger difference is ignored: one of the clocks must be broken. */
const clocksApartMs = 60 * 60 * 1000;
/** Longer than any call takes. */
const rememberMs = 24 * 60 * 60 * 1000;
const dropsRemembered = 10_000;

export function createErasureIndex(clock: Clock): ErasureIndex {
  const startedAt = clock.now();
  let live: { number: number; stone: Tombstone }[] = [];
  let number = 0;
  const latest = new LatestDeletions(clock);
  const drops = new Set<string>();
  const listeners: ((transactionIds: readonly string[]) => Promise<void>)[] = [];
  return {
    covers: (call, after = 0) =>
      drops.has(call.transactionId) ||
      live.some(({ number, stone }) => number > after && covers(stone, call)),
    get latest() {
      return number;
    },
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
      for (const stone of recent) live.push({ number: ++number, stone });
      for (const one of recent) latest.add(one);
    },
    arrivalOf: (accountId, at) => latest.arrivalOf(accountId, at),
    prune() {
      latest.prune();
      const limit = clock.now().getTime() - rememberMs;
      live = live.filter(({ stone }) => stone.before.getTime() > limit);
    },
  };
}

/** The latest deletion of each account, which calls that arrive later must be recorded after. */
class LatestDeletions {
  /** By account; `knownMs` is of the monotonic clock. */
  readonly #latest = new Map<number, { beforeMs: number; knownMs: number }>();

  constructor(readonly clock: Pick<Clock, "monotonicMs">) {}

  add({ accountId, before, transactionIds }: Tombstone): void {
    // No later call has one of these ids.
    if (transactionIds !== null) return;
    const beforeMs = before.getTime();
    const latest = this.#latest.get(accountId);
    // Calls that arrived since the other deletion was read are recorded as later than both.
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
 * Follows the erasures of all processes, and removes the erased data from this process's memory,
 * journal and stored replays.
 */
export interface Erasures {
  /** Reads the feed of erasures; once it resolves, this process holds no erased data. */
  refresh(): Promise<void>;
}

export interface ErasureDeps {
  index: ErasureIndex;
  store: Pick<DeletionStore, "changeFeed">;
  /** Stores tombstones outside the database, so that restoring a backup doesn't lose them. */
  keep: (tombstones: readonly Tombstone[]) => Promise<void>;
  /** Removes erased records, however old, from those that the store rejected. */
  eraseRejected: (tombstones: readonly Tombstone[]) => Promise<void>;
  /** Removes these calls from caches and stored replays. */
  forget: (transactionIds: readonly string[]) => Promise<void>;
  /** Removes records that are stored or were erased from the journal. */
  compactJournal: () => Promise<void>;
}

export function createErasures(deps: ErasureDeps): Erasures {
  const { index } = deps;
  const reader = deps.store.changeFeed();
  let refreshing: Promise<void> = Promise.resolve();
  let compactionsDue = 0;
  /** Tombstones that were read but are not on disk yet. */
  let unkept: readonly Tombstone[] = [];
  /** Erased calls that couldn't be forgotten yet, as while a stored replay is locked. */
  const unforgotten: string[] = [];

  async function forget(transactionIds: readonly string[]): Promise<void> {
    await deps.forget(transactionIds);
    // And again with the next poll: a record stays open in the journal until its writer is done.
    compactionsDue = 2;
  }

  async function pollFeed(): Promise<void> {
    const failures: unknown[] = [];
    const tryToForget = async (transactionIds: readonly string[]) => {
      try {
        if (transactionIds.length > 0) await forget(transactionIds);
      } catch (thrown) {
        pushAll(unforgotten, transactionIds);
        failures.push(thrown);
      }
    };
    await tryToForget(unforgotten.splice(0));
    for (;;) {
      if (unkept.length > 0) {
        await deps.keep(unkept);
        // The index can't be used: it has no tombstones from before this process started, while
        // rejected records may be older.
        await deps.eraseRejected(unkept);
        unkept = [];
      }
      const { tombstones, transactionIds } = await reader.next();
      if (tombstones.length === 0 && transactionIds.length === 0) break;
      index.add(tombstones);
      unkept = tombstones;
      // The journal has matching calls in flight, and soon those that are just beginning.
      if (tombstones.length > 0) compactionsDue = 2;
      await tryToForget(transactionIds);
    }
    if (compactionsDue > 0) {
      await deps.compactJournal();
      compactionsDue--;
    }
    index.prune();
    if (failures.length > 0) throw failures[0];
  }

  index.onDropped(forget);
  return {
    refresh() {
      // One after the other, so that each reads everything that existed when it was requested.
      refreshing = refreshing.catch(() => {}).then(pollFeed);
      return refreshing;
    },
  };
}
