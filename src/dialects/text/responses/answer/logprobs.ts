import type { TokenLogprob } from "../../../kernel/canonical.ts";
import { isRecord, type JsonRecord } from "../../../kernel/json.ts";

/** Reads a `logprobs` list; undefined when it is empty or none. */
export function readLogprobs(value: unknown): TokenLogprob[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  return value.filter(isRecord).map((entry) => ({
    ...readToken(entry),
    top: Array.isArray(entry.top_logprobs)
      ? entry.top_logprobs.filter(isRecord).map(readToken)
      : [],
  }));
}

function readToken(entry: JsonRecord): Omit<TokenLogprob, "top"> {
  const bytes = Array.isArray(entry.bytes)
    ? entry.bytes.filter((byte): byte is number => typeof byte === "number")
    : [];
  return {
    token: typeof entry.token === "string" ? entry.token : "",
    logprob: typeof entry.logprob === "number" ? entry.logprob : 0,
    bytes: bytes.length > 0 ? bytes : null,
  };
}

/**
 * Writes a `logprobs` list. The schema requires `bytes` to be a list: unknown bytes are an empty
 * one.
 */
export function writeLogprobs(list: readonly TokenLogprob[] | undefined): unknown[] {
  return (list ?? []).map((entry) => ({
    ...writeToken(entry),
    top_logprobs: entry.top.map(writeToken),
  }));
}

function writeToken(entry: Omit<TokenLogprob, "top">): Record<string, unknown> {
  return { token: entry.token, logprob: entry.logprob, bytes: entry.bytes ?? [] };
}
