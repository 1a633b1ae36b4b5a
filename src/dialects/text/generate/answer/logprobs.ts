import type { TokenLogprob } from "../../../kernel/canonical.ts";
import { asRecord, isRecord, type JsonRecord, recordsIn } from "../../../kernel/json.ts";

/** Reads a candidate's `logprobsResult`, one entry per token; undefined if there is none. */
export function readLogprobs(result: unknown): TokenLogprob[] | undefined {
  if (!isRecord(result) || !Array.isArray(result.chosenCandidates)) return undefined;
  const tops = Array.isArray(result.topCandidates) ? result.topCandidates : [];
  return result.chosenCandidates.filter(isRecord).map((chosen, index) => {
    return { ...token(chosen), top: recordsIn(asRecord(tops[index]).candidates).map(token) };
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
