import type { Secret } from "../base/secret.ts";
import type { Principal } from "../keys/api_key.ts";
import type { CallTrace } from "../relay/call_context.ts";

/** What the middleware knows of a request; handlers get what they need of it as `Caller`. */
export interface RequestContext {
  readonly requestId: string;
  readonly arrivedAt: Date;
  readonly arrivedMs: number;
  /** Address of the peer itself; empty where nobody knows. */
  readonly peerHost: string;
  /** Address of the peer, or of the caller that a trusted proxy names. */
  readonly remoteHost: string;
  /** Path template of the route, once one was found. */
  route: string | undefined;
  principal: Principal | undefined;
  vendorKey: Secret | undefined;
  /** The request as the listener knows it. */
  readonly incoming: object | undefined;
  readonly trace: CallTrace;
}

/** Types of the web framework's context. */
export interface Env {
  Variables: { requestContext: RequestContext };
  Bindings: { remoteHost?: string; incoming?: object };
}
