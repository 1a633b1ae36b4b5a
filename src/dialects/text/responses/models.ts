import type { PlainRequest } from "../../kernel/dialect.ts";
import { isRecord, type JsonRecord, recordsIn } from "../../kernel/json.ts";
import { withoutCutReasoning, withoutReasoning } from "./conversation/state.ts";

/** The same path for every model. */
export function upstreamPath(): string {
  return "/responses";
}

const sealed = "reasoning.encrypted_content";

/** OpenAI's models without reasoning, which refuse requests for sealed reasoning. */
export const neverReasons = /^(?:openai\/|ft:)?(?:gpt-[34]|chatgpt-|gpt-[\d.]+-chat)/;

/** Returns the encoded request without fields that its model is known to refuse. */
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
 * Returns the request without what the gateway added and the vendor refuses: sealed reasoning of a
 * model without reasoning or of another vendor, or summaries for an organisation that isn't verified
 * (OpenHands/software-agent-sdk#987).
 */
export function withoutRefused(
  request: JsonRecord,
  refusal: string,
): PlainRequest | undefined {
  const { include, reasoning } = request;
  const ofSummary = /"reasoning\.summary"/.exec(refusal)?.[0];
  if (ofSummary !== undefined && isRecord(reasoning)) {
    const { summary: _, ...rest } = reasoning;
    return { request: { ...request, reasoning: rest }, cause: ofSummary };
  }
  const ofSealed = /encrypted.content is not supported/i.exec(refusal)?.[0];
  if (ofSealed !== undefined && Array.isArray(include)) {
    const others = include.filter((name) => name !== sealed);
    return { request: { ...request, include: others }, cause: ofSealed };
  }
  // Nothing to remember for other conversations.
  if (refusesReasoning(refusal)) {
    const input = recordsIn(request.input);
    const plain = refusesCut(refusal) ? withoutCutReasoning(input) : withoutReasoning(input);
    if (plain.length < input.length) return { request: { ...request, input: plain } };
  }
  return undefined;
}

/** Whether the refusal is about reasoning in the conversation: a stranger's, or a cut answer's. */
export function refusesReasoning(refusal: string): boolean {
  return refusesSeal(refusal) || refusesCut(refusal);
}

/** Whether the refusal is about reasoning that nothing of its answer follows. */
function refusesCut(refusal: string): boolean {
  return /without its required following item/i.test(refusal);
}

/**
 * Whether the refusal is about reasoning that another vendor, or another organisation, sealed. xAI
 * says "Could not decrypt the provided encrypted_content" (Wei-Shaw/sub2api#4535) or speaks of a
 * compaction blob (chenyme/grok2api#688).
 */
function refusesSeal(refusal: string): boolean {
  if (/could not decode the compaction blob/i.test(refusal)) return true;
  return /encrypted.content/i.test(refusal) &&
    /could not (?:be|decrypt)|invalid_encrypted/i.test(refusal);
}
