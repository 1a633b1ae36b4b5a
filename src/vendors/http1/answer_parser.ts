import { Buffer } from "node:buffer";

/** Receives a parsed answer. */
export interface AnswerSink {
  /**
   * Takes status and headers; also called for 1xx answers, which have nothing else. Names are in
   * lower case. Values of a repeated name are joined by commas, except for names in `single`.
   */
  head(status: number, headers: Record<string, string>): void;
  /** Takes all body bytes of one push, without framing, as a view of the pushed buffer. */
  data(piece: Uint8Array): void;
  /** The answer is complete. */
  end(): void;
}

/** Prefix of every `NotHttp` code. */
export const notHttpPrefix = "http_";

/** The bytes are not an HTTP/1.1 answer. `code` says what is wrong and quotes none of them. */
export class NotHttp extends Error {
  readonly code: string;

  constructor(what: "status_line" | "header" | "overflow" | "framing" | "chunk" | "stray") {
    super("The answer does not match HTTP/1.1");
    this.code = notHttpPrefix + what;
  }
}

/** Cap on the names and values of one head or trailer, added up. */
const maxFieldBytes = 16 * 1024;
/**
 * Cap on the raw lines of one head. A line may have four bytes (`a:`, CR, LF) for one that counts
 * toward `maxFieldBytes`.
 */
const maxBlockBytes = 64 * 1024;
const maxChunkLineBytes = 16 * 1024;
/** Cap on the hexadecimal digits of a chunk's size: 52 bits, which a number holds exactly. */
const maxSizeDigits = 13;

const [tab, lineFeed, carriageReturn, semicolon, deleteByte] = [0x09, 0x0a, 0x0d, 0x3b, 0x7f];

type State =
  | "idle"
  | "head"
  | "length"
  | "until-close"
  | ("size" | "extension" | "size-end" | "chunk" | "chunk-cr" | "chunk-lf" | "trailers");

/**
 * Reads the answers of one connection, one request at a time (RFC 9112). As strict as the runtime's
 * own parser, and stricter where HTTP readers are known to disagree: one kind of framing per
 * answer, no continued lines, no line end without its carriage return. Bytes after an answer's end
 * are never read as another answer.
 */
export class AnswerParser {
  readonly #sink: AnswerSink;
  /** The pushed bytes, and the range in them where the body's bytes have been gathered. */
  #pushed: Uint8Array = nothing;
  #bodyStart = 0;
  #bodyEnd = 0;
  #state: State = "idle";
  #isHead = false;
  #hasBegun = false;
  #keepsOpen = true;
  #idleSeconds: number | undefined;
  /** Bytes left of the body or chunk. */
  #left = 0;
  #sizeDigits = 0;
  #lineBytes = 0;
  /** Lines of an incomplete block, and where the last of them, which is unfinished, starts. */
  #incompleteBlock: Uint8Array | undefined;
  #lineStart = 0;

  constructor(sink: AnswerSink) {
    this.#sink = sink;
  }

  /**
   * Expects the answer to a request that is about to be written. `isHead`: the answer has no body,
   * whatever its headers say.
   */
  begin(isHead: boolean): void {
    this.#state = "head";
    this.#isHead = isHead;
    this.#keepsOpen = true;
  }

  /**
   * Whether an interim answer or a part of the answer has come, and not yet all of it: the other
   * side has the request.
   */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Whether the connection may carry another request. */
  get keepsOpen(): boolean {
    return this.#keepsOpen && this.#state === "idle";
  }

  /** How many seconds the other side keeps an idle connection; undefined where it doesn't say. */
  get idleSeconds(): number | undefined {
    return this.#idleSeconds;
  }

  /**
   * Parses received bytes, and may move them within their buffer. Throws `NotHttp`, after which
   * nothing more may be pushed.
   */
  push(bytes: Uint8Array): void {
    this.#pushed = bytes;
    try {
      for (let at = 0; at < bytes.length;) at = this.#take(bytes, at);
    } finally {
      this.#hand();
      this.#pushed = nothing;
    }
  }

  /** Called when the other side sends no more; returns whether that ended the answer. */
  finish(): boolean {
    if (this.#state !== "until-close") return false;
    this.#complete();
    return true;
  }

  /** Parses from `at` on; returns the position to go on from. */
  #take(bytes: Uint8Array, at: number): number {
    switch (this.#state) {
      case "idle":
        return this.#passLineEnd(bytes, at);
      case "head":
        return this.#takeHead(bytes, at);
      case "length":
      case "chunk":
        return this.#takeBody(bytes, at, Math.min(bytes.length, at + this.#left));
      case "until-close":
        return this.#takeBody(bytes, at, bytes.length);
      case "trailers":
        return this.#takeTrailers(bytes, at);
      default:
        return this.#takeChunkLine(bytes[at]!, at + 1);
    }
  }

