import { believedWaitMs } from "../dialects/kernel/vendor_error.ts";

/**
 * How often a call was retried so far. The rules here are pure (docs/calling.md): nothing waits.
 */
export interface RetryState {
  /** Tries on connections that had gone stale don't count. */
  readonly retries: number;
  /** Milliseconds waited so far, before all retries together. */
  readonly waitedMs: number;
}

const maxRetries = 2;
const maxWaitMs = 2000;
/** Longest wait before the first and the second retry; together they fit into the total. */
const longestMs = [500, 1500];

/**
 * Statuses that may pass by themselves; a vendor of the messages dialect sends 529 when overloaded.
 */
const retryStatuses: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504, 529]);

/** Whether a request that was answered so may be retried. */
export function mayBeRetried(status: number, headers: Readonly<Record<string, string>>): boolean {
  return retryStatuses.has(status) && vendorRetryAdvice(headers) !== false;
}

/**
 * Returns what the vendor says about a retry in `x-should-retry`, which the libraries of OpenAI and
 * Anthropic obey whatever the status; undefined when it says nothing.
 */
export function vendorRetryAdvice(
  headers: Readonly<Record<string, string>>,
): boolean | undefined {
  const advice = headers["x-should-retry"];
  return advice === "true" ? true : advice === "false" ? false : undefined;
}

/**
 * Returns the milliseconds to wait before the next try, or undefined when there is to be none. The
 * wait is random in the upper half of its span, so that calls which failed together don't return
 * together; what is left of the total ends the span. A `retryAfterMs` beyond what is left forbids
 * the try: the caller gets the error.
 */
export function nextDelayMs(
  state: RetryState,
  random: () => number,
  retryAfterMs?: number,
): number | undefined {
  const longest = longestMs[state.retries];
  if (state.retries >= maxRetries || longest === undefined) return undefined;
  const leftMs = maxWaitMs - state.waitedMs;
  const shortestMs = Math.max(longest / 2, retryAfterMs ?? 0);
  if (shortestMs > leftMs) return undefined;
  const backOffMs = longest * (0.5 + random() / 2);
  return Math.round(Math.min(Math.max(backOffMs, shortestMs), leftMs));
}

/** Read as seconds it would be over thirty years, so from here on it is a Unix time. */
const minUnixTime = 1e9;
/** A Unix time from here on is in milliseconds. */
const minUnixTimeMs = 1e12;

/**
 * Returns the wait that `Retry-After` (seconds or HTTP date, RFC 9110 §10.2.3; some servers send a
 * Unix time) or the vendors' `retry-after-ms` asks for, in milliseconds; undefined when there is none
 * that can be read and believed. A time counts from the answer's `Date`, which is by the vendor's
 * clock too, or without one from `now`.
 */
export function retryAfterMs(
  headers: Readonly<Record<string, string>>,
  now: Date,
): number | undefined {
  const sentMs = dateMs(headers.date ?? "");
  return believedWaitMs(numberOf(headers["retry-after-ms"])) ??
    believedWaitMs(
      waitOf(headers["retry-after"] ?? "", Number.isNaN(sentMs) ? now.getTime() : sentMs),
    );
}

function waitOf(value: string, nowMs: number): number | undefined {
  const number = numberOf(value);
  if (number !== undefined && number < minUnixTime) return number * 1000;
  const atMs = number === undefined
    ? dateMs(value)
    : number < minUnixTimeMs
    ? number * 1000
    : number;
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

/** Demands a time of day: `Date.parse` reads "in 45" as a day of the year 2045. */
function dateMs(value: string): number {
  return /\d\d:\d\d/.test(value) ? Date.parse(value) : NaN;
}

function numberOf(value: string | undefined): number | undefined {
  return value !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : undefined;
}
