import type { DialectName } from "../../contracts/calls/vendors.ts";

/** A JSON object as it stands on the wire. */
export type Json = Readonly<Record<string, unknown>>;

/** Tokens of one answer, disjoint only where it says so. */
export interface Tokens {
  /** The whole prompt, cached parts included. */
  input: number;
  /** Of those. */
  cached: number;
  /** Reasoning included. */
  output: number;
  /** Of those. */
  reasoning: number;
}

/** The JSON values of a stream's `data:` lines; `[DONE]` is left out. */
export function streamValues(text: string): Json[] {
  return text.split(/\r?\n\r?\n/).flatMap((event) => {
    const data = event.split(/\r?\n/).filter((line) => line.startsWith("data:"))
      .map((line) => line.slice(5).trimStart()).join("\n");
    return data === "" || data === "[DONE]" ? [] : [JSON.parse(data) as Json];
  });
}

/** The usage object that a body of this dialect reports, whole or streamed; undefined for none. */
export function rawUsage(dialect: DialectName, text: string): Json | undefined {
  const values = isStream(text) ? streamValues(text) : [JSON.parse(text) as Json];
  switch (dialect) {
    case "chat":
      return values.map(({ usage }) => usage as Json).findLast((usage) => usage);
    case "responses":
      return values.map(({ response, usage }) => (usage ?? (response as Json)?.usage) as Json)
        .findLast((usage) => usage);
    case "generate":
      return values.map(({ usageMetadata }) => usageMetadata as Json).findLast((usage) => usage);
    case "messages": {
      const usages = values.map(({ message, usage }) => (usage ?? (message as Json)?.usage) as Json)
        .filter((usage) => usage);
      return usages.length === 0 ? undefined : Object.assign({}, ...usages) as Json;
    }
  }
}

/**
 * The tokens that a usage object names. `additive`: reasoning is beside the output, not inside
 * (vendor-g).
 */
export function tokensOf(dialect: DialectName, usage: Json, additive = false): Tokens {
  const at = (...path: string[]): number => {
    let value: unknown = usage;
    for (const name of path) value = (value as Json | undefined | null)?.[name];
    return Number(value ?? 0);
  };
  switch (dialect) {
    case "chat": {
      const reasoning = at("completion_tokens_details", "reasoning_tokens");
      return {
        input: at("prompt_tokens"),
        cached: at("prompt_tokens_details", "cached_tokens"),
        output: at("completion_tokens") + (additive ? reasoning : 0),
        reasoning,
      };
    }
    case "responses":
      return {
        input: at("input_tokens"),
        cached: at("input_tokens_details", "cached_tokens"),
        output: at("output_tokens"),
        reasoning: at("output_tokens_details", "reasoning_tokens"),
      };
    case "messages":
      return {
        input: at("input_tokens") + at("cache_read_input_tokens") +
          at("cache_creation_input_tokens"),
        cached: at("cache_read_input_tokens"),
        output: at("output_tokens"),
        reasoning: at("output_tokens_details", "thinking_tokens"),
      };
    case "generate":
      return {
        input: at("promptTokenCount") + at("toolUsePromptTokenCount"),
        cached: at("cachedContentTokenCount"),
        output: at("candidatesTokenCount") + at("thoughtsTokenCount"),
        reasoning: at("thoughtsTokenCount"),
      };
  }
}

function isStream(text: string): boolean {
  return /^(data|event|id|:)/.test(text);
}
