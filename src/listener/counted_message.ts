import { IncomingMessage } from "node:http";

/** A request that counts the bytes and the pieces of its body. */
export class CountedMessage extends IncomingMessage {
  bodyBytes = 0;
  pieces = 0;

  override push(chunk: Uint8Array | null, encoding?: BufferEncoding): boolean {
    if (chunk !== null) {
      this.bodyBytes += chunk.length;
      this.pieces++;
    }
    return super.push(chunk, encoding);
  }

  /**
   * Drops bytes that arrive after the body was cancelled: the runtime's web stream would throw at
   * them, outside of any request, which would end the process.
   */
  override emit(event: string | symbol, ...args: unknown[]): boolean {
    if (event === "data" && this.destroyed) return false;
    return super.emit(event, ...args);
  }
}

/** What may surround chunks: their lengths, a few bytes each, and a few trailers at the end. */
const overheadBytes = { inAll: 8 * 1024, ofAPiece: 64 };

/** Bounds what surrounds a body's chunks (extensions, trailers). */
export class ChunkWatch {
  #message: CountedMessage | undefined;
  #beforeBody = 0;

  /** Starts to watch a chunked body. */
  follow(message: CountedMessage): void {
    this.#message = message;
    this.#beforeBody = -1;
  }

  /** Whether more bytes surround the chunks than any client needs. */
  hasTooMuch(bytesRead: number): boolean {
    const message = this.#message;
    if (message === undefined) return false;
    if (message.complete) {
      this.#message = undefined;
      return false;
    }
    // Bytes that arrived together with the head aren't counted.
    if (this.#beforeBody < 0) this.#beforeBody = bytesRead - message.bodyBytes;
    const around = bytesRead - this.#beforeBody - message.bodyBytes;
    return around > overheadBytes.inAll + overheadBytes.ofAPiece * message.pieces;
  }
}
