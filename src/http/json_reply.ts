import type { Reply } from "../relay/reply.ts";

/** An answer of our own, as JSON; `status` is 200 when absent. */
export function jsonReply(
  value: unknown,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
): Reply {
  return {
    status,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(value),
  };
}
