import type { MiddlewareHandler } from "hono";
import type { ErrorDialect } from "../../../contracts/kernel/contract.ts";
import { Fault } from "../../shared/fault.ts";
import type { RateDecision } from "../../rate_limits/rate_limit.ts";
import type { RateLimiter } from "../../rate_limits/rate_limiter.ts";
import { asFault, errorReply } from "../errors.ts";
import { toResponse } from "../respond.ts";
import type { Env } from "../request_context.ts";

/**
 * After authentication, every request takes a token of its account, whatever its outcome, and every
 * response says how many are left.
 */
export function rateLimit(
  deps: {
    limiter: RateLimiter;
    errorDialect: (path: string) => ErrorDialect;
    onFault: (fault: Fault, requestId: string) => void;
  },
): MiddlewareHandler<Env> {
  return async (context, next) => {
    const requestContext = context.get("requestContext");
    const path = context.req.path;
    const refuse = (fault: Fault) => {
      deps.onFault(fault, requestContext.requestId);
      return toResponse(
        errorReply(fault, deps.errorDialect(path), requestContext.requestId),
        requestContext,
      );
    };
    if (!requestContext.principal) return await next();
    let decision: RateDecision;
    try {
      decision = await deps.limiter.take(requestContext.principal.account);
    } catch (thrown) {
      return refuse(asFault(thrown));
    }
    if (!decision.admitted) {
      const response = refuse(
        new Fault("rate_limit_exceeded", { retryAfterSeconds: decision.retryAfterSeconds ?? 1 }),
      );
      writeHeaders(response.headers, decision);
      return response;
    }
    await next();
    writeHeaders(context.res.headers, decision);
  };
}

function writeHeaders(headers: Headers, decision: RateDecision): void {
  headers.set("x-ratelimit-limit", String(decision.limit));
  headers.set("x-ratelimit-remaining", String(decision.remaining));
  headers.set("x-ratelimit-reset", String(decision.resetAt));
}
