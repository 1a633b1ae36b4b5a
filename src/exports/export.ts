import {
  type ColumnKind,
  columnKinds,
  type ExportTable,
  interactionColumns,
} from "../../contracts/data/export_tables.ts";
import { nanosToUsd } from "../base/money.ts";
import type { Interaction } from "../shared/interaction.ts";

/** One value of a row, as an export writes it: times, amounts and JSON are text already. */
export type Cell = string | number | boolean | null;

/** A row's values in the order of its table's columns. */
export type Cells = readonly Cell[];

/** A table's columns with their kinds, in the order of an export. */
export function columnsOf(table: ExportTable): [string, ColumnKind][] {
  return Object.entries(columnKinds[table]);
}

/**
 * Writes rows of a table as JSON objects. JSON cells, payloads above all, are put in as the text
 * they are: nothing is parsed or written again.
 */
export function jsonWriter(table: ExportTable): (cells: Cells) => string {
  const columns = columnsOf(table).map(([name, kind]) => ({ start: `"${name}":`, kind }));
  return (cells) => {
    let text = "{";
    for (let at = 0; at < columns.length; at++) {
      const { start, kind } = columns[at]!;
      const cell = cells[at] ?? null;
      text += (at === 0 ? start : "," + start) +
        (cell === null ? "null" : kind === "json" ? cell : JSON.stringify(cell));
    }
    return text + "}";
  };
}

/** The cells of an interaction: the columns of `contracts/data/export_tables.ts` in their order. */
export function interactionCells(row: Interaction): Cell[] {
  return interactionColumns.map((column) => interactionColumn[column](row));
}

type Column = typeof interactionColumns[number];

/** One reader per column. */
const interactionColumn: Readonly<Record<Column, (row: Interaction) => Cell>> = {
  transaction_id: (row) => row.transactionId,
  created_at: (row) => row.createdAt.toISOString(),
  request_id: (row) => row.requestId,
  session_id: (row) => row.sessionId,
  user_id: (row) => row.userId,
  account_id: (row) => row.accountId,
  api_key_id: (row) => row.apiKeyId,
  app: (row) => row.app,
  flow: (row) => row.flow,
  cohort_id: (row) => row.cohortId,
  endpoint: (row) => row.endpoint,
  dialect: (row) => row.dialect,
  vendor: (row) => row.vendor,
  model: (row) => row.model,
  requested_model: (row) => row.requestedModel,
  mode: (row) => row.mode,
  stream: (row) => row.stream,
  status: (row) => row.status,
  http_status: (row) => row.httpStatus,
  error_code: (row) => row.errorCode,
  finish_reason: (row) => row.finishReason,
  input_tokens: (row) => row.inputTokens,
  cache_read_tokens: (row) => row.cacheReadTokens,
  cache_write_tokens: (row) => row.cacheWriteTokens,
  output_tokens: (row) => row.outputTokens,
  reasoning_tokens: (row) => row.reasoningTokens,
  total_tokens: (row) => row.totalTokens,
  cost_usd: (row) => row.costNanos === null ? null : nanosToUsd(row.costNanos),
  charged_usd: (row) => nanosToUsd(row.chargedNanos),
  billing_basis: (row) => row.billingBasis,
  price_version: (row) => row.priceVersion,
  usage_raw: (row) => row.usageRawText,
  translation_loss: (row) => JSON.stringify(row.translationLoss),
  latency_ms: (row) => row.latencyMs,
  time_to_first_token_ms: (row) => row.timeToFirstTokenMs,
  request: (row) => payload(row.requestText, row.payloadTruncated),
  response: (row) => payload(row.responseText, row.payloadTruncated),
  payload_truncated: (row) => row.payloadTruncated,
  attempts: (row) => row.attempts ? JSON.stringify(row.attempts) : null,
};

/** Text that was cut is no JSON any more: it is shown as the string it is. */
function payload(text: string | null, truncated: boolean): string | null {
  if (text === null || !truncated) return text;
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify(text);
  }
}
