import { type SetTimer, systemSetTimer } from "../base/deadline.ts";
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
}

/** Streams end all the time, and make room. */
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
        const left = open.get(id)! - 1;
        if (left > 0) open.set(id, left);
        else open.delete(id);
      };
    },
  };
}
