import { renewAfterMs } from "../base/lease_queue.ts";
import { maxNanos } from "../pricing/plausible.ts";

/** How a process deals with the credit it leases; times in milliseconds, money in nano-dollars. */
export interface LeasePolicy {
  leaseMs: number;
  /** Unspent credit is returned after this long without a new call. */
  idleMs: number;
  /** The least that is leased ahead of need, where the balance has room for it. */
  aheadNanos: bigint;
}

/** Credit that one call has reserved. Only the first `settle` counts. */
export interface Reservation {
  /** The lease that the charge comes out of, for the settlement; null for a call that is free. */
  readonly leaseId: string | null;
  readonly reservedNanos: bigint;
  /** Ends the reservation with the call's charge, 0n for none; what is left serves other calls. */
  settle(chargedNanos: bigint): void;
}

/** What to ask the ledger for. */
export interface Demand {
  atLeastNanos: bigint;
  wantedNanos: bigint;
  aheadNanos: bigint;
}

interface Lease {
  readonly id: string;
  /** On the monotonic clock; counted from before the store was asked, so never later than there. */
  expiresMs: number;
  renewMs: number;
  freeNanos: bigint;
  inFlightNanos: bigint;
}

/** A lease ends here a little before it does in the store. */
const marginMs = 250;

/**
 * One account's credit in this process: a lease, what calls under way have reserved of it, and how
 * much is worth holding. Uses no store and no timer; times are those of a monotonic clock.
 */
export class AccountLease {
  readonly #policy: LeasePolicy;
  #lease: Lease | undefined;
  #inFlight = 0n;
  #usedMs: number;
  /** Unleased balance according to the store's last answer (nano-dollars). */
  #othersNanos: bigint | undefined;
  #recentBound = 0n;
  #peakInFlight = 0n;
  /** Decays with a half-life of about a minute, so that it is near a minute's spending. */
  #spent = 0n;
  #decayedMs: number;
  readonly #bornMs: number;

  constructor(policy: LeasePolicy, nowMs: number) {
    this.#policy = policy;
    this.#usedMs = nowMs;
    this.#decayedMs = nowMs;
    this.#bornMs = nowMs;
  }

  /** Reserved by calls under way, whatever became of their leases. */
  get inFlightNanos(): bigint {
    return this.#inFlight;
  }

  freeNanos(nowMs: number): bigint {
    return this.#live(nowMs)?.freeNanos ?? 0n;
  }

  leaseId(nowMs: number): string | undefined {
    return this.#live(nowMs)?.id;
  }

