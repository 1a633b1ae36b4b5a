import { SseEventTooLargeError } from "../base/sse.ts";
import { type PushStream, pushStream } from "../base/streams.ts";
import type { OnDisconnect } from "../keys/api_key.ts";
import { Fault, messageOf } from "../shared/fault.ts";
import { isAbort, type UpstreamBody } from "../vendors/upstream.ts";
import { UpstreamAborted } from "../vendors/upstream_failure.ts";
import type { Call } from "./call.ts";
import type { Ending } from "./ending.ts";
import type { CallTrace } from "./call_context.ts";
import type { CallMeter } from "./meter.ts";
import type { Step } from "../base/heavy_work.ts";
import { Deadline } from "../base/deadline.ts";
import { KeepAlive } from "./keep_alive.ts";
import { longestDrainMs, UnreadLimit } from "./open_streams.ts";

/** The headers are held back while only comments come: for no longer, and with no more bytes. */
const commentGraceMs = 5_000;
const maxCommentBytes = 64 * 1024;
/**
 * Work on a stream is reported (`Call.working`) once per this many bytes: one small piece blocks
 * nobody.
 */
const notedBytes = 16 * 1024;
/** The record of a longer stream takes milliseconds to make: about three per megabyte. */
const lightBytes = 64 * 1024;
/** Of a longer stream than this, an answer in large pieces may take more than 50 ms. */
const heavyBytes = 2 * 1024 * 1024;
/** How long to wait for the vendor to close after its last event; usage may follow it. */
const closeGraceMs = 100;
/**
 * How long the vendor may be silent where only usage and its last event can be missing. The usage of
 * some aggregators takes a few seconds.
 */
const endGraceMs = 10_000;

/** Reads a vendor's stream and decides what the caller gets of it. */
export interface StreamListener {
  /**
   * Takes a piece of the vendor's body. What it throws ends the answer. Until the promise that it
   * may return is settled, nothing else is called.
   */
  take(piece: Uint8Array, output: StreamOutput): Promise<void> | void;
  /** Takes what is left at the end of the body, as `take` does. Absent: nothing is. */
  takeLast?(output: StreamOutput): Promise<void> | void;
  /**
   * The vendor has closed its stream, or its time to do so is over. Returns the bytes that end the
   * caller's answer; throws a fault if the answer is incomplete.
   */
  end(output: StreamOutput): Uint8Array | undefined;
  /**
   * Returns the bytes that tell the caller of a failure; undefined: the connection is broken off
   * instead.
   */
  fail(fault: Fault): Uint8Array | undefined;
  /** Called once, when an answer that had begun ends: reports to the meter what is left. */
  settle(isComplete: boolean): StreamRecord;
  /**
   * Whether the answer may be complete by now, but for an event that says so. A caller that leaves
   * then has not cancelled it, and a connection that breaks then has not truncated it.
   */
  readonly mayBeWhole?: boolean;
  /** Sent whenever the stream was silent for `afterMs`; absent where nothing may be inserted. */
  readonly keepAlive?: { afterMs: number; bytes(): Uint8Array } | undefined;
}

/** A streamed answer for its record. */
export interface StreamRecord {
  /** JSON text; absent: the fold of the meter's events. */
  recordText?: string | undefined;
  isTruncated?: boolean;
}

/** The caller's side of a stream, as its listener uses it. */
export interface StreamOutput {
  /** The caller has the headers: a failure can no longer be an error answer. */
  readonly hasBegun: boolean;
  /** Begins the answer: something other than comments has come. */
  begin(): void;
  /**
   * Notes that the vendor's last event has come. What is sent from now on waits for the call's
   * record.
   */
  complete(): void;
  /**
   * Notes whether only usage and the last event can be missing. If so, the answer ends as soon as the
   * vendor has been silent for a while.
   */
  mayEnd(may: boolean): void;
  send(bytes: Uint8Array): void;
}