  /** Some servers write an empty line after a body. Any other bytes belong to no answer. */
  #passLineEnd(bytes: Uint8Array, at: number): number {
    const byte = bytes[at];
    // Whatever follows a connection's last answer is ignored.
    if (!this.#keepsOpen) return bytes.length;
    if (byte !== carriageReturn && byte !== lineFeed) throw new NotHttp("stray");
    return at + 1;
  }

  /** Moves the chunks of one push together: readers pay per piece, whatever its size. */
  #takeBody(bytes: Uint8Array, from: number, to: number): number {
    if (this.#bodyEnd === this.#bodyStart) this.#bodyStart = this.#bodyEnd = from;
    else bytes.copyWithin(this.#bodyEnd, from, to);
    this.#bodyEnd += to - from;
    this.#left -= to - from;
    if (this.#left > 0 || this.#state === "until-close") return to;
    if (this.#state === "length") this.#complete();
    else this.#state = "chunk-cr";
    return to;
  }

  #complete(): void {
    this.#state = "idle";
    this.#hasBegun = false;
    this.#hand();
    this.#sink.end();
  }

  /** Hands the body's bytes on, once. */
  #hand(): void {
    const { buffer, byteOffset } = this.#pushed;
    const length = this.#bodyEnd - this.#bodyStart;
    if (length === 0) return;
    // A plain view: subarray of a Buffer is several times slower.
    const piece = new Uint8Array(buffer, byteOffset + this.#bodyStart, length);
    this.#bodyStart = this.#bodyEnd = 0;
    this.#sink.data(piece);
  }

  /** Takes one byte of the lines between chunks. */
  #takeChunkLine(byte: number, next: number): number {
    if (++this.#lineBytes > maxChunkLineBytes) throw new NotHttp("overflow");
    switch (this.#state) {
      case "size":
        this.#takeSize(byte);
        return next;
      case "extension":
        if (byte === carriageReturn) this.#state = "size-end";
        else if ((byte < 0x20 && byte !== tab) || byte === deleteByte) throw new NotHttp("chunk");
        return next;
      case "chunk-cr":
        if (byte !== carriageReturn) throw new NotHttp("chunk");
        this.#state = "chunk-lf";
        return next;
      default:
        if (byte !== lineFeed) throw new NotHttp("chunk");
        if (this.#state === "chunk-lf") this.#beginSize();
        else this.#state = this.#left === 0 ? "trailers" : "chunk";
        return next;
    }
  }

  #beginSize(): void {
    this.#state = "size";
    this.#left = this.#sizeDigits = this.#lineBytes = 0;
  }

  #takeSize(byte: number): void {
    const digit = hexDigit(byte);
    if (digit >= 0) {
      if (++this.#sizeDigits > maxSizeDigits) throw new NotHttp("chunk");
      this.#left = this.#left * 16 + digit;
      return;
    }
    if (this.#sizeDigits === 0) throw new NotHttp("chunk");
    if (byte === semicolon) this.#state = "extension";
    else if (byte === carriageReturn) this.#state = "size-end";
    else throw new NotHttp("chunk");
  }

  #takeHead(bytes: Uint8Array, at: number): number {
    const block = this.#takeBlock(bytes, at);
    // Empty lines before a status line may belong to the answer before.
    this.#hasBegun ||= block !== undefined || this.#incompleteBlock!.length > 1;
    if (block === undefined) return bytes.length;
    const head = parseHead(block.text);
    this.#sink.head(head.status, head.headers);
    if (head.status >= 200) this.#beginBody(head);
    return block.next;
  }

  #beginBody({ status, headers, isOld, length }: ParsedHead): void {
    const isChunked = headers["transfer-encoding"] !== undefined;
    const connection = headers.connection?.toLowerCase().split(",").map((one) => one.trim()) ?? [];
    const keeps = isOld ? connection.includes("keep-alive") : !connection.includes("close");
    this.#keepsOpen = keeps && !(isOld && isChunked);
    this.#idleSeconds = idleSecondsOf(headers["keep-alive"]);
    if (this.#isHead || status === 204 || status === 304) {
      // A body that such an answer announces may follow all the same.
      if (!this.#isHead && (isChunked || (length ?? 0) > 0)) this.#keepsOpen = false;
      return this.#complete();
    }
    if (isChunked) return this.#beginSize();
    if (length === 0) return this.#complete();
    this.#left = length ?? Infinity;
    this.#state = length === undefined ? "until-close" : "length";
    if (length === undefined) this.#keepsOpen = false;
  }

  #takeTrailers(bytes: Uint8Array, at: number): number {
    const block = this.#takeBlock(bytes, at);
    if (block === undefined) return bytes.length;
    // Trailers are checked and dropped: nobody asked for them.
    parseFields(block.text.split("\r\n").slice(0, -1));
    this.#complete();
    return block.next;
  }

  /**
   * Collects lines up to an empty one; empty lines before a status line are skipped. Returns the
   * lines, each with its line end, and the position to go on from; undefined until they are
   * complete.
   */
  #takeBlock(bytes: Uint8Array, at: number): { text: string; next: number } | undefined {
    const rest = this.#incompleteBlock;
    const all = rest === undefined ? bytes : joined(rest, bytes.subarray(at));
    let begin = rest === undefined ? at : 0;
    let lineStart = rest === undefined ? at : this.#lineStart;
    let end = all.indexOf(lineFeed, rest === undefined ? at : rest.length);
    for (; end >= 0; end = all.indexOf(lineFeed, lineStart)) {
      if (end === lineStart || all[end - 1] !== carriageReturn) throw new NotHttp("header");
      const isEmpty = end - lineStart === 1;
      if (isEmpty && !(lineStart === begin && this.#state === "head")) break;
      lineStart = end + 1;
      if (isEmpty) begin = lineStart;
    }
    if ((end < 0 ? all.length : end) - begin > maxBlockBytes) throw new NotHttp("overflow");
    if (end >= 0) {
      this.#incompleteBlock = undefined;
      const next = rest === undefined ? end + 1 : end + 1 - rest.length + at;
      return { text: latin1(all, begin, lineStart), next };
    }
    // Bytes that can't begin an answer fail at once, before their lines are complete.
    if (this.#state === "head" && !mayBeAnswer(all, begin)) throw new NotHttp("status_line");
    this.#incompleteBlock = all.slice(begin);
    this.#lineStart = lineStart - begin;
    return undefined;
  }
}

interface ParsedHead {
  readonly status: number;
  /** HTTP/1.0. */
  readonly isOld: boolean;
  readonly headers: Record<string, string>;
  readonly length: number | undefined;
}

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;

/** `text`: the status line and fields, each with its line end. */
function parseHead(text: string): ParsedHead {
  const lines = text.split("\r\n");
  const found = statusLine.exec(lines[0]!);
  if (found === null) throw new NotHttp("status_line");
  const status = Number(found[2]);
  // A switch to a protocol that nobody asked for, or an interim answer in HTTP/1.0, which has none.
  if (status === 101 || (status < 200 && found[1] === "0")) throw new NotHttp("framing");
  const headers = parseFields(lines.slice(1, -1));
  const coding = headers["transfer-encoding"];
  const length = headers["content-length"];
  if (coding !== undefined && (length !== undefined || coding.toLowerCase() !== "chunked")) {
    throw new NotHttp("framing");
  }
  if (length !== undefined && !/^\d{1,15}$/.test(length)) throw new NotHttp("framing");
  const isOld = found[1] === "0";
  return { status, headers, isOld, length: length === undefined ? undefined : Number(length) };
}

const fieldName = /^[\w!#$%&'*+\-.^`|~]+$/;
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Headers of which only the first counts, should a vendor send two. */
const single: ReadonlySet<string> = new Set(
  ["content-type", "content-encoding", "location", "retry-after", "etag"]
    .concat(["retry-after-ms", "last-modified", "expires", "server"]),
);

function parseFields(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  let bytes = 0;
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).toLowerCase();
    const value = trimmed(line, colon + 1);
    if (colon < 1 || !fieldName.test(name) || !fieldValue.test(value)) throw new NotHttp("header");
    bytes += name.length + value.length;
    if (bytes >= maxFieldBytes) throw new NotHttp("overflow");
    if (!Object.hasOwn(headers, name)) headers[name] = value;
    else if (!single.has(name)) headers[name] += `, ${value}`;
  }
  return headers;
}

/** Returns a line's rest without the spaces and tabs around it. */
function trimmed(line: string, from: number): string {
  let [start, end] = [from, line.length];
  while (start < end && isBlank(line.charCodeAt(start))) start++;
  while (end > start && isBlank(line.charCodeAt(end - 1))) end--;
  return line.slice(start, end);
}

function isBlank(unit: number): boolean {
  return unit === 0x20 || unit === tab;
}

function idleSecondsOf(keepAlive: string | undefined): number | undefined {
  const found = keepAlive === undefined ? null : /(?:^|[\s,])timeout=(\d{1,9})/i.exec(keepAlive);
  return found === null ? undefined : Number(found[1]);
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

const nothing = new Uint8Array(0);
const answersBegin = new TextEncoder().encode("HTTP/1.");

function mayBeAnswer(bytes: Uint8Array, from: number): boolean {
  const first = bytes.subarray(from, from + answersBegin.length);
  // The first half of an empty line, which may come before the status line.
  if (first.length === 1 && first[0] === carriageReturn) return true;
  return first.every((byte, at) => byte === answersBegin[at]);
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}

function latin1(bytes: Uint8Array, from: number, to: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString("latin1");
}
