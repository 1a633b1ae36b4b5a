import { joinBytes } from "./bytes.ts";
import type { CopyRoom, CopyShare } from "./copy_room.ts";

/** Larger answers are not stored for repeated requests. */
export const maxStoredBytes = 16 * 1024 * 1024;

/** Returns the bytes of a whole answer; undefined if there are too many. */
export function bytesOf(body: string | Uint8Array | null): Uint8Array | undefined {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  if (bytes === null) return new Uint8Array();
  return bytes.length > maxStoredBytes ? undefined : bytes;
}

/**
 * Collects the bytes of a streamed answer, up to `maxStoredBytes` and as long as there is room for
 * them. Always call `whole` or `drop`.
 */
export class AnswerBytes {
  readonly #share: CopyShare | undefined;
  /** Undefined once they are dropped. */
  #pieces: Uint8Array[] | undefined = [];
  #length = 0;

  /** `room` is absent where the answer has room of its own. */
  constructor(room?: { copies: CopyRoom; accountId: number }) {
    this.#share = room?.copies.open(room.accountId, () => this.#pieces = undefined);
  }

  /** Adds a piece of the answer; returns the bytes as they are stored. */
  add(bytes: Uint8Array): Uint8Array {
    const own = ownOf(bytes);
    if (!this.#pieces) return own;
    this.#length += own.length;
    this.#pieces.push(own);
    if (this.#length <= maxStoredBytes) this.#share?.add(own.length);
    else if (this.#share) this.#share.lose();
    else this.drop();
    return own;
  }

  /** Returns the whole answer, and holds it no longer; undefined if it was dropped or too large. */
  whole(): Uint8Array | undefined {
    const bytes = this.#pieces && joinBytes(this.#pieces);
    this.drop();
    return bytes;
  }

  drop(): void {
    this.#pieces = undefined;
    this.#share?.release();
  }
}

/** Copies a small view: it would retain the whole buffer that was read from the vendor. */
function ownOf(bytes: Uint8Array): Uint8Array {
  return bytes.buffer.byteLength > 2 * bytes.length ? bytes.slice() : bytes;
}

export function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      if (bytes.length > 0) controller.enqueue(bytes);
      controller.close();
    },
  });
}
