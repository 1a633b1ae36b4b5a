import type { CohortFiguresBody } from "../../contracts/data/cohort_report.ts";
import { nanosToUsd } from "../base/money.ts";
import type { CohortSums, FigureSums, OutcomeSum } from "./cohort.ts";
import {
  countInterval,
  type Interval,
  type Mean,
  meanInterval,
  meanOf,
  ratioInterval,
} from "./statistics.ts";

/** With fewer calls than this, intervals of means are unreliable. */
const smallSample = 30;
const nanosPerUnit = 1e9;

/** A figure with its interval, before formatting. */
export interface Figure {
  at: number;
  interval: Interval | undefined;
}

/** The figures of a cohort that have an interval. Money in nano-dollars. */
export interface CohortFigures {
  cost: Mean | undefined;
  inputTokens: Mean | undefined;
  outputTokens: Mean | undefined;
  latency: Mean | undefined;
  /** In billionths. */
  conversionNanos: bigint;
  /** Undefined when none was posted. */
  revenueNanos: bigint | undefined;
  conversionRate: Figure | undefined;
  costPerConversion: Figure | undefined;
  revenuePerDollar: Figure | undefined;
}

/**
 * Computes the figures from exact sums; `contracts/data/cohort.ts` names the intervals' methods.
 */
export function figuresOf(sums: FigureSums): CohortFigures {
  const cost = meanOf(sums.cost);
  const revenue = totalOf(sums.outcomes.filter(isRevenue));
  const conversionNanos = totalOf(sums.outcomes.filter((one) => !isRevenue(one))).sum;
  const conversions = Number(conversionNanos) / nanosPerUnit;
  return {
    cost,
    inputTokens: meanOf(sums.inputTokens),
    outputTokens: meanOf(sums.outputTokens),
    latency: meanOf(sums.latency),
    conversionNanos,
    revenueNanos: revenue.count === 0n ? undefined : revenue.sum,
    conversionRate: rateOf(conversions, Number(sums.interactions)),
    costPerConversion: costPerConversion(sums, cost, conversions),
    revenuePerDollar: revenuePerDollar(sums, cost, revenue),
  };
}

/** Returns the figures with warnings; `when` says in what time calls and outcomes were sought. */
export function figuresBody(
  sums: CohortSums,
  figures: CohortFigures,
  when: "yet" | "in this time" = "yet",
): CohortFiguresBody {
  return {
    cohort_id: sums.cohortId,
    ...plainFigures(sums, figures),
    warnings: warningsOf(sums, figures, when),
  };
}

/** Formats the figures of any set of calls, without warnings. */
export function plainFigures(
  sums: FigureSums,
  figures: CohortFigures,
): Omit<CohortFiguresBody, "cohort_id" | "warnings"> {
  const { conversionRate, costPerConversion, revenuePerDollar } = figures;
  return {
    interactions: Number(sums.interactions),
    completed: Number(sums.completed),
    input_tokens: Number(sums.inputTokens.sum),
    output_tokens: Number(sums.outputTokens.sum),
    cost_usd: nanosToUsd(sums.cost.sum),
    unknown_cost_interactions: Number(sums.interactions - sums.cost.count),
    conversions: conversionsBody(sums.outcomes),
    conversions_total: unitsOf(figures.conversionNanos),
    conversions_per_interaction: conversionRate
      ? { rate: conversionRate.at, ...limits(conversionRate.interval) }
      : null,
    cost_per_conversion_usd: costPerConversion ? usdOf(costPerConversion.at) : null,
    cost_per_conversion_95_usd: costPerConversion?.interval
      ? usdInterval(costPerConversion.interval)
      : null,
    revenue_usd: figures.revenueNanos === undefined ? null : nanosToUsd(figures.revenueNanos),
    revenue_per_dollar: revenuePerDollar?.at ?? null,
    revenue_per_dollar_95: revenuePerDollar?.interval ?? null,
    cost_per_interaction_usd: usdMean(figures.cost),
    input_tokens_per_interaction: meanBody(figures.inputTokens),
    output_tokens_per_interaction: meanBody(figures.outputTokens),
    latency_ms: { p50: sums.latencyP50, p95: sums.latencyP95 },
    latency_per_interaction_ms: meanBody(figures.latency),
  };
}

export function conversionsBody(outcomes: readonly OutcomeSum[]): CohortFiguresBody["conversions"] {
  return outcomes.map(({ type, label, count, sum }) => (
    { type, label, count: Number(count), value: unitsOf(sum) }
  ));
}

/** Rounds computed nano-dollars and writes them as a decimal string of dollars. */
export function usdOf(nanos: number): string {
  return nanosToUsd(BigInt(Math.round(nanos)));
}

export function usdInterval({ low95, high95 }: Interval): { low95: string; high95: string } {
  return { low95: usdOf(low95), high95: usdOf(high95) };
}

/** Converts billionths to the nearest number. */
export function unitsOf(nanos: bigint): number {
  return Number(nanosToUsd(nanos));
}

/** Cuts an interval off at 0: the quantities measured here can't be negative. */
function aboveZero(interval: Interval | undefined): Interval | undefined {
  return interval && { ...interval, low95: Math.max(0, interval.low95) };
}

