// Our own, not busboy: parts are views with their offsets, and duplicate fields are refused.
import { Buffer } from "node:buffer";
import type { Steps } from "./steps.ts";

/** One part of a `multipart/form-data` body (RFC 7578); nothing of it is copied. */
export interface FormPart {
  /** The field's name. */
  readonly name: string;
  /** Undefined for a part that is a text field. */
  readonly filename: string | undefined;
  readonly contentType: string | undefined;
  /** A view of the body. */
  readonly content: Uint8Array;
  /** Where the content stands in the body. */
  readonly start: number;
  readonly end: number;
}

/** The body isn't a valid form; the message quotes no content. */
export class MultipartError extends Error {}

/** The boundary in a `multipart/form-data` content type; undefined for another type. */
export function boundaryOf(contentType: string | undefined): string | undefined {
  if (!/^\s*multipart\/form-data\s*(;|$)/i.test(contentType ?? "")) return undefined;
  return parameters(contentType!)?.get("boundary") ?? "";
}

/** The parts of a whole body, in order, found in steps. Throws `MultipartError`. */
export function* parseMultipart(body: Uint8Array, boundary: string): Steps<FormPart[]> {
  if (!/^[\x20-\x7e]{1,70}$/.test(boundary)) throw new MultipartError("no boundary is named");
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
  const delimiters = new Finder(delimiter);
  const parts: FormPart[] = [];
  // The first delimiter may stand at the very start, without its line break.
  const opening = delimiter.subarray(2);
  const isFirst = bytes.subarray(0, opening.length).equals(opening);
  const first = isFirst ? -2 : yield* delimiters.find(body, 0);
  if (!isFirst && first < 0) throw new MultipartError("no part begins with the boundary");
  let at = first + delimiter.length;
  while (bytes.toString("latin1", at, at + 2) !== "--") {
    if (parts.length === maxPartCount) throw new MultipartError(`more than ${maxPartCount} parts`);
    const headStart = lineEnd(bytes, at);
    // A part without headers begins with its blank line.
    const within = bytes.subarray(0, headStart + maxHeadBytes + blankLine.length);
    const headEnd = within.indexOf(blankLine, headStart - 2, "latin1");
    if (headEnd < 0) throw new MultipartError("a part's headers don't end");
    const start = headEnd + blankLine.length;
    const end = yield* delimiters.find(body, start - 2);
    if (end < 0) throw new MultipartError("the closing boundary is missing");
    const head = bytes.toString("utf8", headStart, Math.max(headStart, headEnd));
    parts.push(partOf(head, body, start, Math.max(start, end)));
    at = end + delimiter.length;
    yield;
  }
  return parts;
}

/** Bytes per step; they may take a millisecond. */
const pieceBytes = 256 * 1024;

class Finder {
  readonly #wanted: Uint8Array;
  readonly #skips: Uint8Array;

  constructor(wanted: Uint8Array) {
    this.#wanted = wanted;
    const last = wanted.length - 1;
    this.#skips = new Uint8Array(256).fill(wanted.length);
    for (let index = 0; index < last; index++) this.#skips[wanted[index]!] = last - index;
  }

  /** Finds the wanted bytes, in steps; -1 if there are none. */
  *find(bytes: Uint8Array, from: number): Steps<number> {
    for (let at = from; at < bytes.length; at += pieceBytes) {
      if (at > from) yield;
      // They may begin in this piece and end in the next.
      const found = this.#findIn(bytes.subarray(0, at + pieceBytes + this.#wanted.length - 1), at);
      if (found >= 0) return found;
    }
    return -1;
  }

  /**
   * Skips by the length of what is wanted (Horspool), while the runtime's own search looks at every
   * byte.
   */
  #findIn(bytes: Uint8Array, from: number): number {
    const wanted = this.#wanted;
    const skips = this.#skips;
    const last = wanted.length - 1;
    // Bytes with many near matches are scanned linearly: comparing backwards at each position would
    // be quadratic.
    let compared = 0;
    for (let at = from; at + last < bytes.length; at += skips[bytes[at + last]!]!) {
      let index = last;
      while (index >= 0 && bytes[at + index] === wanted[index]) index--;
      if (index < 0) return at;
      compared += last - index;
      if (compared > 4096 + 2 * (at - from)) return findByFirst(wanted, bytes, at);
    }
    return -1;
  }
}

