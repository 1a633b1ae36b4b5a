import type { Steps } from "../../../../base/steps.ts";
import type { TokenLogprob } from "../../../kernel/canonical.ts";
import { asRecord, type JsonRecord, recordsIn } from "../../../kernel/json.ts";
import { type LogprobReader, readToken } from "../../../kernel/token_logprobs.ts";

/** Reads the log-probabilities of an answer's or a chunk's choices in steps, before the rest. */
export function* readChoicesAhead(json: unknown, reader: LogprobReader): Steps<void> {
  for (const { logprobs } of recordsIn(asRecord(json).choices)) {
    yield* reader.readAhead(asRecord(logprobs).content, readEntry);
  }
}

/** Returns a choice's log-probabilities; undefined if it has none. */
export function readChoiceLogprobs(
  { logprobs }: JsonRecord,
  reader: LogprobReader,
): TokenLogprob[] | undefined {
  return reader.read(asRecord(logprobs).content, readEntry);
}

function readEntry(entry: JsonRecord): TokenLogprob {
  return readToken(entry, "top_logprobs");
}
