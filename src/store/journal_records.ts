import { Buffer } from "node:buffer";
import { crc32 } from "../base/hash.ts";

/** What a journal holds of a call: how it began, then how it ended. */
export interface JournalRecord {
  kind: "begin" | "end";
  id: string;
  /** JSON text of the interaction. */
  body: string;
}

/**
 * One record as bytes: length and CRC-32 of the rest (each four bytes, big-endian), the kind's
 * letter, the length of the id (two bytes), the id, the body.
 */
export function encodeRecord({ kind, id, body }: JournalRecord): Uint8Array {
  const idLength = Buffer.byteLength(id);
  const bytes = Buffer.allocUnsafe(headLength + 3 + idLength + Buffer.byteLength(body));
  bytes.writeUInt8(letters[kind], headLength);
  bytes.writeUInt16BE(idLength, headLength + 1);
  bytes.write(id, headLength + 3);
  bytes.write(body, headLength + 3 + idLength);
  const rest = bytes.subarray(headLength);
  bytes.writeUInt32BE(rest.length, 0);
  bytes.writeUInt32BE(crc32(rest), 4);
  return bytes;
}

/** The records of a journal file, up to its end or to the first that was not written whole. */
export async function* readRecords(file: Deno.FsFile): AsyncGenerator<JournalRecord> {
  const { size } = await file.stat();
  const head = Buffer.alloc(headLength);
  for (let at = 0; at + headLength <= size;) {
    if (!await fill(file, head)) return;
    const length = head.readUInt32BE(0);
    at += headLength + length;
    if (length < 3 || at > size) return;
    const rest = Buffer.alloc(length);
    if (!await fill(file, rest) || crc32(rest) !== head.readUInt32BE(4)) return;
    const record = decode(rest);
    if (record === undefined) return;
    yield record;
  }
}

const headLength = 8;
const letters = { begin: 0x62, end: 0x65 } as const;

function decode(rest: Buffer): JournalRecord | undefined {
  const letter = rest.readUInt8(0);
  const bodyAt = 3 + rest.readUInt16BE(1);
  const kind = letter === letters.begin ? "begin" : letter === letters.end ? "end" : undefined;
  if (kind === undefined || bodyAt > rest.length) return undefined;
  return { kind, id: rest.toString("utf8", 3, bodyAt), body: rest.toString("utf8", bodyAt) };
}

async function fill(file: Deno.FsFile, bytes: Uint8Array): Promise<boolean> {
  for (let filled = 0; filled < bytes.length;) {
    const read = await file.read(bytes.subarray(filled));
    if (read === null) return false;
    filled += read;
  }
  return true;
}
