import { type SetTimer, systemSetTimer } from "./deadline.ts";

/** Limits how long nobody may begin to read. */
export interface UnreadTimeout {
  unreadMs: number;
  setTimer?: SetTimer;
}

/**
 * For callers: an answer that is never sent occupies a file, or one of its account's streams. Once it
 * is being sent, the listener watches that the caller reads.
 */
export const callerUnreadTimeout: UnreadTimeout = { unreadMs: 75_000 };

/**
 * A stream that pulls from an iterator only what its reader asks for. The iterator ends when the
 * reader cancels; if nobody reads for too long, it ends and the stream fails.
 */
export function pulledStream(
  bytes: AsyncIterable<Uint8Array>,
  timeout?: UnreadTimeout,
): ReadableStream<Uint8Array> {
  const pieces = bytes[Symbol.asyncIterator]();
  let stopWaiting = () => {};
  return new ReadableStream<Uint8Array>({
    start(controller) {
      if (timeout === undefined) return;
      const { unreadMs, setTimer = systemSetTimer } = timeout;
      stopWaiting = setTimer(unreadMs, () => {
        controller.error(new Error("nobody read the stream"));
        // Nobody is left to report an error to.
        pieces.return?.().catch(() => {});
      });
    },
    async pull(controller) {
      stopWaiting();
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      stopWaiting();
      await pieces.return?.();
    },
  }, { highWaterMark: 0 });
}
