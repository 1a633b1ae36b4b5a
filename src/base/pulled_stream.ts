import { type SetTimer, systemSetTimer } from "./deadline.ts";

/** Limits how long a reader may read nothing. */
export interface UnreadTimeout {
  unreadMs: number;
  setTimer?: SetTimer;
}

/** For callers: one that doesn't read occupies a file, or one of its account's streams. */
export const callerUnreadTimeout: UnreadTimeout = { unreadMs: 75_000 };

/**
 * A stream that pulls from a generator only what its reader asks for. The generator ends when the
 * reader cancels, or reads nothing for too long; then the stream fails.
 */
export function pulledStream(
  bytes: AsyncIterable<Uint8Array>,
  timeout?: UnreadTimeout,
): ReadableStream<Uint8Array> {
  const pieces = bytes[Symbol.asyncIterator]();
  const { unreadMs, setTimer = systemSetTimer } = timeout ?? {};
  let stopWaiting = () => {};
  const wait = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    if (unreadMs === undefined) return;
    stopWaiting = setTimer(unreadMs, () => {
      controller.error(new Error("the reader has read nothing for too long"));
      // Nobody is left to report an error to.
      pieces.return?.().catch(() => {});
    });
  };
  return new ReadableStream<Uint8Array>({
    start: wait,
    async pull(controller) {
      stopWaiting();
      const { done, value } = await pieces.next();
      if (done) return controller.close();
      controller.enqueue(value);
      wait(controller);
    },
    async cancel() {
      stopWaiting();
      await pieces.return?.();
    },
  }, { highWaterMark: 0 });
}
