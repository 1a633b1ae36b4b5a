import type { Clock } from "../base/clock.ts";
import { evictOldest } from "../base/evict_oldest.ts";
import { within } from "../base/deadline.ts";
import { chunksOf } from "../base/lists.ts";
import type { Account } from "./account.ts";
import type { ApiKeyStore, Principal } from "./api_key.ts";
import type { ChangeList, Held, KeyChangeStore } from "./key_changes.ts";
import { hashKey, looksLikeKey } from "./credential.ts";
import { Fault } from "../shared/fault.ts";

/** Cap on remembered keys; the oldest entries are dropped first. */
const maxKnown = 50_000;
/** A made-up key is looked up in the database once in this time. */
const unknownMs = 5_000;
const maxUnknown = 10_000;
/** Keys or accounts that are read again in one statement. */
const readAtOnce = 500;
/** A list of all keys is used for this long, or for twenty times as long as it took to read. */
const usableMs = 1000;
/** Refreshes come every quarter of a second. */
const overdueMs = 2_000;
const catchUpMs = 1_000;

type CachedStore = Pick<ApiKeyStore, "findByHash"> & KeyChangeStore;

interface KeyCacheDeps {
  store: CachedStore;
  clock: Clock;
  /** Whether other processes change keys, so that `refresh` is called all the time. */
  isShared: boolean;
  usableHashes?: () => Promise<readonly string[]>;
}

/** Verified keys in memory, so that a call with a known key needs no database. */
export class KeyCache {
  readonly #principals = new Map<string, Principal>();
  readonly #hashById = new Map<string, string>();
  readonly #unknown = new Map<string, number>();
  readonly #pending = new Map<string, Promise<Principal | undefined>>();
  /**
   * When rows in memory were last changed, where that is known, so that each change is read once.
   */
  readonly #keyTimes = new Map<string, number>();
  readonly #accountTimes = new Map<number, number>();
  #since: Date | null = null;
  /** Counts evictions: a look-up that one overtook may have read the old row. */
  #epoch = 0;

  /** When the last refresh began, by both clocks: the monotonic one stops while a machine sleeps. */
  #readMs: number;
  #readAt: Date;
  /** The refresh that calls wait for; remains until one succeeds in time. */
  #catchUp: Promise<void> | undefined;

  #usable: { hashes: Promise<ReadonlySet<string>>; untilMs: number } | undefined;

  readonly #deps: KeyCacheDeps;

  constructor(deps: KeyCacheDeps) {
    this.#deps = deps;
    this.#readMs = deps.clock.monotonicMs();
    this.#readAt = deps.clock.now();
  }

