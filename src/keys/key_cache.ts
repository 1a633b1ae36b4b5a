import type { Clock } from "../base/clock.ts";
import type { ApiKeyStore, Principal } from "./api_key.ts";
import { hashKey, looksLikeKey } from "./credential.ts";
import { Fault } from "../shared/fault.ts";

/** Verified keys in memory, so that a call with a known key asks no database. */
export interface KeyCache {
  /**
   * Who the key belongs to. Throws `invalid_api_key`, or `store_unavailable` for an unseen key.
   * `isLimited` is asked before the store would be: whoever brought too many wrong keys gets no
   * look-up of their own any more, and an unseen key is held against a list of all keys instead,
   * which is read once a second at most. So a flood costs the store nothing, and nobody behind the
   * same address is refused for it.
   */
  verify(value: string, isLimited?: () => boolean): Promise<Principal>;
  /** Forgets keys whose row changed; the next call with one reads it again. */
  evict(ids: readonly string[]): void;
  /** Reads what changed in the store since the last look and forgets those keys. */
  refresh(): Promise<void>;
}

/** Keys remembered at most; the one learned first goes first. */
const maxKnown = 50_000;
/** A made-up key asks the database once in this time. */
const unknownMs = 5_000;
const maxUnknown = 10_000;
/** A list of all keys is used for this long, and for twenty times as long as it took to read. */
const usableMs = 1000;

export function createKeyCache(deps: {
  store: Pick<ApiKeyStore, "findByHash" | "changedSince">;
  clock: Clock;
  usableHashes?: () => Promise<readonly string[]>;
}): KeyCache {
  return new CachedKeys(deps.store, deps.clock, deps.usableHashes);
}

class CachedKeys implements KeyCache {
  readonly #principals = new Map<string, Principal>();
  readonly #hashById = new Map<string, string>();
  readonly #unknown = new Map<string, number>();
  readonly #pending = new Map<string, Promise<Principal | undefined>>();
  readonly #seenChanges = new Map<string, number>();
  #since: Date | null = null;
  /** Counts evictions: a look-up that one overtook may have read the old row. */
  #epoch = 0;

  #usable: { hashes: Promise<ReadonlySet<string>>; untilMs: number } | undefined;

  constructor(
    readonly store: Pick<ApiKeyStore, "findByHash" | "changedSince">,
    readonly clock: Clock,
    readonly usableHashes: (() => Promise<readonly string[]>) | undefined,
  ) {}

  async verify(value: string, isLimited: () => boolean = () => false): Promise<Principal> {
    if (!looksLikeKey(value)) throw new Fault("invalid_api_key");
    const principal = await this.#find(hashKey(value), isLimited);
    if (!principal || !usable(principal, this.clock.now())) throw new Fault("invalid_api_key");
    return principal;
  }

  evict(ids: readonly string[]): void {
    if (ids.length === 0) return;
    this.#epoch++;
    for (const id of ids) {
      const hash = this.#hashById.get(id);
      if (hash !== undefined) this.#principals.delete(hash);
      this.#hashById.delete(id);
    }
  }

  async refresh(): Promise<void> {
    const { now, changes } = await this.store.changedSince(this.#since);
    // Rows become visible when their transaction commits, a little after the time they carry:
    // each look goes back a minute, and a change already seen evicts nobody twice.
    const fresh = changes.filter(({ id, changedAt }) =>
      this.#seenChanges.get(id) !== changedAt.getTime()
    );
    // Read again before they are forgotten, and not at the next call: by then the store may be away.
    const before = this.#epoch;
    const hashes = fresh.flatMap(({ id }) => this.#hashById.get(id) ?? []);
    const rows = new Map<string, Principal | undefined>();
    for (const hash of hashes) rows.set(hash, await this.store.findByHash(hash));
    const isLatest = before === this.#epoch;
    this.evict(fresh.map(({ id }) => id));
    for (const [hash, row] of rows) if (row && isLatest) this.#remember(hash, row);
    this.#seenChanges.clear();
    for (const { id, changedAt } of changes) this.#seenChanges.set(id, changedAt.getTime());
    this.#since = new Date(now.getTime() - 60_000);
  }

  #find(
    hash: string,
    isLimited: () => boolean,
  ): Principal | undefined | Promise<Principal | undefined> {
    const principal = this.#principals.get(hash);
    if (principal) return principal;
    const missedMs = this.#unknown.get(hash);
    if (missedMs !== undefined && this.clock.monotonicMs() - missedMs < unknownMs) return undefined;
    let one = this.#pending.get(hash);
    if (!one && this.usableHashes && isLimited()) return this.#findListed(hash, this.usableHashes);
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
    const startMs = this.clock.monotonicMs();
    if (!this.#usable || this.#usable.untilMs <= startMs) {
      const usable = { hashes: read().then((all) => new Set(all)), untilMs: Infinity };
      this.#usable = usable;
      const done = (keepMs: number) => {
        usable.untilMs = this.clock.monotonicMs() + keepMs;
      };
      usable.hashes.then(
        () => done(Math.max(usableMs, 20 * (this.clock.monotonicMs() - startMs))),
        () => done(usableMs),
      );
    }
    const hashes = await this.#usable.hashes;
    return hashes.has(hash) ? await this.#lookUp(hash) : undefined;
  }

  async #lookUp(hash: string): Promise<Principal | undefined> {
    for (;;) {
      const before = this.#epoch;
      const principal = await this.store.findByHash(hash);
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
    if (this.#principals.size <= maxKnown) return;
    const [oldest, gone] = this.#principals.entries().next().value!;
    this.#principals.delete(oldest);
    this.#hashById.delete(gone.key.id);
  }

  #forget(hash: string): void {
    if (this.#unknown.size >= maxUnknown) this.#unknown.delete(this.#unknown.keys().next().value!);
    this.#unknown.set(hash, this.clock.monotonicMs());
  }
}

/** Neither revoked nor expired. */
export function usable({ key }: Principal, now: Date): boolean {
  return key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now);
}
