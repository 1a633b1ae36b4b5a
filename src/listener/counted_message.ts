import { IncomingMessage } from "node:http";

/** A request that knows how much of its body came, in how many pieces. */
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
   * Bytes that were on their way when the body was cancelled reach nobody: the runtime's web stream
   * of it throws at them, outside of any request, which would end the process.
   */
  override emit(event: string | symbol, ...args: unknown[]): boolean {
    if (event === "data" && this.destroyed) return false;
    return super.emit(event, ...args);
  }
}

/** Around chunks stand their lengths, a few bytes each, and at their end a few trailers. */
const overheadBytes = { inAll: 8 * 1024, ofAPiece: 64 };

/** Sees to it that what stands around a body's chunks (extensions, trailers) is bounded. */
export class ChunkWatch {
  #message: CountedMessage | undefined;
  #beforeBody = 0;

  /** From now on a body in chunks is read. */
  follow(message: CountedMessage): void {
    this.#message = message;
    this.#beforeBody = -1;
  }

  /** True when more came around the chunks than a client has to say there. */
  hasTooMuch(bytesRead: number): boolean {
    const message = this.#message;
    if (message === undefined) return false;
    if (message.complete) {
      this.#message = undefined;
      return false;
    }
    // What came together with the head is not looked at.
    if (this.#beforeBody < 0) this.#beforeBody = bytesRead - message.bodyBytes;
    const around = bytesRead - this.#beforeBody - message.bodyBytes;
    return around > overheadBytes.inAll + overheadBytes.ofAPiece * message.pieces;
  }
}
