import type { Secret } from "../base/secret.ts";
import type { Principal } from "../keys/api_key.ts";
import type { CallTrace } from "../relay/call_context.ts";

/** The middleware's view of a request; handlers get a `CallContext`. */
export interface RequestContext {
  readonly requestId: string;
  readonly arrivedAt: Date;
  readonly arrivedMs: number;
  /** Address of the peer itself; empty if unknown. */
  readonly peerHost: string;
  /** Address of the peer, or the caller's address from a trusted proxy. */
  readonly remoteHost: string;
  /** Path template of the route, once matched. */
  route: string | undefined;
  principal: Principal | undefined;
  vendorKey: Secret | undefined;
  /** The request as the listener knows it. */
  readonly incoming: object | undefined;
  readonly trace: CallTrace;
  /** Interactions whose content the request holds although the caller sent none of it. */
  sourceIds?: readonly string[];
}

/** Types of the web framework's context. */
export interface Env {
  Variables: { requestContext: RequestContext };
  Bindings: { remoteHost?: string; incoming?: object };
}