function meanBody(mean: Mean | undefined) {
  return { mean: mean?.mean ?? null, ...limits(aboveZero(meanInterval(mean))) };
}

function usdMean(mean: Mean | undefined) {
  const interval = aboveZero(meanInterval(mean));
  return {
    mean: mean ? usdOf(mean.mean) : null,
    ...(interval ? usdInterval(interval) : { low95: null, high95: null }),
  };
}

function limits(interval: Interval | undefined) {
  return { low95: interval?.low95 ?? null, high95: interval?.high95 ?? null };
}

/**
 * The most types and labels that a report lists, since each order could be posted as a label of its
 * own. The others are one sum, or two: revenue is apart.
 */
export const maxListed = 1_000;

/** Type and label of the sum of all outcomes whose own type and label aren't listed. */
export const otherOutcomes = "(others)";

function isRevenue({ type }: OutcomeSum): boolean {
  return type === "revenue";
}

function totalOf(outcomes: readonly OutcomeSum[]): Omit<OutcomeSum, "type" | "label"> {
  const add = (field: "count" | "sum" | "sumOfSquares") =>
    outcomes.reduce((total, one) => total + one[field], 0n);
  return { count: add("count"), sum: add("sum"), sumOfSquares: add("sumOfSquares") };
}

function rateOf(conversions: number, interactions: number): Figure | undefined {
  if (interactions === 0) return undefined;
  // Corrections can exceed what was posted before; a negative count has no interval.
  const interval = conversions < 0 ? undefined : countInterval(conversions);
  return {
    at: conversions / interactions,
    interval: interval && {
      low95: interval.low95 / interactions,
      high95: interval.high95 / interactions,
    },
  };
}

function costPerConversion(
  { cost: { sum } }: FigureSums,
  cost: Mean | undefined,
  conversions: number,
): Figure | undefined {
  if (!cost || conversions <= 0) return undefined;
  const at = Number(sum) / conversions;
  const variance = relativeVariance(cost);
  return {
    at,
    interval: variance === undefined ? undefined : ratioInterval(at, variance + 1 / conversions),
  };
}

/** Treats revenue as a compound Poisson sum, whose variance is the sum of the squares. */
function revenuePerDollar(
  { cost: { sum } }: FigureSums,
  cost: Mean | undefined,
  revenue: Omit<OutcomeSum, "type" | "label">,
): Figure | undefined {
  if (revenue.count === 0n || sum <= 0n) return undefined;
  const at = Number(revenue.sum) / Number(sum);
  const variance = cost && relativeVariance(cost);
  // A single posted sum tells nothing about the spread.
  if (variance === undefined || revenue.count < 2n || revenue.sum <= 0n) {
    return { at, interval: undefined };
  }
  const ofRevenue = Number(revenue.sumOfSquares) / Number(revenue.sum) ** 2;
  return { at, interval: ratioInterval(at, variance + ofRevenue) };
}

/** Returns the variance of a mean, divided by the square of the mean. */
function relativeVariance({ mean, error }: Mean): number | undefined {
  return error === undefined || mean <= 0 ? undefined : (error / mean) ** 2;
}

function warningsOf(sums: CohortSums, figures: CohortFigures, when: string): string[] {
  const warnings: string[] = [];
  if (sums.interactions === 0n) {
    warnings.push(`no_interactions: no call has named this cohort ${when}.`);
  }
  if (sums.outcomes.length === 0) {
    warnings.push(`no_outcomes: no outcome was posted for this cohort ${when}.`);
  }
  return [...warnings, ...callWarnings(sums), ...outcomeWarnings(sums, figures)];
}

/** Returns warnings about how to read the figures of these calls. */
export function callWarnings({ interactions, cost }: FigureSums): string[] {
  const warnings: string[] = [];
  const unknown = interactions - cost.count;
  if (interactions > 0n && interactions < smallSample) {
    warnings.push(
      `small_sample: ${interactions} ${
        interactions === 1n ? "interaction" : "interactions"
      }, fewer than ${smallSample}: the intervals are rough.`,
    );
  }
  if (unknown > 0n) {
    warnings.push(
      `unknown_cost: the cost of ${shown(unknown)} of ${
        shown(interactions)
      } interactions is not known; every figure of cost leaves them out.`,
    );
  }
  return warnings;
}

function shown(count: bigint): string {
  return count.toLocaleString("en-US");
}

/** Returns warnings about how to read the figures of these outcomes. */
export function outcomeWarnings(sums: FigureSums, figures: CohortFigures): string[] {
  const warnings: string[] = [];
  const misspelt = sums.outcomes.find((one) =>
    !isRevenue(one) && one.type.toLowerCase() === "revenue"
  );
  if (misspelt) {
    warnings.push(`revenue_spelling: '${misspelt.type}' counts as conversions, not as 'revenue'.`);
  }
  // A caller may use the label, too.
  if (
    sums.outcomes.length > maxListed && sums.outcomes.some(({ label }) => label === otherOutcomes)
  ) {
    warnings.push(
      `many_labels: there are too many types and labels to list; the rest is summed as '${otherOutcomes}'.`,
    );
  }
  if (figures.conversionNanos < 0n) {
    warnings.push("negative_conversions: corrections take back more conversions than were posted.");
  }
  return warnings;
}
