import { retryAfterOf } from "./answer_headers.ts";
import { newRequestId } from "./request_id.ts";

/** Sends a request. */
export type Fetch = (request: Request) => Promise<Response>;

export interface RetryOptions {
  /** Limit on the attempts of a call, the first included. Default 5. */
  attempts?: number | undefined;
  /** The longest `Retry-After` that is waited for, in seconds. Default 60. */
  maxRetryAfterSeconds?: number | undefined;
  /** Waits; rejects when the signal aborts. Default: a timer. */
  sleep?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
  /** Returns a number from 0 to 1, for the jitter. Default `Math.random`. */
  random?: (() => number) | undefined;
}

/**
 * Retries calls that failed before their answer began: with 408, 429, 500, 502, 503, 504 or 529, or
 * a broken connection, unless `X-Should-Retry` is `false`. Waits 1, 2, 4, 8, 16 s plus up to 1 s of
 * jitter, but at least `Retry-After`. Calls other than GET get an `X-Request-ID`, the same at each
 * attempt, so that the service replays its stored answer.
 */
export function withRetries(send: Fetch, options: RetryOptions = {}): Fetch {
  const { attempts = 5, maxRetryAfterSeconds = 60, random = Math.random } = options;
  const sleep = options.sleep ?? wait;
  return async (response) => {
    const request = withId(response);
    for (let attempt = 1;; attempt++) {
      const last = attempt >= attempts;
      const result = await outcome(send, last ? request : request.clone());
      if (last || !mayHelp(result)) return settle(result);
      request.signal.throwIfAborted();
      const asked = "response" in result ? retryAfterOf(result.response) ?? 0 : 0;
      if (asked > maxRetryAfterSeconds) return settle(result);
      if ("response" in result) await result.response.body?.cancel().catch(() => {});
      await sleep(Math.max(asked * 1000, backoffMs(attempt, random)), request.signal);
    }
  };
}

/** Returns the wait after the `attempt`-th attempt, counted from 1. */
export function backoffMs(attempt: number, random: () => number): number {
  return 1000 * 2 ** Math.min(attempt - 1, 4) + 1000 * random();
}

type Outcome = { response: Response } | { thrown: unknown };

async function outcome(send: Fetch, request: Request): Promise<Outcome> {
  try {
    return { response: await send(request) };
  } catch (thrown) {
    return { thrown };
  }
}

function settle(outcome: Outcome): Response {
  if ("response" in outcome) return outcome.response;
  throw outcome.thrown;
}

function mayHelp(outcome: Outcome): boolean {
  if ("thrown" in outcome) return true;
  const { status, headers } = outcome.response;
  return retryableStatuses.has(status) && headers.get("X-Should-Retry") !== "false";
}

const retryableStatuses: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504, 529]);

function withId(request: Request): Request {
  if (request.method === "GET" || request.headers.has("X-Request-ID")) return request;
  request.headers.set("X-Request-ID", newRequestId());
  return request;
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal.addEventListener("abort", stop, { once: true });
  });
}
