import type { Transform } from "node:stream";
import zlib from "node:zlib";
import { joinBytes } from "../base/bytes.ts";
import type { Clock } from "../base/clock.ts";
import { Fault, unreadableAnswer } from "../shared/fault.ts";
import type { Exchange } from "./upstream_attempt.ts";
import { UpstreamAborted } from "./upstream_failure.ts";
import { Deadline, type SetTimer } from "../base/deadline.ts";
import { isLong, resting } from "./http1/resting.ts";

/** Of `end` and `error` exactly one is called, once, unless `destroy` came first. */
export interface BodyHandlers {
  /** A piece of the body, decoded. It is not used again, so views of it may be kept. */
  data(chunk: Uint8Array): void;
  end(): void;
  /**
   * A Fault (`upstream_stream_truncated`, `upstream_timeout`, `upstream_invalid_response`), an
   * abort (see `isAbort`), or what `data` or `end` threw.
   */
  error(reason: unknown): void;
}

/**
 * The body of a vendor's answer. Nothing is read before `onData` or `readAll`; only one of them may
 * be called, once. Callers that want neither call `destroy`.
 */
export interface UpstreamBody {
  /** The whole body. Rejects as `error` of the handlers does, and above `maxBytes`. */
  readAll(maxBytes: number): Promise<Uint8Array>;
  onData(handlers: BodyHandlers): void;
  /** Stops `data`; the time until `resume` doesn't count as the vendor's idleness. */
  pause(): void;
  resume(): void;
  /** Closes the connection at once unless the body has ended; no handler is called any more. */
  destroy(): void;
}

export interface BodyDeps {
  readonly clock: Clock;
  readonly setTimer: SetTimer;
  readonly idleMs: number;
  /** Cap on the body's bytes, both as sent and decoded. */
  readonly maxAnswerBytes: number;
}

/** Wraps an answer whose body has not been touched; `onEnd` is called once it is over. */
export function createBody(
  deps: BodyDeps,
  exchange: Exchange,
  signal: AbortSignal,
  onEnd?: () => void,
): UpstreamBody {
  return new Body(deps, exchange, signal, onEnd);
}

class Body implements UpstreamBody {
  readonly #deps: BodyDeps;
  readonly #exchange: Exchange;
  readonly #signal: AbortSignal;
  readonly #onEnd: (() => void) | undefined;
  readonly #deadline: Deadline;
  /** Decompresses what the exchange brings; only set where the vendor compresses. */
  #decoder: Transform | undefined;
  /**
   * The first byte of a `deflate` body is still to come; it tells which of two forms the body has.
   */
  #awaitsForm = false;
  /** Why the answer was cut, while what came before is still decoded. */
  #cutBy: { cause: unknown } | undefined;
  /** When the decoder began on the bytes at hand, or went on after a rest. */
  #decodingMs = 0;
  #handlers: BodyHandlers | undefined;
  #paused = false;
  /** Why it failed, kept for a reader who comes later. */
  #failure: { reason: unknown } | undefined;
  #over = false;
  #rawBytes = 0;
  #bytes = 0;

