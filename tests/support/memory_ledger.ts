import type { Clock } from "../../src/base/clock.ts";
import { Fault } from "../../src/shared/fault.ts";
import type { Ledger } from "../../src/credit/ledger.ts";

interface Lease {
  accountId: number;
  processId: string;
  nanos: bigint;
  inFlightNanos: bigint;
  expiresMs: number;
}

/** A ledger in memory whose leases expire by the clock; `requests` counts its calls. */
export class MemoryLedger implements Ledger {
  readonly leases = new Map<string, Lease>();
  readonly #balances = new Map<number, bigint>();
  readonly #settled = new Set<string>();
  readonly #done = new Map<string, bigint>();
  readonly #clock: Clock;
  requests = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  grant: Ledger["grant"] = (accountId, nanos, more = {}) => {
    this.requests++;
    const isDone = more.operationId !== undefined && this.#done.has(more.operationId);
    if (!isDone) this.#add(accountId, nanos);
    if (more.operationId !== undefined) this.#done.set(more.operationId, nanos);
    return Promise.resolve(this.#balance(accountId));
  };

  adjust: Ledger["adjust"] = (accountId, nanos, more) => this.grant(accountId, nanos, more);

  show: Ledger["show"] = (accountId, exceptProcess) => {
    this.requests++;
    const reserved = this.#sum(
      (lease) => lease.accountId === accountId && lease.processId !== exceptProcess,
      (lease) => lease.inFlightNanos,
    );
    return Promise.resolve({ balanceNanos: this.#balance(accountId), reservedNanos: reserved });
  };

  take: Ledger["take"] = (request) => {
    this.requests++;
    const { accountId, leaseId, processId, operationId } = request;
    const left = this.left(accountId);
    const held = this.leases.get(leaseId);
    const done = this.#done.get(operationId);
    if (done !== undefined) {
      const grantedNanos = held ? done : 0n;
      return Promise.resolve({ grantedNanos, availableNanos: left, isNew: false });
    }
    if (left <= 0n || left < request.atLeastNanos) {
      return Promise.resolve({ grantedNanos: 0n, availableNanos: left, isNew: false });
    }
    const ahead = min(request.aheadNanos, left / 4n);
    const granted = min(left, ahead > request.wantedNanos ? ahead : request.wantedNanos);
    if (granted === 0n) {
      return Promise.resolve({ grantedNanos: 0n, availableNanos: left, isNew: false });
    }
    this.#done.set(operationId, granted);
    this.leases.set(leaseId, {
      accountId,
      processId,
      nanos: (held?.nanos ?? 0n) + granted,
      inFlightNanos: held?.inFlightNanos ?? 0n,
      expiresMs: this.#clock.monotonicMs() + request.leaseSeconds * 1000,
    });
    return Promise.resolve({
      grantedNanos: granted,
      availableNanos: left - granted,
      isNew: held === undefined,
    });
  };

  release: Ledger["release"] = ({ operationId, leaseId, accountId, amountNanos }) => {
    this.requests++;
    const lease = this.leases.get(leaseId);
    if (lease && !this.#done.has(operationId)) lease.nanos -= min(lease.nanos, amountNanos);
    this.#done.set(operationId, amountNanos);
    return Promise.resolve(this.left(accountId));
  };

  renew: Ledger["renew"] = (held, leaseSeconds) => {
    this.requests++;
    const there = held.filter(({ leaseId }) => this.leases.has(leaseId));
    for (const { leaseId, inFlightNanos } of there) {
      const expiresMs = this.#clock.monotonicMs() + leaseSeconds * 1000;
      Object.assign(this.leases.get(leaseId)!, { inFlightNanos, expiresMs });
    }
    return Promise.resolve(new Map(there.map(({ leaseId }) => [leaseId, true])));
  };

  available: Ledger["available"] = (accountIds) => {
    this.requests++;
    return Promise.resolve(new Map(accountIds.map((id) => [id, this.left(id)])));
  };

  post: Ledger["post"] = (settlements) => {
    this.requests++;
    for (const { interactionId, accountId, leaseId, chargedNanos } of settlements) {
      if (chargedNanos === 0n || this.#settled.has(interactionId)) continue;
      this.#settled.add(interactionId);
      this.#add(accountId, -chargedNanos);
      const lease = leaseId === null ? undefined : this.leases.get(leaseId);
      if (lease) lease.nanos -= min(lease.nanos, chargedNanos);
    }
    return Promise.resolve();
  };

  sweepExpired: Ledger["sweepExpired"] = () =>
    this.#return((lease) => lease.expiresMs < this.#clock.monotonicMs());

  takeBack: Ledger["takeBack"] = (processId) =>
    this.#return((lease) => lease.processId === processId);

  check: Ledger["check"] = () => Promise.resolve([]);

  left(accountId: number): bigint {
    const leased = this.#sum((lease) => lease.accountId === accountId, (lease) => lease.nanos);
    return this.#balance(accountId) - leased;
  }

  #return(which: (lease: Lease) => boolean) {
    this.requests++;
    const gone = [...this.leases].filter(([, lease]) => which(lease));
    for (const [id] of gone) this.leases.delete(id);
    const nanos = gone.reduce((sum, [, lease]) => sum + lease.nanos, 0n);
    return Promise.resolve({ leases: gone.length, nanos });
  }

  #balance(accountId: number): bigint {
    return this.#balances.get(accountId) ?? 0n;
  }

  #add(accountId: number, nanos: bigint): void {
    this.#balances.set(accountId, this.#balance(accountId) + nanos);
  }

  #sum(which: (lease: Lease) => boolean, of: (lease: Lease) => bigint): bigint {
    return [...this.leases.values()].filter(which).reduce((sum, lease) => sum + of(lease), 0n);
  }
}

/**
 * One process's connection to a ledger: `away` fails and does nothing, `mute` does the work but
 * fails afterwards, `dead` is for a process that has ended.
 */
export class Line {
  mode: "fine" | "away" | "mute" | "dead" = "fine";
  /** Number of operations in progress. */
  pending = 0;
  readonly ledger: Ledger;

  constructor(target: Ledger) {
    const reach =
      <A extends unknown[], R>(work: (...args: A) => Promise<R>) => async (...args: A) => {
        if (this.mode === "away" || this.mode === "dead") throw unreachable();
        const isMute = this.mode === "mute";
        this.pending++;
        try {
          const result = await work(...args);
          if (isMute) throw unreachable();
          return result;
        } finally {
          this.pending--;
        }
      };
    this.ledger = {
      grant: reach(target.grant),
      adjust: reach(target.adjust),
      show: reach(target.show),
      take: reach(target.take),
      release: reach(target.release),
      renew: reach(target.renew),
      available: reach(target.available),
      post: reach(target.post),
      sweepExpired: reach(target.sweepExpired),
      takeBack: reach(target.takeBack),
      check: reach(target.check),
    };
  }

  /** Waits until no operation is in progress. */
  async quiet(): Promise<void> {
    for (let idle = 0; idle < 20; idle++) {
      if (this.pending > 0) idle = 0;
      await Promise.resolve();
      if (this.pending > 0) await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }
}

function unreachable(): Fault {
  return new Fault("store_unavailable", { note: "the test's line is cut" });
}

function min(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
