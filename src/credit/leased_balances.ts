import type { Clock } from "../base/clock.ts";
import { type SetTimer, within } from "../base/deadline.ts";
import { leaseIdleMs, LeaseQueue, LeaseQueues } from "../base/lease_queue.ts";
import { nanosToUsd } from "../base/money.ts";
import { Fault, isStoreAway } from "../shared/fault.ts";
import { AccountLease, type Demand, type Reservation } from "./account_lease.ts";
import type { LeaseRequest, LeaseReturn, LeaseStore } from "./ledger.ts";

export interface LeasedBalancesDeps<Id> {
  store: LeaseStore<Id>;
  clock: Pick<Clock, "monotonicMs">;
  setTimer?: SetTimer;
  newId: () => string;
  /** Identifies this process's leases across restarts (`DATA_DIR`). */
  processId: string;
  leaseSeconds: number;
  /** Whether other processes lease from the same balances. */
  shared: boolean;
  /** The fault for a call that needs more than is left. */
  refusal: (id: Id, shortage: Shortage) => Fault;
  /** Called when the store has failed, other than by being unreachable. */
  onFailure: (id: Id, thrown: unknown) => void;
}

/** A call that needs more than a balance has left. */
export interface Shortage {
  neededNanos: bigint;
  leftNanos: bigint;
  /** Reserved by this process's calls under way; 0 if the call would not fit after their end. */
  inFlightNanos: bigint;
}

/** Tells a refused caller, after a space, what may be left later; empty if that isn't enough. */
export function inFlightHint({ inFlightNanos }: Shortage): string {
  return inFlightNanos === 0n
    ? ""
    : ` Calls in flight reserve ${nanosToUsd(inFlightNanos)} USD more until they end.`;
}

/** When unused credit goes back that no other process can use: later, so that fewer calls wait. */
const idleAloneMs = 60_000;
/** 0.10 USD. */
const aheadNanos = 100_000_000n;
/** One locked balance, at which the store hangs, must not keep others' leases from being renewed. */
const longestTickMs = 1_000;
/** Nor may it keep the process from ending: its lease then expires in the store. */
const longestCloseMs = 5_000;
/**
 * How many balances each tick checks for what is left of them. One of a cap takes PostgreSQL 0.1 ms,
 * and a process may hold thousands.
 */
const checkedPerTick = 500;
/** No prefetch for this long after a failed, short or returned lease. */
const prefetchPauseMs = 1_000;

/**
 * The balances that calls are paid from, by id: those of accounts, or what is left of budgets. As
 * long as this process's lease has room, calls reserve in memory; leases are taken ahead, so that
 * few calls wait for the store.
 */
export class LeasedBalances<Id extends number | string> {
  readonly #deps: LeasedBalancesDeps<Id>;
  readonly #balances = new LeaseQueues<Id, BalanceQueue<Id>>();
  /** The first balance that the next tick checks, among those with unused credit. */
  #checkFrom = 0;

  constructor(deps: LeasedBalancesDeps<Id>) {
    this.#deps = deps;
  }

  /**
   * Throws `refusal`, or `store_unavailable` when the lease has no room and the store is
   * unreachable.
   */
  reserve(id: Id, boundNanos: bigint): Promise<Reservation> {
    if (boundNanos <= 0n) return Promise.resolve(freeOfCharge);
    return this.#balances.of(id, () => new BalanceQueue(id, this.#deps)).reserve(boundNanos);
  }

  /** Reserved by this process's calls under way. */
  inFlightNanos(id: Id): bigint {
    return this.#balances.get(id)?.lease.inFlightNanos ?? 0n;
  }

