import { interactionColumns } from "../../contracts/exports.ts";
import { nanosToUsd } from "../base/money.ts";
import type { Interaction } from "./interaction.ts";

/**
 * An interaction as JSON text with the columns of interface.md §6 in their order. Payloads are put
 * in as the text they are: nothing is parsed or written again.
 */
export function interactionJson(row: Interaction): string {
  return "{" +
    interactionColumns.map((column) => `"${column}":${columns[column](row)}`).join(",") + "}";
}

type Column = typeof interactionColumns[number];

const json = (value: string | number | boolean | null | readonly string[]) => JSON.stringify(value);

/** One writer per column. */
const columns: Readonly<Record<Column, (row: Interaction) => string>> = {
  transaction_id: (row) => json(row.transactionId),
  created_at: (row) => json(row.createdAt.toISOString()),
  request_id: (row) => json(row.requestId),
  session_id: (row) => json(row.sessionId),
  user_id: (row) => json(row.userId),
  account_id: (row) => json(row.accountId),
  api_key_id: (row) => json(row.apiKeyId),
  app: (row) => json(row.app),
  flow: (row) => json(row.flow),
  cohort_id: (row) => json(row.cohortId),
  endpoint: (row) => json(row.endpoint),
  dialect: (row) => json(row.dialect),
  vendor: (row) => json(row.vendor),
  model: (row) => json(row.model),
  requested_model: (row) => json(row.requestedModel),
  mode: (row) => json(row.mode),
  stream: (row) => json(row.stream),
  status: (row) => json(row.status),
  http_status: (row) => json(row.httpStatus),
  error_code: (row) => json(row.errorCode),
  finish_reason: (row) => json(row.finishReason),
  input_tokens: (row) => json(row.inputTokens),
  cache_read_tokens: (row) => json(row.cacheReadTokens),
  cache_write_tokens: (row) => json(row.cacheWriteTokens),
  output_tokens: (row) => json(row.outputTokens),
  reasoning_tokens: (row) => json(row.reasoningTokens),
  total_tokens: (row) => json(row.totalTokens),
  cost_usd: (row) => json(row.costNanos === null ? null : nanosToUsd(row.costNanos)),
  charged_usd: (row) => json(nanosToUsd(row.chargedNanos)),
  billing_basis: (row) => json(row.billingBasis),
  price_version: (row) => json(row.priceVersion),
  usage_raw: (row) => row.usageRawText ?? "null",
  translation_loss: (row) => json(row.translationLoss),
  latency_ms: (row) => json(row.latencyMs),
  time_to_first_token_ms: (row) => json(row.timeToFirstTokenMs),
  request: (row) => payload(row.requestText, row.payloadTruncated),
  response: (row) => payload(row.responseText, row.payloadTruncated),
  payload_truncated: (row) => json(row.payloadTruncated),
};

/** Text that was cut is no JSON any more: it is shown as the string it is. */
function payload(text: string | null, truncated: boolean): string {
  if (text === null) return "null";
  if (!truncated) return text;
  try {
    JSON.parse(text);
    return text;
  } catch {
    return json(text);
  }
}
