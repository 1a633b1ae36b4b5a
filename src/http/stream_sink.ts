import { Buffer } from "node:buffer";
import type { ServerResponse } from "node:http";
import { breakOff } from "../base/break_off.ts";
import type { ByteSink, PushedStream, SinkFeed } from "../base/streams.ts";

/**
 * Sends a pushed stream as the body of an answer whose head has been written but not sent. Bytes
 * pushed within one turn of the event loop leave in one write and one chunk; none wait longer.
 */
export function sendPushed(stream: PushedStream, outgoing: ServerResponse): void {
  new StreamSink(outgoing).start(stream);
}

class StreamSink implements ByteSink {
  #feed: SinkFeed | undefined;
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #isFlushing = false;
  #hasEnded = false;
  /** The connection's write buffer is full. */
  #isFull = false;

  constructor(readonly outgoing: ServerResponse) {}

  start(stream: PushedStream): void {
    const outgoing = this.outgoing;
    outgoing.once("close", () => this.#feed?.cancel("the caller has left"));
    outgoing.on("drain", () => {
      this.#isFull = false;
      this.#feed?.more();
    });
    this.#feed = stream.feedInto(this);
    // The head leaves with the first bytes if they come within this turn of the loop, else alone.
    if (this.#bytes === 0) setImmediate(() => !outgoing.destroyed && outgoing.flushHeaders());
  }

  write(bytes: Uint8Array): boolean {
    this.#pieces.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes >= maxJoined) this.#flush();
    else this.#flushSoon();
    return !this.#isFull;
  }

  end(): void {
    this.#hasEnded = true;
    this.#flushSoon();
  }

  fail(reason: unknown): void {
    this.#flush();
    this.#hasEnded = true;
    breakOff(this.outgoing, reason);
  }

  /** Flushes in a microtask: until then more bytes of the same read may follow. */
  #flushSoon(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    this.#isFlushing = false;
    const outgoing = this.outgoing;
    const bytes = this.#bytes;
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#bytes = 0;
    if (outgoing.destroyed) return;
    if (this.#hasEnded) return void outgoing.end(bytes === 0 ? undefined : joined(pieces, bytes));
    if (bytes === 0) return;
    this.#isFull =
      !(outgoing.chunkedEncoding
        ? writeChunk(outgoing, pieces, bytes)
        : outgoing.write(joined(pieces, bytes)));
  }
}

/** This many bytes are flushed at once, without waiting for more. */
const maxJoined = 64 * 1024;

/**
 * Writes a chunk of the chunked coding in one piece; the runtime would write its length, bytes and
 * end one by one. Returns false if the connection's write buffer is full.
 */
function writeChunk(outgoing: ServerResponse, pieces: readonly Uint8Array[], bytes: number) {
  const length = bytes.toString(16);
  const chunk = Buffer.allocUnsafe(length.length + bytes + 4);
  // Not as latin1, for which the runtime takes several times as long.
  let at = chunk.write(`${length}\r\n`);
  for (const piece of pieces) {
    chunk.set(piece, at);
    at += piece.length;
  }
  chunk[at] = carriageReturn;
  chunk[at + 1] = lineFeed;
  outgoing.chunkedEncoding = false;
  try {
    return outgoing.write(chunk);
  } finally {
    outgoing.chunkedEncoding = true;
  }
}

const carriageReturn = 13;
const lineFeed = 10;

function joined(pieces: readonly Uint8Array[], bytes: number): Uint8Array {
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, bytes);
}
