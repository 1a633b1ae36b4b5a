import type { Clock } from "../base/clock.ts";
import type { ApiKeyStore, Principal } from "./api_key.ts";
import { hashKey, looksLikeKey } from "./credential.ts";
import { Fault } from "./fault.ts";

/** Verified keys in memory, so that a call with a known key asks no database. */
export interface KeyRing {
  /** Who the key belongs to. Throws `invalid_api_key`, or `store_unavailable` for an unseen key. */
  verify(value: string): Promise<Principal>;
  /** Forgets keys whose row changed; the next call with one reads it again. */
  evict(ids: readonly string[]): void;
  /** Reads what changed in the store since the last look and forgets those keys. */
  refresh(): Promise<void>;
}

/** Keys remembered at most; the ones not used for longest go first. */
const maxKnown = 50_000;
/** A made-up key asks the database once in this time. */
const unknownMs = 5_000;
const maxUnknown = 10_000;

export function createKeyRing(parts: { store: ApiKeyStore; clock: Clock }): KeyRing {
  const known = new Map<string, Principal>();
  const hashById = new Map<string, string>();
  const unknown = new Map<string, number>();
  const pending = new Map<string, Promise<Principal | undefined>>();
  const seenChanges = new Map<string, number>();
  let since: Date | null = null;
  /** Counts evictions: a look-up that one overtook may have read the old row. */
  let epoch = 0;

  function remember(hash: string, principal: Principal): void {
    known.delete(hash);
    known.set(hash, principal);
    hashById.set(principal.key.id, hash);
    if (known.size <= maxKnown) return;
    const [oldest, gone] = known.entries().next().value!;
    known.delete(oldest);
    hashById.delete(gone.key.id);
  }

  async function lookUp(hash: string): Promise<Principal | undefined> {
    for (;;) {
      const before = epoch;
      const principal = await parts.store.findByHash(hash);
      if (before !== epoch) continue;
      if (principal) {
        unknown.delete(hash);
        remember(hash, principal);
      } else {
        if (unknown.size >= maxUnknown) unknown.delete(unknown.keys().next().value!);
        unknown.set(hash, parts.clock.monotonicMs());
      }
      return principal;
    }
  }

  function find(hash: string): Principal | undefined | Promise<Principal | undefined> {
    const principal = known.get(hash);
    if (principal) return principal;
    const missedMs = unknown.get(hash);
    if (missedMs !== undefined && parts.clock.monotonicMs() - missedMs < unknownMs) {
      return undefined;
    }
    let one = pending.get(hash);
    if (!one) {
      one = lookUp(hash).finally(() => pending.delete(hash));
      pending.set(hash, one);
    }
    return one;
  }

  function evict(ids: readonly string[]): void {
    if (ids.length === 0) return;
    epoch++;
    for (const id of ids) {
      const hash = hashById.get(id);
      if (hash !== undefined) known.delete(hash);
      hashById.delete(id);
    }
  }

  return {
    async verify(value) {
      if (!looksLikeKey(value)) throw new Fault("invalid_api_key");
      const principal = await find(hashKey(value));
      if (!principal || !usable(principal, parts.clock.now())) throw new Fault("invalid_api_key");
      return principal;
    },
    evict,
    async refresh() {
      const { now, changes } = await parts.store.changedSince(since);
      // Rows become visible when their transaction commits, a little after the time they carry:
      // each look goes back a minute, and a change already seen evicts nobody twice.
      const fresh = changes.filter(({ id, changedAt }) =>
        seenChanges.get(id) !== changedAt.getTime()
      );
      evict(fresh.map(({ id }) => id));
      seenChanges.clear();
      for (const { id, changedAt } of changes) seenChanges.set(id, changedAt.getTime());
      since = new Date(now.getTime() - 60_000);
    },
  };
}

function usable({ key }: Principal, now: Date): boolean {
  return key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now);
}