/**
 * The same for a sequence whose first byte occurs in it only once, as the CR of a delimiter: a partial
 * match holds no other start, so no byte is compared twice.
 */
function findByFirst(wanted: Uint8Array, bytes: Uint8Array, from: number): number {
  for (let at = from; at + wanted.length <= bytes.length;) {
    let index = 0;
    while (index < wanted.length && bytes[at + index] === wanted[index]) index++;
    if (index === wanted.length) return at;
    at += Math.max(1, index);
  }
  return -1;
}

const blankLine = "\r\n\r\n";
const maxPartCount = 256;
const maxHeadBytes = 16 * 1024;

/** Index after optional spaces and the line end that follow a boundary. */
function lineEnd(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === 0x20 || bytes[at] === 0x09) at++;
  if (bytes[at] === 0x0d && bytes[at + 1] === 0x0a) return at + 2;
  throw new MultipartError("the closing boundary is missing");
}

function partOf(head: string, body: Uint8Array, start: number, end: number): FormPart {
  const headers = new Map<string, string>();
  for (const line of head.split("\r\n")) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).trim().toLowerCase();
    // With duplicate headers or parameters, another parser might read a different value.
    if (headers.has(name)) throw new MultipartError("a part has a header twice");
    headers.set(name, line.slice(colon + 1).trim());
  }
  const disposition = headers.get("content-disposition") ?? "";
  const found = parameters(disposition);
  const name = found?.get("name");
  if (!/^form-data\s*(;|$)/i.test(disposition) || !found || name === undefined) {
    throw new MultipartError("a part has no name");
  }
  return {
    name,
    filename: found.get("filename") ?? extended(found.get("filename*")),
    contentType: headers.get("content-type"),
    content: body.subarray(start, end),
    start,
    end,
  };
}

/**
 * A header's parameters by lower-case name, as browsers and libraries write them: quoted or bare,
 * `%22` for `"`. Undefined if one is duplicate or malformed.
 */
function parameters(header: string): Map<string, string> | undefined {
  const found = new Map<string, string>();
  const one = /\s*;\s*(?:([^\s=;"]+)=(?:"((?:[^"\\]|\\.)*)"|([^;\s"]*)))?\s*/y;
  one.lastIndex = Math.max(0, header.indexOf(";"));
  while (one.lastIndex < header.length) {
    const match = one.exec(header);
    if (!match) return undefined;
    const [, name, quoted, bare = ""] = match;
    if (name === undefined) continue;
    if (found.has(name.toLowerCase())) return undefined;
    const value = quoted?.replace(/\\(["\\])/g, "$1").replace(/%22/g, '"') ?? bare;
    found.set(name.toLowerCase(), value);
  }
  return found;
}

/** `utf-8''na%C3%AFve.png` (RFC 5987), as some libraries write names that are not ASCII. */
function extended(value: string | undefined): string | undefined {
  const encoded = value === undefined ? undefined : /^utf-8'[^']*'(.*)$/i.exec(value)?.[1];
  try {
    return encoded === undefined ? value : decodeURIComponent(encoded);
  } catch {
    return value;
  }
}

/** A part of a form to write: text or a file. */
export type FormField =
  | { readonly name: string; readonly text: string }
  | {
    readonly name: string;
    readonly fileName: string;
    readonly mimeType: string;
    readonly content: Uint8Array;
  };

/**
 * Writes a `multipart/form-data` body in pieces, so that no file is copied. `boundary` must not occur
 * in any part, as random digits don't; names must not hold quotes or line breaks.
 */
export function formBody(
  fields: readonly FormField[],
  boundary: string,
): { contentType: string; pieces: Uint8Array[] } {
  const encoder = new TextEncoder();
  const pieces = fields.flatMap((field) => {
    const head = `--${boundary}\r\ncontent-disposition: form-data; name="${field.name}"`;
    if ("text" in field) return [encoder.encode(`${head}\r\n\r\n${field.text}\r\n`)];
    const { fileName, mimeType, content } = field;
    return [
      encoder.encode(`${head}; filename="${fileName}"\r\ncontent-type: ${mimeType}\r\n\r\n`),
      content,
      encoder.encode("\r\n"),
    ];
  });
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    pieces: [...pieces, encoder.encode(`--${boundary}--\r\n`)],
  };
}
