import type { TokenLogprob } from "../../../kernel/canonical.ts";

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
