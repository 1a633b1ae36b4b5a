import type { Clock } from "../base/clock.ts";
import type { PushStream } from "../base/streams.ts";
import { Deadline, type SetTimer, systemSetTimer } from "../base/deadline.ts";
import type { Account } from "../keys/account.ts";
import { Fault } from "../shared/fault.ts";

/** How many streams an account may have, and how long one may go unread. */
export interface StreamLimits {
  /** Streams that an account may have under way; the free tier a tenth. */
  perAccount: number;
  /** A stream whose caller takes nothing for so long is ended. */
  unreadMs: number;
}

/** All streams under way. */
export interface OpenStreams {
  readonly unreadMs: number;
  readonly setTimer: SetTimer;
  /** Counts one in until the result is called. Throws `rate_limit_exceeded` beyond the limit. */
  enter(account: Pick<Account, "id" | "tier">): () => void;
  /** How many are under way. */
  readonly count: number;
}

/** Streams that end make room at any time. */
const retryAfterSeconds = 5;

export function createOpenStreams(
  limits: StreamLimits,
  setTimer: SetTimer = systemSetTimer,
): OpenStreams {
  const open = new Map<number, number>();
  let count = 0;
  return {
    unreadMs: limits.unreadMs,
    setTimer,
    get count() {
      return count;
    },
    enter({ id, tier }) {
      const most = tier === "free" ? Math.ceil(limits.perAccount / 10) : limits.perAccount;
      const before = open.get(id) ?? 0;
      if (before >= most) {
        throw new Fault("rate_limit_exceeded", {
          message: `This account has ${most} streams under way, as many as it may.`,
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
        const left = open.get(id)! - 1;
        if (left > 0) open.set(id, left);
        else open.delete(id);
      };
    },
  };
}

/** What breaks such a stream off. The listener prints it: one line is enough. */
export function unreadError(): Error {
  const message = "a caller took nothing of its stream for too long";
  return Object.assign(new Error(message), { stack: message });
}

/** Ends what a caller doesn't take: neither vendor nor journal is to wait for who reads nothing. */
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
    this.#deadline = new Deadline(clock, setTimer, () => {
      // Who is slow has taken something.
      if (this.#out.takenBytes > this.#takenBytes) this.#start();
      else expired();
    });
  }

  /** The caller has enough to read. */
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
