import type { FinishReason, SelectableCall } from "../shared/interaction.ts";

/** An answer as its first caller received it, and what records of its reuse hold. */
export interface CachedAnswer {
  readonly status: number;
  /** Those that are about the answer itself, not about the call that made it. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Whether it was sent as a stream. */
  readonly streamed: boolean;
  /** JSON text for records, in UTF-8; absent where the body is that text. */
  readonly record?: Uint8Array;
  /** Label of the vendor that answered, and its name of the model. */
  readonly vendor: string;
  readonly model: string;
  readonly finishReason: FinishReason | null;
  readonly losses: readonly string[];
}

export interface StoredCachedAnswer extends CachedAnswer {
  /** Whole seconds since it was stored. */
  readonly ageSeconds: number;
}

/** Which answer a call may get, and how old it may be. */
export interface CacheQuery {
  /** `answerKey`: equal for calls that have the same answer. */
  readonly key: string;
  readonly accountId: number;
  /** Max age of an answer for this caller, and the lifetime of an answer that its call stores. */
  readonly ttlSeconds: number;
  /** Aborted when the caller leaves. */
  readonly signal: AbortSignal;
}

/** Max answers of an account, and max bytes of all of them; the oldest are removed first. */
export const accountLimits = { answers: 10_000, bytes: 256 * 1024 * 1024 } as const;

/**
 * Where answers are stored, for all processes. Implemented in
 * `src/response_cache/store/cached_answers.ts`. All methods throw `store_unavailable` when it can't
 * be reached.
 */
export interface CachedAnswerStore {
  /**
   * Returns the answer under this key if it's young enough, both for the caller and by the lifetime
   * that it was stored with.
   */
  find(query: Pick<CacheQuery, "key" | "ttlSeconds">): Promise<StoredCachedAnswer | undefined>;
  /**
   * Stores the answer in place of an older one. If the call that made it was erased, stores nothing
   * and returns false.
   */
  put(
    query: Pick<CacheQuery, "key" | "ttlSeconds">,
    call: SelectableCall,
    answer: CachedAnswer,
  ): Promise<boolean>;
  /** Removes the answers that a call of the account made; returns how many. */
  remove(accountId: number, transactionId: string): Promise<number>;
  /** Removes the oldest answers of an account beyond `accountLimits`; returns how many. */
  trim(accountId: number): Promise<number>;
  /** Removes expired answers; returns how many. */
  sweep(): Promise<number>;
}
