import type { Secret } from "../base/secret.ts";
import { type SseEvent, SseEventTooLargeError, SseSplitter } from "../base/sse.ts";
import { type PushStream, pushStream } from "../base/streams.ts";
import type { CanonicalEvent } from "../dialects/kernel/canonical.ts";
import type { DecodedEvent, StreamDecoder } from "../dialects/kernel/dialect.ts";
import { Fault, messageOf } from "../shared/fault.ts";
import type { OnDisconnect } from "../keys/api_key.ts";
import type { Mode } from "../shared/interaction.ts";
import { isAbort, type UpstreamBody } from "../vendors/upstream.ts";
import type { Call } from "./call.ts";
import type { Ending } from "./call_facts.ts";
import { KeepAlive } from "./keep_alive.ts";
import type { Forwarded, StreamPlan } from "./plan/call_plan.ts";
import { unreadError, UnreadLimit } from "./open_streams.ts";
import { vendorFault } from "./vendor_fault.ts";

/** An event larger than this ends the stream: images in events are a few MiB at most. */
const maxEventBytes = 32 * 1024 * 1024;
/** How long comments alone may hold back the answer's headers. */
const commentGraceMs = 5_000;
/** A vendor that a caller who has left lets finish may take so long. */
export const longestDrainMs = 15 * 60_000;
/** How long a vendor that has said all may take to close; usage may come after the last words. */
const lastWordsMs = 100;

export interface ForwardDeps {
  call: Call;
  streamPlan: StreamPlan;
  decoder: StreamDecoder;
  body: UpstreamBody;
  mode: Mode;
  /** The vendor's base address, which no message shows. */
  address: string;
  /** What the vendor was called with, which no message shows either. */
  key: Secret;
  onDisconnect: OnDisconnect;
  /** An answer that is read to its end counts as completed, whether its caller is there or not. */
  goesOn?: boolean | undefined;
  /** Status that the caller receives with the stream. */
  httpStatus: number;
  nowMs: () => number;
}

/**
 * Forwards a vendor's stream event by event through its lane, while the meter listens. Resolves
 * with the caller's stream once the first event has been seen, so that a failure before it is an
 * ordinary error answer; rejects with that failure.
 */
export function forwardStream(
  deps: ForwardDeps,
): Promise<ReadableStream<Uint8Array>> {
  return new Promise((resolve, reject) => new StreamForwarder(deps, resolve, reject).run());
}

class StreamForwarder {
  readonly #parts: ForwardDeps;
  readonly #resolve: (stream: ReadableStream<Uint8Array>) => void;
  readonly #reject: (thrown: unknown) => void;
  readonly #splitter = new SseSplitter({ maxEventBytes });
  readonly #out: PushStream = pushStream();
  readonly #alive: KeepAlive;
  readonly #unread: UnreadLimit;
  readonly #startedMs: number;
  #answered = false;
  #over = false;
  #callerLeft = false;
  #terminated = false;
  #behind = false;
  #closing: ReturnType<typeof setTimeout> | undefined;
  #stopDraining = () => {};
  /** What ends the answer for the caller, held back until the call's end is on record. */
  #tail: Uint8Array[] = [];
  /** Comments before the first event, held back with the headers. */
  #held: Uint8Array[] = [];

