import { mapInSteps, type Steps } from "../../base/steps.ts";
import type { TokenLogprob } from "./canonical.ts";
import { asString, isRecord, type JsonRecord, recordsIn } from "./json.ts";

/** Reads an entry of a list of log-probabilities, given its position. */
type ReadEntry = (entry: JsonRecord, index: number) => TokenLogprob;

/** Tokens per step, each of which may have twenty alternatives. */
const tokensPerStep = 512;

/**
 * Reads an answer's lists of log-probabilities. Those of a whole answer or a large event are read
 * ahead, in steps: 200,000 tokens take 140 ms.
 */
export class LogprobReader {
  #ahead: WeakMap<readonly unknown[], TokenLogprob[]> | undefined;
  /** Tokens in short lists that were read ahead in the current step. */
  #shortTokens = 0;

  /** Returns the entries; undefined if it isn't a list. */
  read(list: unknown, readEntry: ReadEntry): TokenLogprob[] | undefined {
    if (!Array.isArray(list)) return undefined;
    return this.#ahead?.get(list) ?? list.filter(isRecord).map(readEntry);
  }

  /** Reads a list in steps, before `read` gets it; many short lists are steps, too. */
  *readAhead(list: unknown, readEntry: ReadEntry): Steps<void> {
    if (!Array.isArray(list) || list.length === 0) return;
    const entries = yield* mapInSteps(list.filter(isRecord), readEntry, tokensPerStep);
    (this.#ahead ??= new WeakMap()).set(list, entries);
    if (list.length > tokensPerStep) return;
    this.#shortTokens += list.length;
    if (this.#shortTokens <= tokensPerStep) return;
    this.#shortTokens = 0;
    yield;
  }
}

/** Reads an entry of chat or responses. `topName`: the member with the token's alternatives. */
export function readToken(entry: JsonRecord, topName: string): TokenLogprob {
  return { ...readBare(entry), top: recordsIn(entry[topName]).map(readBare) };
}

/**
 * Only an empty token has no bytes; for any other token an empty list means that they are unknown.
 */
function readBare(entry: JsonRecord): Omit<TokenLogprob, "top"> {
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
