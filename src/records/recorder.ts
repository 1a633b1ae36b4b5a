import { type Clock, systemClock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { Fault, isStoreAway, messageOf, reasonOf } from "../shared/fault.ts";
import {
  bareInteraction,
  type InsertOptions,
  type InteractionStore,
  type SettledCall,
} from "../shared/interaction.ts";
import { isLockTimeout } from "../database/postgres/faults.ts";
import {
  type Drained,
  maxBatch,
  type MemoryLimit,
  type RecordGroup,
  RecordQueue,
  type SpillSpace,
} from "./record_queue.ts";

export type { SpillSpace } from "./record_queue.ts";

export interface RecorderDeps {
  store: Pick<InteractionStore, "insert">;
  log: Log;
  clock?: Pick<Clock, "monotonicMs">;
  /** Waits between attempts during an outage, and for more records; a timer in production. */
  pause: (ms: number) => Promise<void>;
  /** Records wait this long for others, unless a read wants them; default 0. */
  lingerMs?: number;
  /** Called with the ids of records that are now in the store, or saved by `reject`. */
  stored?: (transactionIds: readonly string[]) => void;
  /** Takes the records that exceed `memory`; absent: all are held in memory. */
  spillSpace?: SpillSpace;
  /** Default: 5,000 records and 16 Mi units of text. */
  memory?: MemoryLimit;
  /** Saves a record that the store rejects; it counts as stored once this resolves. */
  reject?: (interaction: SettledCall, reason: string) => Promise<void>;
}

/** How long an end waits for records, and a start for those whose rows another session has locked. */
export const heldUpMs = 5_000;

/** The most that a batch of several records weighs: the writing thread has all of it in memory. */
const maxBatchChars = 4 * 1024 * 1024;
/** A batch with this much text is written at once, without waiting for other records. */
const largeBatchChars = 1024 * 1024;
/** How long a batch waits for a lock that another session holds. */
const longestLockMs = 1000;
/** The same for accounts that are set apart; it doubles with each try of a single account. */
const firstLockMs = 20;
/** Full batches of other accounts between two tries of accounts that are set apart. */
const batchesBetweenTries = 4;
const quietMs = 30_000;
const firstDelayMs = 50;
const longestDelayMs = 2000;

interface Waiter {
  resolve: () => void;
  reject: (fault: unknown) => void;
  /** Number of the last record that must be written before this waiter is done. */
  upTo: number;
}

/**
 * Writes the records of ended calls to the store in the background, in batches: a transaction costs
 * the store several milliseconds, however few records it has. Nothing on the hot path waits for it.
 */
export class Recorder {
  readonly #deps: RecorderDeps;
  readonly #queue: RecordQueue;
  /** By what they wait for, each in the order in which they came. */
  readonly #waiters = new Map<Drained, Set<Waiter>>();
  /** Number of the last record that has been waited for. */
  #wanted = 0;
  #writing = false;
  /** What records wait for: the database, or to be read back from the journal; and why. */
  #away: { cause: "store" | "journal"; reason: string } | undefined;
  /** Whether the last records that were written were set apart. */
  #wasFreed = false;
  /** Whether the log has it that records wait for a lock. */
  #isHeldUp = false;
  /** Until when the log gets no line about another lock: under load, records wait for each other's. */
  #quietUntilMs = -Infinity;
  #closed = false;
  #rejected = 0;
  #unsaved = 0;
  #wake = nothing;
  #writeNow = nothing;

  constructor(deps: RecorderDeps) {
    this.#deps = deps;
    this.#queue = new RecordQueue(deps.spillSpace, deps.memory);
  }

  get waiting(): number {
    return this.#queue.waiting;
  }

  /** The waiting records that aren't left to the journal. */
  get inMemory(): readonly SettledCall[] {
    return this.#queue.inMemory;
  }

  /** End time of the call whose record has waited longest. */
  get oldest(): Date | undefined {
    return this.#queue.oldest;
  }

  /** Number of records that the store has rejected. */
  get rejected(): number {
    return this.#rejected;
  }

  /**
   * Number of rejected records that could not be saved elsewhere either: only the journal has them.
   */
  get unsaved(): number {
    return this.#unsaved;
  }

  record(interaction: SettledCall): void {
    this.#queue.add(interaction);
    if (this.#isFull()) this.#writeNow();
    this.#start();
  }

  /**
   * Resolves when everything recorded so far is in the store, so that a read that begins now
   * includes it; everything of one account, or of those that no locked row holds up. Throws
   * `store_unavailable`, at once if the store is known to be unavailable. An aborted `signal` ends
   * the wait.
   */
  async drain(accounts: Drained = "all", signal?: AbortSignal): Promise<void> {
    if (this.#queue.isThrough(this.#queue.last, accounts)) return;
    if (this.#away || this.#closed) {
      // The store may be back: try now instead of at the next attempt.
      this.#wake();
      throw new Fault("store_unavailable", {
        note: this.#away?.reason ?? "the process ends: records wait for the next start",
      });
    }
    const upTo = this.#wanted = this.#queue.last;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { resolve, reject, upTo };
    const waiters = this.#waiters.get(accounts) ?? new Set();
    this.#waiters.set(accounts, waiters.add(waiter));
    signal?.addEventListener("abort", () => waiters.delete(waiter) && reject(signal.reason));
    this.#writeNow();
    // After a failed sync the journal again holds records that are already stored.
    this.#start();
    await promise;
  }

  /** Throws `overloaded` if so many records wait that no new call can begin. */
  admit(): void {
    this.#deps.spillSpace?.admit();
  }

  /** Stops writing; waiting records stay in the journal. */
  close(): void {
    this.#closed = true;
  }

  #start(): void {
    if (this.#writing || this.#closed) return;
    this.#writing = true;
    // Records of the same turn of the event loop go in one batch.
    queueMicrotask(() => void this.#run());
  }

  /** Writes until nothing waits, through outages of the store. */
  async #run(): Promise<void> {
    let delayMs = firstDelayMs;
    let turns = 0;
    while (this.#queue.waiting > 0) {
      const apart = this.#apartInTurn(turns);
      turns = apart ? 0 : turns + 1;
      if (!this.#away && !apart && !this.#isSortingOut) await this.#linger();
      if (this.#closed) break;
      try {
        await this.#writeFirst(
          await (apart ? this.#queue.load(apart) : this.#queue.readShared()),
        );
        this.#noteBack();
        delayMs = firstDelayMs;
      } catch (thrown) {
        this.#noteAway(thrown);
        await this.#rest(delayMs);
        delayMs = Math.min(delayMs * 2, longestDelayMs);
      }
    }
    this.#writing = false;
    if (this.#closed) {
      this.#failWaiters(
        new Fault("store_unavailable", { note: "the service stops: records wait" }),
      );
    }
  }

  /**
   * The group of accounts that are set apart that is to be tried now, after so many batches of
   * others. The store may wait for it, so the others come first while many of them wait.
   */
  #apartInTurn(turns: number): RecordGroup | undefined {
    const [group] = this.#queue.apart;
    if (group === undefined || !this.#queue.hasShared) return group;
    return turns >= (this.#isFull() ? batchesBetweenTries : 1) ? group : undefined;
  }

  /** Whether it isn't known yet that all accounts that are set apart are still held up. */
  get #isSortingOut(): boolean {
    const [next] = this.#queue.apart;
    return next !== undefined && (next.tries === 0 || this.#wasFreed);
  }

  /** Writes the oldest records of a group. Throws if the store is unavailable. */
  async #writeFirst(group: RecordGroup): Promise<void> {
    const batch = group.first(group.batchSize, maxBatchChars);
    // What was to be read back from the journal is lost.
    if (batch.length === 0) return this.#releaseWaiters();
    let isWritten: boolean;
    try {
      isWritten = await this.#write(batch, { lockMs: lockMsOf(group) });
    } catch (thrown) {
      if (!isLockTimeout(thrown)) throw thrown;
      this.#wasFreed = false;
      this.#noteHeldUp(group);
      this.#queue.setApart(group, batch.length);
      return this.#releaseWaiters();
    }
    // A bad row must not block the others: ever smaller batches isolate it.
    group.batchSize = isWritten
      ? Math.min(maxBatch, group.batchSize * 2)
      : Math.ceil(batch.length / 2);
    if (!isWritten) return;
    this.#wasFreed = group.accounts !== undefined;
    this.#queue.remove(group, batch.length);
    this.#noteNoneHeldUp();
    this.#releaseWaiters();
  }

  /** Writes a batch; false if one of its rows is rejected. Throws if the store is unavailable. */
  async #write(batch: readonly SettledCall[], options: InsertOptions): Promise<boolean> {
    try {
      await this.#deps.store.insert(batch, options);
    } catch (thrown) {
      if (isStoreAway(thrown)) throw thrown;
      if (batch.length > 1) return false;
      const [row] = batch as [SettledCall];
      const isSaved = await this.#writeBare(row, options, thrown) ||
        await this.#reject(row, messageOf(thrown));
      if (!isSaved) return true;
    }
    this.#deps.stored?.(batch.map(({ transactionId }) => transactionId));
    return true;
  }

  /**
   * Stores the row without its rejected payload; false if that is rejected too. Throws if the store
   * is unavailable.
   */
  async #writeBare(
    row: SettledCall,
    options: InsertOptions,
    refusal: unknown,
  ): Promise<boolean> {
    try {
      await this.#deps.store.insert([bareInteraction(row)], options);
    } catch (thrown) {
      if (isStoreAway(thrown)) throw thrown;
      return false;
    }
    this.#deps.log.error("the record of a call is stored without its payload", {
      transaction: row.transactionId,
      reason: messageOf(refusal),
    });
    return true;
  }

  /**
   * Saves a rejected record elsewhere; false if that fails, and the record stays in the journal.
   */
  async #reject(interaction: SettledCall, reason: string): Promise<boolean> {
    this.#rejected++;
    const { log, reject } = this.#deps;
    const transaction = interaction.transactionId;
    try {
      await reject?.(interaction, reason);
      log.error("the database rejected the record of a call", {
        transaction,
        reason,
        ...(reject ? { saved_in: "journal/rejected.jsonl" } : {}),
      });
      return true;
    } catch (thrown) {
      this.#unsaved++;
      log.error("the database rejected the record of a call; it stays in the journal", {
        transaction,
        reason,
        not_saved: messageOf(thrown),
      });
      return false;
    }
  }

  /** Fails waiting drains at once; the records stay queued and are retried. */
  #noteAway(thrown: unknown): void {
    const { log } = this.#deps;
    const fault = isStoreAway(thrown) ? thrown : new Fault("store_unavailable", { cause: thrown });
    const cause = fault === thrown ? "store" : "journal";
    const reason = reasonOf(thrown);
    if (this.#away !== undefined) {
      // One line per outage.
    } else if (cause === "store") {
      log.warn("the database is unavailable: records are queued", {
        waiting: this.#queue.waiting,
        reason,
      });
    } else {
      log.error("waiting records can't be read back from the journal", { reason });
    }
    this.#away = { cause: this.#away?.cause ?? cause, reason };
    this.#failWaiters(fault);
  }

  #noteBack(): void {
    if (this.#away?.cause === "store") {
      const waiting = this.#queue.waiting;
      this.#deps.log.info("the database is available again: queued records are written", {
        waiting,
      });
    }
    this.#away = undefined;
  }

  /**
   * One line while records of any account are held up, and one when none are any more; at most one
   * of each in half a minute.
   */
  #noteHeldUp({ accounts = [], length: waiting }: RecordGroup): void {
    if (this.#isHeldUp || accounts.length !== 1) return;
    const nowMs = (this.#deps.clock ?? systemClock).monotonicMs();
    if (nowMs < this.#quietUntilMs) return;
    this.#quietUntilMs = nowMs + quietMs;
    this.#isHeldUp = true;
    this.#deps.log.warn(
      "an account's records wait for rows that another session of the database has locked",
      { account: accounts[0], waiting },
    );
  }

  #noteNoneHeldUp(): void {
    if (!this.#isHeldUp || this.#queue.apart.length > 0) return;
    this.#isHeldUp = false;
    this.#deps.log.info("the records that waited for locked rows are written");
  }

  #failWaiters(fault: Fault): void {
    for (const waiters of this.#waiters.values()) {
      for (const { reject } of waiters) reject(fault);
    }
    this.#waiters.clear();
  }

  async #rest(ms: number): Promise<void> {
    if (this.#closed) return;
    const woken = new Promise<void>((resolve) => this.#wake = resolve);
    await Promise.race([this.#deps.pause(ms), woken]);
    this.#wake = nothing;
  }

  async #linger(): Promise<void> {
    const { lingerMs = 0, pause } = this.#deps;
    if (lingerMs === 0 || this.#isFull() || this.#isAnyWanted || this.#closed) return;
    const wanted = new Promise<void>((resolve) => this.#writeNow = resolve);
    await Promise.race([pause(lingerMs), wanted]);
    this.#writeNow = nothing;
  }

  /** Whether to write at once. Spilled records come file by file, so waiting adds none to a batch. */
  #isFull(): boolean {
    const { shared, spilled } = this.#queue;
    return shared.length >= maxBatch || spilled > 0 || shared.chars >= largeBatchChars;
  }

  /** Whether a read waits for records that aren't set apart. */
  get #isAnyWanted(): boolean {
    return !this.#queue.isThrough(this.#wanted, "free");
  }

  /** Looks only at the first of those that wait for the same: a locked account may have many. */
  #releaseWaiters(): void {
    for (const [accounts, waiters] of this.#waiters) {
      for (const waiter of waiters) {
        if (!this.#queue.isThrough(waiter.upTo, accounts)) break;
        waiters.delete(waiter);
        waiter.resolve();
      }
      if (waiters.size === 0) this.#waiters.delete(accounts);
    }
  }
}

function lockMsOf({ accounts, tries }: RecordGroup): number {
  return accounts ? Math.min(longestLockMs, firstLockMs * 2 ** tries) : longestLockMs;
}

function nothing(): void {}
