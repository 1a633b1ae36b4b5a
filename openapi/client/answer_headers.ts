/** The account's rate limit after a call. */
export interface RateLimit {
  /** Requests that the account may make per minute. */
  readonly limit: number;
  /** Requests that the account may make now. */
  readonly remaining: number;
  /** When `remaining` is at the limit again. */
  readonly resetAt: Date;
}

/** Facts about a call from its answer's headers. */
export interface CallInfo {
  /** Id of the request. */
  readonly requestId: string | undefined;
  /** Id of the recorded call, if a vendor was called: as in exports and for deletions. */
  readonly transactionId: string | undefined;
  /** Whether the answer is the stored one of an earlier request with the same id. */
  readonly replayed: boolean;
  /** Paths of the request's fields that the vendor doesn't support, and that were dropped. */
  readonly translationLoss: readonly string[];
  /** Whether a count of tokens is an estimate. */
  readonly estimated: boolean;
  /** What the call costs in US dollars, nine decimals; absent on streams and without a price. */
  readonly costUsd?: string;
  /** What was charged to the account's balance, in US dollars; absent on streams. */
  readonly chargedUsd?: string;
}

/** Reads the rate limit; undefined for calls without a key, or if a proxy hides the headers. */
export function rateLimitOf(response: Response): RateLimit | undefined {
  const number = (name: string) => Number(response.headers.get(`X-RateLimit-${name}`) ?? NaN);
  const [limit, remaining, reset] = [number("Limit"), number("Remaining"), number("Reset")];
  if (!Number.isFinite(limit + remaining + reset)) return undefined;
  return { limit, remaining, resetAt: new Date(reset * 1000) };
}

export function callInfo(response: Response): CallInfo {
  const header = (name: string) => response.headers.get(name) ?? undefined;
  const [costUsd, chargedUsd] = [header("X-Cost-USD"), header("X-Charged-USD")];
  return {
    requestId: header("X-Request-ID"),
    transactionId: header("X-Transaction-ID"),
    replayed: header("X-Idempotent-Replay") === "true",
    translationLoss: header("X-Translation-Loss")?.split(",").map((path) => path.trim()) ?? [],
    estimated: header("X-Token-Count") === "estimated",
    ...(costUsd === undefined ? {} : { costUsd }),
    ...(chargedUsd === undefined ? {} : { chargedUsd }),
  };
}

/** Returns `Retry-After`, which may be a date, in seconds; undefined without it. */
export function retryAfterOf(response: Response, now = Date.now()): number | undefined {
  const text = response.headers.get("Retry-After")?.trim();
  if (!text) return undefined;
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - now) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}
