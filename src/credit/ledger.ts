import type { AuditNote } from "../audit/audit.ts";

/** All amounts are whole nano-dollars (1 USD = 1e9). */
export interface Credit {
  /** Grants and adjustments − settled charges; below zero after a late or larger charge. */
  balanceNanos: bigint;
  /** What calls under way have reserved. */
  reservedNanos: bigint;
}

/** The charge of one call that has ended. */
export interface Settlement {
  /** Id of the call; one that was settled before is left alone. */
  interactionId: string;
  accountId: number;
  /** Where the money was reserved; null, or a lease that is gone: out of the balance alone. */
  leaseId: string | null;
  /** Nothing is posted for 0. */
  chargedNanos: bigint;
}

/** A process asks for part of a balance, or of what else is leased: then `Id` names that. */
export interface LeaseRequest<Id = number> {
  /** Repeated as it is when the outcome was not learned: it is done once. */
  operationId: string;
  accountId: Id;
  processId: string;
  /** A new lease, or one of the process's own to be enlarged. */
  leaseId: string;
  /** Nothing is taken when less than this is left. */
  atLeastNanos: bigint;
  /** Taken even if it is all that is left: calls wait for it. */
  wantedNanos: bigint;
  /** In all, taken ahead of need as far as that is no more than a quarter of what is left. */
  aheadNanos: bigint;
  leaseSeconds: number;
}

export interface LeaseTaken {
  /** 0 when less than `atLeastNanos` was left. */
  grantedNanos: bigint;
  /** What is left for others, after this. */
  availableNanos: bigint;
  /** False when the lease was there before and has been enlarged. */
  isNew: boolean;
}

/** A process gives back part of a lease. */
export interface LeaseReturn<Id = number> {
  operationId: string;
  accountId: Id;
  leaseId: string;
  amountNanos: bigint;
}

/** A lease that its process goes on holding. */
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

/** What processes lease parts of. A store that is away throws `Fault("store_unavailable")`. */
export interface LeaseStore<Id> {
  /** One conditional write. */
  take(request: LeaseRequest<Id>): Promise<LeaseTaken>;
  /** Gives what is left for others afterwards. */
  release(back: LeaseReturn<Id>): Promise<bigint>;
  /** Prolongs leases to `leaseSeconds` from now; gives the ids of those that are still there. */
  renew(held: readonly OpenLease<Id>[], leaseSeconds: number): Promise<ReadonlySet<string>>;
  /** What is left for anyone to lease, by id. */
  available(ids: readonly Id[]): Promise<ReadonlyMap<Id, bigint>>;
}

/**
 * The append-only ledger. Implemented in `src/store/`; leases run by the store's clock, which all
 * processes share. A store that is away throws `Fault("store_unavailable")`.
 */
export interface Ledger extends LeaseStore<number> {
  /**
   * Adds credit; `nanos` > 0. A grant with an `operationId` is made once in 24 hours, and noted
   * once: for as long as a request is a repeat. Gives the new balance.
   */
  grant(
    accountId: number,
    nanos: bigint,
    more?: { note?: string; operationId?: string; audit?: AuditNote },
  ): Promise<bigint>;
  /** Corrects a balance up or down. One with an `operationId` is made once. */
  adjust(
    accountId: number,
    nanos: bigint,
    more: { note: string; operationId?: string; interactionId?: string },
  ): Promise<bigint>;
  show(accountId: number, exceptProcess?: string): Promise<Credit>;
  /** Posts charges, each once, moving what was spent out of lease and balance. */
  post(settlements: readonly Settlement[]): Promise<void>;
  /** Returns what expired leases hold. */
  sweepExpired(): Promise<LeasesReturned>;
  /** Returns all that a process held; for a restart, after its journal has been replayed. */
  takeBack(processId: string): Promise<LeasesReturned>;
  /** Compares all sums with the entries; empty when they agree. */
  check(): Promise<LedgerGap[]>;
}
