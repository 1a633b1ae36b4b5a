import { chunksOf, pushAll } from "../../base/lists.ts";
import type { Steps } from "../../base/steps.ts";
import type { TokenLogprob } from "./canonical.ts";
import { asString, isRecord, type JsonRecord, recordsIn } from "./json.ts";

/**
 * Reads a list of log-probabilities of chat or responses; undefined if it isn't a list. `topName`:
 * the member with a token's alternatives.
 */
export function readTokens(list: unknown, topName: string): TokenLogprob[] | undefined {
  if (!Array.isArray(list)) return undefined;
  return list.filter(isRecord).map((entry) => ({
    ...readToken(entry),
    top: recordsIn(entry[topName]).map(readToken),
  }));
}

/** Tokens per step, each of which may have twenty alternatives. */
const tokensPerStep = 512;

/** A list in slices of a step each; only the list itself if it is short, or no list. */
export function logprobSlices(list: unknown): readonly unknown[] {
  if (!Array.isArray(list) || list.length <= tokensPerStep) return [list];
  return chunksOf(list, tokensPerStep);
}

/** `readTokens` in steps. */
export function* tokensInSteps(
  list: unknown,
  topName: string,
): Steps<TokenLogprob[] | undefined> {
  const [first, ...others] = logprobSlices(list);
  const tokens = readTokens(first, topName);
  for (const slice of others) {
    yield;
    pushAll(tokens!, readTokens(slice, topName)!);
  }
  return tokens;
}

/**
 * Only an empty token has no bytes; for any other token an empty list means that they are unknown.
 */
function readToken(entry: JsonRecord): Omit<TokenLogprob, "top"> {
  const token = asString(entry.token) ?? "";
  const bytes = Array.isArray(entry.bytes)
    ? entry.bytes.filter((byte): byte is number => typeof byte === "number")
    : undefined;
  return {
    token,
    logprob: typeof entry.logprob === "number" ? entry.logprob : 0,
    bytes: bytes && (bytes.length > 0 || token === "") ? bytes : null,
  };
}

/** The number of tokens and alternatives in a list. */
export function countLogprobs(list: readonly TokenLogprob[] | undefined): number {
  return list?.reduce((sum, { top }) => sum + 1 + top.length, 0) ?? 0;
}
