import { dayMs, hourMs, startOfDay } from "../shared/time_span.ts";
import type { StepsOf, StoredStep } from "./label_step.ts";
import type { PackedStep, Ranks } from "./packed_step.ts";
import type { UsageQuery } from "./usage_sums.ts";

/** Sums of hours and days by label, kept so that no page adds them up from the calls. */
export interface LabelSumStore {
  /** Of these steps, the oldest first, those whose calls are still in these states. */
  read(of: StepsOf, steps: readonly StoredStep[]): Promise<StoredSums[]>;
  /** In the order of `slices`; undefined where the step is in that state no more. */
  slices(
    of: StepsOf,
    column: "records" | "names",
    slices: readonly StepSlice[],
  ): Promise<(Uint8Array | undefined)[]>;
}

/** What orders the values of a step, and how long its records are. */
export interface StoredSums extends Ranks {
  at: Date;
  layout: Uint8Array;
  /** Where they are short. */
  all?: Pick<PackedStep, "records" | "names">;
}

/** Bytes of a column; to its end without `length`. */
export interface StepSlice extends StoredStep {
  from: number;
  length?: number;
}

/** Finds and keeps them. Implemented in `src/usage/store/label_sums.ts`. */
export interface LabelSumKeeper {
  /** Up to `limit` accounts with calls, by id, behind this one. */
  accounts(after: number, limit: number): Promise<number[]>;
  /** Steps whose sums are missing or are of other calls, the newest first. */
  missing(query: UsageQuery): Promise<Date[]>;
  /** Adds up the calls of a step, and keeps the sums of each label. */
  keep(of: Omit<StepsOf, "label">, at: Date): Promise<void>;
  /** Deletes the sums of hours before this one. */
  dropHours(accountId: number, before: Date): Promise<void>;
}

export interface LabelSumsJobDeps {
  keeper: LabelSumKeeper;
  /** Wall clock. */
  now: () => Date;
}

/** The longest span that the overview offers, with the month before. */
const storedDays = 400;
/** More than the three that it shows by hour; of today alone it needs them for every span. */
const daysWithHours = 4;
/** When a round begins after an hour is over: what was under way then is mostly written by now. */
const delayMs = 5 * 60_000;
/** What one run may take, so that calls have the store for most of the time. */
const runMs = 4_000;
const accountsAtOnce = 100;

/**
 * Keeps the sums of hours and days that are over, account by account, the newest first. A run goes on
 * where the last one ended; with nothing left, the next round begins some minutes after the next hour.
 */
export function createLabelSumsJob({ keeper, now }: LabelSumsJobDeps): () => Promise<void> {
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
        await keeper.keep({ accountId, span }, at);
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
        if (isTimeUp() || !await keepAccount(accountId, isTimeUp)) return;
        after = accountId;
      }
    }
  };
}
