import type { Queryable } from "../../database/database.ts";
import { refundOperation } from "./ledger.ts";

/** Finds the refunded calls. A refund counts even if the call's row doesn't show it yet. */
export async function refundedAmong(
  database: Queryable,
  transactionIds: readonly string[],
): Promise<Set<string>> {
  const rows = await database.query(
    "select interaction_id from ledger_entries where operation_id = any($1::text[])",
    [transactionIds.map(refundOperation)],
  );
  return new Set(rows.map(({ interaction_id }) => String(interaction_id)));
}

/** Returns what the ledger has charged for calls that were corrected before, but for refunds. */
export async function correctedAmong(
  database: Queryable,
  transactionIds: readonly string[],
): Promise<Map<string, bigint>> {
  const rows = await database.query(
    `select interaction_id, charged_nanos from corrected_charges
     where interaction_id = any($1::text[])`,
    [transactionIds],
  );
  return new Map(rows.map((row) => [String(row.interaction_id), row.charged_nanos as bigint]));
}
