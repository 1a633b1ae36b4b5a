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
  /** The call's record before the vendor was asked, without payload. */
  begun: Interaction;
}

export interface NewBackgroundCall extends BackgroundKey {
  request: BackgroundRequest;
  /** The response object as the caller gets it; JSON text. */
  answerText: string;
  /** `X-Request-ID` if the caller chose it, and a hash of the request that was sent with it. */
  repeatable: { requestId: string; requestHash: string } | undefined;
  /** Max unfinished calls of its account. */
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
 * Background calls. A call is claimed by the process that accepted it, and by another one when that
 * claim expires. It ends when its record is written (`Retained.background`), in the same
 * transaction.
 */
export interface BackgroundStore {
  /**
   * Stores a call, claimed by this process. A repeat of the same request within 24 hours returns
   * the first one's id; with another body it throws `idempotency_conflict`. Throws
   * `rate_limit_exceeded` if the account has too many unfinished calls.
   */
  create(call: NewBackgroundCall): Promise<{ responseId: string; repeated: boolean }>;
  find(key: BackgroundKey): Promise<FoundBackgroundCall | undefined>;
  /**
   * Ends a call for its caller; returns false if it had ended. What was spent is still recorded.
   */
  cancel(key: BackgroundKey, answerText: string): Promise<boolean>;
  /**
   * Deletes a call for its caller, which ends it. Returns its transaction id; undefined if there is
   * none.
   */
  remove(key: BackgroundKey): Promise<string | undefined>;
  /**
   * Begins an attempt at a call that this process has claimed; undefined if it has lost the claim,
   * or a deletion is about to erase the call.
   */
  begin(key: BackgroundKey): Promise<ClaimedBackgroundCall | undefined>;
  /**
   * Renews this process's claims; returns the states of calls that it still holds, by response id.
   */
  renew(keys: readonly BackgroundKey[]): Promise<ReadonlyMap<string, BackgroundState>>;
  /** Claims calls that nobody holds, and those that an earlier run of this process held. */
  claim(most: number, except: readonly string[]): Promise<BackgroundClaim[]>;
  /** Gives a call back, to be claimed after `ms`; if `uncounted`, the attempt doesn't count. */
  release(key: BackgroundKey, how: { ms: number; uncounted: boolean }): Promise<void>;
  /** Ends a call whose record the store has refused again and again. */
  endUnrecorded(key: BackgroundKey, answerText: string): Promise<void>;
}
