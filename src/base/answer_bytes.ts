import { joinBytes } from "./bytes.ts";

/** Larger answers are not stored for repeated requests. */
export const maxStoredBytes = 16 * 1024 * 1024;

/** Returns the bytes of a whole answer; undefined if there are too many. */
export function bytesOf(body: string | Uint8Array | null): Uint8Array | undefined {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  if (bytes === null) return new Uint8Array();
  return bytes.length > maxStoredBytes ? undefined : bytes;
}

/** Collects the bytes of a streamed answer, up to `maxStoredBytes`. */
export class AnswerBytes {
  #pieces: Uint8Array[] = [];
  #length = 0;

  /** Adds a piece of the answer; returns the bytes as they are stored. */
  add(bytes: Uint8Array): Uint8Array {
    this.#length += bytes.length;
    const own = ownOf(bytes);
    if (this.#length > maxStoredBytes) this.#pieces = [];
    else this.#pieces.push(own);
    return own;
  }

  /** Returns the whole answer; undefined if it was too large to store. */
  whole(): Uint8Array | undefined {
    if (this.#length > maxStoredBytes) return undefined;
    return joinBytes(this.#pieces);
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
