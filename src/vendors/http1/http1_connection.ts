import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { joinBytes } from "../../base/bytes.ts";
import { systemClock } from "../../base/clock.ts";
import { AnswerParser } from "./answer_parser.ts";
import { ConnectionClosed, type Connector, type ConnectTarget } from "./connect.ts";
import { type RequestHead, writeRequestHead } from "./request_head.ts";
import { isLong, paceMs, resting } from "./resting.ts";

/**
 * Hears what happens to one request. Exactly one of `end` and `error` is called, once, unless
 * `destroy` comes first.
 */
export interface RequestHandler {
  /**
   * The connection is open, and the request is about to be written. Returns false when it is no
   * longer wanted.
   */
  sending(): boolean;
  /** The whole request was handed to the system, which may not have taken all of it yet. */
  sent(): void;
  /** See `AnswerSink`. */
  head(status: number, headers: Record<string, string>): void;
  data(piece: Uint8Array): void;
  end(): void;
  /** `NotHttp`, `MalformedRequest`, `ConnectionClosed` or an error of the system. */
  error(error: unknown): void;
}

export interface Http1ConnectionOptions {
  readonly target: ConnectTarget;
  readonly connector: Connector;
  /**
   * Called when the connection has closed or couldn't be opened, unless `destroy` closed it.
   * `error` is the reason: `NotHttp` if the other side sent bytes that belong to no answer.
   */
  readonly gone: (error: unknown) => void;
}

/** Up to this size, a body's first piece is written together with the head. */
const joinedBytes = 64 * 1024;

/**
 * A read of this many bytes is worth a turn of its own. Smaller ones that come faster than the pace
 * are read together at that pace.
 */
const largeRead = 8 * 1024;
/** A larger read, such as one of a thousand tiny events, is parsed in parts, with rests in between. */
const partBytes = 16 * 1024;

/** One connection of HTTP/1.1: opened by its first request, one request at a time. */
export class Http1Connection {
  readonly #options: Http1ConnectionOptions;
  readonly #parser: AnswerParser;
  #socket: Socket | undefined;
  #handler: RequestHandler | undefined;
  /** The request's body, and how many of its pieces have been handed to the system. */
  #body: readonly Uint8Array[] = [];
  #written = 0;
  /** The present request's answer has no body. */
  #isBodiless = false;
  #isPausing = false;
  /** What was read and not parsed, because the bytes before it took long or it was paused. */
  #unparsed: Uint8Array = nothing;
  /** Reading from the socket is stopped. */
  #isStopped = false;
  /** When the socket was last read or resumed (monotonic ms). */
  #readMs = -Infinity;
  /** How long the last read took to handle. */
  #tookMs = 0;
  /** Why the other side can't be written to any more. */
  #writeFailure: Error | undefined;
  #isConnected = false;
  #isOver = false;

