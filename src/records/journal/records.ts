import { Buffer } from "node:buffer";
import { crc32 } from "../../base/hash.ts";
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

/**
 * Encodes a record: length and CRC-32 of the rest (each four bytes, big-endian), the kind's letter,
 * the id's length (two bytes) and the lengths of body and request (four bytes each), then id, body,
 * request and response. The texts, which are most of a record, are not escaped; quoted
 * texts come escaped and are copied into the body. Media follows as lines of base64, so that
 * no image can look like a record, and then the length of these lines (four bytes).
 *
 * A record that surely fits into `room` is encoded there, and is valid until `room` is used again:
 * each call writes two records, and a new buffer costs more than encoding its texts.
 */
export function encodeRecord(record: JournalRecord, room?: Buffer): Uint8Array {
  const { kind, id, request, response, media } = record;
  const bytes = room && fits(record, room) ? room : Buffer.allocUnsafe(lengthOf(record));
  let at = headLength + fixedLength;
  const put = (text: string): number => {
    const { written } = encoder.encodeInto(text, bytes.subarray(at));
    at += written;
    return written;
  };
  const putBytes = (some: Uint8Array): number => {
    bytes.set(some, at);
    at += some.length;
    return some.length;
  };
  const idLength = put(id);
  let bodyLength = 0;
  for (const one of bodyOf(record)) {
    bodyLength += typeof one === "string" ? put(one) : putBytes(one);
  }
  const requestLength = put(request ?? "");
  put(response ?? "");
  const signs = (response === null ? noResponse : 0) | (media.length > 0 ? hasMedia : 0);
  bytes.writeUInt8(letters[kind] | signs, headLength);
  bytes.writeUInt16BE(idLength, headLength + 1);
  bytes.writeUInt32BE(bodyLength, headLength + 3);
  bytes.writeUInt32BE(
    request === null ? noRequest : request === undefined ? asBegun : requestLength,
    headLength + 7,
  );
  if (media.length > 0) {
    const mediaAt = at;
    for (const content of media) at = writeLine(bytes, at, content);
    at = bytes.writeUInt32BE(at - mediaAt, at);
  }
  const rest = bytes.subarray(headLength, at);
  bytes.writeUInt32BE(rest.length, 0);
  bytes.writeUInt32BE(crc32(rest), 4);
  return bytes.subarray(0, at);
}

const encoder = new TextEncoder();

/** The body's text, in pieces where it has quoted texts. */
function bodyOf({ body, quoted }: JournalRecord): readonly (string | Uint8Array)[] {
  return quoted ? withQuotedTexts(body, quoted) : [body];
}

/** Whether `room` has room for a record, whatever its characters. */
function fits(record: JournalRecord, room: Buffer): boolean {
  const { id, body, quoted, request, response, media } = record;
  if (quoted || media.length > 0) return false;
  const units = id.length + body.length + (request?.length ?? 0) + (response?.length ?? 0);
  // A UTF-16 unit takes at most three bytes of UTF-8. Never all of the room: a buffer that a record
  // fills is freed when it has been written (`released`).
  return headLength + fixedLength + 3 * units < room.length;
}

function lengthOf(record: JournalRecord): number {
  const { id, request, response, media } = record;
  let length = headLength + fixedLength + (media.length > 0 ? 4 : 0);
  for (const text of [id, ...bodyOf(record), request, response]) {
    length += typeof text === "string" ? Buffer.byteLength(text) : text?.length ?? 0;
  }
  for (const content of media) length += lineLength(content);
  return length;
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

/** Returns the length of a line of base64 with its line feed. */
function lineLength(content: Uint8Array): number {
  return Math.ceil(content.length / 3) * 4 + 1;
}

/** Bytes that are encoded at a time, so that a whole image never becomes one string. */
const pieceBytes = 48 * 1024;
/** The length of a piece in base64. */
const pieceChars = pieceBytes / 3 * 4;
const lineFeed = 0x0a;
const equalsSign = 0x3d;

function writeLine(target: Buffer, from: number, content: Uint8Array): number {
  let at = from;
  for (let read = 0; read < content.length; read += pieceBytes) {
    at += target.write(content.subarray(read, read + pieceBytes).toBase64(), at);
  }
  return target.writeUInt8(lineFeed, at);
}

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
