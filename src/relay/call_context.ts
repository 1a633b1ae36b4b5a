import type { Step } from "../base/heavy_work.ts";
import type { Secret } from "../base/secret.ts";
import type { Principal } from "../keys/api_key.ts";
import type { SettledCall } from "../shared/interaction.ts";
import type { Clock } from "../base/clock.ts";

/** Who calls, and what came with the request beside its body. */
export interface CallContext {
  readonly principal: Principal;
  /** The second half of the dual-key form. */
  readonly vendorKey: Secret | undefined;
  /** `X-Request-ID`, the caller's or ours. */
  readonly requestId: string;
  readonly sessionId: string | undefined;
  /** `X-User-ID`. */
  readonly userId: string | undefined;
  /** Path template of the endpoint, under its label. */
  readonly endpoint: string;
  /** Path of the address. */
  readonly path: string;
  /** A header of the request by its lower-case name. */
  header(name: string): string | undefined;
  /** Lower-case names of the request's headers; absent where there was no request. */
  readonly headerNames?: () => readonly string[];
  /** Aborted when the caller leaves. */
  readonly signal: AbortSignal;
  readonly arrivedAt: Date;
  readonly arrivedMs: number;
  readonly trace: CallTrace;
  /** Runs the work on the body; absent: at once. */
  readonly step?: Step;
  /** Called once the request's text for the vendor is made and the body's values are released. */
  readonly onEncoded?: () => void;
  /** Runs the work on a large answer, in turns with other calls; absent: at once. */
  readonly heavyStep?: Step;
  /** A streamed answer is read to its end and stored, should the caller leave. */
  readonly goesOn?: boolean;
  /** How long the vendor may be silent, in ms; absent: as configured. */
  readonly silenceMs?: number;
  /** Interactions whose words a call of our own repeats: it is not written once they are erased. */
  readonly sourceIds?: readonly string[];
}

/** What a request's observers (log, response headers, idempotency) see of its call. */
export interface CallTrace {
  /** Set once the call has begun; sent as `X-Transaction-ID`. */
  transactionId?: string;
  /** Set beforehand where the request may be repeated: which of its in-flight requests this is. */
  repeat?: { key: string; claimId: string };
  /** The call was accepted and goes on without its caller, who has the whole reply. */
  isLeft?: boolean;
  /** Set once the call has been settled. */
  settled?: SettledCall;
  /** Called when a call is settled. */
  onSettled?: (interaction: SettledCall) => void;
  /** Called where work for the call begins, so that it is known who holds the event loop. */
  working?: () => void;
  /** Called where the call begins (1) and ends (-1) to wait for its caller or its vendor. */
  waits?: (change: 1 | -1) => void;
}

/** What a background job says of a call that it makes for an account. */
interface JobCall {
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