  constructor(options: Http1ConnectionOptions) {
    this.#options = options;
    this.#parser = new AnswerParser({
      head: (status, headers) => this.#handler?.head(status, headers),
      data: (piece) => this.#handler?.data(piece),
      end: () => this.#answered(),
    });
  }

  get isOpen(): boolean {
    return !this.#isOver && this.#socket?.destroyed === false;
  }

  /** See `AnswerParser.hasBegun`. */
  get hasAnswerBegun(): boolean {
    return this.#parser.hasBegun;
  }

  /** The last answer allows another request. */
  get keepsOpen(): boolean {
    return this.#writeFailure === undefined && this.#parser.keepsOpen;
  }

  /** How many seconds the other side keeps an idle connection; undefined where it doesn't say. */
  get idleSeconds(): number | undefined {
    return this.#parser.idleSeconds;
  }

  /** Bytes of a request that the system has not taken yet. */
  get unsentBytes(): number {
    let bytes = this.#socket?.writableLength ?? 0;
    for (let at = this.#written; at < this.#body.length; at++) bytes += this.#body[at]!.length;
    return bytes;
  }

  /**
   * Runs `run` once the socket's full write buffer has drained. Does nothing if the buffer isn't
   * full: such a socket emits no `drain`, and the listener would stay for the connection's life.
   */
  onSent(run: () => void): void {
    if (this.#socket?.writableNeedDrain) this.#socket.once("drain", run);
  }

  /** Sends a request; the first one opens the connection. */
  send(
    request: Omit<RequestHead, "host">,
    body: readonly Uint8Array[] | undefined,
    handler: RequestHandler,
  ): void {
    if (this.#isOver) return;
    this.#handler = handler;
    let head: string;
    try {
      head = writeRequestHead({ ...request, host: this.#options.target.host });
    } catch (thrown) {
      return this.#fail(thrown);
    }
    this.#isBodiless = request.method === "HEAD";
    const write = () => this.#write(head, body);
    // Bytes that came since the last answer are read first: they don't answer this request.
    if (this.#isConnected) return void setImmediate(write);
    const { connector, target } = this.#options;
    this.#socket = connector(target, (piece) => this.#read(piece), (error, socket) => {
      if (this.#isOver) return void socket?.destroy();
      if (error !== null) return this.#fail(error);
      this.#onConnected(socket);
      write();
    });
  }

  /** Stops reading; a piece that is being parsed is still handed over. */
  pause(): void {
    this.#isPausing = true;
  }

  resume(): void {
    this.#isPausing = false;
    if (resting.has(this)) return;
    // Many callers may have caught up at once.
    if (this.#isStopped && this.#handler !== undefined && resting.isDue) this.#rest();
    else this.readOn();
  }

  /** Resumes reading, unless paused. */
  readOn(): void {
    if (this.#isOver || this.#isPausing || !this.#isStopped) return;
    this.#isStopped = false;
    if (this.#unparsed.length > 0 && !this.#parse(false)) return;
    this.#readMs = systemClock.monotonicMs();
    this.#socket?.resume();
  }

  /** Closes it at once; its request's handler hears nothing more. */
  destroy(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#handler = undefined;
    this.#body = [];
    this.#unparsed = nothing;
    resting.delete(this);
    this.#socket?.destroy();
  }

  /** Closes it at once; its request fails. */
  close(): void {
    this.#fail(new ConnectionClosed());
  }

  #onConnected(socket: Socket): void {
    this.#isConnected = true;
    let failure: unknown;
    // The runtime (2.9.6) leaves a socket whose TLS has failed open.
    socket.on("error", (error: Error) => {
      failure = error;
      socket.destroy();
    });
    readOnAfterFailedWrites(socket, (error) => {
      this.#writeFailure ??= error;
      this.#body = [];
    });
    socket.on("end", () => {
      this.#parsePart(Infinity);
      // An orderly end completes a body that runs until the connection closes; any other answer is
      // cut.
      if (!this.#isOver && !this.#isReset(socket) && this.#parser.finish()) return;
      socket.destroy();
    });
    socket.on("close", () => {
      this.#parsePart(Infinity);
      this.#fail(this.#writeFailure ?? failure ?? new ConnectionClosed());
    });
  }

  /**
   * The end that follows a failed write may be a reset, which the system reports once. Under TLS the
   * runtime reports any reset as an orderly end, but the socket has lost its remote address by then.
   * Nothing may read `remoteAddress` before, since the socket caches it.
   */
  #isReset(socket: Socket): boolean {
    if (this.#writeFailure !== undefined) return true;
    return this.#options.target.protocol === "https:" && socket.remoteAddress === undefined;
  }

  #write(head: string, body: readonly Uint8Array[] = []): void {
    const handler = this.#handler;
    const socket = this.#socket;
    if (handler === undefined || socket === undefined || this.#isOver) return;
    if (socket.destroyed) return this.#fail(new ConnectionClosed());
    if (!handler.sending()) return this.close();
    this.#parser.begin(this.#isBodiless);
    const [first] = body;
    this.#body = body;
    this.#written = 1;
    if (first === undefined || first.length <= joinedBytes) {
      socket.write(together(head, first));
    } else {
      socket.cork();
      socket.write(head, "latin1");
      socket.write(first);
      socket.uncork();
    }
    this.#writeOn(socket);
  }

  /** Writes the body's other pieces, no faster than the system takes them. */
  #writeOn(socket: Socket): void {
    while (this.#written < this.#body.length) {
      if (this.#isOver || socket.destroyed) return;
      if (socket.writableNeedDrain) return void socket.once("drain", () => this.#writeOn(socket));
      socket.write(this.#body[this.#written++]!);
    }
    if (this.#writeFailure !== undefined) return;
    this.#body = [];
    this.#handler?.sent();
  }

  /** Parses a piece; returns whether to go on reading. */
  #read(piece: Uint8Array): boolean {
    if (this.#isOver) return false;
    const unparsed = this.#unparsed;
    this.#unparsed = unparsed.length === 0 ? piece : joinBytes([unparsed, piece]);
    // Many vendors may have sent something at once.
    if (this.#handler !== undefined && resting.isDue) return this.#rest();
    return this.#parse(piece.length < largeRead);
  }

  #rest(): false {
    resting.wait(this, this.#tookMs);
    this.#isStopped = true;
    return false;
  }

  /** Parses what was read until that has taken long; returns whether to read more. */
  #parse(isSmall: boolean): boolean {
    const lastMs = this.#readMs;
    const beganMs = systemClock.monotonicMs();
    const handler = this.#handler;
    let tookMs = 0;
    // Nothing is left for the next answer.
    const mayLeaveRest = () =>
      handler !== undefined && handler === this.#handler && (isLong(tookMs) || this.#isPausing);
    do {
      if (!this.#parsePart(partBytes)) return false;
      this.#readMs = systemClock.monotonicMs();
      tookMs = this.#readMs - beganMs;
    } while (this.#unparsed.length > 0 && !mayLeaveRest());
    const isFast = isSmall && this.#readMs - lastMs < paceMs;
    // A complete answer needs no pause.
    this.#tookMs = tookMs;
    const isDue = resting.count(tookMs, this.#readMs);
    const isResting = this.#handler !== undefined && (isFast || isDue);
    if (isResting) resting.add(this, tookMs);
    // The runtime may hand over more after it was told to stop: only `readOn` makes it read again.
    this.#isStopped ||= isResting || this.#isPausing;
    return !this.#isStopped;
  }

  /** Returns false if the connection is over. */
  #parsePart(bytes: number): boolean {
    const unparsed = this.#unparsed;
    const isLast = unparsed.length <= bytes;
    this.#unparsed = isLast ? nothing : unparsed.subarray(bytes);
    try {
      this.#parser.push(isLast ? unparsed : unparsed.subarray(0, bytes));
    } catch (thrown) {
      this.#fail(thrown);
    }
    return !this.#isOver;
  }

  #answered(): void {
    const handler = this.#handler;
    this.#handler = undefined;
    this.resume();
    handler?.end();
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    const handler = this.#handler;
    this.destroy();
    handler?.error(error);
    this.#options.gone(error);
  }
}

const nothing = new Uint8Array();

type Done = (error?: Error | null) => void;

/**
 * Makes writes that fail because the other side has closed the connection end nothing, and reports
 * them to `onFailure`. The runtime would destroy the socket, and with it an answer that came before
 * the close: a server may refuse a request, and close, while the body is still being sent. The
 * reading ends by itself.
 */
function readOnAfterFailedWrites(socket: Socket, onFailure: (error: Error) => void): void {
  const { _write: write, _writev: writeMany } = socket;
  const unlessClosed = (done: Done): Done => (error) => {
    if (!error || socket.destroyed || !isClosed(error)) return done(error);
    onFailure(error);
    done();
  };
  const writeOne: Socket["_write"] = (chunk, encoding, done) =>
    write.call(socket, chunk, encoding, unlessClosed(done));
  socket._write = writeOne;
  if (writeMany === undefined) return;
  const writeAll: NonNullable<Socket["_writev"]> = (chunks, done) =>
    writeMany.call(socket, chunks, unlessClosed(done));
  socket._writev = writeAll;
}

function isClosed(error: Error & { code?: unknown }): boolean {
  return error.code === "EPIPE" || error.code === "ECONNRESET";
}

function together(head: string, body: Uint8Array = new Uint8Array()): Uint8Array {
  const bytes = Buffer.allocUnsafe(head.length + body.length);
  bytes.write(head, "latin1");
  bytes.set(body, head.length);
  return bytes;
}
