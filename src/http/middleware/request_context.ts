import type { MiddlewareHandler } from "hono";
import type { Clock } from "../../base/clock.ts";
import type { Env, RequestContext } from "../request_context.ts";

/** First of all: names the request and notes when it came and from where. */
export function createRequestContext(
  deps: {
    clock: Clock;
    newRequestId: () => string;
    trustProxy: boolean;
    /** Told where work for a request begins. */
    working?: (requestContext: RequestContext) => void;
    /** Told where a request begins (1) and ends (-1) to wait for its caller or a vendor. */
    waits?: (requestContext: RequestContext, change: 1 | -1) => void;
  },
): MiddlewareHandler<Env> {
  return async (context, next) => {
    const requestContext: RequestContext = {
      requestId: requestIdOf(context.req.header("x-request-id")) ?? deps.newRequestId(),
      arrivedAt: deps.clock.now(),
      arrivedMs: deps.clock.monotonicMs(),
      peerHost: context.env?.remoteHost ?? "",
      remoteHost: remoteHost(
        context.env?.remoteHost,
        deps.trustProxy ? context.req.header("x-forwarded-for") : undefined,
      ),
      route: undefined,
      principal: undefined,
      vendorKey: undefined,
      incoming: context.env?.incoming,
      trace: {},
    };
    requestContext.trace.working = () => deps.working?.(requestContext);
    requestContext.trace.working();
    requestContext.trace.waits = (change) => deps.waits?.(requestContext, change);
    context.set("requestContext", requestContext);
    await next();
  };
}

/** A caller's id is kept when it can stand in a header and a column as it is. */
function requestIdOf(value: string | undefined): string | undefined {
  return value !== undefined && /^[\x21-\x7e]{1,200}$/.test(value) ? value : undefined;
}

/** The proxy in front appends the address that it saw; what stands before it may be made up. */
function remoteHost(peer: string | undefined, forwarded: string | undefined): string {
  const last = forwarded?.split(",").at(-1)?.trim();
  if (last) return last;
  return peer ?? "";
}
