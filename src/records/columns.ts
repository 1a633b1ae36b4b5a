import { parseExactly } from "../base/exact_json.ts";
import type { InteractionColumn } from "../../contracts/data/export_tables.ts";
import { copyLine } from "../database/copy_text.ts";
import { sanitizeText } from "../database/sanitize_text.ts";
import type { InteractionSummary, SettledCall, VendorAttempt } from "../shared/interaction.ts";

export interface StoredColumn {
  readonly field: keyof SettledCall;
  /** Its name in SQL, if that differs from the public name. */
  readonly sqlName?: string;
  readonly sqlType: "text" | "text[]" | "timestamptz" | "bigint" | "integer" | "boolean";
  /** Returns the value to be copied in. */
  readonly write: (row: SettledCall) => unknown;
  /** Converts the driver's value; absent: the record has the driver's value. */
  readonly read?: (value: unknown) => unknown;
}

/** A column of exports whose value is in `interaction_payloads`, which is read separately. */
export interface PayloadColumn {
  readonly payload: "request" | "response";
}

/**
 * How each public column of an interaction is stored, in the order of an export. Insert, select,
 * summary, export and the journal's JSON are derived from this. How to add one: docs/developing.md.
 */
export const columnTable = {
  transaction_id: word("transactionId"),
  created_at: {
    field: "createdAt",
    sqlType: "timestamptz",
    write: (row) => row.createdAt.toISOString(),
  },
  request_id: text("requestId"),
  session_id: text("sessionId"),
  user_id: text("userId"),
  account_id: integer("accountId"),
  api_key_id: word("apiKeyId"),
  app: text("app"),
  flow: text("flow"),
  cohort_id: text("cohortId"),
  endpoint: word("endpoint"),
  dialect: word("dialect"),
  vendor: word("vendor"),
  model: text("model"),
  requested_model: text("requestedModel"),
  mode: word("mode"),
  stream: boolean("stream"),
  status: word("status"),
  http_status: integer("httpStatus", "integer"),
  error_code: word("errorCode"),
  finish_reason: word("finishReason"),
  input_tokens: integer("inputTokens"),
  cache_read_tokens: integer("cacheReadTokens"),
  cache_write_tokens: integer("cacheWriteTokens"),
  output_tokens: integer("outputTokens"),
  reasoning_tokens: integer("reasoningTokens"),
  total_tokens: integer("totalTokens"),
  cost_usd: amount("costNanos", "cost_nanos"),
  charged_usd: amount("chargedNanos", "charged_nanos"),
  billing_basis: word("billingBasis"),
  price_version: text("priceVersion"),
  usage_raw: text("usageRawText"),
  translation_loss: {
    field: "translationLoss",
    sqlType: "text[]",
    write: (row) => row.translationLoss.map((path) => sanitizeText(path)),
  },
  latency_ms: integer("latencyMs"),
  time_to_first_token_ms: integer("timeToFirstTokenMs"),
  request: { payload: "request" },
  response: { payload: "response" },
  payload_truncated: boolean("payloadTruncated"),
  attempts: {
    field: "attempts",
    sqlType: "text",
    write: (row) => row.attempts ? sanitizeText(JSON.stringify(row.attempts)) : null,
    // Absent for a single attempt.
    read: (value) =>
      value === null ? undefined : parseExactly(String(value)) as readonly VendorAttempt[],
  },
  cache: optional("cache"),
  client: optional("client"),
  trace_id: optional("traceId"),
} as const satisfies Readonly<Record<InteractionColumn, StoredColumn | PayloadColumn>>;

/** Stored with the row and not exported; of these only `recording` is part of a summary. */
const privateColumns = {
  priced_usage: text("pricedUsageText"),
  // Absent where the content was recorded.
  recording: optional("recording"),
} as const satisfies Readonly<Record<string, StoredColumn>>;

type StoredPublicColumn = {
  [K in InteractionColumn]: (typeof columnTable)[K] extends StoredColumn ? K : never;
}[InteractionColumn];

type PrivateColumn = keyof typeof privateColumns;

/** Fails to compile while a field of the record has no column above. */
export type EveryFieldHasAColumn = Nothing<
  Exclude<
    keyof InteractionSummary,
    | (typeof columnTable)[StoredPublicColumn]["field"]
    | (typeof privateColumns)[PrivateColumn]["field"]
  >
>;
type Nothing<T extends never> = T;

