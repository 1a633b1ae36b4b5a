import type { MiddlewareHandler } from "hono";
import type { Clock } from "../../base/clock.ts";
import type { Env, RequestContext } from "../scene.ts";

/** First of all: names the request and notes when it came and from where. */
export function createRequestContext(
  parts: {
    clock: Clock;
    newRequestId: () => string;
    trustProxy: boolean;
    /** Told where work for a request begins. */
    working?: (scene: RequestContext) => void;
    /** Told where a request begins (1) and ends (-1) to wait for its caller or a vendor. */
    waits?: (scene: RequestContext, change: 1 | -1) => void;
  },
): MiddlewareHandler<Env> {
  return async (context, next) => {
    const scene: RequestContext = {
      requestId: requestIdOf(context.req.header("x-request-id")) ?? parts.newRequestId(),
      arrivedAt: parts.clock.now(),
      arrivedMs: parts.clock.monotonicMs(),
      peerHost: context.env?.remoteHost ?? "",
      remoteHost: remoteHost(
        context.env?.remoteHost,
        parts.trustProxy ? context.req.header("x-forwarded-for") : undefined,
      ),
      route: undefined,
      principal: undefined,
      vendorKey: undefined,
      incoming: context.env?.incoming,
      trace: {},
    };
    scene.trace.working = () => parts.working?.(scene);
    scene.trace.working();
    scene.trace.waits = (change) => parts.waits?.(scene, change);
    context.set("scene", scene);
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
