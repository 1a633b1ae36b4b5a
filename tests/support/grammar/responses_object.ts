import { count, has, type Json, list, must, object, text, words } from "./frames.ts";
import type { AnswerUsage } from "./answer_content.ts";

/** Keys that a response object always has (responses.md §4), null where empty. */
const keys = [
  "id",
  "object",
  "created_at",
  "completed_at",
  "status",
  "background",
  "error",
  "incomplete_details",
  "instructions",
  "max_output_tokens",
  "max_tool_calls",
  "model",
  "output",
  "parallel_tool_calls",
  "previous_response_id",
  "reasoning",
  "service_tier",
  "store",
  "temperature",
  "text",
  "tool_choice",
  "tools",
  "top_logprobs",
  "top_p",
  "truncation",
  "usage",
  "user",
  "metadata",
  "prompt_cache_key",
  "safety_identifier",
];

const statuses = ["completed", "failed", "in_progress", "cancelled", "queued", "incomplete"];

/** Checks a response object against §4: its keys, its status, and details that fit the status. */
export function checkResponseObject(response: Json): void {
  has(response, "response", keys);
  must(/^resp_./.test(text(response.id, "response.id")), "the id doesn't begin with resp_");
  must(response.object === "response", "object is not response");
  count(response.created_at, "created_at");
  words(response.model, "model");
  list(response.output, "output");
  list(response.tools, "tools");
  object(response.metadata, "metadata");
  must(statuses.includes(text(response.status, "status")), `unknown status ${response.status}`);
  const details = response.incomplete_details;
  must((details !== null) === (response.status === "incomplete"), "incomplete_details don't fit");
  if (details !== null) {
    const reason = object(details, "incomplete_details").reason;
    must(
      reason === "max_output_tokens" || reason === "content_filter",
      `unknown incomplete reason ${JSON.stringify(reason)}`,
    );
  }
}

/** Reads a usage object, which must have all keys and a total that adds up. */
export function readUsage(usage: Json): AnswerUsage {
  const input = count(usage.input_tokens, "input_tokens");
  const output = count(usage.output_tokens, "output_tokens");
  must(usage.total_tokens === input + output, "total_tokens is not the sum");
  const details = object(usage.input_tokens_details, "input_tokens_details");
  const cacheRead = count(details.cached_tokens, "cached_tokens");
  count(details.cache_write_tokens, "cache_write_tokens");
  must(cacheRead <= input, "more cached tokens than input tokens");
  const out = object(usage.output_tokens_details, "output_tokens_details");
  count(out.reasoning_tokens, "reasoning_tokens");
  return { input, cacheRead, output };
}
