import type { Secret } from "../base/secret.ts";
import { type PushStream, pushStream } from "../base/streams.ts";
import { Fault } from "../shared/fault.ts";
import { isAbort, type UpstreamBody } from "../vendors/upstream.ts";
import type { VendorCallContext } from "../relay/ask_vendor.ts";
import type { Call } from "../relay/call.ts";
import type { Ending } from "../relay/call_facts.ts";
import type { OperationMeter } from "./operation_meter.ts";
import type { Reply } from "../relay/reply.ts";
import { unreadError, UnreadLimit } from "../relay/open_streams.ts";
import { longestDrainMs, StreamFailure } from "../relay/stream_forwarder.ts";

/** An answer that is passed on as it comes. */
export interface StreamAnswer {
  status: number;
  headers: Record<string, string>;
  /** The vendor's body, unread. */
  body: UpstreamBody;
  listener: StreamListener;
}

/** Sees a vendor's stream go by and says what the caller gets of it. */
export interface StreamListener {
  /** What the caller gets for a piece. A Fault that it throws ends the answer. */
  take(piece: Uint8Array): OperationStreamState;
  /** The vendor has closed its answer; a Fault that it throws says what is missing. */
  end(): Uint8Array | undefined;
  /** What tells the caller of a failure; undefined: the connection is broken off. */
  fail(fault: Fault): Uint8Array | undefined;
  /** Tells the meter what there was, as the call ends; gives the record's text. */
  settle(isComplete: boolean): { recordText?: string | undefined; isTruncated?: boolean };
}

export interface OperationStreamState {
  bytes?: Uint8Array | undefined;
  /** All has been said: the vendor's closing is not waited for. */
  isLast?: boolean;
}

/** How long a vendor that has said all may take to close. */
const lastWordsMs = 100;

/**
 * Passes a vendor's answer on. Resolves once its first piece has come, so that a failure before it
 * is an ordinary error answer; rejects with that failure.
 */
export function forwardOperation(
  parts: Parts,
): Promise<Reply> {
  return new Promise((resolve, reject) => new OperationStream(parts, resolve, reject).run());
}

type Parts = VendorCallContext & {
  call: Call<OperationMeter>;
  answer: StreamAnswer;
  key: Secret;
  nowMs: () => number;
  /** Tells the meter of an answer that can't be read, and why. */
  unread: (thrown: unknown) => void;
};

function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

class OperationStream {
  readonly #parts: Parts;
  readonly #resolve: (reply: Reply) => void;
  readonly #reject: (thrown: unknown) => void;
  readonly #out: PushStream = pushStream();
  readonly #unread: UnreadLimit;
  #isAnswered = false;
  #isOver = false;
  #callerLeft = false;
  #isLast = false;
  #lastWords: ReturnType<typeof setTimeout> | undefined;
  #stopDraining = () => {};
  /** What comes after the last words is held back until the call's end is on record. */
  #tail: Uint8Array[] = [];

