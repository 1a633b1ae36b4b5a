import type { Usage } from "../../../shared/usage.ts";
import { optionalField } from "../../kernel/fields.ts";
import { asString, count, isRecord, type JsonRecord, miscounts } from "../../kernel/json.ts";
import { sumOfKnown, totalsOf } from "../../kernel/reported_tokens.ts";

/**
 * Reads `usageMetadata`; undefined when it holds no numbers. Thinking tokens are reported
 * separately from the visible output, and results of the vendor's own tools separately from the
 * prompt.
 */
export function readUsage(
  raw: unknown,
  hosted: Pick<Usage, "webSearches" | "mapsQueries"> = {},
): Usage | undefined {
  if (!isRecord(raw) || miscounts(raw, ...totalNames)) return undefined;
  const prompt = count(raw.promptTokenCount);
  const candidates = count(raw.candidatesTokenCount);
  const thoughts = count(raw.thoughtsTokenCount);
  if (prompt === undefined && candidates === undefined && thoughts === undefined) return undefined;
  const input = (kind: string) =>
    sumOfKnown(
      modality(raw.promptTokensDetails, kind),
      modality(raw.toolUsePromptTokensDetails, kind),
    );
  const tier = asString(raw.serviceTier) ?? trafficTier(raw.trafficType);
  const cacheRead = count(raw.cachedContentTokenCount);
  const found = count(raw.toolUsePromptTokenCount) ?? 0;
  const total = count(raw.totalTokenCount) ?? 0;
  const visible = candidates ?? (prompt === undefined ? 0 : undefined);
  const totals = totalsOf(prompt, visible, total - found - (thoughts ?? 0));
  return {
    ...totals,
    // A prompt that isn't reported has at least its cached tokens.
    input: Math.max(totals.input + found, cacheRead ?? 0),
    output: totals.output + (thoughts ?? 0),
    ...optionalField("cacheRead", cacheRead),
    ...optionalField("audioInput", input("AUDIO")),
    ...optionalField("cachedAudioInput", modality(raw.cacheTokensDetails, "AUDIO")),
    ...optionalField("imageInput", input("IMAGE")),
    ...optionalField("reasoning", thoughts),
    ...optionalField("audioOutput", modality(raw.candidatesTokensDetails, "AUDIO")),
    ...optionalField("imageOutput", modality(raw.candidatesTokensDetails, "IMAGE")),
    ...hosted,
    ...(tier === undefined ? {} : { serviceTier: tier }),
    raw,
  };
}

/** Vertex AI reports the tier as a type of traffic, such as `ON_DEMAND_FLEX`. */
function trafficTier(type: unknown): string | undefined {
  return /^ON_DEMAND_([A-Z]{1,20})$/.exec(asString(type) ?? "")?.[1]?.toLowerCase();
}

const totalNames = ["promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount"] as const;

/** Writes usage as `usageMetadata`; totals are recomputed. */
export function writeUsage(usage: Usage): Record<string, unknown> {
  // Thinking tokens are reported separately from the visible output; some vendors report more of
  // them than output.
  const thoughts = usage.reasoning && Math.min(usage.reasoning, usage.output);
  const visible = usage.output - (thoughts ?? 0);
  return {
    promptTokenCount: usage.input,
    candidatesTokenCount: visible,
    totalTokenCount: usage.input + usage.output,
    ...optionalField("cachedContentTokenCount", usage.cacheRead),
    ...optionalField("thoughtsTokenCount", thoughts),
    ...details("promptTokensDetails", usage.input, usage.audioInput, usage.imageInput),
    ...details("cacheTokensDetails", usage.cacheRead ?? 0, usage.cachedAudioInput, undefined),
    ...details("candidatesTokensDetails", visible, usage.audioOutput, usage.imageOutput),
    ...optionalField("serviceTier", ownTier(usage.serviceTier)),
  };
}

const ownTiers: ReadonlySet<string> = new Set(["standard", "flex", "priority"]);

/** Returns Google's name of a service tier; undefined if it has none. */
export function ownTier(tier: string | undefined): string | undefined {
  if (tier === "default") return "standard";
  return tier !== undefined && ownTiers.has(tier) ? tier : undefined;
}

/** Returns the tokens of one modality; undefined if the vendor doesn't list it. */
function modality(list: unknown, kind: string): number | undefined {
  if (!Array.isArray(list)) return undefined;
  const entries = list.filter((one): one is JsonRecord => isRecord(one) && one.modality === kind);
  if (entries.length === 0) return undefined;
  return entries.reduce((total, one) => total + (count(one.tokenCount) ?? 0), 0);
}

function details(
  name: string,
  whole: number,
  audio: number | undefined,
  image: number | undefined,
): Record<string, unknown> {
  if (audio === undefined && image === undefined) return {};
  const text = Math.max(0, whole - (audio ?? 0) - (image ?? 0));
  const list = [{ modality: "TEXT", tokenCount: text }];
  if (audio !== undefined) list.push({ modality: "AUDIO", tokenCount: audio });
  if (image !== undefined) list.push({ modality: "IMAGE", tokenCount: image });
  return { [name]: list };
}
