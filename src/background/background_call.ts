import type { Interaction } from "../shared/interaction.ts";
import type { BackgroundEnd } from "../shared/stored_response.ts";

/** The state of a background call; its caller can't see a `deleted` one. */
export type BackgroundState =
  | "queued"
  | "in_progress"
  | BackgroundEnd["state"]
  | "deleted";

export interface BackgroundKey {
  accountId: number;
  responseId: string;
}

/** A call that a process has claimed, and how long its request is in UTF-16 units. */
export interface BackgroundClaim extends BackgroundKey {
  bodyUnits: number;
}

/** A request as it is stored until its call is recorded: enough to make the call again. */
export interface BackgroundRequest {
  /** As the caller sent it. */
  bodyText: string;
  path: string;
  /** Label of the family's vendor; null on the unified family. */
  vendor: string | null;
  /** Those that the service or a vendor reads; no credentials. */
  headers: Readonly<Record<string, string>>;
  /** The vendor key came with the request, and is stored nowhere. */
  hasOwnKey: boolean;
  /** Its record as it stands before the vendor was asked, without payload. */
  begun: Interaction;
}

export interface NewBackgroundCall extends BackgroundKey {
  request: BackgroundRequest;
  /** The response object as the caller gets it; JSON text. */
  answerText: string;
  /** `X-Request-ID` where the caller chose it, and a hash of what was sent with it. */
  repeatable: { requestId: string; requestHash: string } | undefined;
  /** How many calls of its account may be unfinished. */
  most: number;
}

/** A call as an attempt at it begins. */
export interface ClaimedBackgroundCall extends BackgroundKey {
  state: BackgroundState;
  answerText: string;
  /** This one included. */
  attempts: number;
  request: BackgroundRequest;
}

export interface FoundBackgroundCall {
  state: BackgroundState;
  transactionId: string;
  /** Null where the answer is among the stored responses. */
  answerText: string | null;
}

/**
 * Background calls. A call is claimed by the process that took it in, and by another one when that
 * claim expires; it ends with its record (`Retained.background`), in one transaction.
 */
export interface BackgroundStore {
  /**
   * Stores a call, claimed by this process. A repeat of the same request within 24 hours gives the
   * first one's ids; with another body it throws `idempotency_conflict`. Throws
   * `rate_limit_exceeded` where too many of the account are unfinished.
   */
  create(call: NewBackgroundCall): Promise<{ responseId: string; repeated: boolean }>;
  find(key: BackgroundKey): Promise<FoundBackgroundCall | undefined>;
  /** Its caller ends a call; false where it had ended. What was spent is recorded all the same. */
  cancel(key: BackgroundKey, answerText: string): Promise<boolean>;
  /** Its caller deletes a call, which ends it. Gives its transaction; undefined where there is none. */
  remove(key: BackgroundKey): Promise<string | undefined>;
  /** Begins an attempt at a call that this process has claimed; undefined where it has lost it. */
  begin(key: BackgroundKey): Promise<ClaimedBackgroundCall | undefined>;
  /** Renews this process's claims; gives the states of calls that it still holds, by response id. */
  renew(keys: readonly BackgroundKey[]): Promise<ReadonlyMap<string, BackgroundState>>;
  /** Claims calls that nobody holds, and what an earlier run of this process held. */
  claim(most: number, except: readonly string[]): Promise<BackgroundClaim[]>;
  /** Gives a call back, to be claimed after `ms`; where `uncounted` the attempt doesn't count. */
  release(key: BackgroundKey, how: { ms: number; uncounted: boolean }): Promise<void>;
  /** Ends a call whose record the store has refused again and again. */
  giveUp(key: BackgroundKey, answerText: string): Promise<void>;
}
