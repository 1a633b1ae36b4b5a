import type { Steps } from "../../../../base/steps.ts";
import type { TokenLogprob } from "../../../kernel/canonical.ts";
import { asRecord, type JsonRecord, recordsIn } from "../../../kernel/json.ts";
import type { LogprobReader } from "../../../kernel/token_logprobs.ts";

/** Returns a candidate's log-probabilities, one entry per token; undefined if it has none. */
export function readLogprobs(
  { logprobsResult: result }: JsonRecord,
  reader: LogprobReader,
): TokenLogprob[] | undefined {
  return reader.read(asRecord(result).chosenCandidates, entryReader(result));
}

/** Reads those of an answer's candidates in steps, before the rest. */
export function* readCandidatesAhead(json: unknown, reader: LogprobReader): Steps<void> {
  for (const { logprobsResult: result } of recordsIn(asRecord(json).candidates)) {
    yield* reader.readAhead(asRecord(result).chosenCandidates, entryReader(result));
  }
}

function entryReader(result: unknown): (chosen: JsonRecord, index: number) => TokenLogprob {
  const { topCandidates } = asRecord(result);
  const tops: readonly unknown[] = Array.isArray(topCandidates) ? topCandidates : [];
  return (chosen, index) => ({
    ...token(chosen),
    top: recordsIn(asRecord(tops[index]).candidates).map(token),
  });
}

export function writeLogprobs(logprobs: readonly TokenLogprob[]): Record<string, unknown> {
  const write = (one: { token: string; logprob: number }) => ({
    token: one.token,
    logProbability: one.logprob,
  });
  return {
    chosenCandidates: logprobs.map(write),
    topCandidates: logprobs.map(({ top }) => ({ candidates: top.map(write) })),
  };
}

function token(entry: JsonRecord): { token: string; logprob: number; bytes: null } {
  return {
    token: typeof entry.token === "string" ? entry.token : "",
    logprob: typeof entry.logProbability === "number" ? entry.logProbability : 0,
    bytes: null,
  };
}
