import { isRecord } from "../../kernel/json.ts";

/** The same path for every model. */
export function upstreamPath(): string {
  return "/responses";
}

const sealed = "reasoning.encrypted_content";

/** Models that don't reason refuse to be asked for sealed reasoning; it is known of these. */
const isPlain = /^(?:ft:)?(?:gpt-[34]|chatgpt-)/;

/** An encoded request without what its model is known to refuse of it. */
export function fitToModel(
  request: Readonly<Record<string, unknown>>,
  model: string,
): Record<string, unknown> {
  const { include, ...rest } = request;
  if (!isPlain.test(model) || !Array.isArray(include)) return { ...request };
  const others = include.filter((name) => name !== sealed);
  return others.length > 0 ? { ...rest, include: others } : rest;
}

/**
 * The request without what we asked for on our own and the vendor refuses: sealed reasoning of a
 * model that doesn't reason, or summaries for an organisation that isn't verified
 * (OpenHands/software-agent-sdk#987). The answer is the same without either.
 */
export function withoutRefused(
  request: Readonly<Record<string, unknown>>,
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
