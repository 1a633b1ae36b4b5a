import { valuesByName } from "../base/lists.ts";
import type { GroupSums } from "../shared/interaction.ts";
import { dayMs } from "../shared/time_span.ts";
import type { StoredSteps } from "./label_step.ts";
import { LatencyHistogram } from "./latency_histogram.ts";

/** The dimensions of usage. */
export type UsagePart = "model" | "vendor" | "api_key" | "app";

/** Sums over calls. Amounts in nano-dollars. */
export interface UsageSums {
  calls: number;
  /** Of `calls`, by how they ended (`InteractionStatus`); the others were completed. */
  failed: number;
  truncated: number;
  cancelled: number;
  interrupted: number;
  /** Whole prompts, including cached tokens. */
  inputTokens: bigint;
  cacheReadTokens: bigint;
  cacheWriteTokens: bigint;
  /** Including reasoning. */
  outputTokens: bigint;
  reasoningTokens: bigint;
  /** Cost by the price table, including calls with the account's own vendor keys. */
  costNanos: bigint;
  /** Charged to the balance. */
  chargedNanos: bigint;
  /** The part of the cost with the account's own vendor keys. */
  ownKeyNanos: bigint;
  /** Calls of unknown cost. */
  unpriced: number;
  /** Of completed calls. */
  latency: LatencyHistogram;
}

export interface UsageStep extends UsageSums {
  /** The beginning of the hour, day or step. */
  at: Date;
}

/** One vendor, model (`vendor/model`), key (its id) or app (empty: none). */
export interface UsageValue extends UsageSums {
  value: string;
  /**
   * Nano-dollars by the beginning of the hour or day (ms since 1970); only those with calls. Empty
   * if more than `maxWithCosts` values are read.
   */
  costs: ReadonlyMap<number, bigint>;
}

/** The most values with costs by step, which only charts show; a download has more values. */
export const maxWithCosts = 100;

/** Half-open, both ends at the beginning of an hour or day of UTC. */
export interface UsageQuery {
  accountId: number;
  span: "hour" | "day";
  from: Date;
  to: Date;
  /** Whether `values` leaves out erased calls, which have no app any more. */
  storedOnly?: boolean;
}

export function isWholeDays({ from, to }: Pick<UsageQuery, "from" | "to">): boolean {
  return from.getTime() % dayMs === 0 && to.getTime() % dayMs === 0;
}

/**
 * Sums of calls, updated whenever calls are written. Implemented in
 * `src/usage/store/usage_sums.ts`.
 */
export interface UsageStore {
  /**
   * Returns the hours or days that had calls, in order, including calls whose records are erased.
   * With `starts`, returns steps that begin at these times instead; the first one must be the
   * query's `from`.
   */
  steps(query: UsageQuery, starts?: readonly Date[]): Promise<UsageStep[]>;
  /** Returns the hour of the account's oldest stored call. */
  firstHour(accountId: number): Promise<Date | undefined>;
  /** Hours or days that have stored calls, each with a text that changes whenever its calls do. */
  storedSteps: StoredSteps;
  /** Returns the sums of calls whose records were erased, by request or because of their age. */
  erased(query: UsageQuery): Promise<Pick<UsageSums, "calls" | "costNanos" | "chargedNanos">>;
  /**
   * Returns up to `limit` values of a dimension, sorted by cost, then by calls; `all` is the number
   * of all values.
   */
  values(
    query: UsageQuery,
    part: UsagePart,
    limit: number,
  ): Promise<{ values: UsageValue[]; all: number }>;
  /**
   * Returns sums by value and, if `byDay`, by day, in no order. Calls whose records are erased have
   * sums of their own; `erasedOnly` returns only those. Undefined if there are more than `most`.
   */
  groups(
    query: UsageQuery,
    by: { part: UsagePart | "all"; byDay: boolean; erasedOnly?: boolean },
    most: number,
  ): Promise<UsageGroupSums[] | undefined>;
}

export interface UsageGroupSums extends GroupSums {
  /** As in `UsageValue`; empty for all. */
  value: string;
  /** `2026-11-21`; null unless by day. */
  day: string | null;
  erased: boolean;
}

/** The names of the sums that count calls, and of those of tokens and nano-dollars. */
export const callCounts = [
  ...["calls", "failed", "truncated", "cancelled", "interrupted", "unpriced"] as const,
] as const;
export const usageAmounts = [
  ...["inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens"] as const,
  ...["reasoningTokens", "costNanos", "chargedNanos", "ownKeyNanos"] as const,
] as const;

export function usageBy(
  count: (name: typeof callCounts[number]) => number,
  amount: (name: typeof usageAmounts[number]) => bigint,
  latency: LatencyHistogram,
): UsageSums {
  return { ...valuesByName(callCounts, count), ...valuesByName(usageAmounts, amount), latency };
}

/** Sums over no calls. */
export const noUsage: UsageSums = usageBy(() => 0, () => 0n, new LatencyHistogram([]));

export function addUsage(one: UsageSums, other: UsageSums): UsageSums {
  return usageBy(
    (name) => one[name] + other[name],
    (name) => one[name] + other[name],
    one.latency.plus(other.latency),
  );
}

/** Calls that ended in an error; cancelled calls don't count. */
export function errorsOf({ failed, truncated, interrupted }: UsageSums): number {
  return failed + truncated + interrupted;
}
