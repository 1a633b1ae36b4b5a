import { Buffer } from "node:buffer";
import { crc32 } from "../base/hash.ts";

/** What a journal holds of a call: how it began, then how it ended. */
export interface JournalRecord {
  kind: "begin" | "end";
  id: string;
  /** JSON text of the interaction without the two texts below. */
  body: string;
  /** Undefined: as in the call's begin record, which lies before it in the same file. */
  request: string | null | undefined;
  response: string | null;
}

/** What stands at a place of a file: a record, or bytes that are none. `to` is exclusive. */
export type Scanned =
  | { record: JournalRecord; from: number; to: number }
  | { record: undefined; from: number; to: number };

/**
 * One record as bytes: length and CRC-32 of the rest (each four bytes, big-endian), the kind's
 * letter, the id's length (two bytes) and the lengths of body and request (four bytes each), then
 * id, body, request and response. Texts are not escaped again: they are most of a record.
 */
export function encodeRecord(record: JournalRecord): Uint8Array {
  const { kind, id, body, request, response } = record;
  const idLength = Buffer.byteLength(id);
  const bodyLength = Buffer.byteLength(body);
  const requestLength = Buffer.byteLength(request ?? "");
  const textAt = headLength + fixedLength + idLength + bodyLength;
  const bytes = Buffer.allocUnsafe(textAt + requestLength + Buffer.byteLength(response ?? ""));
  bytes.writeUInt8(letters[kind] | (response === null ? noResponse : 0), headLength);
  bytes.writeUInt16BE(idLength, headLength + 1);
  bytes.writeUInt32BE(bodyLength, headLength + 3);
  bytes.writeUInt32BE(
    request === null ? noRequest : request === undefined ? asBegun : requestLength,
    headLength + 7,
  );
  bytes.write(id, headLength + fixedLength);
  bytes.write(body, headLength + fixedLength + idLength);
  if (request) bytes.write(request, textAt);
  if (response) bytes.write(response, textAt + requestLength);
  const rest = bytes.subarray(headLength);
  bytes.writeUInt32BE(rest.length, 0);
  bytes.writeUInt32BE(crc32(rest), 4);
  return bytes;
}

/**
 * Everything in a file's bytes, in order. After bytes that are no record the next whole one is
 * looked for, so that damage costs what it hit and no more.
 */
export function* scanRecords(bytes: Buffer): Generator<Scanned> {
  let unreadFrom = 0;
  for (let at = 0; at < bytes.length;) {
    const to = endOf(bytes, at);
    const record = to === undefined ? undefined : decode(bytes.subarray(at + headLength, to));
    if (to === undefined || record === undefined) {
      at++;
      continue;
    }
    if (unreadFrom < at) yield { record: undefined, from: unreadFrom, to: at };
    yield { record, from: at, to };
    at = unreadFrom = to;
  }
  if (unreadFrom < bytes.length) yield { record: undefined, from: unreadFrom, to: bytes.length };
}

/** The records of a journal file. */
export async function* readRecords(file: Deno.FsFile): AsyncGenerator<JournalRecord> {
  const bytes = Buffer.alloc((await file.stat()).size);
  let filled = 0;
  while (filled < bytes.length) {
    const read = await file.read(bytes.subarray(filled));
    if (read === null) break;
    filled += read;
  }
  for (const { record } of scanRecords(bytes.subarray(0, filled))) if (record) yield record;
}

const headLength = 8;
/** Letter and lengths. */
const fixedLength = 11;
const letters = { begin: 0x62, end: 0x65 } as const;
const noResponse = 0x80;
const noRequest = 0xffffffff;
const asBegun = 0xfffffffe;

/**
 * Where the record that begins here ends; undefined when none does. Callers' texts can't pass for a
 * record: the length of one that fits into a file begins with a byte that JSON text has only
 * escaped.
 */
function endOf(bytes: Buffer, at: number): number | undefined {
  const left = bytes.length - at - headLength;
  if (left < fixedLength) return undefined;
  const length = bytes.readUInt32BE(at);
  if (length < fixedLength || length > left) return undefined;
  const letter = bytes[at + headLength]! & ~noResponse;
  if (letter !== letters.begin && letter !== letters.end) return undefined;
  const to = at + headLength + length;
  const isWhole = crc32(bytes.subarray(at + headLength, to)) === bytes.readUInt32BE(at + 4);
  return isWhole ? to : undefined;
}

function decode(rest: Buffer): JournalRecord | undefined {
  const letter = rest.readUInt8(0);
  const bodyAt = fixedLength + rest.readUInt16BE(1);
  const requestAt = bodyAt + rest.readUInt32BE(3);
  const requestLength = rest.readUInt32BE(7);
  const hasRequest = requestLength !== noRequest && requestLength !== asBegun;
  const responseAt = requestAt + (hasRequest ? requestLength : 0);
  if (responseAt > rest.length) return undefined;
  return {
    kind: (letter & ~noResponse) === letters.begin ? "begin" : "end",
    id: rest.toString("utf8", fixedLength, bodyAt),
    body: rest.toString("utf8", bodyAt, requestAt),
    request: hasRequest
      ? rest.toString("utf8", requestAt, responseAt)
      : requestLength === noRequest
      ? null
      : undefined,
    response: (letter & noResponse) !== 0 ? null : rest.toString("utf8", responseAt),
  };
}
