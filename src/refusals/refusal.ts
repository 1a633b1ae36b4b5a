import type { ErrorCode } from "../../contracts/kernel/errors.ts";

/** How long refused calls are kept, in days. */
export const refusalDays = 30;

/**
 * A request with an API key that was refused before a vendor was asked. Never holds its content.
 */
export interface RefusedRequest {
  accountId: number;
  at: Date;
  /** `X-Request-ID`, the caller's own or ours. */
  requestId: string;
  httpStatus: number;
  code: ErrorCode;
  /** Path of the field that was wrong. */
  param: string | undefined;
  /** The model as the caller named it. */
  model: string | undefined;
  apiKeyId: string;
  /** Path template of the endpoint; `unknown` where no endpoint has the path. */
  endpoint: string;
  /** Whether a call of a model was refused, or a request about something else. */
  isCall: boolean;
}

export type RefusalRow = Omit<RefusedRequest, "accountId" | "isCall"> & { id: string };

/** The number of refused requests of one hour that have all of this in common. */
export interface RefusalCount {
  accountId: number;
  /** The beginning of the hour (UTC). */
  hour: Date;
  isCall: boolean;
  code: ErrorCode;
  apiKeyId: string;
  /** Empty: none. */
  model: string;
  refused: number;
}

export const refusalDimensions = ["code", "api_key_id", "model"] as const;
export type RefusalDimension = typeof refusalDimensions[number];

/** Half-open; whole hours count. */
export interface RefusalSpan {
  accountId: number;
  from: Date;
  to: Date;
}

/** Filters for refused requests, in lists and counts. */
export interface RefusalFilter {
  code?: string;
  apiKeyId?: string;
  /** Empty: none. */
  model?: string;
}

export interface RefusalPageQuery extends RefusalSpan, RefusalFilter {
  /** Counts have no ids. */
  requestId?: string;
  limit: number;
  /** The last row of the page before. */
  after?: { at: Date; id: string };
}

/** Where refused requests are kept. Implemented in `src/refusals/store/refusals.ts`. */
export interface RefusalStore {
  /**
   * Adds both in one transaction; if another session has locked an account, in one for each. Returns
   * the accounts of which nothing was added, and why.
   */
  add(
    rows: readonly RefusedRequest[],
    counts: readonly RefusalCount[],
  ): Promise<ReadonlyMap<number, unknown>>;
  /** The latest first. */
  list(query: RefusalPageQuery): Promise<RefusalRow[]>;
  /**
   * Refused calls of models per step of time. `starts` are the times at which steps begin, the
   * first one that of the span. In their order; steps without any are left out.
   */
  steps(span: RefusalSpan, starts: readonly Date[]): Promise<{ at: Date; refused: number }[]>;
  /** Refused requests by each value of a dimension, the most first. */
  counts(
    span: RefusalSpan & RefusalFilter,
    dimension: RefusalDimension,
    limit: number,
  ): Promise<{ value: string; refused: number }[]>;
  total(span: RefusalSpan & RefusalFilter): Promise<number>;
  /** Deletes rows from before this time. */
  sweep(before: Date): Promise<void>;
}