  constructor(deps: BodyDeps, exchange: Exchange, signal: AbortSignal, onEnd?: () => void) {
    this.#onEnd = onEnd;
    this.#deps = deps;
    this.#exchange = exchange;
    this.#signal = signal;
    this.#deadline = new Deadline(deps.clock, deps.setTimer, () => {
      this.#fail(new Fault("upstream_timeout", { note: "The vendor went silent while answering" }));
    }, true);
    // From the beginning, so that a cut or an abort before anybody reads is not lost.
    exchange.listen({
      data: (chunk) => this.#arrived(chunk),
      end: () => this.#ended(),
      error: (error) => this.#broken(error),
    });
    signal.addEventListener("abort", this.#onAbort);
    if (signal.aborted) this.#onAbort();
  }

  onData(handlers: BodyHandlers): void {
    if (this.#handlers) throw new Error("The body is being read already");
    this.#handlers = handlers;
    if (this.#failure) handlers.error(this.#failure.reason);
    if (this.#over) return;
    if (!this.#paused) this.#deadline.limit(this.#deps.idleMs);
    const encoding = this.#exchange.headers["content-encoding"]?.trim().toLowerCase() ?? "";
    this.#awaitsForm = encoding === "deflate";
    const decoder = this.#awaitsForm ? undefined : decoderFor(encoding);
    if (decoder === "unknown") return this.#invalid("uses a content encoding not asked for");
    if (decoder) this.#decode(decoder);
    // With a decoder the exchange may run even while paused: the decoder's own buffer limits it.
    if (decoder || !this.#paused) this.#exchange.resume();
  }

  #decode(decoder: Transform): void {
    this.#decoder = decoder;
    decoder.on("data", (chunk: Uint8Array) => this.#decoded(chunk));
    decoder.on("drain", () => this.#exchange.resume());
    decoder.on("end", () => this.#end());
    decoder.on("error", (error) => {
      const unfinished = (error as { code?: unknown }).code === "Z_BUF_ERROR";
      unfinished ? this.#cut(error) : this.#invalid("can't be decompressed");
    });
    if (this.#paused) decoder.pause();
  }

  readAll(maxBytes: number): Promise<Uint8Array> {
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
    const chunks: Uint8Array[] = [];
    let length = 0;
    this.onData({
      data: (chunk) => {
        length += chunk.length;
        if (length > maxBytes) this.#invalid(`is larger than ${maxBytes} bytes`);
        else chunks.push(chunk);
      },
      end: () => resolve(joinBytes(chunks)),
      error: reject,
    });
    return promise;
  }

  pause(): void {
    if (this.#over) return;
    this.#paused = true;
    this.#deadline.suspend();
    if (this.#decoder) this.#decoder.pause();
    else this.#exchange.pause();
  }

  resume(): void {
    if (this.#over || !this.#paused) return;
    this.#paused = false;
    if (!this.#handlers) return;
    this.#deadline.limit(this.#deps.idleMs);
    if (this.#decoder === undefined) this.#exchange.resume();
    else if (!resting.has(this)) this.readOn();
  }

  /** Decodes further, unless paused. */
  readOn(): void {
    if (this.#over || this.#paused) return;
    // Meanwhile the vendor may have waited for us.
    this.#deadline.limit(this.#deps.idleMs);
    this.#decodingMs = this.#deps.clock.monotonicMs();
    this.#decoder?.resume();
  }

  destroy(): void {
    if (this.#finish()) this.#exchange.destroy();
  }

  /** Bytes came over the wire: the vendor is alive. */
  #arrived(chunk: Uint8Array): void {
    if (this.#over) return;
    if (!this.#paused) this.#deadline.limit(this.#deps.idleMs);
    this.#rawBytes += chunk.byteLength;
    if (this.#rawBytes > this.#deps.maxAnswerBytes) return this.#tooLarge();
    if (this.#awaitsForm) {
      this.#awaitsForm = false;
      this.#decode(inflaterFor(chunk[0]!));
    }
    if (this.#decoder === undefined) return this.#take(chunk);
    this.#decodingMs = this.#deps.clock.monotonicMs();
    if (!this.#decoder.write(chunk)) this.#exchange.pause();
  }

  /**
   * A small piece may decompress to gigabytes, all of which the runtime (2.9.6) hands over in one
   * turn: others have theirs in between.
   */
  #decoded(chunk: Uint8Array): void {
    this.#take(chunk);
    this.#cutOnceDecoded();
    const tookMs = this.#deps.clock.monotonicMs() - this.#decodingMs;
    if (this.#over || !isLong(tookMs)) return;
    this.#decoder?.pause();
    resting.add(this, tookMs);
  }

  #ended(): void {
    if (this.#awaitsForm) this.#cut();
    else if (this.#decoder) this.#decoder.end();
    else this.#end();
  }

  /** What came before the cut is handed on first, as it is where nothing has to be decoded. */
  #broken(cause: unknown): void {
    if (this.#over || this.#decoder === undefined) return this.#cut(cause);
    this.#cutBy = { cause };
    this.#decoder.write(nothing, () => this.#cutOnceDecoded());
  }

  #cutOnceDecoded(): void {
    const decoder = this.#decoder;
    if (this.#cutBy === undefined || decoder === undefined) return;
    if (decoder.writableLength + decoder.readableLength === 0) this.#cut(this.#cutBy.cause);
  }

  #take(chunk: Uint8Array): void {
    if (this.#over) return;
    this.#bytes += chunk.byteLength;
    if (this.#bytes > this.#deps.maxAnswerBytes) return this.#tooLarge();
    try {
      // A plain view: subarray of a Buffer is several times slower.
      this.#handlers?.data(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  #end(): void {
    if (!this.#finish()) return;
    try {
      this.#handlers?.end();
    } catch (thrown) {
      this.#handlers?.error(thrown);
    }
  }

  #onAbort = (): void => this.#fail(new UpstreamAborted());

  #cut(cause?: unknown): void {
    const note = "The vendor's answer was cut";
    this.#fail(new Fault("upstream_stream_truncated", { note, cause }));
  }

  #tooLarge(): void {
    this.#invalid(`is larger than ${this.#deps.maxAnswerBytes} bytes`);
  }

  #invalid(what: string): void {
    this.#fail(unreadableAnswer(`The vendor's answer ${what}`));
  }

  #fail(reason: unknown): void {
    if (!this.#finish()) return;
    this.#failure = { reason };
    this.#exchange.destroy();
    this.#handlers?.error(reason);
  }

  #finish(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#deadline.stop();
    // The decoder would go on for nobody, and a small piece may decompress to gigabytes.
    this.#decoder?.destroy();
    resting.delete(this);
    this.#signal.removeEventListener("abort", this.#onAbort);
    this.#onEnd?.();
    return true;
  }
}

const nothing = new Uint8Array();

/** Servers say "none" so that no proxy compresses their events. */
const uncompressed: ReadonlySet<string> = new Set(["", "identity", "none"]);

const flush = zlib.constants.Z_SYNC_FLUSH;

/**
 * For vendors that compress although asked not to. Each piece is handed on as soon as it is
 * decoded.
 */
function decoderFor(encoding: string): Transform | "unknown" | undefined {
  if (uncompressed.has(encoding)) return undefined;
  if (encoding === "gzip" || encoding === "x-gzip") return zlib.createGunzip({ flush });
  if (encoding === "br") {
    return zlib.createBrotliDecompress({ flush: zlib.constants.BROTLI_OPERATION_FLUSH });
  }
  return "unknown";
}

/**
 * Builds the decoder of a `deflate` body, which has zlib's header, as the standard demands, or
 * none, as many servers send it.
 */
function inflaterFor(firstByte: number): Transform {
  // The low four bits of zlib's first byte are the compression method, always 8; no raw body begins
  // so.
  const hasHeader = (firstByte & 0x0f) === 8;
  return hasHeader ? zlib.createInflate({ flush }) : zlib.createInflateRaw({ flush });
}
