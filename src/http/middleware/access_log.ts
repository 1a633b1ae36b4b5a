import type { MiddlewareHandler } from "hono";
import type { Clock } from "../../base/clock.ts";
import type { Log, LogFields } from "../../base/log.ts";
import { maskSecrets } from "../../base/secret.ts";
import { createFailureLimit, type FailureLimit } from "../../rate_limits/failure_limit.ts";
import type { RefusalRecorder } from "../../refusals/refusal_recorder.ts";
import type { Metrics } from "../../shared/metrics.ts";
import { nanosToUsd } from "../../base/money.ts";
import type { CallTiming, SettledCall } from "../../shared/interaction.ts";
import type { Env, RequestContext } from "../request_context.ts";

/**
 * Logs one line per request when it ends, for a stream after its last byte: id, route, vendor, model,
 * status, tokens, cost, milliseconds. Never a prompt or a key.
 */
export type AccessLog = (requestContext: RequestContext, method: string, status: number) => void;

interface AccessLogDeps {
  clock: Clock;
  log: Log;
  metrics: Metrics;
  refusals: Pick<RefusalRecorder, "note">;
}

export function createAccessLog(deps: AccessLogDeps): AccessLog {
  const refusals = new RefusalLines(deps);
  return (requestContext, method, status) => {
    const isRefused = requestContext.principal === undefined && (status === 401 || status === 429);
    const log = refusals.mayWrite(isRefused) ? deps.log : silent;
    const write = (settled?: SettledCall) =>
      note({ ...deps, log }, requestContext, method, status, settled);
    const { trace } = requestContext;
    const isUnderWay = trace.transactionId !== undefined && trace.settled === undefined;
    // A background call that was accepted is settled in a trace of its own.
    if (isUnderWay && !trace.isAcknowledged) trace.onSettled = write;
    else write(trace.settled);
  };
}

export function logAccess(accessLog: AccessLog): MiddlewareHandler<Env> {
  return async (context, next) => {
    await next();
    accessLog(context.get("requestContext"), context.req.method, context.res.status);
  };
}

const silent: Pick<Log, "info"> = { info() {} };

/** Rate limit of lines for requests without a valid key. */
const refusalLines = { burst: 100, perSecond: 5 };
/** How often the number of omitted lines is logged. */
const leftOutMs = 10_000;

/** A flood of wrong keys must not flood the log: lines beyond the rate are only counted. */
class RefusalLines {
  readonly #limit: FailureLimit;
  #leftOut = 0;
  #warnedMs = -Infinity;

  constructor(readonly deps: { clock: Clock; log: Log }) {
    this.#limit = createFailureLimit(deps.clock, refusalLines);
  }

  /** Whether this request gets its line; also logs how many were omitted. */
  mayWrite(isRefused: boolean): boolean {
    const isWritten = !isRefused || this.#limit.fail("any") === 0;
    if (!isWritten) this.#leftOut++;
    const nowMs = this.deps.clock.monotonicMs();
    if (this.#leftOut > 0 && nowMs - this.#warnedMs >= leftOutMs) {
      this.deps.log.warn("log lines of requests without a valid key were left out", {
        left_out: this.#leftOut,
      });
      this.#leftOut = 0;
      this.#warnedMs = nowMs;
    }
    return isWritten;
  }
}

function note(
  deps: Omit<AccessLogDeps, "log"> & { log: Pick<Log, "info"> },
  requestContext: RequestContext,
  method: string,
  status: number,
  settled: SettledCall | undefined,
): void {
  const elapsedMs = deps.clock.monotonicMs() - requestContext.arrivedMs;
  // All unknown paths count as one route, so that they can't fill the metrics.
  const route = requestContext.route ?? "unknown";
  deps.metrics.requests.answered(route, status, elapsedMs / 1000);
  if (!settled) noteRefusal(deps.refusals, requestContext, method, status);
  const { trace } = requestContext;
  const { id } = withoutKeys(requestContext);
  const ms = Math.round(elapsedMs);
  deps.log.info(
    "request",
    settled ? callFields({ id, method, route, status, ms }, settled, trace.timing) : {
      ...{ id, method, route, status, transaction: trace.transactionId },
      ...{ ...refusalFields(requestContext), ms },
    },
  );
}

/** Rounds to whole microseconds, still in ms: precise enough to compare a line with the metrics. */
function micros(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms * 1000) / 1000;
}

/** Returns why a request was refused and whose it was, to be looked up by `X-Request-ID`. */
function refusalFields(requestContext: RequestContext): LogFields {
  const { fault, principal } = requestContext;
  if (!fault) return {};
  const { param, model } = withoutKeys(requestContext);
  return {
    code: fault.code,
    param: param?.slice(0, 200),
    account: principal?.account.id,
    key: principal && `${principal.key.prefix}…`,
    model: model?.slice(0, 120),
  };
}

/** Returns what the caller wrote: some put a key where the model or a request's id belongs. */
function withoutKeys(
  { requestId, fault, model }: RequestContext,
): { id: string; param?: string; model?: string } {
  return {
    id: maskSecrets(requestId),
    ...(fault?.param === undefined ? {} : { param: maskSecrets(fault.param) }),
    ...(model === undefined ? {} : { model: maskSecrets(model) }),
  };
}

/** Records a refusal for its account. Without a valid key there's no account, only the log line. */
function noteRefusal(
  refusals: Pick<RefusalRecorder, "note">,
  requestContext: RequestContext,
  method: string,
  status: number,
): void {
  const { fault, principal, arrivedAt, route, isCall } = requestContext;
  if (!fault || !principal) return;
  const { id: requestId, param, model } = withoutKeys(requestContext);
  refusals.note({
    accountId: principal.account.id,
    at: arrivedAt,
    requestId,
    httpStatus: status,
    code: fault.code,
    param,
    model,
    apiKeyId: principal.key.id,
    endpoint: route ?? "unknown",
    // A POST that is refused before its route is known may have been a call.
    isCall: isCall ?? method === "POST",
  });
}

/** The log leaves out fields that are undefined. */
function callFields(
  { id, method, route, status, ms }: {
    id: string;
    method: string;
    route: string;
    status: number;
    ms: number;
  },
  settled: SettledCall,
  timing: CallTiming | undefined,
): LogFields {
  return {
    id,
    method,
    route,
    status,
    transaction: settled.transactionId,
    vendor: settled.vendor,
    model: settled.model.slice(0, 120),
    outcome: settled.status,
    error: settled.errorCode,
    input_tokens: settled.inputTokens,
    output_tokens: settled.outputTokens,
    cost_usd: settled.costNanos === null ? null : nanosToUsd(settled.costNanos),
    cache: settled.cache,
    ms,
    overhead_ms: micros(timing?.overheadMs),
    vendor_ms: micros(timing?.vendorMs),
    first_token_ms: micros(timing?.firstTokenMs),
  };
}
