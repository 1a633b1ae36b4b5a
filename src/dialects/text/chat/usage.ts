import type { Usage } from "../../../shared/usage.ts";
import type { DialectQuirks } from "../../kernel/dialect.ts";
import { optionalField } from "../../kernel/fields.ts";
import { asRecord, count, isRecord, type JsonRecord } from "../../kernel/json.ts";
import { reportedTokens, sumOfKnown, wholeTokens } from "../../kernel/reported_tokens.ts";
import { vendorCost } from "../../kernel/vendor_cost.ts";

/** Reads a chat `usage` object; undefined when it holds no numbers. */
export function readUsage(usage: unknown, quirks: DialectQuirks): Usage | undefined {
  const reported = reportedTokens(usage, "prompt_tokens", "completion_tokens");
  if (!reported) return undefined;
  const { raw } = reported;
  const promptDetails = asRecord(raw.prompt_tokens_details);
  const outputDetails = asRecord(raw.completion_tokens_details);
  // Beside the details in DeepSeek's usage, in place of them in Moonshot's.
  const cacheRead = count(promptDetails.cached_tokens) ?? count(raw.prompt_cache_hit_tokens) ??
    count(raw.cached_tokens);
  const reasoning = count(outputDetails.reasoning_tokens);
  return {
    ...wholeTokens(reported, { cacheRead, reasoning, total: count(raw.total_tokens) }, quirks),
    ...optionalField("cacheRead", cacheRead),
    ...optionalField("cacheWrite", count(promptDetails.cache_write_tokens)),
    ...optionalField("audioInput", count(promptDetails.audio_tokens)),
    ...optionalField("imageInput", count(promptDetails.image_tokens)),
    ...optionalField("reasoning", reasoning),
    ...optionalField("audioOutput", count(outputDetails.audio_tokens)),
    ...optionalField("imageOutput", count(outputDetails.image_tokens)),
    ...optionalField("webSearches", webSearches(raw)),
    ...vendorCost(raw),
    raw,
  };
}

/** Searches that OpenRouter's tool made; no other chat vendor reports them. */
function webSearches(raw: JsonRecord): number | undefined {
  const reported = raw.server_tool_use_details ?? raw.server_tool_use;
  return isRecord(reported) ? count(reported.web_search_requests) || undefined : undefined;
}

/** Writes usage as a chat `usage` object; totals are recomputed, never copied. */
export function writeUsage(usage: Usage): Record<string, unknown> {
  const promptDetails = {
    ...optionalField("cached_tokens", usage.cacheRead),
    ...optionalField("cache_write_tokens", sumOfKnown(usage.cacheWrite, usage.cacheWriteLong)),
    ...optionalField("audio_tokens", usage.audioInput),
    ...optionalField("image_tokens", usage.imageInput),
  };
  const completionDetails = {
    ...optionalField("reasoning_tokens", usage.reasoning),
    ...optionalField("audio_tokens", usage.audioOutput),
    ...optionalField("image_tokens", usage.imageOutput),
  };
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    ...(Object.keys(promptDetails).length > 0 ? { prompt_tokens_details: promptDetails } : {}),
    ...(Object.keys(completionDetails).length > 0
      ? { completion_tokens_details: completionDetails }
      : {}),
    ...(usage.webSearches === undefined
      ? {}
      : { server_tool_use_details: { web_search_requests: usage.webSearches } }),
  };
}
