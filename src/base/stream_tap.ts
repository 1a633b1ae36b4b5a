/** Listens to a stream and to how it ends. */
export interface StreamTap {
  piece(bytes: Uint8Array): void;
  /** Asked when the reader has left: whether the rest is read all the same. */
  goesOn(): boolean;
  /** Called once, when the stream ended in order; the reader sees the end when this resolves. */
  ended(): Promise<void>;
  /** Called once, when the stream broke or its reader left and it does not go on. */
  broken(): void;
}

/**
 * The same stream with a listener, read no faster than its reader reads. `signal` aborts when the
 * reader is gone, which a stream that was never read does not notice.
 */
export function tapStream(
  source: ReadableStream<Uint8Array>,
  watcher: StreamTap,
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  let isOver = false;
  let isLeft = false;
  const once = async (act: () => Promise<void> | void) => {
    if (isOver) return;
    isOver = true;
    signal.removeEventListener("abort", onAbort);
    await act();
  };
  /** Takes one piece; undefined at the end. */
  const take = async (): Promise<Uint8Array | undefined> => {
    try {
      const { value, done } = await reader.read();
      if (done) await once(() => watcher.ended());
      else if (!isOver) watcher.piece(value);
      return value;
    } catch (thrown) {
      await once(() => watcher.broken());
      throw thrown;
    }
  };
  const leave = async () => {
    if (!watcher.goesOn()) return await once(() => watcher.broken());
    while (await take());
  };
  const onAbort = () => void leave().catch(() => {});
  // A stream may also break while nobody reads it.
  reader.closed.catch(() => once(() => watcher.broken())).catch(() => {});
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort);
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const bytes = await take();
      if (isLeft) return;
      if (bytes) controller.enqueue(bytes);
      else controller.close();
    },
    async cancel(reason) {
      isLeft = true;
      await leave();
      await reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
}
