import { Buffer } from "node:buffer";
import type { Socket } from "node:net";

/** Smaller writes aren't split. */
const pieceBytes = 64 * 1024;

type Done = (error?: Error | null) => void;
interface Chunk {
  chunk: string | Uint8Array;
  encoding: BufferEncoding;
}

/**
 * Splits large writes into pieces, each written when the one before it was taken: of a single write
 * nobody can tell whether the other side reads it slowly or not at all. Calls `onTaken` before each
 * piece.
 */
export function writePiecewise(socket: Socket, onTaken: () => void): void {
  const write = socket._write;
  const writeMany = socket._writev;
  const inPieces = (bytes: Buffer, done: Done) => {
    let at = 0;
    const next = (error?: Error | null): void => {
      if (error || at >= bytes.length) return done(error);
      onTaken();
      const piece = bytes.subarray(at, at += pieceBytes);
      write.call(socket, piece, "buffer" as BufferEncoding, next);
    };
    next();
  };
  const writeOne: Socket["_write"] = (chunk: string | Uint8Array, encoding, done) => {
    if (chunk.length <= pieceBytes) return write.call(socket, chunk, encoding, done);
    inPieces(chunkBytes({ chunk, encoding }), done);
  };
  socket._write = writeOne;
  if (writeMany === undefined) return;
  const writeAll = (chunks: Chunk[], done: Done) => {
    let length = 0;
    for (const { chunk } of chunks) length += chunk.length;
    if (length <= pieceBytes) return writeMany.call(socket, chunks, done);
    inPieces(Buffer.concat(chunks.map(chunkBytes)), done);
  };
  socket._writev = writeAll;
}

function chunkBytes({ chunk, encoding }: Chunk): Buffer {
  if (typeof chunk === "string") return Buffer.from(chunk, encoding);
  return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}
