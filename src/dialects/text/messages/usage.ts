import type { Usage } from "../../../shared/usage.ts";
import { defined } from "../../../base/defined.ts";
import { optionalField } from "../../kernel/fields.ts";
import {
  asRecord,
  asString,
  count,
  isRecord,
  type JsonRecord,
  recordsIn,
} from "../../kernel/json.ts";
import { reportedTokens, sumOfKnown, totalsOf } from "../../kernel/reported_tokens.ts";
import { vendorCost } from "../../kernel/vendor_cost.ts";

/**
 * Reads a messages `usage` object; undefined when it holds no numbers. `input_tokens` excludes
 * cached tokens, read and written. Passes that the totals exclude (compaction, advisor) are added.
 */
export function readUsage(usage: unknown): Usage | undefined {
  const reported = reportedTokens(usage, "input_tokens", "output_tokens");
  if (!reported) return undefined;
  const { raw } = reported;
  // A total isn't part of this dialect; those that add one may count the cache in it, or not.
  const { unreported } = totalsOf(count(raw.input_tokens), count(raw.output_tokens), undefined);
  const details = asRecord(raw.output_tokens_details);
  const tools = asRecord(raw.server_tool_use);
  const passes = recordsIn(raw.iterations);
  const besides = passes.filter((one) =>
    one.type === "compaction" || one.type === "advisor_message"
  );
  const tokens = besides.map(readTokens).reduce(add, readTokens(raw));
  // A fallback's earlier passes are `message` ones too; only its last has a type of its own.
  const fallback = passes.find((one) => one.type === "fallback_message")?.model;
  const otherModels = passes.flatMap((one) => {
    if (one.type === "compaction") return [{ usage: readTokens(one) }];
    const model = asString(one.model);
    const isOther = one.type === "advisor_message" || model === fallback;
    return isOther && model !== undefined ? [{ model, usage: readTokens(one) }] : [];
  });
  return {
    ...tokens,
    ...optionalField("unreported", unreported),
    ...defined({
      reasoning: count(details.thinking_tokens),
      webSearches: count(tools.web_search_requests),
      region: regionOf(raw.inference_geo),
      serviceTier: raw.speed === "fast" ? "fast" : asString(raw.service_tier),
      otherModels: otherModels.length > 0 ? otherModels : undefined,
    }),
    ...vendorCost(raw),
    raw,
  };
}

/** Returns the region; undefined if the model may run anywhere. */
function regionOf(geo: unknown): string | undefined {
  return geo === "global" || geo === "not_available" ? undefined : asString(geo);
}

/**
 * Returns a report from before the answer without its output tokens, which don't count the answer.
 */
export function promptReport(early: JsonRecord): JsonRecord {
  const { output_tokens: _, output_tokens_details: __, ...prompt } = early;
  return prompt;
}

/** Merges a later report into an earlier one. Both are totals so far; null means "as before". */
export function laterUsage(earlier: unknown, update: unknown): JsonRecord {
  const before = asRecord(earlier);
  const reported = Object.entries(asRecord(update))
    .filter(([name, value]) => value !== null || !(name in before));
  return { ...before, ...Object.fromEntries(reported) };
}

/** Writes usage with every key of the published type. */
export function writeUsage(usage: Usage): Record<string, unknown> {
  const tier = usage.serviceTier === "default" ? "standard" : usage.serviceTier;
  const isSplit = usage.cacheWriteLong !== undefined;
  return {
    ...writeTotals(usage),
    cache_creation: isSplit
      ? {
        ephemeral_5m_input_tokens: usage.cacheWrite ?? 0,
        ephemeral_1h_input_tokens: usage.cacheWriteLong,
      }
      : null,
    inference_geo: null,
    service_tier: tier === "standard" || tier === "priority" || tier === "batch" ? tier : null,
    speed: tier === "fast" ? "fast" : null,
  };
}

/** Writes the final totals, which the end of a stream repeats. */
export function writeTotals(usage: Usage): Record<string, unknown> {
  const { cacheRead, cacheWrite, cacheWriteLong } = usage;
  const written = sumOfKnown(cacheWrite, cacheWriteLong);
  return {
    input_tokens: Math.max(0, usage.input - (cacheRead ?? 0) - (written ?? 0)),
    cache_creation_input_tokens: written ?? null,
    cache_read_input_tokens: cacheRead ?? null,
    output_tokens: usage.output,
    output_tokens_details: usage.reasoning === undefined
      ? null
      : { thinking_tokens: usage.reasoning },
    server_tool_use: usage.webSearches === undefined
      ? null
      : { web_search_requests: usage.webSearches, web_fetch_requests: 0 },
  };
}

type Tokens = Pick<Usage, "input" | "cacheRead" | "cacheWrite" | "cacheWriteLong" | "output">;

function readTokens(raw: JsonRecord): Tokens {
  const cacheRead = count(raw.cache_read_input_tokens);
  const writes = readWrites(raw);
  const uncached = count(raw.input_tokens) ?? 0;
  const cached = (cacheRead ?? 0) + (writes.cacheWrite ?? 0) + (writes.cacheWriteLong ?? 0);
  return {
    input: uncached + cached,
    ...defined({ cacheRead }),
    ...writes,
    output: count(raw.output_tokens) ?? 0,
  };
}

/**
 * Reads the written cache tokens by lifetime. The end of a stream repeats the total without its
 * split; tokens that the split at the start doesn't cover count toward the lifetime that the
 * request used.
 */
function readWrites(raw: JsonRecord): Pick<Tokens, "cacheWrite" | "cacheWriteLong"> {
  const total = count(raw.cache_creation_input_tokens);
  if (!isRecord(raw.cache_creation)) return defined({ cacheWrite: total });
  const short = count(raw.cache_creation.ephemeral_5m_input_tokens) ?? 0;
  const long = count(raw.cache_creation.ephemeral_1h_input_tokens) ?? 0;
  const all = total ?? short + long;
  const cacheWriteLong = short === 0 && long > 0 ? all : Math.min(long, all);
  return { cacheWrite: all - cacheWriteLong, cacheWriteLong };
}

function add(a: Tokens, b: Tokens): Tokens {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    ...defined({
      cacheRead: sumOfKnown(a.cacheRead, b.cacheRead),
      cacheWrite: sumOfKnown(a.cacheWrite, b.cacheWrite),
      cacheWriteLong: sumOfKnown(a.cacheWriteLong, b.cacheWriteLong),
    }),
  };
}