  constructor(
    deps: ForwardDeps,
    resolve: (stream: ReadableStream<Uint8Array>) => void,
    reject: (thrown: unknown) => void,
  ) {
    this.#parts = deps;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#startedMs = deps.nowMs();
    this.#alive = new KeepAlive({
      afterMs: deps.streamPlan.keepAlive?.afterMs ?? 0,
      clock: { monotonicMs: deps.nowMs },
      say: () => this.#guard(() => this.#breakSilence()),
    });
    const clock = { monotonicMs: deps.nowMs };
    this.#unread = new UnreadLimit(this.#out, deps.call.streams, clock, () => {
      this.#guard(() => this.#leave());
      this.#out.error(unreadError());
    });
  }

  run(): void {
    this.#alive.heard();
    this.#out.onCancel(() => this.#guard(() => this.#leave()));
    this.#out.onDrain(() => {
      this.#behind = false;
      this.#unread.caughtUp();
      this.#parts.body.resume();
    });
    this.#parts.body.onData({
      data: (chunk) => this.#guard(() => this.#take(this.#splitter.push(chunk))),
      end: () => this.#guard(() => this.#end()),
      error: (thrown) => this.#guard(() => this.#broken(thrown)),
    });
  }

  /** A failure of our own in an event handler must end the call, not the process. */
  #guard(act: () => void): void {
    if (this.#over) return;
    try {
      this.#parts.call.working();
      act();
    } catch (thrown) {
      this.#fail(faultOf(thrown), "failed");
    }
  }

  #take(events: readonly SseEvent[]): void {
    let run: Uint8Array | undefined;
    for (const event of events) {
      const bytes = this.#see(event);
      if (this.#over) break;
      if (!bytes) continue;
      // Events that lie side by side in one chunk leave as one piece.
      const joined = run && adjacent(run, bytes);
      if (joined) {
        run = joined;
      } else {
        if (run) this.#push(run);
        run = bytes;
      }
    }
    if (run && !this.#over) this.#push(run);
  }

  /** Lets decoder and lane see an event; gives what the caller gets to see of it. */
  #see(event: SseEvent): Uint8Array | undefined {
    const { call, decoder, streamPlan } = this.#parts;
    const decoded = decoder.decode(event);
    // The vendor has said all: what comes behind that is somebody else's, if anybody's.
    if (this.#terminated && !isLastWord(decoded)) return undefined;
    const failure = decoded.events.find((one) => one.type === "error");
    if (failure) {
      // What stands beside the error was made, and is billed, all the same.
      call.meter.listen(decoded.events);
      const fault = vendorFault(failure.error, this.#parts);
      this.#fail(fault, fault.code === "upstream_stream_truncated" ? "truncated" : "failed");
      return undefined;
    }
    const forwarded = this.#heard(decoded.events, () => streamPlan.forward(event, decoded));
    if (event.data !== undefined) this.#answer();
    if (decoded.terminal) this.#awaitClose();
    return forwarded.bytes;
  }

  /** The meter hears what the caller gets; where that can't be made, what the vendor sent. */
  #heard(events: readonly CanonicalEvent[], make: () => Forwarded): Forwarded {
    const { meter } = this.#parts.call;
    let made: Forwarded;
    try {
      made = make();
    } catch (thrown) {
      meter.listen(events);
      throw thrown;
    }
    meter.listen(made.events);
    return made;
  }

  /** Some vendors leave the connection open after the end: the caller does not wait for them. */
  #awaitClose(): void {
    this.#terminated = true;
    this.#closing ??= setTimeout(() => this.#guard(() => this.#end()), lastWordsMs);
  }

  #answer(): void {
    if (this.#answered) return;
    this.#answered = true;
    this.#resolve(this.#out.stream);
    for (const bytes of this.#held) this.#push(bytes);
    this.#held = [];
  }

  #push(bytes: Uint8Array): void {
    if (this.#callerLeft) return;
    if (!this.#answered) {
      this.#held.push(bytes);
      if (this.#parts.nowMs() - this.#startedMs > commentGraceMs) this.#answer();
      return;
    }
    if (this.#terminated) this.#tail.push(bytes);
    else this.#send(bytes);
  }

  #send(bytes: Uint8Array): void {
    this.#alive.heard();
    this.#behind = !this.#out.push(bytes);
    if (!this.#behind) return;
    this.#parts.body.pause();
    this.#unread.behind();
  }

  /** Begins the answer if need be: a silent vendor that said 200 is at work. */
  #breakSilence(): void {
    const { keepAlive } = this.#parts.streamPlan;
    // Who is behind has enough to read.
    if (!keepAlive || this.#callerLeft || this.#behind || this.#terminated) return;
    this.#answer();
    this.#send(keepAlive.bytes());
  }

  /** The vendor closed its stream in order. */
  #end(): void {
    this.#take(this.#splitter.end().filter(isWhole));
    if (this.#over) return;
    const rest = this.#parts.decoder.end();
    if (rest.complete) return this.#complete(rest.events);
    this.#parts.call.meter.listen(rest.events);
    if (!this.#answered) {
      // Not one event: the body was empty or something else (translation.md §14.1).
      const note = "a stream without an event";
      return this.#fail(new Fault("upstream_invalid_response", { note }), "failed");
    }
    this.#fail(new Fault("upstream_stream_truncated"), "truncated");
  }

  /** The connection broke, fell silent or was aborted. */
  #broken(thrown: unknown): void {
    if (isAbort(thrown)) return this.#aborted(thrown);
    const rest = this.#parts.decoder.end();
    // After the end marker nothing is missing, whatever the connection does.
    if (rest.complete && this.#terminated) return this.#complete(rest.events);
    this.#parts.call.meter.listen(rest.events);
    const fault = thrown instanceof Fault
      ? thrown
      : new Fault("upstream_stream_truncated", { cause: thrown });
    this.#fail(fault, fault.code === "upstream_stream_truncated" ? "truncated" : "failed");
  }

  #complete(rest: readonly CanonicalEvent[]): void {
    const last = this.#heard(rest, () => this.#parts.streamPlan.end(rest));
    this.#answer();
    this.#finish(this.#wellEnded(true), [...this.#tail, ...(last.bytes ? [last.bytes] : [])]);
  }

  #wellEnded(isWhole: boolean): Ending {
    const goesOn = isWhole && this.#parts.goesOn === true;
    const status = this.#callerLeft && !goesOn ? "cancelled" : "completed";
    return { status, httpStatus: this.#parts.httpStatus };
  }

  /**
   * The call's end is on record before the answer's last byte leaves; without `last` there is
   * nothing that could tell the caller how it ended, and the connection is broken off.
   */
  #finish(ending: Ending, last: readonly Uint8Array[] | undefined): void {
    this.#stop();
    void this.#parts.call.settle(ending).finally(() => {
      if (!last) return this.#out.error(new Fault(ending.errorCode ?? "internal_error"));
      for (const bytes of last) this.#out.push(bytes);
      this.#out.close();
    });
  }

  #fail(fault: Fault, status: "failed" | "truncated"): void {
    this.#parts.body.destroy();
    if (!this.#answered) {
      this.#stop();
      return this.#reject(new StreamFailure(fault, status));
    }
    const ending: Ending = {
      status: this.#callerLeft ? "cancelled" : status,
      httpStatus: this.#parts.httpStatus,
      errorCode: fault.code,
      fault,
    };
    this.#finish(ending, this.#lastWords(fault));
  }

  /** Undefined where the caller's dialect can't say it any more. */
  #lastWords(fault: Fault): Uint8Array[] | undefined {
    try {
      return [...this.#tail, this.#parts.streamPlan.fail(fault)];
    } catch {
      return undefined;
    }
  }

  /** The vendor call was ended because the caller left, which its own stream may not know yet. */
  #aborted(thrown: unknown): void {
    if (this.#answered) return this.#leave();
    this.#stop();
    this.#reject(thrown);
  }

  #stop(): void {
    this.#over = true;
    clearTimeout(this.#closing);
    this.#stopDraining();
    this.#alive.stop();
    this.#unread.stop();
  }

  #leave(): void {
    if (this.#over || this.#callerLeft) return;
    this.#callerLeft = true;
    this.#alive.stop();
    this.#unread.stop();
    if (this.#parts.onDisconnect !== "drain") return this.#cancel();
    this.#stopDraining = this.#parts.call.streams.later(
      longestDrainMs,
      () => this.#guard(() => this.#cancel()),
    );
    this.#parts.body.resume();
  }

  #cancel(): void {
    this.#parts.body.destroy();
    if (this.#terminated) this.#parts.call.meter.listen(this.#parts.decoder.end().events);
    this.#finish(this.#wellEnded(false), []);
  }
}

