import { type SetTimer, systemSetTimer, within } from "../base/deadline.ts";
import type { Account } from "../keys/account.ts";
import { Fault } from "../shared/fault.ts";

/** How many streams an account may have, and how long one may go unread. */
export interface StreamLimits {
  /** Streams that an account may have under way; the free tier a tenth. */
  perAccount: number;
  /** A stream is ended if its caller reads nothing for this long. */
  unreadMs: number;
}

/** All streams under way. */
export interface OpenStreams {
  readonly unreadMs: number;
  readonly setTimer: SetTimer;
  /**
   * Counts a stream until the returned function is called. Throws `rate_limit_exceeded` beyond the
   * limit.
   */
  enter(account: Pick<Account, "id" | "tier">): () => void;
  /** How many are under way. */
  readonly count: number;
  /**
   * The caller has left a stream that is still read. Calls `cut` after `ms`, or when `drain` is
   * over, unless the returned function is called first: the stream has ended.
   */
  readOn(ms: number, cut: () => void): () => void;
  /** Waits, at most `ms`, for streams that their callers have left; then cuts them off. */
  drain(ms: number): Promise<void>;
}

/** Streams end all the time, and make room. */
const retryAfterSeconds = 5;

export function createOpenStreams(
  limits: StreamLimits,
  setTimer: SetTimer = systemSetTimer,
): OpenStreams {
  const open = new Map<number, number>();
  let count = 0;
  const left = new LeftStreams(setTimer);
  return {
    unreadMs: limits.unreadMs,
    setTimer,
    get count() {
      return count;
    },
    readOn: (ms, cut) => left.readOn(ms, cut),
    drain: (ms) => left.drain(ms),
    enter({ id, tier }) {
      const most = tier === "free" ? Math.ceil(limits.perAccount / 10) : limits.perAccount;
      const before = open.get(id) ?? 0;
      if (before >= most) {
        throw new Fault("rate_limit_exceeded", {
          message: `This account already has ${most} streams open, which is its limit.`,
          retryAfterSeconds,
        });
      }
      open.set(id, before + 1);
      count++;
      let isIn = true;
      return () => {
        if (!isIn) return;
        isIn = false;
        count--;
        const others = open.get(id)! - 1;
        if (others > 0) open.set(id, others);
        else open.delete(id);
      };
    },
  };
}

/** The streams that are read to their end although their callers have left. */
class LeftStreams {
  readonly #setTimer: SetTimer;
  readonly #cuts = new Set<() => void>();
  #onNone = () => {};

  constructor(setTimer: SetTimer) {
    this.#setTimer = setTimer;
  }

  readOn(ms: number, cut: () => void): () => void {
    const stopTimer = this.#setTimer(ms, cut);
    this.#cuts.add(cut);
    return () => {
      stopTimer();
      if (this.#cuts.delete(cut) && this.#cuts.size === 0) this.#onNone();
    };
  }

  async drain(ms: number): Promise<void> {
    if (this.#cuts.size === 0) return;
    const none = Promise.withResolvers<void>();
    this.#onNone = none.resolve;
    await within(ms, none.promise, undefined, this.#setTimer);
    for (const cut of this.#cuts) cut();
  }
}
