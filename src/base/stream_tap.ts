import type { AheadShare } from "./read_ahead.ts";
import { type PushStream, pushStream } from "./streams.ts";

/** Listens to a stream and to how it ends. */
export interface StreamTap {
  /** Returns the bytes for the reader: a watcher that keeps a copy returns it, so that both share one. */
  piece(bytes: Uint8Array): Uint8Array;
  /** How many bytes may wait for the reader; absent: 64 KiB. */
  aheadBytes?: number | undefined;
  /** Counts them beyond 64 KiB, and may allow fewer; absent where `hold` does. */
  ahead?: AheadShare | undefined;
  /**
   * The last piece waits for `ended`, too: readers of an announced length don't wait for the end.
   */
  holdsLast?: boolean;
  /** Called at once; the result is called when no bytes wait for the reader any more. */
  hold?: (() => () => void) | undefined;
  /** Whether the source is read to its end although the reader has left. */
  readsOn(): boolean;
  /** Called once, when the stream ended in order; the reader sees the end when this resolves. */
  ended(): Promise<void>;
  /** Called once, when the stream broke, or when its reader left and `readsOn` returned false. */
  broken(): void;
}

/**
 * Returns the same stream with a listener. `signal` aborts when the reader is gone: nobody cancels
 * a stream that was never read.
 */
export function tapStream(
  source: ReadableStream<Uint8Array>,
  watcher: StreamTap,
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  const out = pushStream();
  const { ahead, aheadBytes = 0 } = watcher;
  let pushedBytes = 0;
  /** The source goes on, without room, when no more than this waits: what did before its last piece. */
  let resumeBytes = 0;
  let isOver = false;
  let isReaderGone = false;
  let last: Uint8Array | undefined;
  let roomMade = () => {};
  const once = async (act: () => Promise<void> | void) => {
    if (isOver) return;
    isOver = true;
    signal.removeEventListener("abort", leave);
    await act();
  };
  const leave = () => {
    isReaderGone = true;
    roomMade();
    if (isOver || watcher.readsOn()) return;
    void once(() => watcher.broken());
    // At once: by the time that a connection's end reaches the source, more of it may have come.
    reader.cancel().catch(() => {});
  };
  const waitingBytes = () => pushedBytes - out.takenBytes;
  const hasRoom = () => {
    const waiting = waitingBytes();
    const isRoom = ahead?.hold(waiting) ?? true;
    return isRoom && waiting < aheadBytes;
  };
  const push = (bytes: Uint8Array) => {
    resumeBytes = waitingBytes();
    pushedBytes += bytes.length;
    return out.push(bytes) || hasRoom();
  };
  const pass = async () => {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      let bytes: Uint8Array | undefined = isOver ? next.value : watcher.piece(next.value);
      if (watcher.holdsLast) [bytes, last] = [last, bytes];
      // Without a reader the bytes would stay in memory.
      if (!bytes || isReaderGone || push(bytes)) continue;
      await new Promise<void>((resolve) => roomMade = resolve);
    }
    await once(() => watcher.ended());
    if (last) out.push(last);
    out.close();
  };
  holdFor(out, watcher, signal);
  out.onTaken(() => {
    if (hasRoom() || waitingBytes() <= resumeBytes) roomMade();
  });
  out.onDrain(() => {
    ahead?.hold(0);
    roomMade();
  });
  out.onCancel(leave);
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave);
  pass().catch((thrown) => {
    void once(() => watcher.broken());
    out.error(thrown);
  });
  return out.stream;
}

function holdFor(out: PushStream, { hold, ahead }: StreamTap, signal: AbortSignal): void {
  const release = hold?.();
  if (!release && !ahead) return;
  const letGo = () => {
    release?.();
    ahead?.release();
  };
  out.onEnd(letGo);
  if (signal.aborted) letGo();
  else signal.addEventListener("abort", letGo);
}
