import { isRecord, type JsonRecord } from "../../kernel/json.ts";

/** The same path for every model. */
export function upstreamPath(): string {
  return "/responses";
}

const sealed = "reasoning.encrypted_content";

/** OpenAI's models without reasoning, which refuse the request for sealed reasoning. */
export const neverReasons = /^(?:openai\/|ft:)?(?:gpt-[34]|chatgpt-|gpt-[\d.]+-chat)/;

/** The encoded request without fields that its model is known to refuse. */
export function fitToModel(
  request: JsonRecord,
  model: string,
): Record<string, unknown> {
  const { include, ...rest } = request;
  if (!neverReasons.test(model) || !Array.isArray(include)) return { ...request };
  const others = include.filter((name) => name !== sealed);
  return others.length > 0 ? { ...rest, include: others } : rest;
}

/**
 * The request without fields that the gateway added and the vendor refuses: sealed reasoning of a
 * model without reasoning, or summaries for an organisation that isn't verified
 * (OpenHands/software-agent-sdk#987). The answer is the same without them.
 */
export function withoutRefused(
  request: JsonRecord,
  refusal: string,
): Record<string, unknown> | undefined {
  const { include, reasoning } = request;
  if (/"reasoning\.summary"/.test(refusal) && isRecord(reasoning)) {
    const { summary: _, ...rest } = reasoning;
    return { ...request, reasoning: rest };
  }
  if (/encrypted.content is not supported/i.test(refusal) && Array.isArray(include)) {
    return { ...request, include: include.filter((name) => name !== sealed) };
  }
  return undefined;
}
