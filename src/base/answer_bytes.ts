import { joinBytes } from "./bytes.ts";

/** A larger answer is not stored for those who ask the same again. */
export const maxStoredBytes = 16 * 1024 * 1024;

/** The bytes of a whole answer; undefined when they are too many. */
export function bytesOf(body: string | Uint8Array | null): Uint8Array | undefined {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  if (bytes === null) return new Uint8Array();
  return bytes.length > maxStoredBytes ? undefined : bytes;
}

/** What a stream has said so far. */
export class AnswerBytes {
  #pieces: Uint8Array[] = [];
  #length = 0;

  /** Gives the bytes as they are kept. */
  add(bytes: Uint8Array): Uint8Array {
    this.#length += bytes.length;
    const own = ownOf(bytes);
    if (this.#length > maxStoredBytes) this.#pieces = [];
    else this.#pieces.push(own);
    return own;
  }

  /** Undefined when it was too much to remember. */
  whole(): Uint8Array | undefined {
    if (this.#length > maxStoredBytes) return undefined;
    return joinBytes(this.#pieces);
  }
}

/** A view of a few bytes would hold all that was read from the vendor together with them. */
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
