import { Fault } from "../domain/fault.ts";
import type { Interaction, InteractionQuery, InteractionStore } from "../domain/interaction.ts";
import type { Database, SqlRow, SqlValue } from "./database.ts";

/** Rows of one page; payloads may be a MiB each, so a page is read in several steps by size. */
const pageRows = 200;

/** Column → its SQL type, in the order of the table; payloads stand in a table of their own. */
const columnTypes = {
  transaction_id: "text",
  created_at: "timestamptz",
  request_id: "text",
  session_id: "text",
  user_id: "text",
  account_id: "bigint",
  api_key_id: "text",
  app: "text",
  flow: "text",
  cohort_id: "text",
  endpoint: "text",
  dialect: "text",
  vendor: "text",
  model: "text",
  requested_model: "text",
  mode: "text",
  stream: "boolean",
  status: "text",
  http_status: "integer",
  error_code: "text",
  finish_reason: "text",
  input_tokens: "bigint",
  cache_read_tokens: "bigint",
  cache_write_tokens: "bigint",
  output_tokens: "bigint",
  reasoning_tokens: "bigint",
  total_tokens: "bigint",
  cost_nanos: "bigint",
  charged_nanos: "bigint",
  billing_basis: "text",
  price_version: "text",
  usage_raw: "text",
  translation_loss: "text[]",
  latency_ms: "bigint",
  time_to_first_token_ms: "bigint",
  payload_truncated: "boolean",
} as const;

type Column = keyof typeof columnTypes;
const columns = Object.keys(columnTypes) as Column[];

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

/** The interaction store on PostgreSQL, served or embedded. */
export function createInteractions(database: Database): InteractionStore {
  return {
    async insert(rows) {
      if (rows.length === 0) return;
      await database.transaction(async (tx) => {
        await tx.query(insertUsage, [JSON.stringify(rows.map(writeRow))]);
        await tx.query(insertPayloads, [JSON.stringify(rows.map(writePayload))]);
      });
    },
    read: (query) => readPages(database, query),
  };
}

const insertUsage = `insert into interactions (${columns.join(", ")})
  select ${columns.join(", ")} from json_to_recordset($1::text::json)
    as r(${columns.map((column) => `${column} ${columnTypes[column]}`).join(", ")})
  on conflict do nothing`;

const insertPayloads =
  `insert into interaction_payloads (transaction_id, created_at, request, response)
  select transaction_id, created_at, request, response from json_to_recordset($1::text::json)
    as r(transaction_id text, created_at timestamptz, request text, response text)
  on conflict do nothing`;

function writeRow(row: Interaction): Record<Column, unknown> {
  return {
    transaction_id: row.transactionId,
    created_at: row.createdAt.toISOString(),
    request_id: storable(row.requestId),
    session_id: storable(row.sessionId),
    user_id: storable(row.userId),
    account_id: row.accountId,
    api_key_id: row.apiKeyId,
    app: storable(row.app),
    flow: storable(row.flow),
    cohort_id: storable(row.cohortId),
    endpoint: row.endpoint,
    dialect: row.dialect,
    vendor: row.vendor,
    model: storable(row.model),
    requested_model: storable(row.requestedModel),
    mode: row.mode,
    stream: row.stream,
    status: row.status,
    http_status: row.httpStatus,
    error_code: row.errorCode,
    finish_reason: row.finishReason,
    input_tokens: row.inputTokens,
    cache_read_tokens: row.cacheReadTokens,
    cache_write_tokens: row.cacheWriteTokens,
    output_tokens: row.outputTokens,
    reasoning_tokens: row.reasoningTokens,
    total_tokens: row.totalTokens,
    cost_nanos: row.costNanos === null ? null : String(row.costNanos),
    charged_nanos: String(row.chargedNanos),
    billing_basis: row.billingBasis,
    price_version: row.priceVersion,
    usage_raw: storable(row.usageRawText),
    translation_loss: row.translationLoss.map(storable),
    latency_ms: row.latencyMs,
    time_to_first_token_ms: row.timeToFirstTokenMs,
    payload_truncated: row.payloadTruncated,
  };
}

function writePayload(row: Interaction): Record<string, unknown> {
  return {
    transaction_id: row.transactionId,
    created_at: row.createdAt.toISOString(),
    request: storable(row.requestText),
    response: storable(row.responseText),
  };
}

/** PostgreSQL's text holds no U+0000 and no half of a surrogate pair; both become U+FFFD. */
function storable(text: string | null): string | null {
  return text === null ? null : text.replaceAll("\u0000", "\ufffd").toWellFormed();
}

async function* readPages(
  database: Database,
  query: InteractionQuery,
): AsyncGenerator<Interaction> {
  const { conditions, values } = where(query);
  let after: { createdAt: Date; transactionId: string } | undefined;
  for (;;) {
    const bound = [...values];
    const all = [...conditions];
    if (after) {
      bound.push(after.createdAt, after.transactionId);
      all.push(`(i.created_at, i.transaction_id) > ($${bound.length - 1}, $${bound.length})`);
    }
    const rows = await database.query(
      `select ${columns.map((column) => `i.${column}`).join(", ")}, p.request, p.response
       from interactions i left join interaction_payloads p
         on p.transaction_id = i.transaction_id and p.created_at = i.created_at
       where ${all.join(" and ")}
       order by i.created_at, i.transaction_id limit ${pageRows}`,
      bound,
    );
    for (const row of rows) yield readRow(row);
    if (rows.length < pageRows) return;
    const last = rows.at(-1)!;
    after = { createdAt: last.created_at as Date, transactionId: String(last.transaction_id) };
  }
}

/** The query as conditions with bound values; columns come from the list above, never from text. */
function where(query: InteractionQuery): { conditions: string[]; values: SqlValue[] } {
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
    conditions.push(`i.${column}::text = any($${values.push(wanted.map(String))}::text[])`);
  }
  return { conditions, values };
}

function readRow(row: SqlRow): Interaction {
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
    requestText: row.request as string | null,
    responseText: row.response as string | null,
    payloadTruncated: row.payload_truncated as boolean,
  };
}
