import type { Secret } from "../base/secret.ts";
import type { Principal } from "../keys/api_key.ts";
import type { CallTrace } from "../relay/call_context.ts";
import type { Fault } from "../shared/fault.ts";
import type { PromptTags } from "../shared/prompt_tags.ts";

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
  /** Whether the route calls a model; undefined before the route is known. */
  isCall?: boolean;
  /** The model as the caller named it, once the request is read. */
  model?: string;
  /** The error that the request is answered with, if any. */
  fault?: Fault;
  principal: Principal | undefined;
  vendorKey: Secret | undefined;
  /** Identifies the request to admission control; over a WebSocket each call has its own object. */
  readonly incoming: object | undefined;
  readonly trace: CallTrace;
  /** Earlier interactions whose content was added to the request, not sent by the caller. */
  sourceCallIds?: readonly string[];
  /** The body to record, if the request has content that the caller did not send. */
  sentText?: string;
  /** Tags that were taken out of the request. */
  tags?: PromptTags;
}

/** Notes the error that a request is answered with. */
export type OnFault = (
  fault: Fault,
  request: Pick<RequestContext, "requestId"> & { fault?: Fault },
) => void;

/** Types of the web framework's context. */
export interface Env {
  Variables: { requestContext: RequestContext };
  Bindings: { remoteHost?: string; incoming?: object };
}
