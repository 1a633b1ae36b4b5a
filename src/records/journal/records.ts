import { Buffer } from "node:buffer";
import { crc32 } from "../../base/hash.ts";
import type { Steps } from "../../base/steps.ts";
import { cutQuotedTexts, type QuotedTexts, withQuotedTexts } from "../quoted_texts.ts";

/** The begin or the end of a call. */
export interface JournalRecord {
  kind: "begin" | "end";
  id: string;
  /** JSON text of the interaction without the texts below. */
  body: string;
  /** Its quoted texts, if there are any; in the file they are in the body. */
  quoted?: QuotedTexts | undefined;
  /** Undefined: the same as in the call's begin record, earlier in the file. */
  request: string | null | undefined;
  response: string | null;
  /** Contents of the media that `body` lists, in that order. */
  media: readonly Uint8Array[];
}

/** A range of a file: a record, or bytes that aren't one. `to` is exclusive. */
export type Scanned =
  | { record: JournalRecord; from: number; to: number }
  | { record: undefined; from: number; to: number };

/** Returns a buffer in which records are encoded: the records of ordinary calls fit into it. */
export function createRoom(bytes = 64 * 1024): Buffer {
  return Buffer.allocUnsafeSlow(bytes);
}

/** A record as it is written. */
export interface EncodedRecord {
  length: number;
  /** Each is valid until the next one is asked for, or another record is encoded. */
  pieces: Iterable<Uint8Array>;
}

/**
 * Encodes a record: length and CRC-32 of the rest (each four bytes, big-endian), the kind's letter,
 * the id's length (two bytes) and the lengths of body and request (four bytes each), then id, body,
 * request and response. The texts, which are most of a record, are not escaped; quoted
 * texts come escaped and are copied into the body. Media follows as lines of base64, so that
 * no image can look like a record, and then the length of these lines (four bytes).
 *
 * A record that fits into `room` is encoded there at once. A larger one never has a buffer of its
 * size: the steps compute its checksum, and its pieces are encoded in `room` as they are asked for.
 * Between two steps or pieces, `room` may be used for other records.
 */
export function* encodeRecord(record: JournalRecord, room: Buffer): Steps<EncodedRecord> {
  if (fits(record, room)) return encodeAtOnce(record, room);
  const sizes = yield* sizesOf(record);
  let checksum = 0;
  let at = 0;
  for (const piece of piecesOf(record, sizes, room)) {
    checksum = crc32(at === 0 ? piece.subarray(headLength) : piece, checksum);
    at += piece.length;
    yield;
  }
  return { length: sizes.length, pieces: piecesOf(record, { ...sizes, checksum }, room) };
}

/** Whether `room` has room for a record, whatever its characters. */
function fits(
  { id, body, quoted, request, response, media }: JournalRecord,
  room: Buffer,
): boolean {
  if (quoted || media.length > 0) return false;
  const units = id.length + body.length + (request?.length ?? 0) + (response?.length ?? 0);
  // A UTF-16 unit takes at most three bytes of UTF-8.
  return headLength + fixedLength + 3 * units <= room.length;
}

/** Takes half the time, which counts: each call writes two records. */
function encodeAtOnce(record: JournalRecord, room: Buffer): EncodedRecord {
  let length = headLength + fixedLength;
  const put = (text: string): number => {
    const { written } = encoder.encodeInto(text, room.subarray(length));
    length += written;
    return written;
  };
  const id = put(record.id);
  const body = put(record.body);
  const request = put(record.request ?? "");
  put(record.response ?? "");
  writeHead(record, { length, id, body, request, checksum: 0 }, room);
  room.writeUInt32BE(crc32(room.subarray(headLength, length)), checksumAt);
  return { length, pieces: [room.subarray(0, length)] };
}

/** About how large a record is, without looking at its texts. */
export function recordUnits(
  { body, quoted = {}, request, response, media }: JournalRecord,
): number {
  let units = body.length + (request?.length ?? 0) + (response?.length ?? 0);
  for (const { length } of [...Object.values(quoted), ...media]) units += length;
  return units;
}

