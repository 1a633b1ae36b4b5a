import type {
  CanonicalRequest,
  Loss,
  LossWeight,
  SettingName,
} from "../../../kernel/canonical_request.ts";
import type { Target } from "../../../kernel/dialect.ts";
import { writeThinking } from "./encode_thinking.ts";
import type { ModelTraits } from "../models.ts";
import { defined } from "../../../../base/defined.ts";
import type { SchemaBudget } from "../../../kernel/schema_refs.ts";
import { lowerSchema } from "./schema_lowering.ts";
import {
  changesNothing,
  loseSetting,
  loseSettings,
  settingPath,
} from "../../../kernel/setting_losses.ts";

interface EncodedConfig {
  config: Record<string, unknown>;
  /** An instruction for the model, in place of a field that it lacks. */
  instruction: string | undefined;
}

/** Writes settings as `generationConfig`. */
export function writeConfig(
  request: CanonicalRequest,
  target: Target,
  traits: ModelTraits,
  losses: Loss[],
  room: SchemaBudget,
): EncodedConfig {
  const lose: Lose = (setting, weight) => loseSetting(request, setting, weight, losses);
  loseSettings(request, ["logitBias", "verbosity", "user", "metadata"], losses);
  if (!traits.images) loseSettings(request, ["modalities"], losses);
  const { instruction, ...format } = writeFormat(request, traits, losses, room);
  const thinkingConfig = writeThinking(request, traits.thinking, losses);
  const config = defined({
    maxOutputTokens: request.maxOutputTokens === undefined ? undefined : Math.min(
      request.maxOutputTokens,
      target.maxOutputTokens ?? traits.maxOutputTokens ?? Infinity,
    ),
    temperature: clamp(request.temperature, 0, 2),
    topP: request.topP,
    topK: request.topK,
    candidateCount: request.choices === 1 ? undefined : request.choices,
    stopSequences: writeStop(request.stop, lose),
    responseModalities: traits.images && !changesNothing(request, "modalities")
      ? request.modalities?.map((one) => one.toUpperCase())
      : undefined,
    seed: writeSeed(request.seed, lose),
    ...writePenalties(request, traits, lose),
    responseLogprobs: request.logprobs ? true : undefined,
    logprobs: request.logprobs?.top || undefined,
    ...format,
    thinkingConfig,
  });
  return { config, instruction };
}

type Lose = (setting: SettingName, weight: LossWeight) => void;

/**
 * Writes at most five stop sequences, the vendor's limit; empty ones never match and are left out.
 */
function writeStop(stop: readonly string[] | undefined, lose: Lose): string[] | undefined {
  const filled = stop?.filter((one) => one !== "") ?? [];
  if (filled.length > 5) lose("stop", "meaning");
  return filled.length === 0 ? undefined : filled.slice(0, 5);
}

function writeSeed(seed: number | undefined, lose: Lose): number | undefined {
  if (seed === undefined || (seed | 0) === seed) return seed;
  lose("seed", "hint");
  return undefined;
}

function writePenalties(
  request: CanonicalRequest,
  traits: ModelTraits,
  lose: Lose,
): Record<string, number | undefined> {
  const written: Record<string, number | undefined> = {};
  for (const name of ["frequencyPenalty", "presencePenalty"] as const) {
    const value = request[name];
    if (value === undefined || value === 0) continue;
    // The upper bound is excluded.
    if (traits.penalties) written[name] = clamp(value, -2, 1.9999);
    else lose(name, "hint");
  }
  return written;
}

/**
 * Writes the output format. It becomes an instruction if the model has no field for it, or none
 * that can be combined with functions.
 */
function writeFormat(
  request: CanonicalRequest,
  traits: ModelTraits,
  losses: Loss[],
  room: SchemaBudget,
): { instruction: string | undefined; [field: string]: unknown } {
  const format = request.format;
  if (!format || format.type === "text") return { instruction: undefined };
  const native = traits.json &&
    (traits.jsonWithTools || (request.tools.length === 0 && !request.webSearch));
  if (!native) return { instruction: formatInWords(format) };
  const json = { instruction: undefined, responseMimeType: "application/json" };
  if (format.type === "json") return json;
  const described = format.description === undefined || format.schema.description !== undefined
    ? format.schema
    : { ...format.schema, description: format.description };
  const lowered = lowerSchema(described, traits, settingPath(request, "format"), losses, room);
  return {
    ...json,
    ...(lowered.jsonSchema ? { responseJsonSchema: lowered.jsonSchema } : {}),
    ...(lowered.subset ? { responseSchema: lowered.subset } : {}),
  };
}

function formatInWords(format: Exclude<CanonicalRequest["format"], undefined>): string {
  const plain = "Answer with one JSON value only, without any text or code fence around it.";
  return format.type === "json-schema"
    ? `${plain} It must follow this JSON Schema: ${JSON.stringify(format.schema)}`
    : plain;
}

function clamp(value: number | undefined, least: number, most: number): number | undefined {
  return value === undefined ? undefined : Math.min(most, Math.max(least, value));
}
