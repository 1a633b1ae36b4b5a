import type { Clock } from "../base/clock.ts";
import type { Principal } from "../keys/api_key.ts";
import type { CallContext } from "./call_context.ts";

/** What a background job says of a call that it makes for an account. */
export interface JobCall {
  /** As it is now, read anew: a key may have been revoked or the tier changed meanwhile. */
  principal: Principal;
  /** Path template of the endpoint that asked for the job. */
  endpoint: string;
  requestId: string;
  sessionId: string | null;
  userId: string | null;
  /** Interactions whose words the call says again. */
  sourceIds?: readonly string[];
  /** Aborted when the process ends. */
  signal: AbortSignal;
}

/**
 * A caller without a request of its own: no headers, no vendor key beside the stored ones. It never
 * leaves an answer to be read to its end: when it leaves, the process ends.
 */
export function jobCaller(clock: Clock, call: JobCall): CallContext {
  const { account, key } = call.principal;
  return {
    principal: { account, key: { ...key, onDisconnect: "cancel" } },
    vendorKey: undefined,
    requestId: call.requestId,
    sessionId: call.sessionId ?? undefined,
    userId: call.userId ?? undefined,
    endpoint: call.endpoint,
    path: call.endpoint,
    header: () => undefined,
    signal: call.signal,
    arrivedAt: clock.now(),
    arrivedMs: clock.monotonicMs(),
    trace: {},
    ...(call.sourceIds ? { sourceIds: call.sourceIds } : {}),
  };
}