  /**
   * Returns whose key this is. Throws `invalid_api_key`, or `store_unavailable` for an unseen key.
   * `isLimited` is called before the store would be: a caller that has sent too many wrong keys
   * gets no more look-ups of its own, and its unseen keys are checked against a list of all keys
   * instead, which is read once a second at most. So a flood costs the store nothing, and nobody
   * else behind the same address is refused for it.
   */
  async verify(value: string, isLimited: () => boolean = () => false): Promise<Principal> {
    if (!looksLikeKey(value)) throw new Fault("invalid_api_key");
    if (this.#isOverdue()) await this.#awaitCatchUp();
    const principal = await this.#find(hashKey(value), isLimited);
    if (!principal || !usable(principal, this.#deps.clock.now())) {
      throw new Fault("invalid_api_key");
    }
    return principal;
  }

  /** Forgets keys whose rows have changed; the next call with such a key reads it again. */
  evict(ids: readonly string[]): void {
    if (ids.length === 0) return;
    this.#epoch++;
    for (const id of ids) {
      const hash = this.#hashById.get(id);
      if (hash !== undefined) this.#principals.delete(hash);
      this.#forgetId(id);
    }
  }

  /** Reads again what is in memory and has changed in the store since the last refresh. */
  async refresh(): Promise<void> {
    const { clock } = this.#deps;
    const [readMs, readAt] = [clock.monotonicMs(), clock.now()];
    const since = this.#since;
    const { now, keys, accounts } = await this.#deps.store.changedSince(since);
    if (since !== null) {
      await this.#refreshKeys(keys, since);
      await this.#refreshAccounts(accounts, since);
    }
    // Rows become visible when their transaction commits, a little after their time of change, so
    // each refresh looks back a minute.
    this.#since = new Date(now.getTime() - 60_000);
    this.#readMs = readMs;
    this.#readAt = readAt;
    // A store that takes so long to answer isn't waited for again.
    if (!this.#isOverdue()) this.#catchUp = undefined;
  }

  #isOverdue(): boolean {
    const { isShared, clock } = this.#deps;
    return isShared && (clock.monotonicMs() - this.#readMs > overdueMs ||
      clock.now().getTime() - this.#readAt.getTime() > overdueMs);
  }

  /**
   * Reads what was changed while this process stood still: its first call comes before its next
   * refresh. Calls wait for it once; while the store is away or slow, they go on with the keys in
   * memory.
   */
  #awaitCatchUp(): Promise<void> {
    return this.#catchUp ??= within(catchUpMs, this.refresh(), undefined).catch(() => {});
  }

  /**
   * Changed keys are read again before they are dropped, and not at their next call, when the store
   * may be unreachable.
   */
  async #refreshKeys(changes: ChangeList<string>, since: Date): Promise<void> {
    if (!this.#mayDiffer(changes, this.#keyTimes)) return;
    const ids = changes === "many" ? [...this.#hashById.keys()] : changes.map(({ id }) => id);
    const cached = ids.filter((id) => this.#hashById.has(id));
    for (const held of heldChunks(cached, this.#keyTimes)) {
      const before = this.#epoch;
      const changed = await this.#deps.store.changedKeys(held, since);
      const isLatest = before === this.#epoch;
      const hashes = changed.map(({ principal }) => this.#hashById.get(principal.key.id));
      this.evict(changed.map(({ principal }) => principal.key.id));
      for (const [at, { principal, changedAt }] of changed.entries()) {
        const hash = hashes[at];
        if (!isLatest || hash === undefined) continue;
        this.#remember(hash, principal);
        this.#keyTimes.set(principal.key.id, changedAt.getTime());
      }
    }
  }

  /** An account may have any number of keys, so its row is read once for all of them. */
  async #refreshAccounts(changes: ChangeList<number>, since: Date): Promise<void> {
    if (!this.#mayDiffer(changes, this.#accountTimes)) return;
    const cached = new Set([...this.#principals.values()].map(({ account }) => account.id));
    const ids = changes === "many"
      ? [...cached]
      : changes.map(({ id }) => id).filter((id) => cached.has(id));
    for (const id of this.#accountTimes.keys()) if (!cached.has(id)) this.#accountTimes.delete(id);
    const found = new Map<number, { account: Account; changedAt: Date }>();
    for (const held of heldChunks(ids, this.#accountTimes)) {
      for (const one of await this.#deps.store.changedAccounts(held, since)) {
        found.set(one.account.id, one);
      }
    }
    if (found.size === 0) return;
    for (const [hash, { key, account }] of this.#principals) {
      const changed = found.get(account.id);
      if (changed) this.#principals.set(hash, { key, account: changed.account });
    }
    for (const [id, { changedAt }] of found) this.#accountTimes.set(id, changedAt.getTime());
  }

  /**
   * Whether there is a change that wasn't read yet. If so, look-ups under way are made again, since
   * they may have read the old row.
   */
  #mayDiffer<Id>(changes: ChangeList<Id>, times: ReadonlyMap<Id, number>): boolean {
    const mayDiffer = changes === "many" ||
      changes.some(({ id, changedAt }) => times.get(id) !== changedAt.getTime());
    if (mayDiffer) this.#epoch++;
    return mayDiffer;
  }

  #find(
    hash: string,
    isLimited: () => boolean,
  ): Principal | undefined | Promise<Principal | undefined> {
    const principal = this.#principals.get(hash);
    if (principal) return principal;
    const missedMs = this.#unknown.get(hash);
    if (missedMs !== undefined && this.#deps.clock.monotonicMs() - missedMs < unknownMs) {
      return undefined;
    }
    let one = this.#pending.get(hash);
    if (!one && this.#deps.usableHashes && isLimited()) {
      return this.#findListed(hash, this.#deps.usableHashes);
    }
    if (!one) {
      one = this.#lookUp(hash).finally(() => this.#pending.delete(hash));
      this.#pending.set(hash, one);
    }
    return one;
  }

  async #findListed(
    hash: string,
    read: () => Promise<readonly string[]>,
  ): Promise<Principal | undefined> {
    const startMs = this.#deps.clock.monotonicMs();
    if (!this.#usable || this.#usable.untilMs <= startMs) {
      const usable = { hashes: read().then((all) => new Set(all)), untilMs: Infinity };
      this.#usable = usable;
      const done = (keepMs: number) => {
        usable.untilMs = this.#deps.clock.monotonicMs() + keepMs;
      };
      usable.hashes.then(
        () => done(Math.max(usableMs, 20 * (this.#deps.clock.monotonicMs() - startMs))),
        () => done(usableMs),
      );
    }
    const hashes = await this.#usable.hashes;
    return hashes.has(hash) ? await this.#lookUp(hash) : undefined;
  }

  async #lookUp(hash: string): Promise<Principal | undefined> {
    for (;;) {
      const before = this.#epoch;
      const principal = await this.#deps.store.findByHash(hash);
      if (before !== this.#epoch) continue;
      if (principal) this.#remember(hash, principal);
      else this.#forget(hash);
      return principal;
    }
  }

  #remember(hash: string, principal: Principal): void {
    this.#unknown.delete(hash);
    this.#principals.set(hash, principal);
    this.#hashById.set(principal.key.id, hash);
    evictOldest(this.#principals, maxKnown, ({ key }) => this.#forgetId(key.id));
  }

  #forgetId(id: string): void {
    this.#hashById.delete(id);
    this.#keyTimes.delete(id);
  }

  #forget(hash: string): void {
    this.#unknown.set(hash, this.#deps.clock.monotonicMs());
    evictOldest(this.#unknown, maxUnknown);
  }
}

function heldChunks<Id>(ids: readonly Id[], times: ReadonlyMap<Id, number>): Held<Id>[][] {
  const held = ids.map((id) => ({ id, changedAt: times.get(id) ?? null }));
  return chunksOf(held, readAtOnce);
}

/** Neither revoked nor expired. */
export function usable({ key }: Principal, now: Date): boolean {
  return key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now);
}
