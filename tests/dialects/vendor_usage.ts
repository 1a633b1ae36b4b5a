/** Usage as each dialect's vendors report it (translation.md §9), written apart from our encoders. */
import type { Payload } from "./recordings.ts";
import type { Story } from "./stories.ts";

type Counts = Story["usage"];

/** `additive`: reasoning beside the completion, and more cached tokens than prompt (vendor-g). */
export function writeChatUsage(usage: Counts, additive: boolean) {
  const { input, cacheRead, output, reasoning } = usage;
  const completion = additive ? output - reasoning : output;
  const prompt = additive && cacheRead > input - cacheRead ? input - cacheRead : input;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion + (additive ? reasoning : 0),
    prompt_tokens_details: { cached_tokens: cacheRead },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

export function writeResponsesUsage(usage: Counts): Payload {
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cacheRead },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: usage.input + usage.output,
  };
}

/** Part of what isn't read from the cache was written to it, where there is enough. */
export function writeMessagesUsage(usage: Counts): Payload {
  const uncached = usage.input - usage.cacheRead;
  const written = uncached >> 1;
  return {
    input_tokens: uncached - written,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: usage.cacheRead,
    output_tokens: usage.output,
  };
}

/** `tools`: tokens of the vendor's own tool results, beside the prompt. */
export function writeGenerateUsage(usage: Counts, tools: number): Payload {
  const visible = usage.output - usage.reasoning;
  const beside = Math.min(tools, usage.input - usage.cacheRead);
  return {
    promptTokenCount: usage.input - beside,
    totalTokenCount: usage.input + usage.output,
    ...(beside > 0 ? { toolUsePromptTokenCount: beside } : {}),
    ...(visible > 0 ? { candidatesTokenCount: visible } : {}),
    ...(usage.reasoning > 0 ? { thoughtsTokenCount: usage.reasoning } : {}),
    ...(usage.cacheRead > 0 ? { cachedContentTokenCount: usage.cacheRead } : {}),
  };
}
