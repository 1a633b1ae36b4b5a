/**
 * Takes pushed bytes in place of a reader. Its methods are called one at a time, and never throw.
 */
export interface ByteSink {
  /** Takes bytes; false if it wants no more until it calls `more`. */
  write(bytes: Uint8Array): boolean;
  /** All bytes have been written. */
  end(): void;
  fail(reason: unknown): void;
}

/** Signals from a sink to the stream that feeds it. */
export interface SinkFeed {
  /** The sink has room again. */
  more(): void;
  /** Nobody reads the stream any more. */
  cancel(reason: unknown): void;
}

/**
 * A byte stream that can be read like any other, or fed straight into a sink. For each chunk a sink
 * saves the promises and the queue of a web stream's reader.
 */
export class PushedStream extends ReadableStream<Uint8Array> {
  readonly #feed: (sink: ByteSink) => SinkFeed;

  constructor(source: UnderlyingDefaultSource<Uint8Array>, feed: (sink: ByteSink) => SinkFeed) {
    super(source, { highWaterMark: 0 });
    this.#feed = feed;
  }

  /** Feeds the sink in place of a reader. Throws if the stream is being read. */
  feedInto(sink: ByteSink): SinkFeed {
    this.getReader();
    return this.#feed(sink);
  }
}

/** The writing end of a `pushStream`. Only the reader's side may cancel. */
export interface PushStream {
  /** For a response; can be read once. */
  readonly stream: PushedStream;
  /**
   * Passes bytes to the reader, which may keep the view: don't write to it afterwards. Returns false
   * if the reader is behind: pause the source until `onDrain`. Once the stream is closed, failed or
   * cancelled, bytes are dropped and the result is true.
   */
  push(bytes: Uint8Array): boolean;
  readonly takenBytes: number;
  /** Ends the stream after the pushed bytes. */
  close(): void;
  /** Fails the stream after the pushed bytes. */
  error(reason: unknown): void;
  /** Fails the stream at once, dropping pushed bytes: for a reader that takes nothing. */
  breakOff(reason: unknown): void;
  /** Calls `listener` once when the reader cancels; at once if it already has. */
  onCancel(listener: (reason: unknown) => void): void;
  /** Calls `listener` each time the reader has caught up after `push` returned false. */
  onDrain(listener: () => void): void;
  /** Calls `listener` each time that a reader who is behind has taken something. */
  onTaken(listener: () => void): void;
  /**
   * Calls `listener` once nothing waits for the reader any more: it has seen the end or a failure,
   * or has left.
   */
  onEnd(listener: () => void): void;
}

const pieceBytes = 64 * 1024;

/**
 * A byte stream to push into. `highWaterMark` is how many bytes may wait for the reader before `push`
 * returns false.
 *
 * It is a default stream, not one of `type: "bytes"`: a byte stream detaches the chunk's buffer, which
 * others, such as the event splitter, may still use.
 */
export function pushStream(highWaterMark = 64 * 1024): PushStream {
  return new PushQueue(highWaterMark);
}

class PushQueue implements PushStream, SinkFeed {
  readonly stream: PushedStream;
  readonly #highWaterMark: number;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #sink: ByteSink | undefined;
  /** The reader or the sink wants bytes, and none are waiting for it. */
  #isWanted = false;
  #queue: Uint8Array[] = [];
  /** How many at the front of the queue have been handed on. */
  #handed = 0;
  #queuedBytes = 0;
  #pushedBytes = 0;
  /** Whether more may be pushed. */
  #isOpen = true;
  /** The reader has seen the end, a failure, or has left. */
  #hasEnded = false;
  #isBehind = false;
  #cancelled: { reason: unknown } | undefined;
  #failed: { reason: unknown } | undefined;
  #cancelListener: ((reason: unknown) => void) | undefined;
  #drainListener: (() => void) | undefined;
  #takenListener: (() => void) | undefined;
  #endListener: (() => void) | undefined;

