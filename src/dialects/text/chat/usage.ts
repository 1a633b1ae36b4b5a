import type { Usage } from "../../../shared/usage.ts";
import type { DialectQuirks } from "../../kernel/dialect.ts";
import { count, isRecord, type JsonRecord, miscounts } from "../../kernel/json.ts";
import { vendorCost } from "../../kernel/vendor_cost.ts";

/** Reads a chat `usage` object; undefined when it holds no numbers. */
export function readUsage(raw: unknown, quirks: DialectQuirks): Usage | undefined {
  if (!isRecord(raw) || miscounts(raw, "prompt_tokens", "completion_tokens")) return undefined;
  const prompt = count(raw.prompt_tokens);
  const completion = count(raw.completion_tokens);
  if (prompt === undefined && completion === undefined) return undefined;
  const promptDetails = isRecord(raw.prompt_tokens_details) ? raw.prompt_tokens_details : {};
  const outputDetails = isRecord(raw.completion_tokens_details)
    ? raw.completion_tokens_details
    : {};
  const cacheRead = count(promptDetails.cached_tokens);
  const reasoning = count(outputDetails.reasoning_tokens);
  const input = wholeInput(prompt ?? 0, cacheRead);
  const output = wholeOutput({
    prompt: prompt ?? 0,
    completion: completion ?? 0,
    reasoning: reasoning ?? 0,
    total: count(raw.total_tokens),
    additive: quirks.additiveReasoning === true,
  });
  return {
    input,
    output,
    ...present("cacheRead", cacheRead),
    ...present("cacheWrite", count(promptDetails.cache_write_tokens)),
    ...present("audioInput", count(promptDetails.audio_tokens)),
    ...present("imageInput", count(promptDetails.image_tokens)),
    ...present("reasoning", reasoning),
    ...present("audioOutput", count(outputDetails.audio_tokens)),
    ...present("imageOutput", count(outputDetails.image_tokens)),
    ...present("webSearches", webSearches(raw)),
    ...vendorCost(raw.cost),
    raw,
  };
}

/** Searches that OpenRouter's tool made; no other chat vendor reports them. */
function webSearches(raw: JsonRecord): number | undefined {
  const reported = raw.server_tool_use_details ?? raw.server_tool_use;
  return isRecord(reported) ? count(reported.web_search_requests) || undefined : undefined;
}

/**
 * A vendor that reports more cached tokens than prompt tokens doesn't include them in the prompt.
 */
function wholeInput(prompt: number, cacheRead: number | undefined): number {
  return cacheRead !== undefined && cacheRead > prompt ? prompt + cacheRead : prompt;
}

/**
 * Some vendors report reasoning beside the completion; it is added only if their total confirms it.
 */
function wholeOutput(reported: {
  prompt: number;
  completion: number;
  reasoning: number;
  total: number | undefined;
  additive: boolean;
}): number {
  if (!reported.additive || reported.total === reported.prompt + reported.completion) {
    return reported.completion;
  }
  return reported.completion + reported.reasoning;
}

function present<K extends string>(key: K, value: number | undefined): { [P in K]?: number } {
  return value === undefined ? {} : { [key]: value } as { [P in K]?: number };
}

/** Writes usage as a chat `usage` object; totals are recomputed, never copied. */
export function writeUsage(usage: Usage): Record<string, unknown> {
  const promptDetails = {
    ...named("cached_tokens", usage.cacheRead),
    ...named("cache_write_tokens", sum(usage.cacheWrite, usage.cacheWriteLong)),
    ...named("audio_tokens", usage.audioInput),
    ...named("image_tokens", usage.imageInput),
  };
  const completionDetails = {
    ...named("reasoning_tokens", usage.reasoning),
    ...named("audio_tokens", usage.audioOutput),
    ...named("image_tokens", usage.imageOutput),
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

function sum(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : a + (b ?? 0);
}

function named(key: string, value: number | undefined): Record<string, number> {
  return value === undefined ? {} : { [key]: value };
}
