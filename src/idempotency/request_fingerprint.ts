import { sha256Hex, sha256TextSteps } from "../base/hash.ts";
import { finish, type Steps } from "../base/steps.ts";
import type { SelectableCall } from "../shared/interaction.ts";

/**
 * The fields that tell whether two requests are the same, or use one id for different things
 * (docs/calling.md).
 */
export interface RepeatableRequest {
  accountId: number;
  method: string;
  /** Path of the address, with its parameters, without the query. */
  path: string;
  /** Query of the address where it changes the answer's form, such as `alt=sse`. */
  query?: string;
  /** `X-Request-ID` as the caller sent it. */
  requestId: string;
  /** The body as it was sent; for a multipart body, a text that stands for its parts. */
  bodyText: string;
}

/** A request by its hashes: `key` says which id is used, `fingerprint` what for. */
export interface ReplayId {
  key: string;
  fingerprint: string;
  accountId: number;
}

/**
 * Returns the request's hashes. Bodies are compared as text: other spaces or another order of keys
 * make another body. Client libraries repeat the same bytes, and a 409 costs a caller less than an
 * answer to a request that was not quite this one.
 */
export function replayIdOf(request: RepeatableRequest): ReplayId {
  return finish(replayIdSteps(request));
}

/** The same in steps, for a large body. */
export function* replayIdSteps(request: RepeatableRequest): Steps<ReplayId> {
  const { accountId, method, path, requestId } = request;
  const key = sha256Hex(joined([String(accountId), method, path, requestId]));
  const text = joined([key, request.query ?? "", request.bodyText]);
  const fingerprint = yield* sha256TextSteps(text);
  return { key, fingerprint, accountId };
}

/** An answer as its first caller received it. */
export interface StoredAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
  /** It was sent as a stream. */
  streamed: boolean;
  /** The call that made it, with which it is erased; null when no vendor was called. */
  transactionId: string | null;
  /** Earlier calls whose text it repeats: it is erased with any of them. Not read back. */
  sources?: readonly string[];
}

/** One attempt at answering a request, by one process. */
export interface Claim extends ReplayId {
  claimId: string;
}

/**
 * The state of an id. `free`: nobody holds it; `running`: another process answers the same request;
 * `conflict`: it is in use for another body.
 */
export type ReplayState =
  | { state: "free" }
  | { state: "running" }
  | { state: "conflict" }
  | { state: "done"; answer: StoredAnswer };

/**
 * The outcome of storing an answer. `isChargedElsewhere`: the same request was charged as a call
 * whose process died before its answer was stored; `isGone`: its call, or one whose text it
 * repeats, was erased meanwhile, so it was removed again; `held`: another process, which took the
 * claim for dead, uses the id now; `duplicate`: that process has answered the same request, as call
 * `transactionId`; `conflict`: it has answered another body.
 */
export type Finished =
  | { state: "stored"; isChargedElsewhere?: boolean; isGone?: boolean }
  | { state: "held" }
  | { state: "conflict" }
  | { state: "duplicate"; transactionId: string | null };

/**
 * The store of claims and answers. Implemented in `src/idempotency/store/replays.ts` for one
 * process, whose claims end when it stops renewing them. All methods throw `store_unavailable` when
 * it can't be reached.
 */
export interface ReplayStore {
  /**
   * Claims the id in one conditional write: `free` means that this claim now has it. A claim that
   * this process left behind, or that nobody renews, is taken over.
   */
  claim(claim: Claim): Promise<ReplayState>;
  /** As `claim`, but claims nothing. */
  find(id: ReplayId): Promise<ReplayState>;
  /**
   * Stores the answer for 24 hours; may be called again, and without a claim in the store. `call`:
   * the call that made it, by which deletions find the answer even if the call is never recorded.
   */
  finish(claim: Claim, answer: StoredAnswer, call?: SelectableCall): Promise<Finished>;
  /** Frees the id; false where its answer is stored, or another claim has it. */
  release(claim: Claim): Promise<boolean>;
  /** Renews these claims. */
  renew(claims: readonly Pick<Claim, "key" | "claimId">[]): Promise<void>;
  /**
   * Erases the answers of these calls and those that repeat their text; returns how many there
   * were.
   */
  erase(transactionIds: readonly string[]): Promise<number>;
  /** Removes answers that are too old and claims that nobody renews; returns how many. */
  sweep(): Promise<number>;
}

/** Joins texts with their lengths, so that different lists never make the same text. */
function joined(texts: readonly string[]): string {
  return texts.map((text) => `${text.length}:${text}`).join("");
}
