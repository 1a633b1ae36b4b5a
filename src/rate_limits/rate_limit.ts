/** Requests per minute and burst of an account, set by its tier. */
export interface RateLimits {
  requestsPerMinute: number;
  burst: number;
}

/** The decision on one request; the numbers become the `X-RateLimit-*` headers. */
export interface RateDecision {
  admitted: boolean;
  /** Requests per minute. */
  limit: number;
  /** Whole tokens left, at most the limit. */
  remaining: number;
  /** Unix second when the bucket is back at the limit. */
  resetAt: number;
  /** Whole seconds, at least 1; only when not admitted. */
  retryAfterSeconds?: number;
}

/**
 * Levels are counted in these parts of a token: a limit of N per minute is then exactly N parts per
 * millisecond, and everything stays an integer.
 */
export const unitsPerToken = 60_000;

/** Beyond this the products of units and milliseconds would not be exact integers any more. */
export const maxRateNumber = 100_000_000;

/**
 * After this long without contact to the database a process issues tokens from its own share of the
 * rate, until contact or the lease's end. It sends a heartbeat every `beatMs`.
 */
export const graceMs = 1_500;
export const beatMs = 500;

/** A process's report to an account's bucket, and its request for tokens. */
export interface LeaseRequest {
  /** Process id of its heartbeats; a new one after each silence. */
  process: string;
  leaseId: string;
  spent: number;
  /** Units that it has now. */
  has: number;
  /** Tokens withheld from the report, to spend while the answer is pending. */
  withheld: number;
  /** Units per millisecond that it issues itself while the store is away, by the last answer. */
  share: number;
  /** It stops issuing at this many units. */
  ceiling: number;
  /** Tokens that callers wait for. */
  needed: number;
  /** Tokens to hold in stock if the bucket is full enough. */
  wanted: number;
  leaseMs: number;
  /** Gives everything back and ends the lease. */
  leave: boolean;
}

/** The fields of a request that asks for nothing and gives everything back. */
export const leaving = {
  ...{ withheld: 0, share: 0, ceiling: 0, needed: 0, wanted: 0 },
  leave: true,
};

export interface LeaseAnswer {
  limits: RateLimits;
  /** Tokens that the process now holds, if it has spent what it reported. */
  tokens: number;
  /** Stock that the bucket allowed at this time. */
  stock: number;
  /** Units outside of this process: free ones and those that others hold. */
  rest: number;
  /** Free units: below one token, nobody gets more for now. */
  free: number;
  /** While the store is away: units per millisecond that the process issues itself. */
  share: number;
  /** While the store is away: units at which it stops issuing. */
  ceiling: number;
}

/** Buckets that several processes share. Implemented in `src/rate_limits/store/rate_buckets.ts`. */
export interface RateStore {
  /**
   * Reports and leases by one conditional write. After a failure it may have been written or not.
   */
  lease(accountId: number, request: LeaseRequest): Promise<LeaseAnswer>;
  /** Checks that the store answers, and throws if it doesn't; writes nothing. */
  reach(): Promise<void>;
  /** Stores a heartbeat. After a failure it may have been stored or not. */
  beat(process: string): Promise<void>;
  /**
   * Whether other processes, whose names don't begin with `ownNames`, use the store: they hold
   * tokens of the account, or have sent a heartbeat within an hour, since they may still be
   * answering a call for that long.
   */
  isShared(accountId: number, ownNames: string): Promise<boolean>;
  /** Forgets the heartbeats of a process that ends. */
  leave(ownNames: string): Promise<void>;
}
