import { sha256Hex } from "../base/hash.ts";
import type { SelectableCall } from "../shared/interaction.ts";
import type { DataTable, DeletionRequest, Selectors } from "./deletion.ts";

/**
 * The permanent trace of a deletion. It tells which calls must not be written any more, without
 * having the ids of users or sessions in clear.
 */
export interface Tombstone {
  deletionId: string;
  accountId: number;
  tables: readonly DataTable[];
  /** Calls that arrived later aren't covered. */
  before: Date;
  /** Half-open, like the selectors. */
  start: Date | null;
  end: Date | null;
  transactionIds: readonly string[] | null;
  /** Put in front of each value that is hashed; every tombstone has its own. */
  salt: string;
  sessionHashes: readonly string[] | null;
  userHashes: readonly string[] | null;
  selectorsHash: string;
}

/**
 * The rows that a deletion covers, with the ids in clear while they are known: indexes need them.
 */
export interface ErasureScope {
  tombstone: Tombstone;
  sessionIds: readonly string[] | undefined;
  userIds: readonly string[] | undefined;
}

/** Builds the tombstone of a deletion; `salt` must be fresh and random. */
export function tombstoneOf(
  deletion: Omit<DeletionRequest, "reason" | "audit">,
  salt: string,
): Tombstone {
  const { deletionId, accountId, tables, selectors, requestedAt } = deletion;
  const hashes = (values: readonly string[] | undefined) =>
    values === undefined ? null : values.map((value) => saltedHash(salt, value));
  return {
    deletionId,
    accountId,
    tables,
    before: requestedAt,
    start: selectors.start ?? null,
    end: selectors.end ?? null,
    transactionIds: selectors.transactionIds ?? null,
    salt,
    sessionHashes: hashes(selectors.sessionIds),
    userHashes: hashes(selectors.userIds),
    selectorsHash: selectorsHash(accountId, tables, selectors),
  };
}

/** Whether a tombstone covers a call; `src/erasure/store/erasure_sql.ts` has the same in SQL. */
export function covers(tombstone: Tombstone, call: SelectableCall): boolean {
  const { start, end, transactionIds, salt } = tombstone;
  const isOneOf = (hashes: readonly string[] | null, value: string | null) =>
    hashes === null || value !== null && hashes.includes(saltedHash(salt, value));
  return tombstone.tables.includes("interactions") &&
    tombstone.accountId === call.accountId &&
    call.createdAt <= tombstone.before &&
    (start === null || call.createdAt >= start) &&
    (end === null || call.createdAt < end) &&
    (transactionIds === null || transactionIds.includes(call.transactionId)) &&
    isOneOf(tombstone.sessionHashes, call.sessionId) &&
    isOneOf(tombstone.userHashes, call.userId);
}

/** Returns the SHA-256 of salt and value, as hex; the same as `hashOf` in `erasure_sql.ts`. */
function saltedHash(salt: string, value: string): string {
  return sha256Hex(salt + value);
}

/**
 * Returns the receipt's `selectors_hash`: SHA-256, as hex, of the JSON text of the request, with
 * these members in this order, lists sorted and without duplicates, absent members left out, UUIDs
 * of transactions in lower case:
 * `account_id`, `tables`, `start_date`, `end_date` (as 2026-11-21T09:00:00.000Z),
 * `transaction_ids`, `session_ids`, `user_ids`.
 */
export function selectorsHash(
  accountId: number,
  tables: readonly DataTable[],
  selectors: Selectors,
): string {
  const sorted = (values: readonly string[] | undefined) => values && [...new Set(values)].sort();
  return sha256Hex(JSON.stringify({
    account_id: accountId,
    tables: sorted(tables),
    start_date: selectors.start?.toISOString(),
    end_date: selectors.end?.toISOString(),
    transaction_ids: sorted(selectors.transactionIds),
    session_ids: sorted(selectors.sessionIds),
    user_ids: sorted(selectors.userIds),
  }));
}
