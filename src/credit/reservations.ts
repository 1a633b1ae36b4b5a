import type { Clock } from "../base/clock.ts";
import { leaseIdleMs, LeaseQueue, LeaseQueues } from "../base/lease_queue.ts";
import type { Log } from "../base/log.ts";
import { nanosToUsd } from "../base/money.ts";
import { AccountLease, type Demand, type Reservation } from "./account_lease.ts";
import { Fault, messageOf } from "../shared/fault.ts";
import type { Credit, LeaseRequest, LeaseReturn, Ledger } from "./ledger.ts";

export type { Reservation } from "./account_lease.ts";

/**
 * Admits calls against their accounts' credit. As long as the lease has room that is done in
 * memory; leases are taken ahead, so that few calls wait for the store.
 */
export interface Reservations {
  /**
   * Reserves what a call can cost at most. Throws `insufficient_credits` when the balance doesn't
   * cover it, `store_unavailable` when the lease doesn't and the store is away.
   */
  reserve(accountId: number, boundNanos: bigint): Promise<Reservation>;
  /** The account's credit with this process's calls under way as they are now. */
  show(accountId: number): Promise<Credit>;
  /** Renews leases and gives back what is idle; to be called about every second. */
  tick(): Promise<void>;
  /** Gives back all that is free. Calls under way may still settle. */
  close(): Promise<void>;
}

export interface ReservationsDeps {
  ledger: Ledger;
  clock: Clock;
  log: Log;
  newId: () => string;
  /** Names this process's leases over restarts (`DATA_DIR`). */
  processId: string;
  leaseSeconds: number;
  /** Whether other processes lease from the same balances. */
  shared: boolean;
}

/** 0.10 USD. */
const aheadNanos = 100_000_000n;
/** No prefetch for this long after a failed, short or returned lease. */
const prefetchPauseMs = 1_000;

export function createReservations(deps: ReservationsDeps): Reservations {
  return new AccountReservations(deps);
}

class AccountReservations implements Reservations {
  readonly #deps: ReservationsDeps;
  readonly #accounts = new LeaseQueues<number, AccountQueue>();

  constructor(deps: ReservationsDeps) {
    this.#deps = deps;
  }

  async reserve(accountId: number, boundNanos: bigint): Promise<Reservation> {
    if (boundNanos <= 0n) return freeOfCharge;
    const account = this.#accounts.of(accountId, () => new AccountQueue(accountId, this.#deps));
    return await account.reserve(boundNanos);
  }

  async show(accountId: number): Promise<Credit> {
    const { ledger, processId } = this.#deps;
    const others = await ledger.show(accountId, processId);
    const ours = this.#accounts.get(accountId)?.lease.inFlightNanos ?? 0n;
    return { ...others, reservedNanos: others.reservedNanos + ours };
  }

  async tick(): Promise<void> {
    const nowMs = this.#nowMs();
    for (const { lease } of this.#accounts.values()) lease.fade(nowMs);
    await this.#renew();
    await this.#look();
    await Promise.all([...this.#accounts.values()].map((account) => account.work()));
    this.#accounts.forgetUnused();
  }

  async close(): Promise<void> {
    // So that nothing is shown as under way any more; the next step tells whether the store is away.
    await this.#renew().catch(() => {});
    await this.#accounts.close();
  }

  #nowMs(): number {
    return this.#deps.clock.monotonicMs();
  }

  async #renew(): Promise<void> {
    const sentMs = this.#nowMs();
    const { ledger, shared, leaseSeconds } = this.#deps;
    const due = [...this.#accounts.values()].flatMap((account) => {
      const held = account.lease.held(sentMs);
      const hasChanged = shared && held && held.inFlightNanos !== account.reportedInFlight;
      return held && (held.isDue || hasChanged)
        ? [{ account, ...held, accountId: account.accountId }]
        : [];
    });
    if (due.length === 0) return;
    const there = await ledger.renew(due, leaseSeconds);
    for (const { account, leaseId, inFlightNanos } of due) {
      account.reportedInFlight = inFlightNanos;
      if (there.has(leaseId)) account.lease.renewed(leaseId, sentMs);
      else account.lease.lost(leaseId);
    }
  }

  /** Where others were refused meanwhile, what lies here unused goes back. */
  async #look(): Promise<void> {
    if (!this.#deps.shared) return;
    const holding = [...this.#accounts.values()].filter(({ lease }) =>
      lease.freeNanos(this.#nowMs()) > 0n
    );
    if (holding.length === 0) return;
    const left = await this.#deps.ledger.available(holding.map(({ accountId }) => accountId));
    for (const { accountId, lease } of holding) lease.noteOthers(left.get(accountId) ?? 0n);
  }
}

interface SentRequest {
  request: LeaseRequest;
  /** `extends`: it enlarges a lease that was held. */
  lease: { id: string; extends: boolean };
  /** When it was first sent. */
  sentMs: number;
}

/** One account's calls and the lease that they spend. */
class AccountQueue extends LeaseQueue<bigint, Reservation> {
  readonly lease: AccountLease;
  /** Calls under way, as last reported to the store. */
  reportedInFlight = 0n;
  readonly #deps: ReservationsDeps;
  /** Request with unknown outcome (timeout, lost connection); retried under the same id before any other. */
  #unsure: SentRequest | undefined;
  /** Returns that the store hasn't acknowledged yet. */
  #returns: LeaseReturn[] = [];
  /** Earliest time (monotonic ms) of the next prefetch. */
  #nextPrefetchMs = 0;
  /** A waiter was refused: return the remaining free credit so that other processes can use it. */
  #giveUp = false;