/** Lengths in bytes, of the whole record and of some of its fields, and its checksum. */
interface Sizes {
  length: number;
  id: number;
  body: number;
  request: number;
  checksum: number;
}

function* sizesOf(record: JournalRecord): Steps<Sizes> {
  const { id: idText, request: requestText, response, media } = record;
  const id = Buffer.byteLength(idText);
  let body = 0;
  for (const one of bodyOf(record)) body += yield* sizeOf(one);
  const request = yield* sizeOf(requestText ?? "");
  let length = headLength + fixedLength + id + body + request + (yield* sizeOf(response ?? ""));
  if (media.length > 0) length += linesLength(media) + lengthBytes;
  return { length, id, body, request, checksum: 0 };
}

function* sizeOf(text: string | Uint8Array): Steps<number> {
  if (typeof text !== "string") return text.length;
  let size = 0;
  for (let from = 0; from < text.length;) {
    if (from > 0) yield;
    const slice = sliceOf(text, from, countedUnits);
    size += Buffer.byteLength(slice);
    from += slice.length;
  }
  return size;
}

/** UTF-16 units that are counted in a step. */
const countedUnits = 64 * 1024;

/** A slice of about `units`, which never ends between the halves of a surrogate pair. */
function sliceOf(text: string, from: number, units: number): string {
  if (from === 0 && text.length <= units) return text;
  const isSecondHalf = (text.charCodeAt(from + units) & 0xfc00) === 0xdc00;
  return text.slice(from, from + units + (isSecondHalf ? 1 : 0));
}

/** Yields a record's bytes, as many as fit into `room` at a time. */
function* piecesOf(record: JournalRecord, sizes: Sizes, room: Buffer): Generator<Uint8Array> {
  let at = writeHead(record, sizes, room);
  for (const source of sourcesOf(record)) {
    for (let from = 0; from < source.length;) {
      const { read, written } = source.put(from, room.subarray(at));
      from += read;
      at += written;
      if (from === source.length) break;
      yield room.subarray(0, at);
      at = 0;
    }
  }
  yield room.subarray(0, at);
}

/** Writes the lengths, the checksum and the letter. */
function writeHead(record: JournalRecord, sizes: Sizes, room: Buffer): number {
  const { kind, request, response, media } = record;
  const signs = (response === null ? noResponse : 0) | (media.length > 0 ? hasMedia : 0);
  room.writeUInt32BE(sizes.length - headLength, 0);
  room.writeUInt32BE(sizes.checksum, checksumAt);
  room.writeUInt8(letters[kind] | signs, headLength);
  room.writeUInt16BE(sizes.id, headLength + 1);
  room.writeUInt32BE(sizes.body, headLength + 3);
  return room.writeUInt32BE(
    request === null ? noRequest : request === undefined ? asBegun : sizes.request,
    headLength + 7,
  );
}

/** Some of a record's bytes. */
interface Source {
  length: number;
  /** Writes what is at `from` and after it to the target, as far as it fits. */
  put(from: number, target: Buffer): { read: number; written: number };
}

function* sourcesOf(record: JournalRecord): Generator<Source> {
  const { id, request, response, media } = record;
  yield textSource(id);
  for (const one of bodyOf(record)) {
    yield typeof one === "string" ? textSource(one) : bytesSource(one);
  }
  yield textSource(request ?? "");
  yield textSource(response ?? "");
  if (media.length === 0) return;
  for (const content of media) {
    yield base64Source(content);
    yield textSource("\n");
  }
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32BE(linesLength(media));
  yield bytesSource(length);
}

const encoder = new TextEncoder();

function textSource(text: string): Source {
  return {
    length: text.length,
    put: (from, target) => encoder.encodeInto(sliceOf(text, from, target.length), target),
  };
}

function bytesSource(bytes: Uint8Array): Source {
  return {
    length: bytes.length,
    put(from, target) {
      const some = bytes.subarray(from, from + target.length);
      target.set(some);
      return { read: some.length, written: some.length };
    },
  };
}

