import type { Clock } from "../base/clock.ts";
import { Deadline, type SetTimer, systemSetTimer, within } from "../base/deadline.ts";
import type { PushStream } from "../base/streams.ts";
import type { Account } from "../keys/account.ts";
import { Fault } from "../shared/fault.ts";

/**
 * How many streams, and whole answers that are drained, an account may have, and how long a stream
 * may go unread.
 */
export interface StreamLimits {
  /** What an account may have under way; the free tier a tenth. */
  perAccount: number;
  /** A stream is ended if its caller reads nothing for this long. */
  unreadMs: number;
}

/** How long an answer is drained after its caller has left. */
export const longestDrainMs = 15 * 60_000;
/** Streams end all the time, and make room. */
const retryAfterSeconds = 5;

/** All streams and drained calls under way. */
export class OpenStreams {
  readonly unreadMs: number;
  readonly setTimer: SetTimer;
  readonly #perAccount: number;
  readonly #open = new Map<number, number>();
  #count = 0;
  /** Of answers that are read to their end although their callers have left. */
  readonly #cuts = new Set<() => void>();
  #onNoneLeft = () => {};

  constructor({ perAccount, unreadMs }: StreamLimits, setTimer: SetTimer = systemSetTimer) {
    this.#perAccount = perAccount;
    this.unreadMs = unreadMs;
    this.setTimer = setTimer;
  }

  /** How many are under way. */
  get count(): number {
    return this.#count;
  }

  /** How many answers are read on although their callers have left. */
  get left(): number {
    return this.#cuts.size;
  }

  /**
   * Counts a stream until the returned function is called. Throws `rate_limit_exceeded` beyond the
   * limit.
   */
  enter({ id, tier }: Pick<Account, "id" | "tier">): () => void {
    const most = tier === "free" ? Math.ceil(this.#perAccount / 10) : this.#perAccount;
    const before = this.#open.get(id) ?? 0;
    if (before >= most) {
      throw new Fault("rate_limit_exceeded", {
        message: `This account already has ${most} streams open, which is its limit; ` +
          "any call of a key that drains counts as one.",
        retryAfterSeconds,
      });
    }
    this.#open.set(id, before + 1);
    this.#count++;
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      this.#count--;
      const others = this.#open.get(id)! - 1;
      if (others > 0) this.#open.set(id, others);
      else this.#open.delete(id);
    };
  }

  /**
   * The caller has left an answer that is still read. Calls `cut` after `ms`, or when `drain` is
   * over, unless the returned function is called first: the answer has ended.
   */
  readOn(ms: number, cut: () => void): () => void {
    const stopTimer = this.setTimer(ms, cut);
    this.#cuts.add(cut);
    return () => {
      stopTimer();
      if (this.#cuts.delete(cut) && this.#cuts.size === 0) this.#onNoneLeft();
    };
  }

  /** Waits, at most `ms`, for answers that their callers have left; then cuts them off. */
  async drain(ms: number): Promise<void> {
    if (this.#cuts.size === 0) return;
    const none = Promise.withResolvers<void>();
    this.#onNoneLeft = none.resolve;
    await within(ms, none.promise, undefined, this.setTimer);
    for (const cut of this.#cuts) cut();
  }
}

/** Ends a stream that its caller stops reading, so that neither vendor nor journal waits for it. */
export class UnreadLimit {
  readonly #out: Pick<PushStream, "takenBytes">;
  readonly #afterMs: number;
  readonly #deadline: Deadline;
  #isBehind = false;
  #takenBytes = 0;

  constructor(
    out: Pick<PushStream, "takenBytes">,
    { unreadMs, setTimer }: Pick<OpenStreams, "unreadMs" | "setTimer">,
    clock: Pick<Clock, "monotonicMs">,
    expired: () => void,
  ) {
    this.#out = out;
    this.#afterMs = unreadMs;
    // Starvation-tolerant: a blocked process doesn't see what its callers have read.
    this.#deadline = new Deadline(clock, setTimer, () => {
      // A caller that has read something is slow, not gone.
      if (this.#out.takenBytes > this.#takenBytes) this.#start();
      else expired();
    }, true);
  }

  /** The caller is behind: its buffer is full. */
  behind(): void {
    if (this.#isBehind) return;
    this.#isBehind = true;
    this.#start();
  }

  drained(): void {
    this.#isBehind = false;
    this.#deadline.suspend();
  }

  stop(): void {
    this.#deadline.stop();
  }

  #start(): void {
    this.#takenBytes = this.#out.takenBytes;
    this.#deadline.limit(this.#afterMs);
  }
}
