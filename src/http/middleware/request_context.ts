import type { MiddlewareHandler } from "hono";
import type { Clock } from "../../base/clock.ts";
import { CallTimes, type CallTrace, sentRequestId } from "../../relay/call_context.ts";
import type { HttpRequest } from "../http_request.ts";
import type { CallTiming, RepeatClaim, SettledCall } from "../../shared/interaction.ts";
import type { Env, RequestContext } from "../request_context.ts";

export interface RequestContextDeps {
  clock: Clock;
  newRequestId: () => string;
  trustProxy: boolean;
  /** Called when work for a request begins. */
  onWork?: (requestContext: RequestContext) => void;
  /** Called when a request starts (1) or stops (-1) waiting for its caller or a vendor. */
  onWait?: (requestContext: RequestContext, change: 1 | -1) => void;
}

/** Creates a request's context: its id, time of arrival and origin. */
export function newRequestContext(
  deps: RequestContextDeps,
  header: HttpRequest["header"],
  { remoteHost: peerHost = "", incoming }: Env["Bindings"] = {},
): RequestContext {
  const trace = new RequestTrace(deps);
  const requestContext: RequestContext = {
    requestId: requestIdIn(header) ?? deps.newRequestId(),
    arrivedAt: deps.clock.now(),
    arrivedMs: deps.clock.monotonicMs(),
    peerHost,
    remoteHost: remoteHost(peerHost, deps.trustProxy ? header("x-forwarded-for") : undefined),
    route: undefined,
    principal: undefined,
    vendorKey: undefined,
    incoming,
    trace,
  };
  trace.request = requestContext;
  trace.onWork();
  return requestContext;
}

class RequestTrace implements CallTrace {
  readonly #deps: RequestContextDeps;
  request: RequestContext | undefined;
  readonly times: CallTimes;
  transactionId?: string;
  repeat?: RepeatClaim;
  settled?: SettledCall;
  onSettled?: (interaction: SettledCall) => void;
  timing?: CallTiming;

  constructor(deps: RequestContextDeps) {
    this.#deps = deps;
    this.times = new CallTimes(() => deps.clock.monotonicMs());
  }

  onWork(): void {
    this.#deps.onWork?.(this.request!);
  }

  onWait(change: 1 | -1): void {
    this.#deps.onWait?.(this.request!, change);
  }
}

export function setRequestContext(deps: RequestContextDeps): MiddlewareHandler<Env> {
  return async (context, next) => {
    const header = (name: string) => context.req.header(name);
    context.set("requestContext", newRequestContext(deps, header, context.env));
    await next();
  };
}

/** Returns the caller's id of a request if it is valid in a header and a column. */
export function requestIdIn(header: HttpRequest["header"]): string | undefined {
  const value = sentRequestId(header);
  return value !== undefined && /^[\x21-\x7e]{1,200}$/.test(value) ? value : undefined;
}

/** The last address is the one that our proxy saw; earlier ones may be forged. */
function remoteHost(peer: string, forwarded: string | undefined): string {
  return forwarded?.split(",").at(-1)?.trim() || peer;
}
