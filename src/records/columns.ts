import {
  type ColumnKind,
  columnKinds,
  type InteractionColumn,
} from "../../contracts/data/export_tables.ts";
import { nanosToUsd } from "../base/money.ts";
import { formatCell } from "../database/arrays.ts";
import { sanitizeText } from "../database/sanitize_text.ts";
import type {
  CacheResult,
  InteractionSummary,
  SettledCall,
  VendorAttempt,
} from "../shared/interaction.ts";

/** A value of an export: times, amounts and JSON are already text, truths may be. */
export type Cell = string | number | boolean | null;

export interface StoredColumn {
  readonly field: keyof SettledCall;
  /** Its name in SQL, if that differs from the public name. */
  readonly sqlName?: string;
  readonly sqlType: "text" | "text[]" | "timestamptz" | "bigint" | "integer" | "boolean";
  /** Its value as it is sent: an element of an array, or with `text[]` an array. */
  readonly write: (row: SettledCall) => unknown;
  /** Converts the driver's value; absent: the record has the driver's value. */
  readonly read?: (value: unknown) => unknown;
}

/** A column of exports whose value is in `interaction_payloads`, which is read separately. */
interface PayloadColumn {
  readonly payload: "request" | "response";
}

/**
 * How each public column of an interaction is stored, in the order of an export. Insert, select,
 * summary, export and the journal's JSON are derived from this. A new column takes a migration, a
 * line in `contracts/data/export_tables.ts`, a field of `Interaction`, a line here, one in
 * `src/dashboard/pages/interactions/detail_panels.tsx`, and the place that sets its value
 * (`src/relay/call.ts`); the compiler reports what is missing.
 */
const table = {
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
      value === null ? undefined : JSON.parse(String(value)) as readonly VendorAttempt[],
  },
  cache: {
    field: "cache",
    sqlType: "text",
    write: (row) => row.cache ?? null,
    read: (value) => value === null ? undefined : value as CacheResult,
  },
  client: {
    field: "client",
    sqlType: "text",
    write: (row) => row.client === undefined ? null : sanitizeText(row.client),
    read: (value) => value === null ? undefined : value,
  },
  trace_id: {
    field: "traceId",
    sqlType: "text",
    write: (row) => row.traceId ?? null,
    read: (value) => value === null ? undefined : value,
  },
} as const satisfies Readonly<Record<InteractionColumn, StoredColumn | PayloadColumn>>;

/** Stored with the row and not exported; of these only `recording` is part of a summary. */
const privateColumns = {
  priced_usage: text("pricedUsageText"),
  recording: {
    field: "recording",
    sqlType: "text",
    write: (row: SettledCall) => row.recording ?? null,
    // Absent where the content was recorded.
    read: (value: unknown) => value === null ? undefined : value,
  },
} as const satisfies Readonly<Record<string, StoredColumn>>;

type StoredPublicColumn = {
  [K in InteractionColumn]: (typeof table)[K] extends StoredColumn ? K : never;
}[InteractionColumn];

type PrivateColumn = keyof typeof privateColumns;

/** Fails to compile while a field of the record has no column above. */
export type EveryFieldHasAColumn = Nothing<
  Exclude<
    keyof InteractionSummary,
    | (typeof table)[StoredPublicColumn]["field"]
    | (typeof privateColumns)[PrivateColumn]["field"]
  >
>;
type Nothing<T extends never> = T;

/** The field of the record that each public column holds; payloads have none. */
export const fieldOfColumn = Object.fromEntries(
  Object.entries<StoredColumn | PayloadColumn>(table).flatMap(([name, column]) =>
    "field" in column ? [[name, column.field]] : []
  ),
) as { readonly [K in StoredPublicColumn]: (typeof table)[K]["field"] };

export interface NamedColumn extends StoredColumn {
  readonly name: ColumnName;
}

type SqlNameOf<K extends StoredPublicColumn> = (typeof table)[K] extends
  { sqlName: infer Name extends string } ? Name : K;

/** Names of the columns of the table `interactions`. */
export type ColumnName =
  | { [K in StoredPublicColumn]: SqlNameOf<K> }[StoredPublicColumn]
  | PrivateColumn;

function named([publicName, column]: [string, StoredColumn | PayloadColumn]): NamedColumn[] {
  if (!("sqlType" in column)) return [];
  return [{ ...column, name: (column.sqlName ?? publicName) as ColumnName }];
}

const publicColumns: readonly NamedColumn[] = Object.entries(table).flatMap(named);

const privateNamed: readonly NamedColumn[] = Object.entries<StoredColumn>(privateColumns)
  .flatMap(named);

export const columns: readonly NamedColumn[] = [...publicColumns, ...privateNamed];

const summaryColumns = [
  ...publicColumns,
  ...privateNamed.filter(({ name }) => name === "recording"),
];

/** `i.transaction_id, i.created_at, …`: what `readSummary` reads, with `i` for `interactions`. */
export const selectedColumns = columns.map(({ name }) => `i.${name}`).join(", ");

export function sqlNameOf(column: InteractionColumn): string {
  return (table[column] as Partial<StoredColumn>).sqlName ?? column;
}

