import type { CallContext } from "../relay/call_context.ts";
import type { Idempotency } from "../idempotency/idempotency.ts";
import type { Reply } from "../relay/reply.ts";

/**
 * Answers a POST once for each `X-Request-ID` that its caller chose (interface.md §5, Requests);
 * without one it is simply run. `query` is named where it changes the answer's form. `permit` throws
 * where the key may not make this call, which `run` finds out too late for an answer that is stored:
 * another key of the account may have asked for it.
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
  // An id of ours is new each time.
  if (caller.header("x-request-id") !== requestId) return await run();
  permit?.();
  const accountId = caller.principal.account.id;
  const request = { accountId, method, path, requestId, bodyText, signal, trace };
  return await idempotency.idempotent(query === undefined ? request : { ...request, query }, run);
}
