import type { CorrectedCall, PricedCall, PricedCallQuery, RepricingStore } from "../repricing.ts";
import type { Usage } from "../../shared/usage.ts";
import type { Database, Queryable, SqlRow, SqlValue } from "../../database/database.ts";
import { lockAccounts } from "../../credit/store/ledger.ts";
import { changeUsage, correctedCalls } from "../../usage/store/count_usage.ts";
import { correctCalls, correctCharges } from "./repricing_sql.ts";

/** Rows of one batch: what is held in memory, and what one transaction changes. */
const batchRows = 500;

/**
 * Stored calls priced again, on PostgreSQL, served or embedded: calls and ledger change in one
 * transaction where both share a database, else the ledger first.
 */
export function createRepricing(database: Database, analytics = database): RepricingStore {
  return {
    read: (query) => read(analytics, query),
    async correct(accountId, calls) {
      if (calls.length === 0) return new Set();
      if (analytics !== database) {
        await database.transaction((tx) => adjust(tx, accountId, calls));
        return await analytics.transaction((tx) => write(tx, accountId, calls));
      }
      return await database.transaction(async (tx) => {
        // A charge that is posted meanwhile locks the account first; so does this.
        await lockAccounts(tx, [accountId]);
        const written = await write(tx, accountId, calls);
        await adjust(tx, accountId, calls.filter(({ call }) => written.has(call.transactionId)));
        return written;
      });
    },
  };
}

async function* read(
  database: Database,
  query: PricedCallQuery,
): AsyncGenerator<readonly PricedCall[]> {
  // Nothing keeps statistics on the embedded database; without them each batch sorts all rows.
  if (database.kind === "embedded") await database.query("analyze interactions");
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
      `select transaction_id, created_at, created_at::text as place, account_id, dialect, vendor, model, mode, billing_basis,
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

/** Gives the calls that still were as they had been read. */
async function write(
  tx: Queryable,
  accountId: number,
  calls: readonly CorrectedCall[],
): Promise<Set<string>> {
  const rows = await tx.query(correctCalls, [
    accountId,
    JSON.stringify(calls.map(({ call, costNanos, chargedNanos, priceVersion }) => ({
      transaction_id: call.transactionId,
      place: call.cursor,
      old_cost: call.costNanos === null ? null : String(call.costNanos),
      old_charged: String(call.chargedNanos),
      cost: String(costNanos),
      charged: String(chargedNanos),
      version: priceVersion,
    }))),
  ]);
  await changeUsage(tx, correctedCalls(rows));
  return new Set(rows.map((row) => String(row.transaction_id)));
}

async function adjust(
  tx: Queryable,
  accountId: number,
  calls: readonly CorrectedCall[],
): Promise<void> {
  const changed = calls.filter(({ call, chargedNanos }) => chargedNanos !== call.chargedNanos);
  if (changed.length === 0) return;
  await lockAccounts(tx, [accountId]);
  await tx.query(correctCharges, [
    accountId,
    JSON.stringify(changed.map(({ call, chargedNanos, priceVersion }) => ({
      interaction_id: call.transactionId,
      old_charged: String(call.chargedNanos),
      charged: String(chargedNanos),
      note: `repriced from ${call.priceVersion ?? "no price"} to ${priceVersion}`,
    }))),
  ]);
}

function readCall(row: SqlRow): PricedCall {
  return {
    transactionId: String(row.transaction_id),
    createdAt: row.created_at as Date,
    cursor: String(row.place),
    accountId: Number(row.account_id),
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
