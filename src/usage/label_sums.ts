import { dayMs, hourMs, startOfDay } from "../shared/time_span.ts";
import type { StepsOf, StoredStep } from "./label_step.ts";
import type { PackedStep, Ranks } from "./packed_step.ts";
import type { UsageQuery } from "./usage_sums.ts";

/** Stored sums of hours and days by label, so that pages needn't add them up from the calls. */
export interface LabelSumStore {
  /**
   * Reads those of `steps`, which must be sorted by time, whose calls are still in their states.
   * Returns them in no order.
   */
  read(of: StepsOf, steps: readonly StoredStep[]): Promise<StoredSums[]>;
  /** Reads `slices`, in their order; undefined where a step is no longer in its state. */
  slices(
    of: StepsOf,
    column: "records" | "names",
    slices: readonly StepSlice[],
  ): Promise<(Uint8Array | undefined)[]>;
}

/** The sums by which a step's values are ranked, and the layout of its records. */
export interface StoredSums extends Ranks {
  at: Date;
  layout: Uint8Array;
  /** All records and names, if they are short. */
  all?: Pick<PackedStep, "records" | "names">;
}

/** A range of bytes of a column; without `length`, to its end. */
export interface StepSlice extends StoredStep {
  from: number;
  length?: number;
}

/** Finds missing sums and stores them. Implemented in `src/usage/store/label_sums.ts`. */
export interface LabelSumWriter {
  /** Returns the ids of up to `limit` accounts with calls, in order, after this one. */
  accounts(after: number, limit: number): Promise<number[]>;
  /** Returns the steps whose sums are missing or out of date, the newest first. */
  missing(query: UsageQuery): Promise<Date[]>;
  /** Adds up the calls of a step, and stores the sums of each label. */
  store(of: Omit<StepsOf, "label">, at: Date): Promise<void>;
  /** Deletes the sums of hours before this one. */
  dropHours(accountId: number, before: Date): Promise<void>;
}

/** Covers the longest span that the overview offers, and the month before it. */
const storedDays = 400;
/**
 * More than the three days that the overview shows by hour; longer spans need hours of today only.
 */
const daysWithHours = 4;
/** How long after the hour a round begins: by then most calls that were under way are written. */
const delayMs = 5 * 60_000;
/** The longest time that one run takes, which leaves the store to calls for most of the time. */
const runMs = 4_000;
const accountsAtOnce = 100;

/**
 * Builds a job that stores the sums of past hours and days, account by account, the newest first. A
 * run continues where the last one ended. When nothing is left, the next round begins some minutes
 * after the next hour. `now` is the wall clock.
 */
export function createLabelSumsJob({ keeper, now }: {
  keeper: LabelSumWriter;
  now: () => Date;
}): () => Promise<void> {
  let round: number | undefined;
  let after = 0;
  let isDone = false;
  const keepAccount = async (accountId: number, isTimeUp: () => boolean): Promise<boolean> => {
    const time = now();
    const today = startOfDay(time);
    const firstHour = new Date(today.getTime() - (daysWithHours - 1) * dayMs);
    const spans = {
      hour: { from: firstHour, to: new Date(Math.floor(time.getTime() / hourMs) * hourMs) },
      day: { from: new Date(today.getTime() - storedDays * dayMs), to: today },
    };
    await keeper.dropHours(accountId, firstHour);
    for (const span of ["hour", "day"] as const) {
      for (const at of await keeper.missing({ accountId, span, ...spans[span] })) {
        if (isTimeUp()) return false;
        await keeper.store({ accountId, span }, at);
      }
    }
    return true;
  };
  return async () => {
    const began = now().getTime();
    const due = Math.floor((began - delayMs) / hourMs);
    if (round === undefined || due !== round && isDone) [round, after, isDone] = [due, 0, false];
    const isTimeUp = () => now().getTime() - began >= runMs;
    while (!isDone && !isTimeUp()) {
      const accounts = await keeper.accounts(after, accountsAtOnce);
      if (accounts.length === 0) isDone = true;
      for (const accountId of accounts) {
        if (isTimeUp()) return;
        try {
          if (!await keepAccount(accountId, isTimeUp)) return;
        } catch (thrown) {
          // Its turn comes again in the next round; until then it holds up no other account.
          after = accountId;
          throw thrown;
        }
        after = accountId;
      }
    }
  };
}