/** A stream that failed before its first event: the caller gets an ordinary error answer. */
export class StreamFailure extends Error {
  constructor(readonly fault: Fault, readonly status: "failed" | "truncated") {
    super(fault.message);
  }
}

/** What an event could not be used for: the vendor's fault where it is told as one, else ours. */
function faultOf(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown;
  const note = messageOf(thrown);
  return thrown instanceof SseEventTooLargeError
    ? new Fault("upstream_invalid_response", { note })
    : new Fault("internal_error", { cause: thrown, note });
}

/** Usage may come behind the end, and some vendors tell the end twice. */
function isLastWord({ events, terminal }: DecodedEvent): boolean {
  return terminal || (events.length > 0 && events.every(({ type }) => type === "usage"));
}

/** A last event may lack its blank line; half an event is a cut, not an answer without sense. */
function isWhole({ terminated, data }: SseEvent): boolean {
  if (terminated || data === undefined || data.trim() === "[DONE]") return true;
  try {
    JSON.parse(data);
    return true;
  } catch {
    return false;
  }
}

/** The two views as one when the second begins where the first ends. */
function adjacent(first: Uint8Array, second: Uint8Array): Uint8Array | undefined {
  if (first.buffer !== second.buffer || first.byteOffset + first.length !== second.byteOffset) {
    return undefined;
  }
  return new Uint8Array(first.buffer, first.byteOffset, first.length + second.length);
}