export function readSummary(row: Readonly<Record<string, unknown>>): InteractionSummary {
  const summary: Record<string, unknown> = {};
  for (const { field, name, read } of summaryColumns) {
    const value = read ? read(row[name]) : row[name];
    if (value !== undefined) summary[field] = value;
  }
  return summary as unknown as InteractionSummary;
}

/** A record's values in the order of `columns`, each as an element of an array's literal. */
export function writeCells(row: SettledCall): string[] {
  return columns.map(({ write }) => formatCell(finiteOrNull(write(row))));
}

/** What is no number is none to the database either, which refuses it where there must be one. */
function finiteOrNull(value: unknown): unknown {
  return typeof value === "number" && !Number.isFinite(value) ? null : value;
}

/** Columns that come as whole numbers, which no number of JSON is too short for; others as texts. */
const numberColumns = publicColumns.filter(({ name, sqlType }) =>
  sqlType !== "text" && kindOf(name) === "number"
);
const textColumns = publicColumns.filter((column) => !numberColumns.includes(column));

/**
 * Two JSON arrays, `texts` and `numbers`, of all columns but the payloads, with `i` for
 * `interactions`: what `exportedCells` reads. The database writes them several times faster than the
 * driver reads forty columns, and fastest where an array's columns need no cast.
 */
export const exportedArrays = `array_to_json(array[${
  textColumns.map(({ name, sqlType }) =>
    sqlType === "text"
      ? `i.${name}`
      : sqlType === "text[]"
      ? `array_to_json(i.${name})::text`
      : `i.${name}::text`
  ).join(", ")
}])::text as texts,
  array_to_json(array[${
  numberColumns.map(({ name, sqlType }) => sqlType === "bigint" ? `i.${name}` : `i.${name}::bigint`)
    .join(", ")
}])::text as numbers`;

/** What the database gives of a row of an export. */
export interface ExportedRow {
  texts: string;
  numbers: string;
  request: string | null;
  response: string | null;
}

const truncatedAt = textColumns.findIndex(({ name }) => name === "payload_truncated");

/** Where each column of an export comes from. */
const cellReaders = Object.entries<StoredColumn | PayloadColumn>(table).map(
  ([publicName, column]) => {
    const kind = columnKinds.interactions[publicName as InteractionColumn];
    if ("payload" in column) return { payload: column.payload, at: -1, isNumber: false, kind };
    const name = column.sqlName ?? publicName;
    const isNumber = numberColumns.some((one) => one.name === name);
    const at = (isNumber ? numberColumns : textColumns).findIndex((one) => one.name === name);
    return { payload: undefined, at, isNumber, kind };
  },
);

export function exportedCells(row: ExportedRow): Cell[] {
  const texts = JSON.parse(row.texts) as (string | null)[];
  const numbers = JSON.parse(row.numbers) as (number | null)[];
  const isTruncated = texts[truncatedAt] === "true";
  const cells: Cell[] = [];
  for (const { payload, at, isNumber, kind } of cellReaders) {
    if (payload !== undefined) cells.push(payloadCell(row[payload], isTruncated));
    else if (isNumber) cells.push(numbers[at]!);
    else cells.push(textCell(texts[at]!, kind));
  }
  return cells;
}

/**
 * The cells of a call that was read as a record, in the order of an export; those of its payloads
 * are null unless they are given.
 */
export function recordCells(
  summary: InteractionSummary,
  payloads: { request: string | null; response: string | null } = { request: null, response: null },
): Cell[] {
  return Object.values<StoredColumn | PayloadColumn>(table).map((column) => {
    if ("payload" in column) return payloadCell(payloads[column.payload], summary.payloadTruncated);
    const value = summary[column.field as keyof InteractionSummary] ?? null;
    if (value instanceof Date) return value.toISOString();
    if (typeof value === "bigint") return nanosToUsd(value);
    // What the record holds as text is JSON already.
    if (value !== null && typeof value === "object") return JSON.stringify(value);
    return value;
  });
}

function textCell(text: string | null, kind: ColumnKind): Cell {
  if (text === null) return null;
  if (kind === "timestamp") return isoTime(text);
  return kind === "usd" ? nanosToUsd(BigInt(text)) : text;
}

function kindOf(sqlName: ColumnName): ColumnKind | undefined {
  return (columnKinds.interactions as Readonly<Record<string, ColumnKind>>)[sqlName];
}

/** `2026-11-21 09:00:00.123+00`, PostgreSQL's text of a time in UTC, as ISO 8601 has it. */
function isoTime(text: string): string {
  return new Date(text).toISOString();
}

/** Fields whose types JSON lacks. */
export const timeFields = fieldsOf("timestamp") as readonly FieldOf<Date>[];
export const amountFields = fieldsOf("usd") as readonly FieldOf<bigint | null>[];

function fieldsOf(kind: ColumnKind): (keyof SettledCall)[] {
  return Object.entries<StoredColumn | PayloadColumn>(table).flatMap(([name, column]) =>
    "field" in column && columnKinds.interactions[name as InteractionColumn] === kind
      ? [column.field]
      : []
  );
}

type FieldOf<T> = {
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

/** Truncated text is no longer JSON: it is exported as a JSON string. */
function payloadCell(text: string | null, truncated: boolean): string | null {
  if (text === null || !truncated) return text;
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify(text);
  }
}
