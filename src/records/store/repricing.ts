import type { PricedCall, PricedCallQuery, RefundedCall } from "../analytics_store.ts";
import type { Usage } from "../../shared/usage.ts";
import type { Queryable, SqlRow, SqlValue } from "../../database/database.ts";
import { erasedAmong, noteRefunded } from "../../erasure/store/tombstones.ts";
import {
  changeUsage,
  correctedCalls,
  countedColumns,
  refundedErased,
} from "../../usage/store/count_usage.ts";

/** The most rows in memory, and in one transaction. */
const batchRows = 500;

/** Reads calls that have a cost or could have one, oldest first, in batches. */
export async function* readPricedCalls(
  database: Queryable,
  isEmbedded: boolean,
  query: PricedCallQuery,
): AsyncGenerator<readonly PricedCall[]> {
  // The embedded database has no autovacuum; without statistics each batch would sort all rows.
  if (isEmbedded) await database.query("analyze interactions");
  const values: SqlValue[] = [query.accountId];
  const bind = (value: SqlValue) => `$${values.push(value)}`;
  const conditions = ["account_id = $1", "billing_basis <> 'none'"];
  if (query.since) conditions.push(`created_at >= ${bind(query.since)}`);
  if (query.until) conditions.push(`created_at < ${bind(query.until)}`);
  if (query.vendor !== undefined) conditions.push(`vendor = ${bind(query.vendor)}`);
  if (query.model !== undefined) conditions.push(`model = ${bind(query.model)}`);
  if (query.basis !== undefined) conditions.push(`billing_basis = ${bind(query.basis)}`);
  let after: PricedCall | undefined;
  for (;;) {
    const cursor: SqlValue[] = after ? [after.cursor, after.transactionId] : [];
    const [time, id] = [values.length + 1, values.length + 2];
    const from = after
      ? ` and (created_at, transaction_id) > ($${time}::text::timestamptz, $${id})`
      : "";
    const rows = await database.query(
      `select transaction_id, created_at, created_at::text as place, account_id,
         api_key_id, app, user_id, dialect, vendor, model, mode, billing_basis,
         cost_nanos, charged_nanos, price_version, priced_usage, usage_raw, input_tokens,
         cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens
       from interactions where ${conditions.join(" and ")}${from}
       order by created_at, transaction_id limit ${batchRows}`,
      [...values, ...cursor],
    );
    const calls = rows.map(readCall);
    if (calls.length > 0) yield calls;
    if (rows.length < batchRows) return;
    after = calls.at(-1)!;
  }
}

/** A call as it was read, and what its row is to become. */
export interface RowCorrection {
  readonly call: Pick<
    PricedCall,
    "transactionId" | "cursor" | "costNanos" | "chargedNanos" | "isRefunded"
  >;
  readonly costNanos: bigint | null;
  readonly chargedNanos: bigint;
  readonly priceVersion: string | null;
}

/**
 * Writes corrected costs, as part of a transaction; returns the ids of the calls that were
 * corrected: those that had not changed since they were read.
 */
export async function writeCorrections(
  tx: Queryable,
  accountId: number,
  calls: readonly RowCorrection[],
): Promise<Set<string>> {
  if (calls.length === 0) return new Set();
  const rows = await tx.query(correctCalls, [
    accountId,
    JSON.stringify(calls.map(({ call, costNanos, chargedNanos, priceVersion }) => ({
      transaction_id: call.transactionId,
      place: call.cursor,
      old_cost: call.costNanos === null ? null : String(call.costNanos),
      old_charged: String(call.chargedNanos),
      cost: costNanos === null ? null : String(costNanos),
      charged: String(chargedNanos),
      version: priceVersion,
    }))),
  ]);
  await changeUsage(tx, correctedCalls(rows));
  const written = new Set(rows.map((row) => String(row.transaction_id)));
  // The charge was taken out of the sums with that, in place of a refund that was cut off before it.
  const refunded = calls.filter(({ call }) => call.isRefunded && written.has(call.transactionId));
  if (refunded.length > 0) {
    await noteRefunded(tx, refunded.map(({ call }) => call.transactionId));
  }
  return written;
}

/** $1 account, $2 JSON array of calls. Rows that have changed since they were read are skipped. */
const correctCalls = `update interactions i
  set cost_nanos = r.cost, charged_nanos = r.charged, price_version = r.version
  from json_to_recordset($2::text::json) as r(transaction_id text, place text,
    old_cost bigint, old_charged bigint, cost bigint, charged bigint, version text)
  where i.account_id = $1::bigint and i.transaction_id = r.transaction_id and i.created_at = r.place::timestamptz
    and i.cost_nanos is not distinct from r.old_cost and i.charged_nanos = r.old_charged
  returning i.transaction_id, ${countedColumns.map((column) => `i.${column}`).join(", ")},
    r.old_cost as old_cost_nanos, r.old_charged as old_charged_nanos`;

function readCall(row: SqlRow): PricedCall {
  return {
    transactionId: String(row.transaction_id),
    createdAt: row.created_at as Date,
    cursor: String(row.place),
    accountId: Number(row.account_id),
    apiKeyId: String(row.api_key_id),
    app: row.app as string | null,
    userId: row.user_id as string | null,
    dialect: String(row.dialect),
    vendor: String(row.vendor),
    model: String(row.model),
    mode: row.mode as PricedCall["mode"],
    basis: row.billing_basis as PricedCall["basis"],
    costNanos: row.cost_nanos as bigint | null,
    chargedNanos: row.charged_nanos as bigint,
    priceVersion: row.price_version as string | null,
    pricedUsageText: row.priced_usage as string | null,
    usageRawText: row.usage_raw as string | null,
    counts: readCounts(row),
  };
}

function readCounts(row: SqlRow): Usage | undefined {
  if (row.input_tokens === null && row.output_tokens === null) return undefined;
  const part = (name: keyof Usage, column: string) =>
    row[column] === null ? {} : { [name]: Number(row[column]) };
  return {
    input: Number(row.input_tokens ?? 0),
    output: Number(row.output_tokens ?? 0),
    ...part("cacheRead", "cache_read_tokens"),
    ...part("cacheWrite", "cache_write_tokens"),
    ...part("reasoning", "reasoning_tokens"),
  };
}

/** Implements `AnalyticsTransaction.clearCharge`, as part of a transaction. */
export async function clearCharge(
  tx: Queryable,
  transactionId: string,
  refunded?: RefundedCall,
): Promise<void> {
  const rows = await tx.query(
    `update interactions i set charged_nanos = 0
     from (
       select transaction_id, created_at, charged_nanos from interactions
       where transaction_id = $1 for update
     ) as old
     where i.transaction_id = old.transaction_id and i.created_at = old.created_at
     returning ${countedColumns.map((column) => `i.${column}`).join(", ")},
       old.charged_nanos as old_charged_nanos`,
    [transactionId],
  );
  // After the call's row, as by a correction.
  const isFirst = await noteRefunded(tx, [transactionId]) > 0;
  if (rows.length > 0) return await changeUsage(tx, correctedCalls(rows));
  if (!refunded || !isFirst) return;
  if ((await erasedAmong(tx, [transactionId])).length === 0) return;
  await changeUsage(tx, refundedErased(refunded.call, refunded.chargedNanos));
}