  constructor(highWaterMark: number) {
    this.#highWaterMark = highWaterMark;
    this.stream = new PushedStream({
      start: (controller) => void (this.#controller = controller),
      pull: () => {
        this.#isWanted = true;
        this.#serve();
      },
      cancel: (reason) => this.cancel(reason),
    }, (sink) => {
      if (this.#hasEnded) this.#notifyEnd(sink);
      else this.#sink = sink;
      this.more();
      return this;
    });
  }

  push(bytes: Uint8Array): boolean {
    // An empty chunk would end a chunked answer on some servers.
    if (!this.#isOpen || bytes.length === 0) return true;
    this.#pushedBytes += bytes.length;
    // In pieces, so that progress of a slow reader is visible.
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      const piece = bytes.length <= pieceBytes ? bytes : bytes.subarray(at, at + pieceBytes);
      if (this.#isWanted) {
        this.#hand(piece);
        continue;
      }
      this.#queue.push(piece);
      this.#queuedBytes += piece.length;
    }
    this.#isBehind = this.#queuedBytes >= this.#highWaterMark;
    return !this.#isBehind;
  }

  get takenBytes(): number {
    return this.#pushedBytes - this.#queuedBytes;
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    if (this.#queue.length === 0) this.#end();
  }

  error(reason: unknown): void {
    if (!this.#isOpen) return;
    this.#failed = { reason };
    this.close();
  }

  breakOff(reason: unknown): void {
    if (!this.#isOpen) return;
    this.#dropQueue();
    this.error(reason);
  }

  onCancel(listener: (reason: unknown) => void): void {
    if (this.#cancelled) return listener(this.#cancelled.reason);
    this.#cancelListener = listener;
  }

  onDrain(listener: () => void): void {
    this.#drainListener = listener;
  }

  onTaken(listener: () => void): void {
    this.#takenListener = listener;
  }

  onEnd(listener: () => void): void {
    if (this.#hasEnded) return listener();
    this.#endListener = listener;
  }

  /** The sink has room. */
  more(): void {
    this.#isWanted = true;
    this.#serve();
  }

  cancel(reason: unknown): void {
    if (this.#hasEnded) return;
    this.#isOpen = false;
    const listener = this.#cancelListener;
    this.#leave();
    this.#cancelled = { reason };
    listener?.(reason);
  }

  /** Hands on what waits, as long as it is wanted. */
  #serve(): void {
    while (this.#isWanted && this.#queue.length > 0) {
      const piece = this.#queue[this.#handed++]!;
      this.#queuedBytes -= piece.length;
      // Tens of thousands may wait (0504), and `shift` would move all of them for each one.
      if (2 * this.#handed > this.#queue.length) {
        this.#queue.splice(0, this.#handed);
        this.#handed = 0;
      }
      this.#hand(piece);
    }
    if (!this.#isOpen && this.#queue.length === 0) return this.#end();
    if (!this.#isBehind) return;
    this.#takenListener?.();
    if (this.#queuedBytes >= this.#highWaterMark) return;
    this.#isBehind = false;
    this.#drainListener?.();
  }

  /** A reader gets one piece per pull; a sink gets pieces until it returns false. */
  #hand(piece: Uint8Array): void {
    if (this.#sink) {
      this.#isWanted = this.#sink.write(piece);
    } else {
      this.#isWanted = false;
      this.#controller!.enqueue(piece);
    }
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#notifyEnd(this.#leave());
  }

  #notifyEnd(sink: ByteSink | undefined): void {
    const failed = this.#failed;
    if (sink) failed ? sink.fail(failed.reason) : sink.end();
    else if (failed) this.#controller?.error(failed.reason);
    else this.#controller?.close();
  }

  /**
   * Drops all references to the call, since the runtime's stream is in V8's old generation and
   * retains this object (docs/decisions, 0331). Returns the sink, which has yet to be told of
   * the end.
   */
  #leave(): ByteSink | undefined {
    const sink = this.#sink;
    const endListener = this.#endListener;
    this.#hasEnded = true;
    this.#dropQueue();
    this.#sink =
      this.#cancelListener =
      this.#drainListener =
      this.#takenListener =
      this.#endListener =
        undefined;
    endListener?.();
    return sink;
  }

  #dropQueue(): void {
    this.#queue = [];
    this.#handed = 0;
    this.#queuedBytes = 0;
  }
}
