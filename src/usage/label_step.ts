import { dayMs, hourMs } from "../shared/time_span.ts";
import { callCounts, usageAmounts, type UsageQuery } from "./usage_sums.ts";

/** Labels of calls that `usage_sums` doesn't have: they are summed from the rows of calls. */
export type UsageLabel = "user" | "flow" | "cohort";
export const usageLabels: readonly UsageLabel[] = ["user", "flow", "cohort"];

/** The sums of one value: those of `UsageSums` except latencies. */
export const labelSums = [...callCounts, ...usageAmounts] as const;

export type LabelSum = typeof labelSums[number];

/** Sums of the calls of one hour or day by the values of a label: one number for each value. */
export interface LabelStep {
  /** The beginning of the hour or day. */
  at: Date;
  /** The first eight bytes of each value's SHA-256. */
  ids: Uint8Array;
  /** An empty text stands for calls without the label. */
  values: readonly string[];
  /**
   * Whole numbers, exact up to 2^53: nine million dollars of one value and day. A sum may be absent
   * if it is zero for all values.
   */
  sums: Readonly<Partial<Record<LabelSum, readonly number[] | Float64Array>>>;
}

/** An hour or day that has calls, with a text that changes whenever its calls do. */
export interface StoredStep {
  at: Date;
  state: string;
}

/** How long an hour or day is. */
export const stepMs = { hour: hourMs, day: dayMs } as const;

export type StoredSteps = (query: UsageQuery) => Promise<StoredStep[]>;

/** The account and label of steps, and whether they are hours or days. */
export interface StepsOf {
  accountId: number;
  label: UsageLabel;
  span: UsageQuery["span"];
}
