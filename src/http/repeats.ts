import type { Caller } from "../gateway/caller.ts";
import type { Idempotency } from "../gateway/idempotency.ts";
import type { Reply } from "../gateway/reply.ts";

/**
 * Answers a POST once for each `X-Request-ID` that its caller chose (interface.md §5, Requests);
 * without one it is simply run. `query` is named where it changes the answer's form.
 */
export function once(
  idempotency: Idempotency,
  { caller, bodyText, method = "POST", query }: {
    caller: Caller;
    bodyText: string;
    method?: string;
    query?: string;
  },
  run: () => Promise<Reply>,
): Promise<Reply> {
  const { requestId, path, signal, trace } = caller;
  // An id of ours is new each time.
  if (caller.header("x-request-id") !== requestId) return run();
  const accountId = caller.principal.account.id;
  const request = { accountId, method, path, requestId, bodyText, signal, trace };
  return idempotency.idempotent(query === undefined ? request : { ...request, query }, run);
}
