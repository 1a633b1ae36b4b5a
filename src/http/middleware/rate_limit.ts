import type { MiddlewareHandler } from "hono";
import { Fault } from "../../shared/fault.ts";
import type { RateDecision } from "../../rate_limits/rate_limit.ts";
import type { RateLimiter } from "../../rate_limits/rate_limiter.ts";
import type { ErrorDialectOf } from "../error_dialect.ts";
import { asFault, errorReply } from "../errors.ts";
import type { HttpRequest } from "../http_request.ts";
import { toResponse } from "../respond.ts";
import type { Reply } from "../../relay/reply.ts";
import type { Env, OnFault, RequestContext } from "../request_context.ts";

/**
 * After authentication, every request takes a token of its account, whatever its outcome, and every
 * response says how many are left.
 */
export type RateCheck = (
  requestContext: RequestContext,
  path: string,
  header?: HttpRequest["header"],
) => Promise<{ headers: Readonly<Record<string, string>>; refusal?: Reply }>;

export function createRateCheck({ limiter, errorDialect, onFault }: {
  limiter: Pick<RateLimiter, "take">;
  errorDialect: ErrorDialectOf;
  onFault: OnFault;
}): RateCheck {
  return async (requestContext, path, header) => {
    const { principal, requestId } = requestContext;
    const refuse = (fault: Fault) => {
      onFault(fault, requestContext);
      return errorReply(fault, errorDialect(path, header), requestId);
    };
    if (!principal) return { headers: {} };
    let decision: RateDecision;
    try {
      decision = await limiter.take(principal.account);
    } catch (thrown) {
      return { headers: {}, refusal: refuse(asFault(thrown)) };
    }
    const headers = headersOf(decision);
    if (decision.admitted) return { headers };
    const { retryAfterSeconds = 1 } = decision;
    return { headers, refusal: refuse(new Fault("rate_limit_exceeded", { retryAfterSeconds })) };
  };
}

export function rateLimit(check: RateCheck): MiddlewareHandler<Env> {
  return async (context, next) => {
    const requestContext = context.get("requestContext");
    const header = (name: string) => context.req.header(name);
    const { headers, refusal } = await check(requestContext, context.req.path, header);
    const response = refusal && toResponse(refusal, requestContext);
    if (response === undefined) await next();
    const answered = (response ?? context.res).headers;
    for (const [name, value] of Object.entries(headers)) answered.set(name, value);
    return response;
  };
}

function headersOf(decision: RateDecision): Record<string, string> {
  return {
    "x-ratelimit-limit": String(decision.limit),
    "x-ratelimit-remaining": String(decision.remaining),
    "x-ratelimit-reset": String(decision.resetAt),
  };
}
