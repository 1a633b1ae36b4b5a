import type { Usage } from "../../../shared/usage.ts";
import type { DialectQuirks } from "../../kernel/dialect.ts";
import { optionalField } from "../../kernel/fields.ts";
import { asRecord, asString, count, type JsonRecord } from "../../kernel/json.ts";
import { imageToolUsage, readHostedUsage, svgAuthors } from "./answer/hosted_usage.ts";
import { reportedTokens, wholeTokens } from "../../kernel/reported_tokens.ts";
import { vendorCost } from "../../kernel/vendor_cost.ts";

/** Reads the usage of a response object; undefined when it holds no numbers. */
export function readUsage(response: JsonRecord, quirks: DialectQuirks): Usage | undefined {
  const reported = reportedTokens(response.usage, "input_tokens", "output_tokens");
  if (!reported) return undefined;
  const { raw } = reported;
  const inputDetails = asRecord(raw.input_tokens_details);
  const outputDetails = asRecord(raw.output_tokens_details);
  const cacheRead = count(inputDetails.cached_tokens);
  const reasoning = count(outputDetails.reasoning_tokens);
  const usage: Usage = {
    ...wholeTokens(reported, { cacheRead, reasoning, total: count(raw.total_tokens) }, quirks),
    ...optionalField("cacheRead", cacheRead),
    ...cacheWrites(inputDetails),
    ...optionalField("audioInput", count(inputDetails.audio_tokens)),
    ...optionalField("imageInput", count(inputDetails.image_tokens)),
    ...optionalField("reasoning", reasoning),
    ...optionalField("audioOutput", count(outputDetails.audio_tokens)),
    ...optionalField("imageOutput", count(outputDetails.image_tokens)),
    ...readHostedUsage(response, raw),
    ...tier(response),
    ...vendorCost(raw),
    raw,
  };
  return [...imageToolUsage(response), ...svgAuthors(response)].reduce(withModel, usage);
}

/** Adds the tokens of a model that the image tool used, so that the usage covers all models. */
function withModel(usage: Usage, other: { model: string; usage: Usage }): Usage {
  const sum = (name: "cacheRead" | "reasoning" | "imageInput" | "imageOutput") => {
    const added = other.usage[name];
    return added === undefined ? {} : { [name]: (usage[name] ?? 0) + added };
  };
  return {
    ...usage,
    input: usage.input + other.usage.input,
    output: usage.output + other.usage.output,
    ...sum("cacheRead"),
    ...sum("reasoning"),
    ...sum("imageInput"),
    ...sum("imageOutput"),
    otherModels: [...usage.otherModels ?? [], other],
  };
}

/** `cache_write_tokens` is the total; the details split it by lifetime. */
function cacheWrites(details: JsonRecord): { cacheWrite?: number; cacheWriteLong?: number } {
  const sum = count(details.cache_write_tokens);
  const parts = asRecord(details.cache_write_tokens_details);
  const long = count(parts.ttl_12h_tokens);
  const short = count(parts.ttl_30m_tokens) ??
    (sum === undefined ? undefined : Math.max(0, sum - (long ?? 0)));
  return { ...optionalField("cacheWrite", short), ...optionalField("cacheWriteLong", long) };
}

/** The service tier that a response names. */
export function tier(response: JsonRecord): { serviceTier?: string } {
  const serviceTier = asString(response.service_tier);
  // `auto` is what was requested, not what was used.
  return serviceTier === undefined || serviceTier === "auto" ? {} : { serviceTier };
}

/** Writes usage with all the keys that the schema requires; totals are recomputed. */
export function writeUsage(usage: Usage): Record<string, unknown> {
  const short = usage.cacheWrite ?? 0;
  const long = usage.cacheWriteLong ?? 0;
  return {
    input_tokens: usage.input,
    input_tokens_details: {
      cached_tokens: usage.cacheRead ?? 0,
      cache_write_tokens: short + long,
      // Official clients accept only numbers here, so the split is written only if there are
      // long-lived tokens.
      ...(long === 0
        ? {}
        : { cache_write_tokens_details: { ttl_30m_tokens: short, ttl_12h_tokens: long } }),
    },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
    total_tokens: usage.input + usage.output,
  };
}
