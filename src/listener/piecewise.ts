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
  const inPieces = (chunks: readonly Chunk[], done: Done) => {
    const pieces = piecesOf(chunks);
    const next = (error?: Error | null): void => {
      const piece = error ? undefined : pieces.next().value;
      if (!piece) return done(error);
      onTaken();
      write.call(socket, piece, "buffer" as BufferEncoding, next);
    };
    next();
  };
  const writeOne: Socket["_write"] = (chunk: string | Uint8Array, encoding, done) => {
    if (chunk.length <= pieceBytes) return write.call(socket, chunk, encoding, done);
    inPieces([{ chunk, encoding }], done);
  };
  socket._write = writeOne;
  if (writeMany === undefined) return;
  const writeAll = (chunks: Chunk[], done: Done) => {
    let length = 0;
    for (const { chunk } of chunks) length += chunk.length;
    if (length <= pieceBytes) return writeMany.call(socket, chunks, done);
    inPieces(chunks, done);
  };
  socket._writev = writeAll;
}

/** The bytes in pieces. Only a piece that spans several chunks is copied. */
function* piecesOf(chunks: readonly Chunk[]): Generator<Buffer, undefined> {
  let piece: Buffer[] = [];
  let room = pieceBytes;
  for (const chunk of chunks) {
    const bytes = chunkBytes(chunk);
    for (let at = 0; at < bytes.length;) {
      const taken = bytes.subarray(at, at + room);
      piece.push(taken);
      at += taken.length;
      room -= taken.length;
      if (room > 0) continue;
      yield joined(piece);
      piece = [];
      room = pieceBytes;
    }
  }
  if (piece.length > 0) yield joined(piece);
}

function joined(piece: readonly Buffer[]): Buffer {
  return piece.length === 1 ? piece[0]! : Buffer.concat(piece);
}

function chunkBytes({ chunk, encoding }: Chunk): Buffer {
  if (typeof chunk === "string") return Buffer.from(chunk, encoding);
  return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}
