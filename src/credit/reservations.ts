import type { Clock } from "../base/clock.ts";
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

/** A lease is returned after this long without a call. */
const idleMs = 5_000;
/** 0.10 USD. */
const aheadNanos = 100_000_000n;
/** No prefetch for this long after a failed, short or returned lease. */
const prefetchPauseMs = 1_000;

export function createReservations(deps: ReservationsDeps): Reservations {
  return new AccountReservations(deps);
}

interface Waiter {
  boundNanos: bigint;
  resolve: (reservation: Reservation) => void;
  reject: (thrown: unknown) => void;
}

interface SentRequest {
  request: LeaseRequest;
  /** `extends`: it enlarges a lease that was held. */
  lease: { id: string; extends: boolean };
  /** When it was first sent. */
  sentMs: number;
}

/** In-memory credit state of one account. Its store operations are serialized. */
interface AccountState {
  readonly accountId: number;
  readonly lease: AccountLease;
  waiters: Waiter[];
  /** Request with unknown outcome (timeout, lost connection); retried under the same id before any other. */
  unsure: SentRequest | undefined;
  /** Returns that the store hasn't acknowledged yet. */
  returns: LeaseReturn[];
  /** Earliest time (monotonic ms) of the next prefetch. */
  nextPrefetchMs: number;
  /** Whether the last operation failed. */
  failing: boolean;
  busy: boolean;
  working: Promise<void>;
  /** Calls under way, as last reported to the store. */
  reportedInFlight: bigint;
  /** A waiter was refused: return the remaining free credit so that other processes can use it. */
  giveUp: boolean;
}

class AccountReservations implements Reservations {
  readonly #deps: ReservationsDeps;
  readonly #accounts = new Map<number, AccountState>();
  #closing = false;

  constructor(deps: ReservationsDeps) {
    this.#deps = deps;
  }

  async reserve(accountId: number, boundNanos: bigint): Promise<Reservation> {
    if (boundNanos <= 0n) return freeOfCharge;
    const account = this.#accountOf(accountId);
    account.lease.noteCall(boundNanos, this.#nowMs());
    // Who came before and waits goes first.
    const reservation = account.waiters.length > 0 ? undefined : this.#admit(account, boundNanos);
    if (reservation) {
      void this.#work(account);
      return reservation;
    }
    return await new Promise((resolve, reject) => {
      account.waiters.push({ boundNanos, resolve, reject });
      void this.#work(account);
    });
  }

  async show(accountId: number): Promise<Credit> {
    const { ledger, processId } = this.#deps;
    const others = await ledger.show(accountId, processId);
    const ours = this.#accounts.get(accountId)?.lease.inFlightNanos ?? 0n;
    return { ...others, reservedNanos: others.reservedNanos + ours };
  }

  async tick(): Promise<void> {
    const nowMs = this.#nowMs();
    for (const account of this.#accounts.values()) account.lease.fade(nowMs);
    await this.#renew();
    await this.#look();
    await Promise.all([...this.#accounts.values()].map((account) => this.#work(account)));
    for (const account of this.#accounts.values()) {
      if (account.busy || account.unsure || account.returns.length > 0) continue;
      if (!account.lease.isEmpty(this.#nowMs())) continue;
      this.#accounts.delete(account.accountId);
    }
  }

  async close(): Promise<void> {
    this.#closing = true;
    // So that nothing is shown as under way any more; the next step tells whether the store is away.
    await this.#renew().catch(() => {});
    await Promise.all([...this.#accounts.values()].map(async (account) => {
      await account.working;
      await this.#work(account);
    }));
  }

  #nowMs(): number {
    return this.#deps.clock.monotonicMs();
  }

  #accountOf(accountId: number): AccountState {
    const existing = this.#accounts.get(accountId);
    if (existing) return existing;
    const leaseMs = this.#deps.leaseSeconds * 1000;
    const account: AccountState = {
      accountId,
      lease: new AccountLease({ leaseMs, idleMs, aheadNanos }, this.#nowMs()),
      waiters: [],
      unsure: undefined,
      returns: [],
      nextPrefetchMs: 0,
      failing: false,
      busy: false,
      working: Promise.resolve(),
      reportedInFlight: 0n,
      giveUp: false,
    };
    this.#accounts.set(accountId, account);
    return account;
  }

  /** Reserves from memory; what comes back may have to go on to others at once. */
  #admit(account: AccountState, boundNanos: bigint): Reservation | undefined {
    const reservation = account.lease.reserve(boundNanos, () => this.#nowMs());
    if (!reservation) return undefined;
    return {
      ...reservation,
      settle: (chargedNanos) => {
        reservation.settle(chargedNanos);
        void this.#work(account);
      },
      void: () => {
        reservation.void();
        void this.#work(account);
      },
    };
  }

  /**
   * Drains the queue: serves waiters from memory, then runs the next store operation. No await
   * between the last check and clearing `busy`, so a waiter can't be missed.
   */
  #work(account: AccountState): Promise<void> {
    if (account.busy) return account.working;
    this.#serve(account);
    const step = this.#next(account);
    if (!step) return Promise.resolve();
    account.busy = true;
    return account.working = this.#run(account, step);
  }

  async #run(account: AccountState, first: () => Promise<void>): Promise<void> {
    try {
      for (let step: typeof first | undefined = first; step; step = this.#next(account)) {
        await step();
        account.failing = false;
        this.#serve(account);
      }
    } catch (thrown) {
      this.#failed(account, thrown);
    } finally {
      account.busy = false;
    }
  }

  #failed(account: AccountState, thrown: unknown): void {
    account.failing = true;
    account.nextPrefetchMs = this.#nowMs() + prefetchPauseMs;
    for (const waiter of account.waiters.splice(0)) waiter.reject(thrown);
    if (thrown instanceof Fault && thrown.code === "store_unavailable") return;
    // Nobody knows what the store made of it: the lease is left to run out there.
    const leaseId = account.lease.leaseId(this.#nowMs());
    if (leaseId !== undefined) account.lease.lost(leaseId);
    account.unsure = undefined;
    account.returns = [];
    this.#deps.log.error("credit could not be leased or given back", {
      account: account.accountId,
      reason: messageOf(thrown),
    });
  }

