import { Buffer } from "node:buffer";
import type { ByteGate } from "../base/byte_gate.ts";
import { freeBytes, type MemoryPermit } from "../base/byte_room.ts";
import { joinAndFree } from "../base/bytes.ts";
import { released } from "../base/gc_hint.ts";
import type { CallContext } from "./call_context.ts";
import { cancelSignal } from "./drained_call.ts";
import type { Reply } from "./reply.ts";
import { unreadableAnswer } from "../shared/fault.ts";
import type { UpstreamAnswer } from "../vendors/upstream.ts";

/** Bytes per piece of a reply, or UTF-16 units of text. */
const pieceBytes = 64 * 1024;

/** The memory that a call's answers hold until its caller has received them. */
export class AnswerRoom {
  readonly #gate: ByteGate;
  readonly #caller: CallContext;
  readonly #maxBytes: number;
  /** A single permit for all answers: a call must not wait for memory that it holds itself. */
  #permit: MemoryPermit | undefined;
  #isReplys = false;
  #bytes = 0;
  /** The number of answers that have begun and not ended. */
  #halfRead = 0;

  /** An answer of more than `maxBytes` is rejected. */
  constructor(gate: ByteGate, caller: CallContext, maxBytes: number) {
    this.#gate = gate;
    this.#caller = caller;
    this.#maxBytes = maxBytes;
  }

  /** Bytes read so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether bytes of an answer have come, but not its end. */
  get isHalfRead(): boolean {
    return this.#halfRead > 0;
  }

  /**
   * Reads a vendor's whole body; while memory is short the rest stays unread (backpressure).
   * `brokenOff` gets the bytes that came, if the body breaks off.
   */
  async read(
    answer: UpstreamAnswer,
    brokenOff?: (bytes: Uint8Array) => void,
  ): Promise<Uint8Array> {
    const announced = Number(answer.headers["content-length"] ?? "");
    if (announced > freeBytes) {
      try {
        await this.#enter(announced).ready();
      } catch (thrown) {
        answer.body.destroy();
        throw thrown;
      }
    }
    const pieces: Uint8Array[] = [];
    try {
      await this.#readPieces(answer, pieces);
    } catch (thrown) {
      brokenOff?.(await joinAndFree(pieces));
      throw thrown;
    }
    // Not in the `end` callback: the parser is still using the last piece.
    return await joinAndFree(pieces);
  }

  /**
   * Turns a body into a reply that owns the memory, and releases the memory when the caller has
   * read the reply or left. The reply is sent in pieces, no faster than they are read.
   */
  handOver(
    body: string | Uint8Array,
    headers: Record<string, string>,
  ): Pick<Reply, "headers" | "hold"> & { body: Exclude<Reply["body"], null> } {
    const permit = this.#permit;
    permit?.complete();
    if (!permit || permit.isEmpty) return { body, headers };
    this.#isReplys = true;
    const holders = sharedHold(() => permit.release());
    const release = holders();
    let isReadAhead = false;
    const hold = () => {
      isReadAhead = true;
      return holders();
    };
    return {
      headers: { ...headers, "content-length": String(Buffer.byteLength(body)) },
      body: backpressured(body, { release, isReadAhead: () => isReadAhead }),
      hold,
    };
  }

  /** Releases the memory unless a reply owns it. */
  leave(): void {
    if (!this.#isReplys) this.#permit?.release();
  }

  #enter(announced?: number): MemoryPermit {
    return this.#permit ??= this.#gate.open({
      key: String(this.#caller.principal.account.id),
      bytes: announced,
      signal: cancelSignal(this.#caller),
    });
  }

  /** Takes room for a piece. Small answers, which nearly all are, need no permit. */
  #take(bytes: number): Promise<void> | undefined {
    if (this.#permit) return this.#permit.take(bytes);
    return this.#bytes > freeBytes ? this.#enter().take(this.#bytes) : undefined;
  }

  #readPieces({ body }: UpstreamAnswer, pieces: Uint8Array[]): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let length = 0;
    body.onData({
      data: (piece) => {
        if (length === 0 && piece.length > 0) this.#halfRead++;
        length += piece.length;
        this.#bytes += piece.length;
        pieces.push(piece);
        if (length > this.#maxBytes) {
          const note = `The vendor's answer is larger than ${this.#maxBytes} bytes`;
          throw unreadableAnswer(note);
        }
        const waiting = this.#take(piece.length);
        if (!waiting) return;
        body.pause();
        waiting.then(() => body.resume(), (thrown) => {
          body.destroy();
          reject(thrown);
        });
      },
      end: () => {
        if (length > 0) this.#halfRead--;
        resolve();
      },
      error: reject,
    });
    return promise;
  }
}

/** Returns a function that adds a holder; `release` is called once all holders have let go. */
function sharedHold(release: () => void): () => () => void {
  let holders = 0;
  return () => {
    holders++;
    let isHolding = true;
    return () => {
      if (isHolding && --holders === 0) release();
      isHolding = false;
    };
  };
}

/**
 * Text is encoded as it is read: that of many vectors would take long at once. Bytes are copied
 * piece by piece, so that they can be freed with the last one: the garbage collector would let
 * several answers pile up. Whoever reads ahead holds all pieces, and copies would need that memory
 * twice.
 */
function backpressured(
  body: string | Uint8Array,
  { release, isReadAhead }: { release: () => void; isReadAhead: () => boolean },
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let at = 0;
  const end = () => {
    if (typeof body !== "string" && !isReadAhead()) released(body);
    release();
  };
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const from = at;
      at += pieceBytes;
      if (typeof body === "string") {
        // Never splits a surrogate pair, whose halves can't be encoded alone.
        if ((body.charCodeAt(at - 1) & 0xfc00) === 0xd800) at++;
        controller.enqueue(encoder.encode(body.slice(from, at)));
      } else {
        const piece = body.subarray(from, at);
        // Not `slice`, which for a `Buffer` is a view.
        controller.enqueue(isReadAhead() ? piece : new Uint8Array(piece));
      }
      if (at < body.length) return;
      // Released here: readers stop at the announced number of bytes, and don't ask for the end.
      controller.close();
      end();
    },
    cancel: end,
  }, { highWaterMark: 0 });
}
