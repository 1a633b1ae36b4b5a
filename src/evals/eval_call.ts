import { type ErrorCode, errors } from "../../contracts/kernel/errors.ts";
import { Fault, isStoreAway } from "../shared/fault.ts";
import type { RateLimiter } from "../rate_limits/rate_limiter.ts";
import {
  type CallTrace,
  type JobCall,
  jobCaller,
  type JobCallerDeps,
} from "../relay/call_context.ts";
import type { Relay } from "../relay/relay.ts";
import { parseAnswerInTurns } from "../relay/text_answer.ts";
import type { Dialect } from "../dialects/kernel/dialect.ts";

/**
 * A call of an evaluation. Session and user are the stored interaction's, whose id is in
 * `sourceCallIds`: a deletion that matches it erases this call too.
 */
export interface EvalCall extends Omit<JobCall, "endpoint"> {
  sourceCallIds: readonly string[];
  dialect: Dialect;
  body: unknown;
  bodyText: string;
}

/** What a call cost, as far as is known. */
export interface Spent {
  transactionId: string | null;
  costNanos: bigint;
  unpricedCalls: number;
}

/**
 * The result of a call. `busy`: another try may succeed; `wait`: this account can't make calls for
 * now; `unrecoverable`: no call of this run can succeed; `stopped`: the process is shutting down.
 */
export type CallResult =
  | { kind: "answer"; json: unknown; spent: Spent }
  | { kind: "refused"; code: ErrorCode; message: string; spent: Spent; cause?: unknown }
  | { kind: "busy"; code: ErrorCode; ms: number | undefined; spent: Spent }
  | { kind: "wait"; code: ErrorCode; message: string; ms: number }
  | { kind: "unrecoverable"; code: ErrorCode; message: string }
  | { kind: "stopped"; spent?: Spent };

export interface EvalCallDeps extends JobCallerDeps {
  relay: Pick<Relay, "send">;
  rateLimiter: Pick<RateLimiter, "take">;
  /** Called when little is left of the account's rate, which its live calls may need. */
  onLowRate: () => void;
}

/** How long a run first waits for credit: reservations of its own calls may be released by then. */
const creditMs = 2_000;

/** Makes a call under the account's rate limit, credit and caps, like any caller's call. */
export async function askModel(deps: EvalCallDeps, call: EvalCall): Promise<CallResult> {
  const rate = await deps.rateLimiter.take(call.principal.account);
  if (!rate.admitted) {
    const ms = (rate.retryAfterSeconds ?? 1) * 1000;
    return {
      kind: "wait",
      code: "rate_limit_exceeded",
      message: errors.rate_limit_exceeded.message,
      ms,
    };
  }
  if (rate.remaining * 10 < rate.limit) deps.onLowRate();
  if (call.signal.aborted) return { kind: "stopped" };
  const caller = jobCaller(deps, {
    ...call,
    endpoint: "/api/v1/evals",
  });
  const { dialect, body, bodyText } = call;
  try {
    const asked = { dialect, vendor: undefined, body, bodyText, isRepeat: true };
    const reply = await deps.relay.send({ caller, ...asked });
    const text = await new Response(reply.body as BodyInit | null).text();
    if (reply.status === 499) return { kind: "stopped", spent: spentBy(caller.trace) };
    // The answer is complete: the next try finds it, and counts it.
    if (call.signal.aborted) return { kind: "stopped" };
    return {
      kind: "answer",
      json: await parseAnswerInTurns(text, caller),
      spent: spentBy(caller.trace),
    };
  } catch (thrown) {
    const spent = spentBy(caller.trace);
    if (call.signal.aborted) return { kind: "stopped", spent };
    if (isStoreAway(thrown)) throw thrown;
    if (thrown instanceof Fault) return failed(thrown, spent);
    // What the vendor was paid before an internal error is charged all the same.
    const { message } = errors.internal_error;
    return { kind: "refused", code: "internal_error", message, spent, cause: thrown };
  }
}

function failed(fault: Fault, spent: Spent): CallResult {
  const { code } = fault;
  const ms = fault.retryAfterSeconds === undefined ? undefined : fault.retryAfterSeconds * 1000;
  // A vendor's error text may quote the prompt, and this message is kept longer than the results.
  const message = spent.transactionId === null ? fault.message : errors[code].message;
  if (waits.has(code)) return { kind: "wait", code, message, ms: ms ?? creditMs };
  if (unrecoverable.has(code)) return { kind: "unrecoverable", code, message };
  if (passes.has(code)) return { kind: "busy", code, ms, spent };
  return { kind: "refused", code, message: fault.message, spent };
}

/** The account can't make calls now, but may later: with new credit, or when a daily cap resets. */
const waits: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "insufficient_credits",
  "spend_cap_exceeded",
  "rate_limit_exceeded",
]);

/** Errors of the model, key or vendor rather than of one request. */
const unrecoverable: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "model_not_found",
  "vendor_not_configured",
  "permission_denied",
  "invalid_vendor_api_key",
  "vendor_quota_exhausted",
  "upstream_authentication_failed",
  "upstream_quota_exhausted",
]);

const passes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "overloaded",
  "upstream_overloaded",
  "upstream_rate_limited",
  "upstream_timeout",
  "upstream_unreachable",
  "upstream_error",
]);

function spentBy({ transactionId, settled }: CallTrace): Spent {
  const cost = settled?.costNanos;
  return {
    transactionId: transactionId ?? null,
    costNanos: cost ?? 0n,
    unpricedCalls: cost === null ? 1 : 0,
  };
}
