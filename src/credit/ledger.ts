import type { AuditNote } from "../audit/audit.ts";

/** All amounts are whole nano-dollars (1 USD = 1e9). */
export interface Credit {
  /** Grants and adjustments − settled charges; below zero after a late or larger charge. */
  balanceNanos: bigint;
  /** Reserved by calls under way. */
  reservedNanos: bigint;
}

/** A change that would bring a balance beyond what an account can hold. */
export class BalanceRangeError extends Error {
  override name = "BalanceRangeError";
}

/** The charge of one call that has ended. */
export interface Settlement {
  /** Id of the call; one that was settled before is left alone. */
  interactionId: string;
  accountId: number;
  /**
   * The lease that the charge was reserved from; null, or a lease that is gone: the balance pays
   * alone.
   */
  leaseId: string | null;
  /** Nothing is posted for 0. */
  chargedNanos: bigint;
}

/**
 * A process's request for part of a balance, or of something else that is leased, which `Id` names.
 */
export interface LeaseRequest<Id = number> {
  /** A request whose outcome is unknown is repeated with the same id, and carried out once. */
  operationId: string;
  accountId: Id;
  processId: string;
  /** A new lease, or one of the process's own to be enlarged. */
  leaseId: string;
  /** Nothing is taken when less than this is left. */
  atLeastNanos: bigint;
  /** Taken even if it is all that is left: calls wait for it. */
  wantedNanos: bigint;
  /** The total including credit ahead of need, which is granted up to a quarter of what is left. */
  aheadNanos: bigint;
  leaseSeconds: number;
}

export interface LeaseTaken {
  /** 0 when less than `atLeastNanos` was left. */
  grantedNanos: bigint;
  /** What is left for others, after this. */
  availableNanos: bigint;
  /** False when the lease existed before and has been enlarged. */
  isNew: boolean;
}

/** Part of a lease that a process returns. */
export interface LeaseReturn<Id = number> {
  operationId: string;
  accountId: Id;
  leaseId: string;
  amountNanos: bigint;
}

/** A lease that its process keeps. */
export interface OpenLease<Id = number> {
  leaseId: string;
  accountId: Id;
  /** Reserved by calls under way. */
  inFlightNanos: bigint;
}

/** Leases that came back to their accounts. */
export interface LeasesReturned {
  leases: number;
  nanos: bigint;
}

/** A sum that does not agree with the entries it is made of. */
export interface LedgerGap {
  accountId: number;
  what: "balance" | "leased" | "leases";
  unspentNanos: bigint;
  entriesNanos: bigint;
}

/**
 * A store of balances that processes lease parts of. Throws `Fault("store_unavailable")` when it
 * can't be reached; what it did is then unknown. Only a lease's last operation is recognised when it
 * is repeated, so nothing else may be taken from the lease or given back before.
 */
export interface LeaseStore<Id> {
  /** Takes credit in one conditional write. */
  take(request: LeaseRequest<Id>): Promise<LeaseTaken>;
  /** Gives back credit; resolves to what is then left for others. */
  release(back: LeaseReturn<Id>): Promise<bigint>;
  /**
   * Extends leases to `leaseSeconds` from now. Resolves to the ids of those that still exist; false:
   * it was being changed at that moment, and is to be renewed later.
   */
  renew(
    held: readonly OpenLease<Id>[],
    leaseSeconds: number,
  ): Promise<ReadonlyMap<string, boolean>>;
  /** Returns what is left for anyone to lease, by id. */
  available(ids: readonly Id[]): Promise<ReadonlyMap<Id, bigint>>;
}

/**
 * The append-only ledger. Implemented in `src/credit/store/ledger.ts`; leases run by the database's
 * clock, which all processes share. Throws `Fault("store_unavailable")` when it can't be reached.
 */
export interface Ledger extends LeaseStore<number> {
  /**
   * Adds credit, `nanos` > 0, and returns the new balance. A grant with an `operationId` is made,
   * and noted in the audit log, once in 24 hours: for as long as a repeated request is recognised.
   */
  grant(
    accountId: number,
    nanos: bigint,
    more?: { note?: string; operationId?: string; audit?: AuditNote },
  ): Promise<bigint>;
  /**
   * Corrects a balance up or down, also below 0, and returns the new one; `operationId` as for a
   * grant.
   */
  adjust(
    accountId: number,
    nanos: bigint,
    more: { note?: string; operationId?: string; interactionId?: string; audit?: AuditNote },
  ): Promise<bigint>;
  show(accountId: number, exceptProcess?: string): Promise<Credit>;
  /** Posts charges, each once, moving what was spent out of lease and balance. */
  post(settlements: readonly Settlement[]): Promise<void>;
  /** Gives what expired leases hold back to the balances. */
  sweepExpired(): Promise<LeasesReturned>;
  /**
   * Gives all that a process held back to the balances; for a restart, after its journal was
   * recovered.
   */
  takeBack(processId: string): Promise<LeasesReturned>;
  /** Compares all sums with the entries; empty when they agree. */
  check(): Promise<LedgerGap[]>;
}