  /**
   * Reserves from the lease in memory; undefined when it has no room. `onEnd` is called when the
   * reservation has ended and its credit is free.
   */
  reserve(boundNanos: bigint, nowMs: number, onEnd?: () => void): Reservation | undefined {
    const lease = this.#live(nowMs);
    if (!lease || lease.freeNanos < boundNanos) return undefined;
    lease.freeNanos -= boundNanos;
    lease.inFlightNanos += boundNanos;
    this.#inFlight += boundNanos;
    if (this.#inFlight > this.#peakInFlight) this.#peakInFlight = this.#inFlight;
    let open = true;
    const end = (chargedNanos: bigint) => {
      if (!open) return;
      open = false;
      this.#inFlight -= boundNanos;
      this.#spent += chargedNanos;
      lease.inFlightNanos -= boundNanos;
      lease.freeNanos += boundNanos - chargedNanos;
      // Overruns are charged to the balance; they don't reduce future credit on this lease.
      if (lease.freeNanos + lease.inFlightNanos < 0n) lease.freeNanos = -lease.inFlightNanos;
      onEnd?.();
    };
    return {
      leaseId: lease.id,
      reservedNanos: boundNanos,
      settle: end,
    };
  }

  /** Notes a call's bound, which leases are sized by. */
  noteCall(boundNanos: bigint, nowMs: number): void {
    this.#usedMs = nowMs;
    const fallen = this.#recentBound - this.#recentBound / 8n;
    this.#recentBound = boundNanos > fallen ? boundNanos : fallen;
  }

  /** Returns what waiting calls need, and what is worth taking ahead of need. */
  demand(waiting: readonly bigint[], nowMs: number): Demand {
    const free = this.freeNanos(nowMs);
    const least = waiting.reduce((one, other) => other < one ? other : one);
    const wanted = waiting.reduce((sum, bound) => sum + bound, 0n) - free;
    return askable({
      atLeastNanos: least - free,
      wantedNanos: wanted,
      aheadNanos: wanted + this.#target(nowMs),
    });
  }

  /**
   * Returns what to take while no call waits, so that the next ones don't have to; undefined:
   * nothing.
   */
  demandAhead(nowMs: number): Demand | undefined {
    const target = this.#target(nowMs);
    const free = this.freeNanos(nowMs);
    // Enough for more than a minute, should the store become unreachable now.
    const isFull = free >= target * 3n / 4n;
    if (this.#isIdle(nowMs) || this.#isScarce(free) || isFull) return undefined;
    const others = this.#othersNanos;
    // A prefetch gets at most a quarter of the rest; there is no point in less than one call needs.
    if (others !== undefined && others / 4n < this.#recentBound) return undefined;
    return askable({ atLeastNanos: 0n, wantedNanos: 0n, aheadNanos: target - free });
  }

  /**
   * Whether the credit that a request brings could still be used; if not, its lease is left to
   * expire in the store.
   */
  isOfUse(lease: { id: string; extends: boolean }, sentMs: number, nowMs: number): boolean {
    if (this.#live(nowMs)?.id === lease.id) return true;
    return !lease.extends && nowMs < this.#timesFrom(sentMs).expiresMs;
  }

  /**
   * Adds the credit granted for a request that was first sent at `sentMs`, from when its lease
   * counts. False when that lease has expired, so that the credit can't be used.
   */
  taken(
    lease: { id: string; extends: boolean; isNew: boolean; grantedNanos: bigint },
    sentMs: number,
    nowMs: number,
  ): boolean {
    if (!this.isOfUse(lease, sentMs, nowMs)) return false;
    const held = this.#live(nowMs);
    const times = this.#timesFrom(sentMs);
    if (held?.id === lease.id && !lease.isNew) {
      held.freeNanos += lease.grantedNanos;
      if (times.expiresMs > held.expiresMs) Object.assign(held, times);
      return true;
    }
    // The store re-created the lease: replace what we held, don't add to it.
    this.#lease = { id: lease.id, ...times, freeNanos: lease.grantedNanos, inFlightNanos: 0n };
    return true;
  }

  /** Notes what the store says is left for others. */
  noteOthers(othersNanos: bigint): void {
    this.#othersNanos = othersNanos;
  }

  /** Removes credit that should be returned to the account now; undefined if there is none. */
  takeSurplus(nowMs: number, all: boolean): { leaseId: string; nanos: bigint } | undefined {
    const lease = this.#live(nowMs);
    if (!lease || lease.freeNanos <= 0n) return undefined;
    if (!all && !this.#isIdle(nowMs) && !this.#isScarce(lease.freeNanos)) return undefined;
    const nanos = lease.freeNanos;
    lease.freeNanos = 0n;
    return { leaseId: lease.id, nanos };
  }

  /**
   * Returns the lease. `isDue`: a fifth of its time has passed, so it has to be renewed; an empty
   * one is left to expire.
   */
  held(nowMs: number): { leaseId: string; inFlightNanos: bigint; isDue: boolean } | undefined {
    const lease = this.#live(nowMs);
    if (!lease) return undefined;
    const { id, freeNanos, inFlightNanos, renewMs } = lease;
    const isEmpty = freeNanos <= 0n && inFlightNanos <= 0n;
    return { leaseId: id, inFlightNanos, isDue: nowMs >= renewMs && !isEmpty };
  }

  renewed(leaseId: string, sentMs: number): void {
    if (this.#lease?.id === leaseId) Object.assign(this.#lease, this.#timesFrom(sentMs));
  }

  /** The store no longer knows the lease: nothing more is spent from it. */
  lost(leaseId: string): void {
    if (this.#lease?.id === leaseId) this.#lease = undefined;
  }

  /** Decays the figures that leases are sized by; to be called every few seconds. */
  fade(nowMs: number): void {
    const passed = BigInt(Math.min(60_000, Math.max(0, Math.floor(nowMs - this.#decayedMs))));
    this.#decayedMs = nowMs;
    this.#spent -= this.#spent * passed / 60_000n;
    this.#peakInFlight -= (this.#peakInFlight - this.#inFlight) * passed / 60_000n;
  }

  /** Whether nothing is lost by forgetting it. */
  isEmpty(nowMs: number): boolean {
    return this.#inFlight === 0n && this.#live(nowMs) === undefined && this.#isIdle(nowMs);
  }

  #live(nowMs: number): Lease | undefined {
    const lease = this.#lease;
    return lease && nowMs < lease.expiresMs ? lease : undefined;
  }

  #timesFrom(sentMs: number) {
    const { leaseMs } = this.#policy;
    return { expiresMs: sentMs + leaseMs - marginMs, renewMs: sentMs + renewAfterMs(leaseMs) };
  }

  #isIdle(nowMs: number): boolean {
    return nowMs - this.#usedMs >= this.#policy.idleMs;
  }

  /**
   * Whether the balance is nearly empty, so that free credit should go back: other processes may
   * have to refuse calls for lack of it.
   */
  #isScarce(freeNanos: bigint): boolean {
    return this.#othersNanos !== undefined && this.#othersNanos < freeNanos;
  }

  /** Enough for ten calls, for twice the calls under way and for two minutes' spending. */
  #target(nowMs: number): bigint {
    return [this.#recentBound * 10n, this.#peakInFlight * 2n, this.#perMinute(nowMs) * 2n].reduce(
      (most, one) => one > most ? one : most,
      this.#policy.aheadNanos,
    );
  }

  /**
   * Spending per minute; in a process's first minute, extrapolated from what it has seen so far.
   */
  #perMinute(nowMs: number): bigint {
    const seenMs = Math.min(60_000, Math.max(10_000, Math.ceil(nowMs - this.#bornMs)));
    return this.#spent * 60_000n / BigInt(seenMs);
  }
}

/**
 * Caps a demand. A bound may be any number, by an operator's price or a caller's limit; one that
 * the store can't take would fail, together with the calls that wait with it.
 */
function askable({ atLeastNanos, wantedNanos, aheadNanos }: Demand): Demand {
  const most = (nanos: bigint) => nanos > maxNanos ? maxNanos : nanos;
  return {
    atLeastNanos: most(atLeastNanos),
    wantedNanos: most(wantedNanos),
    aheadNanos: most(aheadNanos),
  };
}
