import { streamOf } from "../base/answer_bytes.ts";
import type { StoredAnswer } from "./request_fingerprint.ts";
import { replayHeader, type Reply } from "../relay/reply.ts";

/** The stored answer as it was received, byte for byte, with the sign that it is a repetition. */
export function replayOf(answer: StoredAnswer): Reply {
  const { status, headers, body, streamed, transactionId } = answer;
  return {
    status,
    headers: {
      ...headers,
      ...(transactionId === null ? {} : { "x-transaction-id": transactionId }),
      ...replayHeader,
    },
    body: streamed ? streamOf(body) : body.length === 0 ? null : body,
  };
}