  /** The ids of balances that this process holds part of, or held lately. */
  ids(): readonly Id[] {
    return [...this.#balances.keys()];
  }

  /** Gives back at once the credit that no call has reserved, since the balance has shrunk. */
  recall(id: Id): void {
    this.#balances.get(id)?.recall();
  }

  /** Renews leases and gives back idle credit; to be called about every second. */
  async tick(): Promise<void> {
    const nowMs = this.#nowMs();
    for (const { lease } of this.#balances.values()) lease.fade(nowMs);
    await this.#renew();
    await this.#checkSurplus();
    const work = Promise.all([...this.#balances.values()].map((balance) => balance.work()));
    await within(longestTickMs, work, undefined, this.#deps.setTimer);
    this.#balances.forgetUnused();
  }

  /** Gives back all free credit, within five seconds. Calls under way may still settle. */
  async close(): Promise<void> {
    await within(longestCloseMs, this.#returnAll(), undefined, this.#deps.setTimer);
  }

  async #returnAll(): Promise<void> {
    // So that nothing is shown as under way any more. If the store is unreachable, the next step
    // fails.
    await this.#renew().catch(() => {});
    await this.#balances.close();
  }

  #nowMs(): number {
    return this.#deps.clock.monotonicMs();
  }

  async #renew(): Promise<void> {
    const sentMs = this.#nowMs();
    const { store, shared, leaseSeconds } = this.#deps;
    const due = [...this.#balances.values()].flatMap((balance) => {
      const held = balance.lease.held(sentMs);
      const hasChanged = shared && held && held.inFlightNanos !== balance.reportedInFlight;
      return held && (held.isDue || hasChanged)
        ? [{ balance, ...held, accountId: balance.accountId }]
        : [];
    });
    if (due.length === 0) return;
    const existing = await store.renew(due, leaseSeconds);
    for (const { balance, leaseId, inFlightNanos } of due) {
      const isRenewed = existing.get(leaseId);
      if (isRenewed === undefined) balance.lease.lost(leaseId);
      if (!isRenewed) continue;
      balance.reportedInFlight = inFlightNanos;
      balance.lease.renewed(leaseId, sentMs);
    }
  }

  /** Reads what is left for others: where that is little, unused credit goes back. */
  async #checkSurplus(): Promise<void> {
    if (!this.#deps.shared) return;
    const holding = [...this.#balances.values()].filter(({ lease }) =>
      lease.freeNanos(this.#nowMs()) > 0n
    );
    if (holding.length === 0) return;
    const from = this.#checkFrom < holding.length ? this.#checkFrom : 0;
    this.#checkFrom = from + checkedPerTick;
    const checked = holding.slice(from, this.#checkFrom);
    const left = await this.#deps.store.available(checked.map(({ accountId }) => accountId));
    for (const { accountId, lease } of checked) lease.noteOthers(left.get(accountId) ?? 0n);
  }
}

interface SentRequest<Id> {
  request: LeaseRequest<Id>;
  /** `extends`: it enlarges a lease that was held. */
  lease: { id: string; extends: boolean };
  /** When it was first sent. */
  sentMs: number;
  /** How often the balance had been recalled by then. */
  recalls: number;
}

/** Calls that spend one balance, and the lease that they spend. */
class BalanceQueue<Id> extends LeaseQueue<bigint, Reservation> {
  readonly lease: AccountLease;
  /** Calls under way, as last reported to the store. */
  reportedInFlight = 0n;
  readonly #deps: LeasedBalancesDeps<Id>;
  /**
   * A request with an unknown outcome (timeout, lost connection); retried under the same id before
   * any other.
   */
  #unconfirmed: SentRequest<Id> | undefined;
  /** Returns that the store hasn't acknowledged yet. */
  #returns: LeaseReturn<Id>[] = [];
  /** Earliest time (monotonic ms) of the next prefetch. */
  #nextPrefetchMs = 0;
  /** A waiter was refused: return the remaining free credit so that other processes can use it. */
  #releasesSurplus = false;
  #recalls = 0;

  constructor(readonly accountId: Id, deps: LeasedBalancesDeps<Id>) {
    super(deps.clock, deps.setTimer);
    this.#deps = deps;
    const leaseMs = deps.leaseSeconds * 1000;
    const idleMs = deps.shared ? leaseIdleMs : idleAloneMs;
    this.lease = new AccountLease({ leaseMs, idleMs, aheadNanos }, this.nowMs);
  }

  reserve(boundNanos: bigint): Promise<Reservation> {
    this.lease.noteCall(boundNanos, this.nowMs);
    return this.request(boundNanos);
  }

  /** Gives back at once what is free, and later what a request under way brings. */
  recall(): void {
    this.#recalls++;
    const surplus = this.lease.takeSurplus(this.nowMs, true);
    if (surplus) this.#returnCredit(surplus.leaseId, surplus.nanos);
    void this.work();
  }

  /** Reserves in memory; credit that a call frees may have to go on to others at once. */
  protected serve(boundNanos: bigint): Reservation | undefined {
    return this.lease.reserve(boundNanos, this.nowMs, () => void this.work());
  }

  protected next(): (() => Promise<void>) | undefined {
    const { nowMs, waiting } = this;
    const unconfirmed = this.#unconfirmed;
    if (unconfirmed && !this.lease.isOfUse(unconfirmed.lease, unconfirmed.sentMs, nowMs)) {
      this.#unconfirmed = undefined;
      return this.next();
    }
    const isPaused = waiting.length === 0 && nowMs < this.#nextPrefetchMs && !this.isClosing;
    if (unconfirmed) return isPaused ? undefined : () => this.#take(unconfirmed);
    if (waiting.length === 0) {
      const surplus = this.lease.takeSurplus(nowMs, this.#releasesSurplus || this.isClosing);
      this.#releasesSurplus = false;
      if (surplus) this.#returnCredit(surplus.leaseId, surplus.nanos);
    }
    const [back] = this.#returns;
    if (back) return this.failure && isPaused ? undefined : () => this.#release(back);
    if (waiting.length > 0) {
      return () => this.#take(this.#leaseRequest(this.lease.demand(waiting, nowMs), nowMs));
    }
    if (this.isClosing || isPaused) return undefined;
    const ahead = this.lease.demandAhead(nowMs);
    return ahead && (() => this.#take(this.#leaseRequest(ahead, nowMs)));
  }

  protected override onFailure(thrown: unknown): void {
    this.#pausePrefetch();
    if (isStoreAway(thrown)) return;
    // It isn't known what the store has done, so the lease is left to expire there.
    const leaseId = this.lease.leaseId(this.nowMs);
    if (leaseId !== undefined) this.lease.lost(leaseId);
    this.#unconfirmed = undefined;
    this.#returns = [];
    this.#deps.onFailure(this.accountId, thrown);
  }

  protected overdue(): Fault {
    return new Fault("store_unavailable", { note: "a lease's request is not answered" });
  }

  protected get isUnused(): boolean {
    return !this.#unconfirmed && this.#returns.length === 0 && this.lease.isEmpty(this.nowMs);
  }

  #pausePrefetch(): void {
    this.#nextPrefetchMs = this.nowMs + prefetchPauseMs;
  }

  #leaseRequest(demand: Demand, nowMs: number): SentRequest<Id> {
    const { newId, processId, leaseSeconds } = this.#deps;
    const { accountId } = this;
    const held = this.lease.leaseId(nowMs);
    const lease = { id: held ?? newId(), extends: held !== undefined };
    const ids = { operationId: newId(), accountId, processId, leaseId: lease.id };
    return {
      ...{ request: { ...ids, ...demand, leaseSeconds }, lease },
      ...{ sentMs: nowMs, recalls: this.#recalls },
    };
  }

  async #take(sent: SentRequest<Id>): Promise<void> {
    const isRepeat = this.#unconfirmed !== undefined;
    this.#unconfirmed = sent;
    const { request, sentMs } = sent;
    const { grantedNanos, availableNanos, isNew } = await this.#deps.store.take(request);
    this.#unconfirmed = undefined;
    this.lease.noteOthers(availableNanos);
    if (grantedNanos > 0n) {
      const isOfUse = this.lease.taken({ ...sent.lease, isNew, grantedNanos }, sentMs, this.nowMs);
      if (!isOfUse) this.#returnCredit(request.leaseId, grantedNanos);
      else if (sent.recalls !== this.#recalls) return this.recall();
    }
    if (grantedNanos < request.aheadNanos) this.#pausePrefetch();
    this.serveWaiters();
    // A repeated request was made for other calls than those that wait now.
    if (!isRepeat) this.#refuseUncovered(availableNanos);
  }

  /** Refuses the calls that aren't covered even by all that is left. */
  #refuseUncovered(availableNanos: bigint): void {
    const leftNanos = availableNanos + this.lease.freeNanos(this.nowMs);
    this.refuse((boundNanos) => {
      if (boundNanos <= leftNanos) return undefined;
      this.#releasesSurplus = true;
      const { inFlightNanos } = this.lease;
      return this.#deps.refusal(this.accountId, {
        neededNanos: boundNanos,
        leftNanos: leftNanos > 0n ? leftNanos : 0n,
        inFlightNanos: leftNanos + inFlightNanos < boundNanos ? 0n : inFlightNanos,
      });
    });
  }

  #returnCredit(leaseId: string, amountNanos: bigint): void {
    const { accountId } = this;
    this.#returns.push({ operationId: this.#deps.newId(), accountId, leaseId, amountNanos });
  }

  async #release(back: LeaseReturn<Id>): Promise<void> {
    const { store } = this.#deps;
    const availableNanos = await store.release(back).catch((thrown) => {
      // Only this transaction may have failed, and calls wait. They can't go first (`LeaseStore`).
      if (isStoreAway(thrown) && this.waiting.length > 0) return store.release(back);
      throw thrown;
    });
    this.#returns = this.#returns.filter((one) => one !== back);
    // Credit that was just returned for others is not fetched again at once.
    this.#pausePrefetch();
    this.lease.noteOthers(availableNanos);
  }
}

/**
 * For calls with a bound of 0, which need no lease; should one cost something, the balance pays.
 */
const freeOfCharge: Reservation = {
  leaseId: null,
  reservedNanos: 0n,
  settle: () => {},
};
