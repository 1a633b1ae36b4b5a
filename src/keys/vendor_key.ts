import { Secret } from "../base/secret.ts";
import type { AuditNote } from "../audit/audit.ts";
import { vendorKeyProblem } from "./credential.ts";
import type { MasterKey } from "./sealing.ts";
import type { AccountPage } from "../shared/account_page.ts";

/** A stored vendor key as people see it; the value is never shown again. */
export interface StoredVendorKey {
  accountId: number;
  vendor: string;
  /** Last characters of the value, for people to recognise it by; empty for a short value. */
  lastFour: string;
  createdAt: Date;
  changedAt: Date;
}

/** The state of one account's key for a vendor. `unreadable`: a key is stored, but doesn't open. */
export type VendorKeyState =
  | { kind: "stored"; key: Secret }
  | { kind: "removed" }
  | { kind: "unreadable"; reason: string };

/** One change, as the processes' caches read it. */
export interface VendorKeyChange {
  accountId: number;
  vendor: string;
  /** Of two changes of one key, the later has the greater revision. */
  revision: bigint;
  state: VendorKeyState;
}

/** What changed at or after a time, and whether this process has the right master key. */
export interface VendorKeyRead {
  /** The database's current time. */
  now: Date;
  /** False when the database's keys are sealed under another master key than this process has. */
  masterKeyMatches: boolean;
  changes: VendorKeyChange[];
}

export interface Rotation {
  /** Keys that are sealed under the new master key now. */
  resealed: number;
  /** The database was sealed under this master key before. */
  already: boolean;
  /**
   * Where the processes get their master key: for `environment`, the operator has to change it
   * there.
   */
  source: "environment" | "file";
}

/**
 * The store of accounts' own vendor keys, sealed. What `audit` gives is written to the audit log in
 * the same transaction. Implemented in `src/keys/store/vendor_keys.ts`.
 */
export interface VendorKeyStore {
  /**
   * Stores or replaces a key. Throws an Error of one line when the database has another master key.
   */
  set(
    accountId: number,
    vendor: string,
    value: Secret,
    audit?: (stored: StoredVendorKey) => AuditNote,
  ): Promise<StoredVendorKey>;
  /** False when none was stored. */
  remove(accountId: number, vendor: string, audit?: AuditNote): Promise<boolean>;
  list(accountId?: number, page?: AccountPage): Promise<StoredVendorKey[]>;
  /** Returns what changed at or after `since` (database time); everything for null. */
  changedSince(since: Date | null): Promise<VendorKeyRead>;
  /**
   * Reseals every key in one transaction: a crash leaves all of them or none resealed, and the same
   * call again finishes it. Throws an Error of one line when the current master key is not the
   * database's, or a stored key doesn't open. `audit` makes the entry, unless nothing was to be done.
   */
  rotate(next: MasterKey, audit?: (resealed: number) => AuditNote): Promise<Rotation>;
}

/**
 * Reads a vendor key, without the blanks around it. Throws an Error, which doesn't hold the value,
 * for text that can't be one.
 */
export function parseVendorKey(text: string): Secret {
  const value = text.trim();
  const problem = vendorKeyProblem(value);
  if (problem !== undefined) throw new Error(problem);
  return new Secret(value);
}

/** Returns the last four characters; none of a value so short that they would give it away. */
export function lastFourOf(value: Secret): string {
  const text = value.reveal();
  return text.length < 16 ? "" : text.slice(-4);
}
