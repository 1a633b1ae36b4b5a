import { Fault } from "../../../shared/fault.ts";

/** What a model accepts, by its name. */
export interface ModelTraits {
  /** `gemini-2.5-flash` → 2.5, `gemini-4-argon` → 4; names without a number count as 3. */
  generation: number;
  /** Takes `systemInstruction`. */
  system: boolean;
  /** Takes a JSON response type. */
  json: boolean;
  /** Accepts full JSON Schema (`parametersJsonSchema`), not only the subset. */
  jsonSchema: boolean;
  /** Takes functions and a JSON response type in one request. */
  jsonWithTools: boolean;
  /** Refuses function calls without a thought signature, and supports ids of calls. */
  signatures: boolean;
  /** Has the vendor's web search. */
  search: boolean;
  /** Accepts the web search together with functions. */
  searchWithTools: boolean;
  /** Can be asked for images; other models refuse that. */
  images: boolean;
  /** Takes frequency and presence penalties. */
  penalties: boolean;
  /** Maximum number of output tokens, if no price row states it; a larger limit is refused. */
  maxOutputTokens: number | undefined;
  thinking: Thinking;
}

/** How to request thinking; budgets are in tokens. */
export type Thinking =
  | { by: "none" }
  | { by: "budget"; least: number; most: number }
  | { by: "level"; levels: readonly ThinkingLevel[] };

export type ThinkingLevel = "MINIMAL" | "LOW" | "MEDIUM" | "HIGH";

/** Returns the traits of a model by the vendor's own name, with or without a `models/` segment. */
export function modelTraits(model: string): ModelTraits {
  const name = bareModel(model).toLowerCase();
  const isGemma = /(^|[/-])gemma/.test(name);
  const generation = generationOf(name);
  return {
    generation,
    system: !isGemma,
    json: !isGemma,
    jsonSchema: !isGemma && generation >= 2.5,
    jsonWithTools: !isGemma && generation >= 3,
    signatures: !isGemma && generation >= 3,
    search: !isGemma && generation >= 2 && !/-(image|tts|live|native-audio|embedding)/.test(name),
    searchWithTools: generation >= 3,
    images: /-image\b/.test(name),
    penalties: generation !== 2.5 || isGemma,
    maxOutputTokens: !isGemma && generation >= 2.5 ? 65_536 : undefined,
    thinking: isGemma ? { by: "none" } : thinkingOf(name, generation),
  };
}

/** The name without the `models/` segment that paths and lists put before it. */
export function bareModel(model: string): string {
  return model.replace(/^(models\/)+/, "");
}

/** The first number in the name: `gemini-2.5-flash` → 2.5, `gemini-4-argon` → 4. */
function generationOf(name: string): number {
  const match = /(?:^|[-/])(\d{1,2}(?:\.\d{1,2})?)(?![\d.]|[a-z])/.exec(name);
  return match ? Number(match[1]) : 3;
}

function thinkingOf(name: string, generation: number): Thinking {
  // Models that generate images or audio refuse the field.
  if (generation < 2.5 || /-(image|tts|live|native-audio|embedding)/.test(name)) {
    return { by: "none" };
  }
  const isPro = /-pro\b/.test(name);
  const isFlash = /-flash\b/.test(name);
  if (generation < 3) {
    return isPro
      ? { by: "budget", least: 128, most: 32_768 }
      : { by: "budget", least: 0, most: 24_576 };
  }
  if (isPro && generation < 3.1) return { by: "level", levels: ["LOW", "HIGH"] };
  if (isFlash && generation < 3.7) {
    return { by: "level", levels: ["MINIMAL", "LOW", "MEDIUM", "HIGH"] };
  }
  return { by: "level", levels: ["LOW", "MEDIUM", "HIGH"] };
}

/** Path of a generation, appended to the base URL; streams use server-sent events. */
export function upstreamPath(model: string, stream: boolean): string {
  return `${modelPath(model)}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`;
}

/** Path of another method, such as `predict`. */
export function methodPath(model: string, method: string): string {
  return `${modelPath(model)}:${method}`;
}

export function countTokensPath(model: string): string {
  return methodPath(model, "countTokens");
}

/** `/models/{model}` with the name encoded, so that it can't change the rest of the path. */
function modelPath(model: string): string {
  const steps = bareModel(model).split("/");
  const leadsElsewhere = steps.some((step) => step === "" || step === "." || step === "..");
  // Half a surrogate pair can't be encoded.
  if (leadsElsewhere || !model.isWellFormed()) {
    throw new Fault("model_not_found", { param: "model" });
  }
  const collection = steps[0] === "tunedModels" && steps.length > 1 ? "" : "models/";
  return `/${collection}${steps.map(encodeURIComponent).join("/")}`;
}