function base64Source(content: Uint8Array): Source {
  return {
    length: content.length,
    put(from, target) {
      const most = Math.floor(target.length / 4) * 3;
      const some = content.subarray(from, from + most);
      return { read: some.length, written: target.write(some.toBase64()) };
    },
  };
}

/** The body's text, in pieces where it has quoted texts. */
function bodyOf({ body, quoted }: JournalRecord): readonly (string | Uint8Array)[] {
  return quoted ? withQuotedTexts(body, quoted) : [body];
}

/**
 * Yields everything in a file's bytes, in order. After damaged bytes the scan continues at the next
 * valid record, so that only the damaged records are lost.
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

const headLength = 8;
const checksumAt = 4;
/** Bytes of a length. */
const lengthBytes = 4;
/** Bytes of the letter and the lengths. */
const fixedLength = 11;
const letters = { begin: 0x62, end: 0x65 } as const;
const noResponse = 0x80;
const hasMedia = 0x10;
const noRequest = 0xffffffff;
const asBegun = 0xfffffffe;

/**
 * Returns where the record at `at` ends; undefined if there is none. A caller's text can't look
 * like a record: the first byte of a length is a control character, which JSON text contains only
 * escaped.
 */
function endOf(bytes: Buffer, at: number): number | undefined {
  const left = bytes.length - at - headLength;
  if (left < fixedLength) return undefined;
  const length = bytes.readUInt32BE(at);
  if (length < fixedLength || length > left) return undefined;
  const letter = bytes[at + headLength]! & ~(noResponse | hasMedia);
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
  const mediaEnd = rest.length - 4;
  const mediaAt = (letter & hasMedia) === 0 ? rest.length : mediaEnd - rest.readUInt32BE(mediaEnd);
  if (responseAt > mediaAt) return undefined;
  const body = rest.subarray(bodyAt, requestAt);
  const cut = cutQuotedTexts(body);
  return {
    kind: (letter & ~(noResponse | hasMedia)) === letters.begin ? "begin" : "end",
    id: rest.toString("utf8", fixedLength, bodyAt),
    body: cut?.rest ?? body.toString("utf8"),
    ...(cut ? { quoted: cut.quoted } : {}),
    request: hasRequest
      ? rest.toString("utf8", requestAt, responseAt)
      : requestLength === noRequest
      ? null
      : undefined,
    response: (letter & noResponse) !== 0 ? null : rest.toString("utf8", responseAt, mediaAt),
    media: mediaAt < rest.length ? readLines(rest.subarray(mediaAt, mediaEnd)) : [],
  };
}

/** Returns the length of the lines of base64 with their line feeds. */
function linesLength(media: readonly Uint8Array[]): number {
  return media.reduce((sum, { length }) => sum + Math.ceil(length / 3) * 4 + 1, 0);
}

/** Characters that are decoded at a time, so that a whole image never becomes one string. */
const pieceChars = 64 * 1024;
const lineFeed = 0x0a;
const equalsSign = 0x3d;

function readLines(lines: Buffer): Uint8Array[] {
  const contents: Uint8Array[] = [];
  for (let at = 0; at < lines.length;) {
    const end = lines.indexOf(lineFeed, at);
    contents.push(readLine(lines.subarray(at, end)));
    at = end + 1;
  }
  return contents;
}

function readLine(line: Buffer): Uint8Array {
  const content = new Uint8Array(lengthOfContent(line));
  let at = 0;
  for (let from = 0; from < line.length; from += pieceChars) {
    const piece = line.toString("latin1", from, from + pieceChars);
    at += content.subarray(at).setFromBase64(piece).written;
  }
  return content;
}

/** Returns the number of bytes that a line of base64 encodes. */
function lengthOfContent(line: Buffer): number {
  const padding = line.subarray(-2).filter((char) => char === equalsSign).length;
  return line.length / 4 * 3 - padding;
}