/** The field of the record that each public column holds; payloads have none. */
export const fieldOfColumn = Object.fromEntries(
  Object.entries<StoredColumn | PayloadColumn>(columnTable).flatMap(([name, column]) =>
    "field" in column ? [[name, column.field]] : []
  ),
) as { readonly [K in StoredPublicColumn]: (typeof columnTable)[K]["field"] };

export interface NamedColumn extends StoredColumn {
  readonly name: ColumnName;
}

type SqlNameOf<K extends StoredPublicColumn> = (typeof columnTable)[K] extends
  { sqlName: infer Name extends string } ? Name : K;

/** Names of the columns of the table `interactions`. */
export type ColumnName =
  | { [K in StoredPublicColumn]: SqlNameOf<K> }[StoredPublicColumn]
  | PrivateColumn;

function named([publicName, column]: [string, StoredColumn | PayloadColumn]): NamedColumn[] {
  if (!("sqlType" in column)) return [];
  return [{ ...column, name: (column.sqlName ?? publicName) as ColumnName }];
}

export const publicColumns: readonly NamedColumn[] = Object.entries(columnTable).flatMap(named);

const privateNamed: readonly NamedColumn[] = Object.entries<StoredColumn>(privateColumns)
  .flatMap(named);

export const columns: readonly NamedColumn[] = [...publicColumns, ...privateNamed];

const summaryColumns = [
  ...publicColumns,
  ...privateNamed.filter(({ name }) => name === "recording"),
];

/** The select list of these columns, with `i` for `interactions`; `readFields` reads the result. */
export function selected(some: readonly NamedColumn[]): string {
  return some.map(({ name }) => `i.${name}`).join(", ");
}

/** The select list that `readSummary` reads. */
export const selectedColumns = selected(columns);

export function sqlNameOf(column: InteractionColumn): string {
  return (columnTable[column] as Partial<StoredColumn>).sqlName ?? column;
}

export function readSummary(row: Readonly<Record<string, unknown>>): InteractionSummary {
  return readFields(row, summaryColumns) as InteractionSummary;
}

/** Reads the fields of a record that these columns hold. */
export function readFields(
  row: Readonly<Record<string, unknown>>,
  some: readonly NamedColumn[],
): Partial<InteractionSummary> {
  const fields: Record<string, unknown> = {};
  for (const { field, name, read } of some) {
    const value = read ? read(row[name]) : row[name];
    if (value !== undefined) fields[field] = value;
  }
  return fields;
}

/** Writes a record's values in the order of `columns`, for `Transaction.copyIn`. */
export function writeLine(row: SettledCall): string {
  return copyLine(columns.map(({ write }) => finiteOrNull(write(row))));
}

/** NaN and infinity become null; where a column must not be null, the database refuses the row. */
function finiteOrNull(value: unknown): unknown {
  return typeof value === "number" && !Number.isFinite(value) ? null : value;
}

/** The fields of a record with values of this type. */
export type FieldOf<T> = {
  [F in keyof SettledCall]-?: Exclude<SettledCall[F], undefined> extends T ? F : never;
}[keyof SettledCall];

/** Text of callers or vendors, which may hold characters that PostgreSQL can't store. */
function text<F extends FieldOf<string | null>>(field: F) {
  return {
    field,
    sqlType: "text",
    write: (row: SettledCall) => sanitizeText((row[field] ?? null) as string | null),
  } as const;
}

/** Text of a field that records may lack. */
function optional<F extends FieldOf<string>>(field: F) {
  return { ...text(field), read: (value: unknown) => value ?? undefined } as const;
}

/** Text that the gateway itself writes. */
function word<F extends FieldOf<string | null>>(field: F) {
  return { field, sqlType: "text", write: (row: SettledCall) => row[field] } as const;
}

function boolean<F extends FieldOf<boolean>>(field: F) {
  return { field, sqlType: "boolean", write: (row: SettledCall) => row[field] } as const;
}

/** A whole number that fits a double; the driver returns `bigint` columns as bigints. */
function integer<F extends FieldOf<number | null>>(
  field: F,
  sqlType: "bigint" | "integer" = "bigint",
) {
  return {
    field,
    sqlType,
    write: (row: SettledCall) => row[field],
    read: (value: unknown) => value === null ? null : Number(value),
  } as const;
}

/** Nano-dollars; exports show dollars. */
function amount<F extends FieldOf<bigint | null>, N extends string>(field: F, sqlName: N) {
  const nanosOf = (row: SettledCall) => row[field] as bigint | null;
  return {
    field,
    sqlName,
    sqlType: "bigint",
    write: (row: SettledCall) => nanosOf(row)?.toString() ?? null,
  } as const;
}
