import type { TokenCountEndpoint } from "../../kernel/dialect.ts";
import { asString, count, isRecord, type JsonRecord } from "../../kernel/json.ts";
import { isEnvelope } from "./conversation/envelope.ts";
import { readSummary, summaryMessage } from "./conversation/summary.ts";

/**
 * `POST /responses/input_tokens` takes a request without the fields that concern only its answer.
 */
export const counting: TokenCountEndpoint = {
  path: () => "/responses/input_tokens",
  requestBody: (request, model) => ({
    ...Object.fromEntries(
      Object.entries(request).filter(([name]) => !answerFields.has(name)).map(([name, value]) => [
        name,
        name === "input" && Array.isArray(value)
          ? value.filter(isVendors).map(summaryAsMessage)
          : value,
      ]),
    ),
    model,
  }),
  read: (answer) => isRecord(answer) ? count(answer.input_tokens) : undefined,
  requestOf: (body) => body as JsonRecord,
  write: (tokens) => ({ object: "response.input_tokens", input_tokens: tokens }),
};

/**
 * Whether a vendor of this dialect accepts the item: other vendors' reasoning is left out, as in
 * calls.
 */
function isVendors(item: unknown): boolean {
  if (!isRecord(item) || item.type !== "reasoning") return true;
  return !isEnvelope(asString(item.encrypted_content) ?? "");
}

/** A summary that the gateway wrote reaches the vendor as a message. */
function summaryAsMessage(item: unknown): unknown {
  const summary = readSummary(item);
  return summary === undefined ? item : summaryMessage(summary);
}

/**
 * Fields that limit, shape, label or store an answer (npm openai 7.59.0: those of a request that
 * the endpoint lacks). `prompt` is not among them: without its text there is nothing to count.
 */
const answerFields: ReadonlySet<string> = new Set([
  "access_programs",
  "background",
  "background_options",
  "client_metadata",
  "context_management",
  "image",
  "include",
  "max_output_tokens",
  "max_tool_calls",
  "metadata",
  "moderation",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "safety_identifier",
  "service_tier",
  "store",
  "stream",
  "stream_options",
  "temperature",
  "top_logprobs",
  "top_p",
  "user",
]);
