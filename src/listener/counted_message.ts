import { IncomingMessage } from "node:http";
import { joinBytes } from "../base/bytes.ts";

/** A request that counts the bytes and the pieces of its body. */
export class CountedMessage extends IncomingMessage {
  bodyBytes = 0;
  pieces = 0;
  /** Chunks that came with one read; undefined if the body isn't chunked. */
  #chunks: Uint8Array[] | undefined;

  /**
   * Makes one piece of all chunks that a read brings: a caller who sends a body byte by byte brings
   * ten thousand with each.
   */
  joinChunks(): void {
    this.#chunks = [];
  }

  override push(chunk: Uint8Array | null, encoding?: BufferEncoding): boolean {
    if (chunk === null) {
      this.#pushChunks();
      return super.push(null);
    }
    this.bodyBytes += chunk.length;
    this.pieces++;
    if (this.#chunks === undefined) return super.push(chunk, encoding);
    // The parser goes through a read without a break.
    if (this.#chunks.push(chunk) === 1) queueMicrotask(() => this.#pushChunks());
    return true;
  }

  #pushChunks(): void {
    if (this.#chunks === undefined || this.#chunks.length === 0) return;
    const bytes = joinBytes(this.#chunks);
    this.#chunks = [];
    if (!super.push(bytes)) this.socket.pause();
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
  /** Undefined until the body is first checked. */
  #beforeBody: number | undefined;
  #pieces = 0;

  /** Starts to watch a chunked body. */
  follow(message: CountedMessage): void {
    this.#message = message;
    this.#beforeBody = undefined;
    this.#pieces = 0;
  }

  /** How many chunks of the body have come since the last call. */
  piecesOfRead(): number {
    const { pieces = 0 } = this.#message ?? {};
    const before = this.#pieces;
    this.#pieces = pieces;
    return pieces - before;
  }

  /** Whether more bytes surround the chunks than any client needs. */
  hasTooMuch(parsedBytes: number): boolean {
    const message = this.#message;
    if (message === undefined) return false;
    if (message.complete) {
      this.#message = undefined;
      return false;
    }
    // Bytes that arrived together with the head aren't counted.
    this.#beforeBody ??= parsedBytes - message.bodyBytes;
    const around = parsedBytes - this.#beforeBody - message.bodyBytes;
    return around > overheadBytes.inAll + overheadBytes.ofAPiece * message.pieces;
  }
}
