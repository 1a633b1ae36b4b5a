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

/** Leases go back after so long without a call (interface.md §5). */
const idleMs = 5_000;
/** 0.10 USD. */
const aheadNanos = 100_000_000n;
/** So long nothing is taken ahead after a failure, a lease that fell short or one given back. */
const patienceMs = 1_000;

export function createReservations(parts: ReservationsDeps): Reservations {
  return new Escrows(parts);
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

/** One account here. At most one operation of it is under way at the store. */
interface Desk {
  readonly accountId: number;
  readonly purse: AccountLease;
  waiters: Waiter[];
  /** A request whose outcome was not learned; it is repeated before anything else. */
  unsure: SentRequest | undefined;
  /** What is to go back, until the store has said that it has. */
  returns: LeaseReturn[];
  /** Nothing that no call waits for is asked of the store before. */
  patientUntilMs: number;
  /** Whether the last operation failed. */
  failing: boolean;
  busy: boolean;
  working: Promise<void>;
  /** Calls under way as the store was last told. */
  toldInFlight: bigint;
  /** A refused call has left something that others may use. */
  giveUp: boolean;
}

class Escrows implements Reservations {
  readonly #parts: ReservationsDeps;
  readonly #desks = new Map<number, Desk>();
  #closing = false;

  constructor(parts: ReservationsDeps) {
    this.#parts = parts;
  }

  async reserve(accountId: number, boundNanos: bigint): Promise<Reservation> {
    if (boundNanos <= 0n) return freeOfCharge;
    const desk = this.#deskOf(accountId);
    desk.purse.noteCall(boundNanos, this.#nowMs());
    // Who came before and waits goes first.
    const reservation = desk.waiters.length > 0 ? undefined : this.#admit(desk, boundNanos);
    if (reservation) {
      void this.#work(desk);
      return reservation;
    }
    return await new Promise((resolve, reject) => {
      desk.waiters.push({ boundNanos, resolve, reject });
      void this.#work(desk);
    });
  }

  async show(accountId: number): Promise<Credit> {
    const { ledger, processId } = this.#parts;
    const others = await ledger.show(accountId, processId);
    const ours = this.#desks.get(accountId)?.purse.inFlightNanos ?? 0n;
    return { ...others, reservedNanos: others.reservedNanos + ours };
  }

  async tick(): Promise<void> {
    const nowMs = this.#nowMs();
    for (const desk of this.#desks.values()) desk.purse.fade(nowMs);
    await this.#renew();
    await this.#look();
    await Promise.all([...this.#desks.values()].map((desk) => this.#work(desk)));
    for (const desk of this.#desks.values()) {
      if (desk.busy || desk.unsure || desk.returns.length > 0) continue;
      if (!desk.purse.isEmpty(this.#nowMs())) continue;
      this.#desks.delete(desk.accountId);
    }
  }

  async close(): Promise<void> {
    this.#closing = true;
    // So that nothing is shown as under way any more; the next step tells whether the store is away.
    await this.#renew().catch(() => {});
    await Promise.all([...this.#desks.values()].map(async (desk) => {
      await desk.working;
      await this.#work(desk);
    }));
  }

  #nowMs(): number {
    return this.#parts.clock.monotonicMs();
  }

  #deskOf(accountId: number): Desk {
    const known = this.#desks.get(accountId);
    if (known) return known;
    const leaseMs = this.#parts.leaseSeconds * 1000;
    const desk: Desk = {
      accountId,
      purse: new AccountLease({ leaseMs, idleMs, aheadNanos }, this.#nowMs()),
      waiters: [],
      unsure: undefined,
      returns: [],
      patientUntilMs: 0,
      failing: false,
      busy: false,
      working: Promise.resolve(),
      toldInFlight: 0n,
      giveUp: false,
    };
    this.#desks.set(accountId, desk);
    return desk;
  }

  /** Reserves from memory; what comes back may have to go on to others at once. */
  #admit(desk: Desk, boundNanos: bigint): Reservation | undefined {
    const reservation = desk.purse.reserve(boundNanos, () => this.#nowMs());
    if (!reservation) return undefined;
    return {
      ...reservation,
      settle: (chargedNanos) => {
        reservation.settle(chargedNanos);
        void this.#work(desk);
      },
      void: () => {
        reservation.void();
        void this.#work(desk);
      },
    };
  }

  /**
   * Serves who waits and does what the store has to know, one operation after the other. Nothing
   * is awaited between the last look and the end, so nobody who comes meanwhile is overlooked.
   */
  #work(desk: Desk): Promise<void> {
    if (desk.busy) return desk.working;
    this.#serve(desk);
    const step = this.#next(desk);
    if (!step) return Promise.resolve();
    desk.busy = true;
    return desk.working = this.#run(desk, step);
  }

  async #run(desk: Desk, first: () => Promise<void>): Promise<void> {
    try {
      for (let step: typeof first | undefined = first; step; step = this.#next(desk)) {
        await step();
        desk.failing = false;
        this.#serve(desk);
      }
    } catch (thrown) {
      this.#failed(desk, thrown);
    } finally {
      desk.busy = false;
    }
  }

  #failed(desk: Desk, thrown: unknown): void {
    desk.failing = true;
    desk.patientUntilMs = this.#nowMs() + patienceMs;
    for (const waiter of desk.waiters.splice(0)) waiter.reject(thrown);
    if (thrown instanceof Fault && thrown.code === "store_unavailable") return;
    // Nobody knows what the store made of it: the lease is left to run out there.
    const leaseId = desk.purse.leaseId(this.#nowMs());
    if (leaseId !== undefined) desk.purse.lost(leaseId);
    desk.unsure = undefined;
    desk.returns = [];
    this.#parts.log.error("credit could not be leased or given back", {
      account: desk.accountId,
      reason: messageOf(thrown),
    });
  }

  #serve(desk: Desk): void {
    desk.waiters = desk.waiters.filter((waiter) => {
      const reservation = this.#admit(desk, waiter.boundNanos);
      if (!reservation) return true;
      waiter.resolve(reservation);
      return false;
    });
  }

  #next(desk: Desk): (() => Promise<void>) | undefined {
    const nowMs = this.#nowMs();
    const { unsure } = desk;
    if (unsure && !desk.purse.isOfUse(unsure.lease, unsure.sentMs, nowMs)) {
      desk.unsure = undefined;
      return this.#next(desk);
    }
    const isPatient = desk.waiters.length === 0 && nowMs < desk.patientUntilMs && !this.#closing;
    if (unsure) return isPatient ? undefined : () => this.#take(desk, unsure);
    if (desk.waiters.length === 0) {
      const surplus = desk.purse.takeSurplus(nowMs, desk.giveUp || this.#closing);
      desk.giveUp = false;
      if (surplus) this.#giveBack(desk, surplus.leaseId, surplus.nanos);
    }
    const [back] = desk.returns;
    if (back) return desk.failing && isPatient ? undefined : () => this.#release(desk, back);
    if (desk.waiters.length > 0) {
      const demand = desk.purse.demand(desk.waiters.map((one) => one.boundNanos), nowMs);
      return () => this.#take(desk, this.#request(desk, demand, nowMs));
    }
    if (this.#closing || isPatient) return undefined;
    const ahead = desk.purse.demandAhead(nowMs);
    return ahead && (() => this.#take(desk, this.#request(desk, ahead, nowMs)));
  }

  #request(desk: Desk, demand: Demand, nowMs: number): SentRequest {
    const { newId, processId, leaseSeconds } = this.#parts;
    const held = desk.purse.leaseId(nowMs);
    const request = {
      operationId: newId(),
      accountId: desk.accountId,
      processId,
      leaseId: held ?? newId(),
      ...demand,
      leaseSeconds,
    };
    const lease = { id: request.leaseId, extends: held !== undefined };
    return { request, lease, sentMs: nowMs };
  }

  async #take(desk: Desk, sent: SentRequest): Promise<void> {
    const isRepeat = desk.unsure !== undefined;
    desk.unsure = sent;
    const { request, sentMs } = sent;
    const { grantedNanos, availableNanos, isNew } = await this.#parts.ledger.take(request);
    desk.unsure = undefined;
    desk.purse.noteOthers(availableNanos);
    if (grantedNanos > 0n) {
      const lease = { ...sent.lease, isNew, grantedNanos };
      const isOfUse = desk.purse.taken(lease, sentMs, this.#nowMs());
      if (!isOfUse) this.#giveBack(desk, request.leaseId, grantedNanos);
    }
    if (grantedNanos < request.aheadNanos) desk.patientUntilMs = this.#nowMs() + patienceMs;
    this.#serve(desk);
    // A repeat was made for others than those who wait now.
    if (!isRepeat) this.#refuse(desk, availableNanos);
  }

  /** Refuses who isn't covered by all that is left together. */
  #refuse(desk: Desk, availableNanos: bigint): void {
    const leftNanos = availableNanos + desk.purse.freeNanos(this.#nowMs());
    desk.waiters = desk.waiters.filter(({ boundNanos, reject }) => {
      if (boundNanos <= leftNanos) return true;
      reject(insufficient(boundNanos, leftNanos));
      desk.giveUp = true;
      return false;
    });
  }

  #giveBack(desk: Desk, leaseId: string, amountNanos: bigint): void {
    const { accountId } = desk;
    desk.returns.push({ operationId: this.#parts.newId(), accountId, leaseId, amountNanos });
  }

  async #release(desk: Desk, back: LeaseReturn): Promise<void> {
    const availableNanos = await this.#parts.ledger.release(back);
    desk.returns = desk.returns.filter((one) => one !== back);
    // What has just gone back for others is not fetched again at once.
    desk.patientUntilMs = this.#nowMs() + patienceMs;
    desk.purse.noteOthers(availableNanos);
  }

  async #renew(): Promise<void> {
    const sentMs = this.#nowMs();
    const { ledger, shared, leaseSeconds } = this.#parts;
    const due = [...this.#desks.values()].flatMap((desk) => {
      const held = desk.purse.held(sentMs);
      const news = shared && held && held.inFlightNanos !== desk.toldInFlight;
      return held && (held.isDue || news) ? [{ desk, ...held, accountId: desk.accountId }] : [];
    });
    if (due.length === 0) return;
    const there = await ledger.renew(due, leaseSeconds);
    for (const { desk, leaseId, inFlightNanos } of due) {
      desk.toldInFlight = inFlightNanos;
      if (there.has(leaseId)) desk.purse.renewed(leaseId, sentMs);
      else desk.purse.lost(leaseId);
    }
  }

  /** Where others were refused meanwhile, what lies here unused goes back. */
  async #look(): Promise<void> {
    if (!this.#parts.shared) return;
    const holding = [...this.#desks.values()].filter(({ purse }) =>
      purse.freeNanos(this.#nowMs()) > 0n
    );
    if (holding.length === 0) return;
    const left = await this.#parts.ledger.available(holding.map(({ accountId }) => accountId));
    for (const { accountId, purse } of holding) purse.noteOthers(left.get(accountId) ?? 0n);
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
