import type { Steps } from "../../../../base/steps.ts";
import type { TokenLogprob } from "../../../kernel/canonical.ts";
import { type JsonRecord, recordsIn } from "../../../kernel/json.ts";
import { type LogprobReader, readToken } from "../../../kernel/token_logprobs.ts";

/** Reads the log-probabilities of a list of items in steps, before the rest. */
export function* readItemsAhead(items: unknown, reader: LogprobReader): Steps<void> {
  for (const { content } of recordsIn(items)) yield* readPartsAhead(content, reader);
}

/** The same of a list of parts. */
export function* readPartsAhead(parts: unknown, reader: LogprobReader): Steps<void> {
  for (const { logprobs } of recordsIn(parts)) yield* reader.readAhead(logprobs, readLogprob);
}

export function readLogprob(entry: JsonRecord): TokenLogprob {
  return readToken(entry, "top_logprobs");
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
