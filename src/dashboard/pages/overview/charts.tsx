import { refusalDays } from "../../../refusals/refusal.ts";
import { errorsOf, type UsageSums } from "../../../usage/usage_sums.ts";
import { Chart, type ChartProps, type Series } from "../../chart.tsx";
import { compact, count, counted, duration, exactUsd, percent, usd } from "../../amounts.ts";
import { months } from "../../format.ts";
import { callsAddress, overviewAddress, refusedAddress } from "./links.ts";
import { type Overview, refusedIn } from "./load.ts";
import type { Range } from "./range.ts";

interface ChartsProps {
  overview: Overview;
  /** Returns the display name of a value of the breakdown. */
  nameOf: (value: string) => string;
  /** What spend is broken down by, for the title: `model`, `vendor`… */
  partName: string;
  /** The names and links of the steps (`axisOf`). */
  axis: Axis;
}

type Axis = Pick<ChartProps, "stepTitle" | "steps" | "csv">;

/** A chart of spend, with a layer for each of the values with the highest cost. */
export function SpendChart({ overview, nameOf, partName, axis }: ChartsProps) {
  const { total, steps, layers } = overview;
  const named = layers.map(({ value, nanos }, at): Series => ({
    name: nameOf(value),
    tone: `tone-${at + 1}`,
    values: nanos.map(Number),
    total: usd(nanos.reduce((sum, one) => sum + one, 0n)),
  }));
  const rest = steps.map(({ costNanos }, at) =>
    layers.reduce((left, { nanos }) => left - nanos[at]!, costNanos)
  );
  const others = rest.reduce((sum, one) => sum + one, 0n);
  const series = others > 0n
    ? [...named, {
      name: "Others",
      tone: "tone-0",
      values: rest.map(Number),
      total: usd(others),
    }]
    : named;
  return (
    <Chart
      id="spend"
      title={`Spend by ${partName}`}
      headline={usd(total.costNanos)}
      detail={<span title={exactUsd(total.chargedNanos)}>{spendDetail(overview)}</span>}
      kind="bars"
      series={series}
      format={(nanos) => usd(BigInt(Math.round(nanos)))}
      class="chart-wide"
      {...axis}
    />
  );
}

function spendDetail({ total }: Overview): string {
  const { costNanos, chargedNanos, ownKeyNanos, unpriced } = total;
  const refundedNanos = costNanos - chargedNanos - ownKeyNanos;
  return [
    `${usd(chargedNanos)} charged to credit`,
    ...(ownKeyNanos > 0n ? [`${usd(ownKeyNanos)} with your own vendor keys`] : []),
    ...(refundedNanos > 0n ? [`${usd(refundedNanos)} refunded`] : []),
    ...(unpriced > 0 ? [`${counted(unpriced, "call")} without a known price`] : []),
  ].join(" · ");
}

export function RequestsChart({ overview, range, axis }: ChartsProps & { range: Range }) {
  const { total, steps, refusedSince } = overview;
  const since = range.from < refusedSince ? ` in the last ${refusalDays} days` : "";
  const errors = `${count(errorsOf(total))} with an error`;
  const all = total.calls + total.refused;
  const share = percent(errorsOf(total) + total.refused, all);
  return (
    <Chart
      id="requests"
      title="Requests"
      headline={count(total.calls)}
      detail={total.refused === 0 ? `${errors}, ${share}` : (
        <>
          {`${errors} and `}
          <a href={refusedAddress(range)}>{`${count(total.refused)} refused`}</a>
          {`${since}, ${share} of ${count(all)}`}
        </>
      )}
      kind="bars"
      series={[
        layer("Without error", "tone-1", steps, (one) => one.calls - errorsOf(one), count),
        layer("With an error", "tone-bad", steps, errorsOf, count),
        ...(total.refused === 0
          ? []
          : [layer("Refused", "tone-warn", steps, (step) => refusedIn(overview, step), count)]),
      ]}
      format={(value) => Number.isInteger(value) ? count(value) : ""}
      {...axis}
    />
  );
}

export function LatencyChart({ overview, axis }: ChartsProps) {
  const { total, steps } = overview;
  const series = percentiles.map(({ name, share, tone }): Series => ({
    name,
    tone,
    values: steps.map(({ latency }) => latency.percentile(share)),
    total: duration(total.latency.percentile(share)),
  }));
  return (
    <Chart
      id="latency"
      title="Latency"
      headline={duration(total.latency.percentile(0.5))}
      detail="median of completed calls"
      kind="lines"
      series={series}
      format={duration}
      {...axis}
    />
  );
}

const percentiles = [
  { name: "p50", share: 0.5, tone: "tone-1" },
  { name: "p95", share: 0.95, tone: "tone-3" },
  { name: "p99", share: 0.99, tone: "tone-5" },
] as const;

/**
 * A chart of tokens. Cached tokens are subtracted from input and reasoning from output, so that the
 * layers add up.
 */
export function TokensChart({ overview, axis }: ChartsProps) {
  const { total, steps } = overview;
  return (
    <Chart
      id="tokens"
      title="Tokens"
      headline={compact(total.inputTokens + total.outputTokens)}
      detail={`${compact(total.inputTokens)} in, ${compact(total.outputTokens)} out`}
      kind="bars"
      series={[
        layer("Input", "tone-1", steps, (one) =>
          Number(one.inputTokens - one.cacheReadTokens), compact),
        layer("Cached input", "tone-2", steps, (one) =>
          Number(one.cacheReadTokens), compact),
        layer("Output", "tone-3", steps, (one) =>
          Number(one.outputTokens - one.reasoningTokens), compact),
        layer("Reasoning", "tone-4", steps, (one) =>
          Number(one.reasoningTokens), compact),
      ]}
      format={compact}
      {...axis}
    />
  );
}

function layer<S extends UsageSums>(
  name: string,
  tone: string,
  steps: readonly S[],
  of: (step: S) => number | undefined,
  format: (value: number) => string,
): Series {
  const values = steps.map(of);
  return {
    name,
    tone,
    values,
    total: format(values.reduce<number>((sum, one) => sum + (one ?? 0), 0)),
  };
}

/** Returns the hours, days or weeks of a range, each with a link to its calls. */
export function axisOf({ steps }: Overview, range: Range): Axis {
  const { step } = range;
  return {
    stepTitle: stepTitles[step],
    csv: overviewAddress(range, {}, "/csv/steps"),
    steps: steps.map(({ from, to }, at) => {
      const day = `${from.getUTCDate()} ${months[from.getUTCMonth()]}`;
      const time = from.toISOString().slice(11, 16);
      const href = callsAddress({ from, to });
      return step === "hour" ? { name: `${day}, ${time}`, short: time, href } : {
        ...{ name: `${day} ${from.getUTCFullYear()}`, short: day, href },
        ...monthBegun(at === 0 ? from : steps[at - 1]!.from, from),
      };
    }),
  };
}

/**
 * Returns the axis's label for a step that begins on the first day of a month, or in another month
 * than the step before.
 */
function monthBegun(before: Date, from: Date): { month?: string } {
  const isFirst = from.getUTCDate() === 1 || before.getUTCMonth() !== from.getUTCMonth();
  if (!isFirst) return {};
  const name = months[from.getUTCMonth()]!;
  return { month: from.getUTCMonth() === 0 ? `${name} ${from.getUTCFullYear()}` : name };
}

const stepTitles = { hour: "Hour (UTC)", day: "Day (UTC)", week: "Week from (UTC)" };