export interface ForwardDeps {
  call: Call<CallMeter>;
  listener: StreamListener;
  /** The vendor's body, unread. */
  body: UpstreamBody;
  onDisconnect: OnDisconnect;
  /** Aborts when the caller leaves. */
  signal: AbortSignal;
  /** Who `outlivesCaller` is completed by an answer that is read to its end. */
  trace: Pick<CallTrace, "outlivesCaller" | "stream">;
  /** Status that the caller receives with the stream. */
  httpStatus: number;
  /** A monotonic clock. */
  nowMs: () => number;
  /** See `CallContext`. */
  heavyStep?: (() => Step) | undefined;
}

/**
 * Forwards a vendor's stream through its listener and settles the call when the stream ends,
 * however it ends. Resolves with the caller's stream once the answer has begun. Rejects on a
 * failure before that, which becomes an ordinary error answer, and leaves the call to be settled.
 */
export function forwardStream(deps: ForwardDeps): Promise<ReadableStream<Uint8Array>> {
  return new Promise((resolve, reject) => new StreamForwarder(deps, resolve, reject).run());
}

class StreamForwarder implements StreamOutput {
  readonly #deps: ForwardDeps;
  readonly #resolve: (stream: ReadableStream<Uint8Array>) => void;
  readonly #reject: (thrown: unknown) => void;
  readonly #caller: PushStream = pushStream();
  readonly #keepAlive: KeepAlive;
  readonly #unread: UnreadLimit;
  /** Ends the answer of a vendor that leaves its connection open. */
  readonly #ending: Deadline;
  readonly #startedMs: number;
  #hasBegun = false;
  /** What the caller receives; null if it left before the answer began. */
  #httpStatus: number | null;
  #isComplete = false;
  /** At most usage and the vendor's last event are missing. */
  #mayEnd = false;
  #isOver = false;
  #callerLeft = false;
  /** The caller left with what may be the whole answer. */
  #leftWithWhole = false;
  #isCompleted = false;
  #isBehind = false;
  /**
   * Bytes taken since work was last reported; at first so many that the first piece is reported.
   */
  #unnotedBytes = notedBytes;
  #takenBytes = 0;
  #stopDraining = () => {};
  readonly #left = () => {
    const { isWhole } = this; // As of now: a piece may be under way.
    this.#guard(() => this.#leave(isWhole));
  };
  /** While a piece takes its time, whatever happens next waits for it. */
  #taking: Promise<void> | undefined;
  #leaveTaking: (() => void) | undefined;
  /** The end of the caller's answer, held back until the call's end is recorded. */
  #tail: Uint8Array[] = [];
  /** Comments before the first event, held back with the headers. */
  #comments: Uint8Array[] = [];
  #commentBytes = 0;

  constructor(
    deps: ForwardDeps,
    resolve: (stream: ReadableStream<Uint8Array>) => void,
    reject: (thrown: unknown) => void,
  ) {
    this.#deps = deps;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#httpStatus = deps.httpStatus;
    this.#startedMs = deps.nowMs();
    const clock = { monotonicMs: deps.nowMs };
    this.#keepAlive = new KeepAlive({
      afterMs: deps.listener.keepAlive?.afterMs ?? 0,
      clock,
      send: () => this.#guard(() => this.#breakSilence(), true),
    });
    this.#ending = new Deadline(clock, deps.call.streams.setTimer, () => {
      // More may have come, unread.
      if ((this.#isBehind || this.#taking) && !this.#isComplete) this.mayEnd(true);
      else this.#guard(() => this.#end());
    }, true);
    this.#unread = new UnreadLimit(this.#caller, deps.call.streams, clock, () => {
      this.#guard(() => this.#leave());
      this.#caller.breakOff(unreadError());
    });
  }

  run(): void {
    const { onDisconnect, signal, trace } = this.#deps;
    trace.stream = this;
    this.#keepAlive.reset();
    this.#caller.onCancel(this.#left);
    this.#caller.onDrain(() => {
      this.#isBehind = false;
      this.#unread.drained();
      if (!this.#taking) this.#deps.body.resume();
    });
    this.#deps.body.onData({
      data: (piece) => this.#take(piece),
      end: () => this.#guard(() => this.#end()),
      error: (thrown) => this.#guard(() => this.#broken(thrown)),
    });
    if (onDisconnect !== "drain") return;
    // Nobody cancels an answer that has not begun, or its copy for repeats.
    if (signal.aborted) this.#left();
    else signal.addEventListener("abort", this.#left);
  }

  #take(piece: Uint8Array): void {
    if (this.#isOver) return;
    if (this.#taking) return void this.#taking.then(() => this.#take(piece));
    this.#takenBytes += piece.length;
    this.#unnotedBytes += piece.length;
    try {
      if (this.#unnotedBytes >= notedBytes) {
        this.#unnotedBytes = 0;
        this.#deps.call.noteWork();
      }
      const taking = this.#deps.listener.take(piece, this);
      if (taking) this.#await(taking);
    } catch (thrown) {
      this.#fail(faultOf(thrown));
    }
  }

  #await(taking: Promise<void>): void {
    const { body, call } = this.#deps;
    body.pause();
    // A stop of the service waits for the piece, and for whatever waits for it.
    this.#leaveTaking ??= call.streams.readOn(longestDrainMs, () => {});
    const taken = taking.catch((thrown) => this.#fail(faultOf(thrown))).then(() => {
      this.#taking = undefined;
    });
    this.#taking = taken;
    // What has come meanwhile has its turn one microtask before what is yet to be read.
    void taken.then(() => {}).then(() => {
      if (this.#taking) return;
      this.#leaveTaking?.();
      this.#leaveTaking = undefined;
      if (!this.#isBehind) body.resume();
    });
  }

  /**
   * A failure of our own in an event handler must end the call, not the process. `isAtOnce`: doesn't
   * wait for a piece that takes its time, which sends whole events.
   */
  #guard(act: () => void, isAtOnce = false): void {
    if (this.#isOver) return;
    if (this.#taking && !isAtOnce) return void this.#taking.then(() => this.#guard(act));
    try {
      this.#deps.call.noteWork();
      act();
    } catch (thrown) {
      this.#fail(faultOf(thrown));
    }
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  get isWhole(): boolean {
    return this.#isCompleted || this.#deps.listener.mayBeWhole === true;
  }

  begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    if (this.#deps.signal.aborted) this.#httpStatus = null;
    this.#resolve(this.#caller.stream);
    for (const bytes of this.#comments) this.send(bytes);
    this.#comments = [];
  }

  complete(): void {
    if (this.#isComplete) return;
    this.#isComplete = true;
    this.#ending.limit(closeGraceMs);
  }

  mayEnd(may: boolean): void {
    this.#mayEnd = may;
    if (this.#isComplete) return;
    if (may) this.#ending.limit(endGraceMs);
    else this.#ending.suspend();
  }

  send(bytes: Uint8Array): void {
    if (this.#callerLeft && !this.#deps.trace.outlivesCaller) return;
    if (!this.#hasBegun) {
      this.#comments.push(bytes);
      this.#commentBytes += bytes.length;
      const isLong = this.#commentBytes > maxCommentBytes;
      if (isLong || this.#deps.nowMs() - this.#startedMs > commentGraceMs) this.begin();
      return;
    }
    if (this.#isComplete) this.#tail.push(bytes);
    else this.#push(bytes);
  }

  /** Sends to the caller; the vendor's body is read at the caller's pace. */
  #push(bytes: Uint8Array): void {
    this.#keepAlive.reset();
    this.#isBehind = !this.#caller.push(bytes);
    if (!this.#isBehind) return;
    this.#deps.body.pause();
    // The listener ends the connection of a caller who reads nothing; the copy for repeats goes on.
    if (!this.#deps.trace.outlivesCaller) this.#unread.behind();
  }

  /**
   * Sends a keep-alive, and begins the answer if it has not begun: a vendor that answered 200 and
   * is silent is working.
   */
  #breakSilence(): void {
    const { keepAlive } = this.#deps.listener;
    // A caller that is behind still has unread bytes.
    if (!keepAlive || this.#callerLeft || this.#isBehind || this.#isComplete) return;
    this.begin();
    this.#push(keepAlive.bytes());
  }

  /**
   * The vendor has closed its stream in order, or its time to do so after the last event is over.
   */
  #end(): void {
    const taking = this.#deps.listener.takeLast?.(this);
    if (taking) {
      this.#await(taking);
      return this.#guard(() => this.#end());
    }
    const last = this.#deps.listener.end(this);
    this.begin();
    this.#finish(this.#wellEnded(true), {
      last: [...this.#tail, ...(last ? [last] : [])],
      isComplete: true,
    });
    // Don't wait for a connection that the vendor leaves open.
    this.#deps.body.destroy();
  }

  /** The connection broke, fell silent or was aborted. */
  #broken(thrown: unknown): void {
    if (isAbort(thrown)) return this.#aborted(thrown);
    const fellSilent = thrown instanceof Fault && thrown.code === "upstream_timeout";
    // After the last event the answer is complete, whatever the connection does.
    const isWhole = this.#isComplete || this.#deps.listener.mayBeWhole;
    if (isWhole || (fellSilent && this.#mayEnd)) return this.#end();
    this.#fail(
      thrown instanceof Fault ? thrown : new Fault("upstream_stream_truncated", { cause: thrown }),
    );
  }

  /**
   * The vendor request was aborted because the caller left; the caller's stream may not know yet.
   */
  #aborted(thrown: unknown): void {
    if (this.#hasBegun) return this.#leave();
    this.#stop();
    this.#reject(thrown);
  }

  #fail(fault: Fault): void {
    this.#deps.body.destroy();
    if (!this.#hasBegun) {
      this.#stop();
      return this.#reject(new StreamFailure(fault));
    }
    const message = this.#failureMessage(fault);
    this.#finish({
      status: this.#callerLeft ? "cancelled" : failedStatus(fault.code),
      httpStatus: this.#httpStatus,
      errorCode: fault.code,
      fault,
    }, {
      last: [...this.#tail, ...(message ? [message] : [])],
      isComplete: false,
      breakOff: message ? undefined : fault,
    });
  }

  /**
   * Returns the listener's message; undefined where the caller's dialect can no longer express a
   * failure.
   */
  #failureMessage(fault: Fault): Uint8Array | undefined {
    try {
      return this.#deps.listener.fail(fault);
    } catch {
      return undefined;
    }
  }

  #wellEnded(isWhole: boolean): Ending {
    const readsToEnd = isWhole && this.#deps.trace.outlivesCaller === true;
    const isCancelled = this.#callerLeft && !this.#leftWithWhole && !readsToEnd;
    const status = isCancelled ? "cancelled" : "completed";
    return { status, httpStatus: this.#httpStatus };
  }

  /**
   * Records the call's end before the answer's last byte leaves. With `breakOff` the connection is
   * broken off, since nothing could tell the caller how the answer ended.
   */
  #finish(
    ending: Ending,
    { last, isComplete, breakOff }: {
      last: readonly Uint8Array[];
      isComplete: boolean;
      breakOff?: Fault | undefined;
    },
  ): void {
    this.#stop();
    this.#isCompleted = ending.status === "completed";
    const { call, heavyStep } = this.#deps;
    let recorded: Ending | undefined;
    const record = () => recorded ??= this.#recorded(ending, isComplete);
    const settle = () =>
      void call.settle(record()).finally(() => {
        for (const bytes of last) this.#caller.push(bytes);
        if (breakOff) this.#caller.error(breakOff);
        else this.#caller.close();
      });
    // The record of an answer that was cut off is lighter: nothing is stored for later turns.
    const isLong = isComplete && this.#takenBytes > heavyBytes;
    const isWaitedFor = isComplete && !this.#callerLeft;
    const isAtOnce = !isLong && (isWaitedFor || this.#takenBytes <= lightBytes);
    const step = isAtOnce ? undefined : heavyStep?.();
    if (!step) return settle();
    const prepare = async () => await call.prepareEnd(await step(record), step);
    this.#inTurn(step, settle, isLong ? prepare : undefined);
  }

  /**
   * When a proxy in front or a vendor fails, all its streams are cut off in one turn of the event
   * loop: their records are made one after the other, with others' work in between. `prepare`: what a
   * long answer needs before.
   */
  #inTurn(step: Step, settle: () => void, prepare?: () => Promise<void>): void {
    const { call } = this.#deps;
    let isSettled = false;
    const settleOnce = () => {
      if (isSettled) return;
      isSettled = true;
      leaveQueue();
      call.noteWork();
      settle();
    };
    // A stop of the service waits for it.
    const leaveQueue = call.streams.readOn(longestDrainMs, settleOnce);
    void (prepare ? prepare().catch(() => {}).then(() => step(settleOnce)) : step(settleOnce));
  }

  #recorded(ending: Ending, isComplete: boolean): Ending {
    const { recordText, isTruncated = false } = this.#record(isComplete);
    const responseText = recordText === undefined ? {} : { responseText: recordText };
    return { ...ending, ...responseText, isTruncated };
  }

  #record(isComplete: boolean): StreamRecord {
    try {
      return this.#deps.listener.settle(isComplete);
    } catch (thrown) {
      this.#deps.call.stepFailed("answer", thrown);
      return { isTruncated: true };
    }
  }

  #stop(): void {
    this.#isOver = true;
    this.#deps.signal.removeEventListener("abort", this.#left);
    this.#ending.stop();
    this.#stopDraining();
    this.#keepAlive.stop();
    this.#unread.stop();
  }

  #leave(isWhole = this.isWhole): void {
    if (this.#callerLeft) return;
    this.#callerLeft = true;
    this.#leftWithWhole = isWhole;
    this.#keepAlive.stop();
    this.#unread.stop();
    if (this.#deps.onDisconnect !== "drain") return isWhole ? this.#end() : this.#cancel();
    this.#stopDraining = this.#deps.call.streams.readOn(
      longestDrainMs,
      () => this.#guard(() => this.#cancel()),
    );
    this.#isBehind = false;
    this.#deps.body.resume();
  }

  #cancel(): void {
    this.#deps.body.destroy();
    if (!this.#hasBegun) return this.#aborted(new UpstreamAborted());
    const isComplete = this.#isComplete || this.#leftWithWhole;
    this.#finish(this.#wellEnded(false), { last: [], isComplete });
  }
}

/** A stream that failed before its first event: the caller gets an ordinary error answer. */
export class StreamFailure extends Error {
  constructor(readonly fault: Fault) {
    super(fault.message);
  }
}

/** Returns the recorded status of a call that failed with this code. */
export function failedStatus(code: Fault["code"]): "failed" | "truncated" {
  return code === "upstream_stream_truncated" ? "truncated" : "failed";
}

/** The fault for an event that could not be handled: the thrown one, else an internal error. */
function faultOf(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown;
  const note = messageOf(thrown);
  return thrown instanceof SseEventTooLargeError
    ? new Fault("upstream_invalid_response", { note })
    : new Fault("internal_error", { cause: thrown, note });
}

/**
 * Makes the error that breaks off an unread stream. The HTTP listener prints it, so its stack is
 * one line.
 */
function unreadError(): Error {
  const message = "a caller stopped reading its stream";
  return Object.assign(new Error(message), { stack: message });
}