  constructor(parts: Parts, resolve: (reply: Reply) => void, reject: (thrown: unknown) => void) {
    this.#parts = parts;
    this.#resolve = resolve;
    this.#reject = reject;
    const clock = { monotonicMs: parts.nowMs };
    this.#unread = new UnreadLimit(this.#out, parts.call.streams, clock, () => {
      this.#guard(() => this.#leave());
      this.#out.error(unreadError());
    });
  }

  get #body(): UpstreamBody {
    return this.#parts.answer.body;
  }

  run(): void {
    this.#out.onCancel(() => this.#guard(() => this.#leave()));
    this.#out.onDrain(() => {
      this.#unread.caughtUp();
      this.#body.resume();
    });
    this.#body.onData({
      data: (piece) => this.#guard(() => this.#take(piece)),
      end: () => this.#guard(() => this.#end()),
      error: (thrown) => this.#guard(() => this.#broken(thrown)),
    });
  }

  /** A failure of our own in an event handler must end the call, not the process. */
  #guard(act: () => void): void {
    if (this.#isOver) return;
    try {
      this.#parts.call.working();
      act();
    } catch (thrown) {
      this.#fail(thrown instanceof Fault ? thrown : new Fault("internal_error", { cause: thrown }));
    }
  }

  #take(piece: Uint8Array): void {
    const { bytes, isLast = false } = this.#parts.answer.listener.take(piece);
    this.#parts.call.meter.began();
    this.#answer();
    if (isLast) {
      this.#isLast = true;
      this.#lastWords ??= setTimeout(() => this.#guard(() => this.#end()), lastWordsMs);
    }
    if (!bytes || this.#callerLeft) return;
    if (this.#isLast) this.#tail.push(bytes);
    else if (!this.#out.push(bytes)) {
      this.#body.pause();
      this.#unread.behind();
    }
  }

  #answer(): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    const { status, headers } = this.#parts.answer;
    const { "content-length": _length, ...others } = headers;
    const unbuffered = { "cache-control": "no-store", "x-accel-buffering": "no" };
    this.#resolve({ status, headers: { ...others, ...unbuffered }, body: this.#out.stream });
  }

  /** The vendor closed its answer, or had said all. */
  #end(): void {
    const rest = this.#parts.answer.listener.end();
    if (!this.#isAnswered && rest === undefined) {
      throw new Fault("upstream_invalid_response", { note: "an answer without a byte" });
    }
    this.#answer();
    const status = this.#callerLeft ? "cancelled" : "completed";
    const { status: httpStatus } = this.#parts.answer;
    const last = [...this.#tail, ...(rest ? [rest] : [])];
    this.#finish({ status, httpStatus }, { last, isComplete: true });
    // Its connection is not waited for.
    this.#body.destroy();
  }

  #broken(thrown: unknown): void {
    if (isAbort(thrown)) {
      if (this.#isAnswered) return this.#leave();
      this.#stop();
      return this.#reject(thrown);
    }
    // After the last words nothing is missing, whatever the connection does.
    if (this.#isLast) return this.#end();
    this.#fail(
      thrown instanceof Fault ? thrown : new Fault("upstream_stream_truncated", { cause: thrown }),
    );
  }

  #fail(fault: Fault): void {
    this.#body.destroy();
    const isCut = fault.code === "upstream_stream_truncated";
    const status = isCut ? "truncated" : "failed";
    if (!this.#isAnswered) {
      this.#stop();
      return this.#reject(new StreamFailure(fault, status));
    }
    const bytes = attempt(() => this.#parts.answer.listener.fail(fault));
    const ending: Ending = {
      status: this.#callerLeft ? "cancelled" : status,
      httpStatus: this.#parts.answer.status,
      errorCode: fault.code,
    };
    const last = [...this.#tail, ...(bytes ? [bytes] : [])];
    this.#finish(ending, { last, isComplete: false, broken: bytes ? undefined : fault });
  }

  /** The call's end is on record before the answer's end leaves. */
  #finish(
    ending: Ending,
    { last, isComplete, broken }: {
      last: readonly Uint8Array[];
      isComplete: boolean;
      broken?: Fault | undefined;
    },
  ): void {
    this.#stop();
    const { recordText, isTruncated } = this.#heard(isComplete);
    void this.#parts.call.settle({
      ...ending,
      ...(recordText === undefined ? {} : { responseText: recordText }),
      isTruncated,
    }).finally(() => {
      for (const bytes of last) this.#out.push(bytes);
      if (broken) this.#out.error(broken);
      else this.#out.close();
    });
  }

  /** Where the listener can't say what there was, the call came to what was asked for. */
  #heard(isComplete: boolean): { recordText?: string | undefined; isTruncated: boolean } {
    try {
      return { isTruncated: false, ...this.#parts.answer.listener.settle(isComplete) };
    } catch (thrown) {
      this.#parts.unread(thrown);
      return { isTruncated: true };
    }
  }

  #stop(): void {
    this.#isOver = true;
    clearTimeout(this.#lastWords);
    this.#stopDraining();
    this.#unread.stop();
  }

  #leave(): void {
    if (this.#isOver || this.#callerLeft) return;
    this.#callerLeft = true;
    this.#unread.stop();
    if (this.#parts.caller.principal.key.onDisconnect !== "drain") return this.#cancel();
    this.#stopDraining = this.#parts.call.streams.later(
      longestDrainMs,
      () => this.#guard(() => this.#cancel()),
    );
    this.#body.resume();
  }

  #cancel(): void {
    this.#body.destroy();
    const ending: Ending = { status: "cancelled", httpStatus: this.#parts.answer.status };
    this.#finish(ending, { last: [], isComplete: this.#isLast });
  }
}
