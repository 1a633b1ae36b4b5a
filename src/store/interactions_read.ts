import { Fault } from "../domain/fault.ts";
import type { Interaction, InteractionQuery, InteractionSummary } from "../domain/interaction.ts";
import type { Queryable, SqlRow, SqlValue } from "./database.ts";
import { type Column, columns } from "./interaction_columns.ts";
import { portions } from "./portions.ts";
import { storable } from "./storable.ts";

/** Rows of one page, without their payloads, which may be a MiB each. */
const pageRows = 500;
/** Bytes of payloads that are fetched at once; one row's may be more. */
const fetchedBytes = 4 * 1024 * 1024;

/**
 * Rows oldest first. At most one page of rows without payloads, and payloads up to the limit above,
 * are held at a time, however large the whole is.
 */
export async function* readInteractions(
  database: Queryable,
  query: InteractionQuery,
): AsyncGenerator<Interaction> {
  const { conditions, values } = where(query);
  let after: SqlRow | undefined;
  for (;;) {
    const bound = [...values];
    const all = [...conditions];
    if (after) {
      bound.push(after.created_at as Date, String(after.transaction_id));
      all.push(`(i.created_at, i.transaction_id) > ($${bound.length - 1}, $${bound.length})`);
    }
    const rows = await database.query(
      `select ${columns.map((column) => `i.${column}`).join(", ")},
         coalesce(octet_length(p.request), 0) + coalesce(octet_length(p.response), 0) as payload_bytes
       from interactions i left join interaction_payloads p
         on p.transaction_id = i.transaction_id and p.created_at = i.created_at
       where ${all.join(" and ")}
       order by i.created_at, i.transaction_id limit ${pageRows}`,
      bound,
    );
    for (const some of portions(rows, payloadBytes, fetchedBytes)) {
      yield* withPayloads(database, some);
    }
    if (rows.length < pageRows) return;
    after = rows.at(-1)!;
  }
}

/** Payloads that are gone by now (their time was over) are null, as if there had been none. */
async function* withPayloads(database: Queryable, rows: SqlRow[]): AsyncGenerator<Interaction> {
  const payloads = new Map<string, SqlRow>();
  if (rows.some((row) => payloadBytes(row) > 0)) {
    const found = await database.query(
      `select transaction_id, created_at, request, response from interaction_payloads
       where transaction_id = any($1::text[]) and created_at between $2 and $3`,
      [
        rows.map((row) => String(row.transaction_id)),
        rows[0]!.created_at as Date,
        rows.at(-1)!.created_at as Date,
      ],
    );
    for (const payload of found) payloads.set(keyOf(payload), payload);
  }
  for (const row of rows) yield readRow(row, payloads.get(keyOf(row)));
}

function payloadBytes(row: SqlRow): number {
  return Number(row.payload_bytes);
}

function keyOf(row: SqlRow): string {
  return `${(row.created_at as Date).getTime()} ${row.transaction_id}`;
}

/** Columns that a read can filter by: those that name a thing, not those that measure. */
const filterable: ReadonlySet<string> = new Set<Column>([
  "transaction_id",
  "request_id",
  "session_id",
  "user_id",
  "api_key_id",
  "app",
  "flow",
  "cohort_id",
  "endpoint",
  "dialect",
  "vendor",
  "model",
  "requested_model",
  "mode",
  "stream",
  "status",
  "http_status",
  "error_code",
  "finish_reason",
  "billing_basis",
]);

/** The query as conditions with bound values; columns come from the list above, never from text. */
export function where(query: InteractionQuery): { conditions: string[]; values: SqlValue[] } {
  const values: SqlValue[] = [query.accountId];
  const conditions = ["i.account_id = $1"];
  if (query.start) conditions.push(`i.created_at >= $${values.push(query.start)}`);
  if (query.end) conditions.push(`i.created_at < $${values.push(query.end)}`);
  for (const [column, wanted] of Object.entries(query.filters ?? {})) {
    if (!filterable.has(column)) {
      throw new Fault("invalid_value", {
        param: `filters.${column}`,
        message: `filters.${column}: expected one of ${[...filterable].join(", ")}.`,
      });
    }
    const [only, ...more] = wanted.map((value) => storable(String(value)));
    conditions.push(
      only !== undefined && more.length === 0
        // Rows with one value come out of an index in the order of time.
        ? `i.${column}::text = $${values.push(only)}`
        : `i.${column}::text = any($${
          values.push(only === undefined ? [] : [only, ...more])
        }::text[])`,
    );
  }
  return { conditions, values };
}

function readRow(row: SqlRow, payload: SqlRow | undefined): Interaction {
  return {
    ...readSummary(row),
    requestText: (payload?.request ?? null) as string | null,
    responseText: (payload?.response ?? null) as string | null,
  };
}

/** A row of `columns`. */
export function readSummary(row: SqlRow): InteractionSummary {
  const number = (column: Column) => row[column] === null ? null : Number(row[column]);
  return {
    transactionId: String(row.transaction_id),
    createdAt: row.created_at as Date,
    requestId: String(row.request_id),
    sessionId: row.session_id as string | null,
    userId: row.user_id as string | null,
    accountId: Number(row.account_id),
    apiKeyId: String(row.api_key_id),
    app: row.app as string | null,
    flow: row.flow as string | null,
    cohortId: row.cohort_id as string | null,
    endpoint: String(row.endpoint),
    dialect: String(row.dialect),
    vendor: String(row.vendor),
    model: String(row.model),
    requestedModel: String(row.requested_model),
    mode: row.mode as Interaction["mode"],
    stream: row.stream as boolean,
    status: row.status as Interaction["status"],
    httpStatus: number("http_status"),
    errorCode: row.error_code as Interaction["errorCode"],
    finishReason: row.finish_reason as Interaction["finishReason"],
    inputTokens: number("input_tokens"),
    cacheReadTokens: number("cache_read_tokens"),
    cacheWriteTokens: number("cache_write_tokens"),
    outputTokens: number("output_tokens"),
    reasoningTokens: number("reasoning_tokens"),
    totalTokens: number("total_tokens"),
    costNanos: row.cost_nanos as bigint | null,
    chargedNanos: row.charged_nanos as bigint,
    billingBasis: row.billing_basis as Interaction["billingBasis"],
    priceVersion: row.price_version as string | null,
    usageRawText: row.usage_raw as string | null,
    translationLoss: row.translation_loss as string[],
    latencyMs: Number(row.latency_ms),
    timeToFirstTokenMs: number("time_to_first_token_ms"),
    payloadTruncated: row.payload_truncated as boolean,
  };
}