  constructor(readonly accountId: number, deps: ReservationsDeps) {
    super(deps.clock);
    this.#deps = deps;
    const leaseMs = deps.leaseSeconds * 1000;
    this.lease = new AccountLease({ leaseMs, idleMs: leaseIdleMs, aheadNanos }, this.nowMs);
  }

  reserve(boundNanos: bigint): Promise<Reservation> {
    this.lease.noteCall(boundNanos, this.nowMs);
    return this.request(boundNanos);
  }

  /** Reserves from memory; what comes back may have to go on to others at once. */
  protected serve(boundNanos: bigint): Reservation | undefined {
    return this.lease.reserve(boundNanos, this.nowMs, () => void this.work());
  }

  protected next(): (() => Promise<void>) | undefined {
    const { nowMs, waiting } = this;
    const unsure = this.#unsure;
    if (unsure && !this.lease.isOfUse(unsure.lease, unsure.sentMs, nowMs)) {
      this.#unsure = undefined;
      return this.next();
    }
    const isPaused = waiting.length === 0 && nowMs < this.#nextPrefetchMs && !this.isClosing;
    if (unsure) return isPaused ? undefined : () => this.#take(unsure);
    if (waiting.length === 0) {
      const surplus = this.lease.takeSurplus(nowMs, this.#giveUp || this.isClosing);
      this.#giveUp = false;
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
    if (thrown instanceof Fault && thrown.code === "store_unavailable") return;
    // Nobody knows what the store made of it: the lease is left to run out there.
    const leaseId = this.lease.leaseId(this.nowMs);
    if (leaseId !== undefined) this.lease.lost(leaseId);
    this.#unsure = undefined;
    this.#returns = [];
    this.#deps.log.error("credit could not be leased or given back", {
      account: this.accountId,
      reason: messageOf(thrown),
    });
  }

  protected get isUnused(): boolean {
    return !this.#unsure && this.#returns.length === 0 && this.lease.isEmpty(this.nowMs);
  }

  #pausePrefetch(): void {
    this.#nextPrefetchMs = this.nowMs + prefetchPauseMs;
  }

  #leaseRequest(demand: Demand, nowMs: number): SentRequest {
    const { newId, processId, leaseSeconds } = this.#deps;
    const { accountId } = this;
    const held = this.lease.leaseId(nowMs);
    const lease = { id: held ?? newId(), extends: held !== undefined };
    const ids = { operationId: newId(), accountId, processId, leaseId: lease.id };
    return { request: { ...ids, ...demand, leaseSeconds }, lease, sentMs: nowMs };
  }

  async #take(sent: SentRequest): Promise<void> {
    const isRepeat = this.#unsure !== undefined;
    this.#unsure = sent;
    const { request, sentMs } = sent;
    const { grantedNanos, availableNanos, isNew } = await this.#deps.ledger.take(request);
    this.#unsure = undefined;
    this.lease.noteOthers(availableNanos);
    if (grantedNanos > 0n) {
      const isOfUse = this.lease.taken(
        { ...sent.lease, isNew, grantedNanos },
        sentMs,
        this.nowMs,
      );
      if (!isOfUse) this.#returnCredit(request.leaseId, grantedNanos);
    }
    if (grantedNanos < request.aheadNanos) this.#pausePrefetch();
    this.serveWaiters();
    // A repeat was made for others than those who wait now.
    if (!isRepeat) this.#refuseUncovered(availableNanos);
  }

  /** Refuses who isn't covered by all that is left together. */
  #refuseUncovered(availableNanos: bigint): void {
    const leftNanos = availableNanos + this.lease.freeNanos(this.nowMs);
    this.refuse((boundNanos) => {
      if (boundNanos <= leftNanos) return undefined;
      this.#giveUp = true;
      return insufficient(boundNanos, leftNanos);
    });
  }

  #returnCredit(leaseId: string, amountNanos: bigint): void {
    const { accountId } = this;
    this.#returns.push({ operationId: this.#deps.newId(), accountId, leaseId, amountNanos });
  }

  async #release(back: LeaseReturn): Promise<void> {
    const availableNanos = await this.#deps.ledger.release(back);
    this.#returns = this.#returns.filter((one) => one !== back);
    // What has just gone back for others is not fetched again at once.
    this.#pausePrefetch();
    this.lease.noteOthers(availableNanos);
  }
}

/** A call whose bound is nothing needs no lease; should it cost something, the balance loses it. */
const freeOfCharge: Reservation = {
  leaseId: null,
  reservedNanos: 0n,
  settle: () => {},
};

function insufficient(neededNanos: bigint, leftNanos: bigint): Fault {
  const left = leftNanos > 0n ? leftNanos : 0n;
  return new Fault("insufficient_credits", {
    message: `The credit balance does not cover this call: it needs up to ${
      nanosToUsd(neededNanos)
    } USD, and ${
      nanosToUsd(left)
    } USD are left. Grant credit, ask for less output (such as 'max_tokens'), wait for calls in flight, or use a key made with --expected-output-tokens, which holds less.`,
  });
}
