import type { ServerResponse } from "node:http";
import { breakOff } from "../base/break_off.ts";

/**
 * Makes an answer's body one that never fails for the framework, which would print the error, and
 * send its message where nothing has been sent yet. When the stream fails, `onFailure` is called
 * and the connection is cut after what was sent, so that the caller sees that the answer is not
 * whole.
 */
export function cutOnFailure(
  answer: Response,
  outgoing: ServerResponse,
  onFailure: (thrown: unknown) => void,
): Response {
  const { body } = answer;
  if (body === null) return answer;
  const reader = body.getReader();
  // Replaced in place: another stream around this one would be a step slower, and the framework
  // only gives an answer its length that is there at once.
  Object.defineProperty(body, "getReader", {
    value: () => ({
      read: () =>
        reader.read().catch((thrown) => {
          // A stream may fail because its caller has left.
          if (!outgoing.destroyed) onFailure(thrown);
          // A head that was not written yet would be an empty one.
          if (outgoing.headersSent) breakOff(outgoing);
          else outgoing.destroy();
          // One of its own: a shared one would hold all that has ever waited for it.
          return new Promise<never>(() => {});
        }),
      cancel: (reason: unknown) => reader.cancel(reason),
      closed: reader.closed.catch(() => {}),
    }),
  });
  return answer;
}
