import { type CallContext, sentRequestId } from "../relay/call_context.ts";
import type { Idempotency } from "../idempotency/idempotency.ts";
import { recordModeOf } from "../relay/record_mode.ts";
import type { Reply } from "../relay/reply.ts";

/**
 * Answers a POST once per `X-Request-ID` of the caller; without one it just runs. `query` is set where
 * it changes the form of the answer. `permit` throws if the key may not make this call: `run` would
 * check that too late, since another key of the account may have stored the answer.
 */
export async function idempotent(
  idempotency: Idempotency,
  { caller, bodyText, method = "POST", query, permit }: {
    caller: CallContext;
    bodyText: string;
    method?: string;
    query?: string;
    permit?: () => void;
  },
  run: () => Promise<Reply>,
): Promise<Reply> {
  const { requestId, path, signal, trace } = caller;
  // Ids that we generate never repeat.
  if (sentRequestId(caller.header) !== requestId) return await run();
  permit?.();
  // Of calls to models alone: what else is repeated holds no content.
  const keepsNothing = permit !== undefined && recordModeOf(caller) === "metadata";
  const accountId = caller.principal.account.id;
  const request = { accountId, method, path, requestId, bodyText, signal, trace, keepsNothing };
  return await idempotency.idempotent(query === undefined ? request : { ...request, query }, run);
}