  #serve(account: AccountState): void {
    account.waiters = account.waiters.filter((waiter) => {
      const reservation = this.#admit(account, waiter.boundNanos);
      if (!reservation) return true;
      waiter.resolve(reservation);
      return false;
    });
  }

  #next(account: AccountState): (() => Promise<void>) | undefined {
    const nowMs = this.#nowMs();
    const { unsure } = account;
    if (unsure && !account.lease.isOfUse(unsure.lease, unsure.sentMs, nowMs)) {
      account.unsure = undefined;
      return this.#next(account);
    }
    const mayPrefetch = account.waiters.length === 0 && nowMs < account.nextPrefetchMs &&
      !this.#closing;
    if (unsure) return mayPrefetch ? undefined : () => this.#take(account, unsure);
    if (account.waiters.length === 0) {
      const surplus = account.lease.takeSurplus(nowMs, account.giveUp || this.#closing);
      account.giveUp = false;
      if (surplus) this.#returnCredit(account, surplus.leaseId, surplus.nanos);
    }
    const [back] = account.returns;
    if (back) {
      return account.failing && mayPrefetch ? undefined : () => this.#release(account, back);
    }
    if (account.waiters.length > 0) {
      const demand = account.lease.demand(account.waiters.map((one) => one.boundNanos), nowMs);
      return () => this.#take(account, this.#request(account, demand, nowMs));
    }
    if (this.#closing || mayPrefetch) return undefined;
    const ahead = account.lease.demandAhead(nowMs);
    return ahead && (() => this.#take(account, this.#request(account, ahead, nowMs)));
  }

  #request(account: AccountState, demand: Demand, nowMs: number): SentRequest {
    const { newId, processId, leaseSeconds } = this.#deps;
    const held = account.lease.leaseId(nowMs);
    const request = {
      operationId: newId(),
      accountId: account.accountId,
      processId,
      leaseId: held ?? newId(),
      ...demand,
      leaseSeconds,
    };
    const lease = { id: request.leaseId, extends: held !== undefined };
    return { request, lease, sentMs: nowMs };
  }

  async #take(account: AccountState, sent: SentRequest): Promise<void> {
    const isRepeat = account.unsure !== undefined;
    account.unsure = sent;
    const { request, sentMs } = sent;
    const { grantedNanos, availableNanos, isNew } = await this.#deps.ledger.take(request);
    account.unsure = undefined;
    account.lease.noteOthers(availableNanos);
    if (grantedNanos > 0n) {
      const lease = { ...sent.lease, isNew, grantedNanos };
      const isOfUse = account.lease.taken(lease, sentMs, this.#nowMs());
      if (!isOfUse) this.#returnCredit(account, request.leaseId, grantedNanos);
    }
    if (grantedNanos < request.aheadNanos) account.nextPrefetchMs = this.#nowMs() + prefetchPauseMs;
    this.#serve(account);
    // A repeat was made for others than those who wait now.
    if (!isRepeat) this.#refuse(account, availableNanos);
  }

  /** Refuses who isn't covered by all that is left together. */
  #refuse(account: AccountState, availableNanos: bigint): void {
    const leftNanos = availableNanos + account.lease.freeNanos(this.#nowMs());
    account.waiters = account.waiters.filter(({ boundNanos, reject }) => {
      if (boundNanos <= leftNanos) return true;
      reject(insufficient(boundNanos, leftNanos));
      account.giveUp = true;
      return false;
    });
  }

  #returnCredit(account: AccountState, leaseId: string, amountNanos: bigint): void {
    const { accountId } = account;
    account.returns.push({ operationId: this.#deps.newId(), accountId, leaseId, amountNanos });
  }

  async #release(account: AccountState, back: LeaseReturn): Promise<void> {
    const availableNanos = await this.#deps.ledger.release(back);
    account.returns = account.returns.filter((one) => one !== back);
    // What has just gone back for others is not fetched again at once.
    account.nextPrefetchMs = this.#nowMs() + prefetchPauseMs;
    account.lease.noteOthers(availableNanos);
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

/** A call whose bound is nothing needs no lease; should it cost something, the balance loses it. */
const freeOfCharge: Reservation = {
  leaseId: null,
  reservedNanos: 0n,
  settle: () => {},
  void: () => {},
};

function insufficient(neededNanos: bigint, leftNanos: bigint): Fault {
  const left = leftNanos > 0n ? leftNanos : 0n;
  return new Fault("insufficient_credits", {
    message: `The credit balance does not cover this call: it needs up to ${
      nanosToUsd(neededNanos)
    } USD, and ${nanosToUsd(left)} USD are left.`,
  });
}
