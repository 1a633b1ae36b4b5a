import { type SetTimer, systemSetTimer } from "./deadline.ts";

/** How long a reader may ask for nothing. */
export interface UnreadTimeout {
  unreadMs: number;
  setTimer?: SetTimer;
}

/** For callers: whoever does not read holds a file, or a place among the account's streams. */
export const callerUnreadTimeout: UnreadTimeout = { unreadMs: 75_000 };

/**
 * A stream that takes from a generator only what its reader asks for, and nothing before it asks.
 * A reader that leaves ends the generator; so does one that asks for nothing for too long, whose
 * stream fails.
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
      controller.error(new Error("the reader has asked for nothing for too long"));
      // Nobody is left to be told.
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
