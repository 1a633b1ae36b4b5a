import { type CallContext, repeatableId } from "../relay/call_context.ts";
import type { Idempotency } from "../idempotency/idempotency.ts";
import { replayIdOf } from "../idempotency/request_fingerprint.ts";
import { recordModeOf } from "../relay/record_mode.ts";
import type { Reply } from "../relay/reply.ts";
import type { ReplyOutput } from "./bind.ts";

/**
 * Runs a request once per `X-Request-ID` of the caller and replays its answer to repeats; without
 * that header it just runs. `query` is set if it changes the form of the answer. `permit` throws if
 * the key may not make this call; `run` would check that too late, since the answer may already be
 * stored, for another key of the account.
 */
export async function idempotent(
  idempotency: Idempotency,
  { caller, bodyText, method = "POST", query, permit }: {
    caller: CallContext;
    bodyText: string;
    method?: string;
    query?: string | undefined;
    permit?: () => void;
  },
  run: () => Promise<Reply>,
): Promise<ReplyOutput> {
  const requestId = repeatableId(caller);
  if (requestId === undefined) return { reply: await run() };
  const { path, signal, trace, step } = caller;
  permit?.();
  // Only calls to models, which have `permit`, hold content.
  const keepsNothing = permit !== undefined && recordModeOf(caller) === "metadata";
  const { account: { id: accountId }, key } = caller.principal;
  // The vendor is read to its end anyway: what it says is for the repeat, which pays nothing.
  if (permit && !keepsNothing && key.onDisconnect === "drain") trace.outlivesCaller = true;
  const request = {
    accountId,
    method,
    path,
    requestId,
    bodyText,
    signal,
    trace,
    keepsNothing,
    step,
  };
  const asked = query === undefined ? request : { ...request, query };
  return { reply: await idempotency.idempotent(asked, run) };
}

/**
 * Returns the fingerprint of a POST with an `X-Request-ID` of the caller; undefined without that
 * header. For work that must be done once even if the process ends before the answer is stored.
 */
export function repeatableHash(caller: CallContext, bodyText: string): string | undefined {
  const requestId = repeatableId(caller);
  if (requestId === undefined) return undefined;
  const { path, principal } = caller;
  const accountId = principal.account.id;
  return replayIdOf({ accountId, method: "POST", path, requestId, bodyText }).fingerprint;
}
