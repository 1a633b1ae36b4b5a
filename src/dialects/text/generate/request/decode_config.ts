import type {
  OutputFormat,
  Reasoning,
  UnsupportedField,
} from "../../../kernel/canonical_request.ts";
import { pushAll } from "../../../../base/lists.ts";
import { unknownFields } from "../../../kernel/other_fields.ts";
import { readModalities } from "../../../kernel/modalities.ts";
import { FoundSettings } from "../../../kernel/found_settings.ts";
import { invalidValue } from "../../../../shared/fault.ts";
import { isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { knownConfig } from "../known_fields.ts";
import { camelCase, type Fields } from "./fields.ts";
import { jsonSchemaOf } from "./schema_from_subset.ts";

/** Reads `generationConfig` as settings, with the caller's path of each. */
export function readConfig(config: Fields, unsupported: UnsupportedField[]): FoundSettings {
  const found = new FoundSettings(config.record);
  for (const name of ["maxOutputTokens", "temperature", "topP", "topK"] as const) {
    found.set(name, config.number(name), config.at(name));
  }
  found.set("stop", config.strings("stopSequences"), config.at("stopSequences"));
  found.set("choices", config.number("candidateCount"), config.at("candidateCount"));
  for (const name of ["seed", "frequencyPenalty", "presencePenalty"] as const) {
    found.set(name, config.number(name), config.at(name));
  }
  if (config.boolean("responseLogprobs") === true) {
    const logprobs = { top: config.number("logprobs") ?? 0 };
    found.set("logprobs", logprobs, config.at("responseLogprobs"));
  }
  found.set("format", readFormat(config), config.at(formatField(config)));
  const modalities = readModalities(config.value("responseModalities"));
  found.set("modalities", modalities, config.at("responseModalities"));
  const thinking = readThinking(config.object("thinkingConfig"));
  found.set("reasoning", thinking, config.at("thinkingConfig"));
  pushAll(unsupported, unsupportedIn(config));
  return found;
}

function formatField(config: Fields): string {
  return ["responseJsonSchema", "responseSchema"].find((name) => config.has(name)) ??
    "responseMimeType";
}

/** A choice of words (`text/x.enum`) becomes an object with one member. */
function readFormat(config: Fields): OutputFormat | undefined {
  const mimeType = config.string("responseMimeType");
  const jsonSchema = config.object("responseJsonSchema")?.record;
  const subset = config.object("responseSchema")?.record;
  const schema = jsonSchema ?? (subset && jsonSchemaOf(subset));
  if (mimeType === "text/x.enum") {
    const value = schema ?? { type: "string" };
    return jsonFormat({
      type: "object",
      properties: { value },
      required: ["value"],
      additionalProperties: false,
    });
  }
  if (schema) return jsonFormat(schema);
  if (mimeType === undefined || mimeType === "text/plain") return undefined;
  if (mimeType === "application/json") return { type: "json" };
  throw invalidValue(
    config.at("responseMimeType"),
    "expected text/plain, application/json or text/x.enum",
  );
}

function jsonFormat(schema: JsonRecord): OutputFormat {
  return { type: "json-schema", name: "response", schema, strict: false };
}

function readThinking(thinking: Fields | undefined): Reasoning | undefined {
  if (!thinking) return undefined;
  const budget = thinking.number("thinkingBudget");
  const level = thinking.string("thinkingLevel")?.toUpperCase();
  const show = thinking.boolean("includeThoughts");
  const effort = level === undefined ? undefined : efforts[level];
  if (level !== undefined && level !== "THINKING_LEVEL_UNSPECIFIED" && effort === undefined) {
    throw invalidValue(
      thinking.at("thinkingLevel"),
      "expected MINIMAL, LOW, MEDIUM, HIGH or XHIGH",
    );
  }
  const reasoning: Reasoning = {
    ...(effort === undefined ? {} : { effort }),
    // −1 leaves the budget to the model, as does its absence.
    ...(budget === undefined || budget < 0 ? {} : { budgetTokens: budget }),
    ...(show === undefined ? {} : { show }),
  };
  return Object.keys(reasoning).length === 0 ? undefined : reasoning;
}

const efforts: Readonly<Record<string, Reasoning["effort"]>> = {
  MINIMAL: "minimal",
  LOW: "low",
  MEDIUM: "medium",
  HIGH: "high",
  // `@google/genai` 3.3.0. No model documents it yet, so it is read but never written.
  XHIGH: "xhigh",
};

/** Fields whose loss doesn't change what kind of answer comes back. */
const hints: ReadonlySet<string> = new Set([
  "enableEnhancedCivicAnswers",
  "audioTimestamp",
  "enableAffectiveDialog",
  "modelSelectionConfig",
  "routingConfig",
]);

function unsupportedIn(config: Fields): UnsupportedField[] {
  return unknownFields(config.record, knownConfig, {
    weightOf: (name) => hints.has(name) ? "hint" : "meaning",
    changesNothing: isNoOp,
    spell: camelCase,
    within: config.path,
  });
}

function isNoOp(name: string, value: unknown): boolean {
  if (name === "responseModalities") {
    return readModalities(value) !== undefined;
  }
  if (value === false) return hints.has(name);
  return isRecord(value) && Object.keys(value).length === 0;
}
