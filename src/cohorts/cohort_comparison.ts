import type { CohortDifferences } from "../../contracts/data/cohort_report.ts";
import { nanosToUsd } from "../base/money.ts";
import type { FigureSums } from "./cohort.ts";
import { type CohortFigures, type Figure, unitsOf, usdInterval, usdOf } from "./cohort_report.ts";
import { differenceInterval, type Interval, type Mean, welchInterval } from "./statistics.ts";

interface Calls {
  sums: FigureSums;
  figures: CohortFigures;
}

/** Subtracts each figure of cohort, or model, `b` from that of `a`. */
export function differencesOf(a: Calls, b: Calls): CohortDifferences {
  const sum = (of: (sums: FigureSums) => bigint) => ({
    difference: Number(of(a.sums) - of(b.sums)),
  });
  const number = (of: (calls: Calls) => number | null) => plain(of(a), of(b));
  const figure = (of: (figures: CohortFigures) => Figure | undefined) =>
    testedFigure(of(a.figures), of(b.figures));
  const mean = (of: (figures: CohortFigures) => Mean | undefined) =>
    testedMean(of(a.figures), of(b.figures));
  const revenue = [a, b].map(({ figures }) => figures.revenueNanos);
  return {
    interactions: sum(({ interactions }) => interactions),
    completed: sum(({ completed }) => completed),
    input_tokens: sum(({ inputTokens }) => inputTokens.sum),
    output_tokens: sum(({ outputTokens }) => outputTokens.sum),
    cost_usd: { difference: nanosToUsd(a.sums.cost.sum - b.sums.cost.sum) },
    conversions_total: {
      difference: unitsOf(a.figures.conversionNanos - b.figures.conversionNanos),
    },
    revenue_usd: {
      difference: revenue[0] === undefined || revenue[1] === undefined
        ? null
        : nanosToUsd(revenue[0] - revenue[1]),
    },
    latency_ms: {
      p50: number(({ sums }) => sums.latencyP50),
      p95: number(({ sums }) => sums.latencyP95),
    },
    conversions_per_interaction: figure(({ conversionRate }) => conversionRate),
    cost_per_conversion_usd: inUsd(figure(({ costPerConversion }) => costPerConversion)),
    revenue_per_dollar: figure(({ revenuePerDollar }) => revenuePerDollar),
    cost_per_interaction_usd: inUsd(mean(({ cost }) => cost)),
    input_tokens_per_interaction: mean(({ inputTokens }) => inputTokens),
    output_tokens_per_interaction: mean(({ outputTokens }) => outputTokens),
    latency_per_interaction_ms: mean(({ latency }) => latency),
  };
}

export interface Tested {
  difference: number | null;
  low95: number | null;
  high95: number | null;
  distinguishable: boolean | null;
}

function plain(a: number | null, b: number | null): { difference: number | null } {
  return { difference: a === null || b === null ? null : a - b };
}

function testedMean(a: Mean | undefined, b: Mean | undefined): Tested {
  return tested(plain(a?.mean ?? null, b?.mean ?? null).difference, welchInterval(a, b));
}

export function testedFigure(a: Figure | undefined, b: Figure | undefined): Tested {
  return tested(plain(a?.at ?? null, b?.at ?? null).difference, a && b && differenceInterval(a, b));
}

function tested(difference: number | null, interval: Interval | undefined): Tested {
  return {
    difference,
    low95: interval?.low95 ?? null,
    high95: interval?.high95 ?? null,
    distinguishable: interval ? interval.low95 > 0 || interval.high95 < 0 : null,
  };
}

function inUsd({ difference, low95, high95, distinguishable }: Tested) {
  return {
    difference: difference === null ? null : usdOf(difference),
    ...(low95 === null || high95 === null
      ? { low95: null, high95: null }
      : usdInterval({ low95, high95 })),
    distinguishable,
  };
}
