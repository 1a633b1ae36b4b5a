import { greatest, least } from "../../../base/lists.ts";
import type {
  CohortDifferences,
  CohortFiguresBody,
} from "../../../../contracts/data/cohort_report.ts";
import { count, duration, usdText } from "../../amounts.ts";
import { Badge, Table, type Tone } from "../../components.tsx";

/** Two cohorts side by side, with what their difference amounts to. */
export function CohortComparison(
  { one, other, differences }: {
    one: CohortFiguresBody;
    other: CohortFiguresBody;
    differences: CohortDifferences;
  },
) {
  return (
    <>
      <Table
        label="Comparison"
        head={[
          { title: "Figure" },
          { title: one.cohort_id, class: "number dot-one" },
          { title: other.cohort_id, class: "number dot-other" },
          { title: "Intervals at 95 %", class: "plot-head" },
          { title: "Difference", class: "number" },
          { title: "What it says" },
        ]}
      >
        {testedRows(one, other, differences).map((row) => <TestedLine row={row} />)}
      </Table>
      <h2>Sums</h2>
      <Table
        label="Sums"
        head={[
          { title: "Figure" },
          { title: one.cohort_id, class: "number dot-one" },
          { title: other.cohort_id, class: "number dot-other" },
          { title: "Difference", class: "number" },
        ]}
      >
        {sumRows(one, other, differences).map(({ name, values }) => (
          <tr>
            <td class="name">{name}</td>
            {values.map((value) => <td class="number">{value}</td>)}
          </tr>
        ))}
      </Table>
      <p class="hint narrow">
        A difference whose interval at 95 % holds zero may well be chance. Sums and percentiles have
        no interval.
      </p>
    </>
  );
}

interface Range {
  at: number;
  low: number | null;
  high: number | null;
}

interface TestedRow {
  name: string;
  one: Range | null;
  other: Range | null;
  difference: { difference: number | null; low95: number | null; high95: number | null };
  distinguishable: boolean | null;
  /** Which way is the better one; undefined where neither is. */
  better?: "less" | "more";
  show: (value: number) => string;
}

type Row = Omit<TestedRow, "one" | "other" | "difference" | "distinguishable"> & {
  of: (body: CohortFiguresBody) => Range | null;
  differs: (differences: CohortDifferences) => Tested;
};

/** Figures with an interval, and which way of each is the better one. */
const rows: readonly Row[] = [
  {
    name: "Cost per call",
    of: (body) => meanRange(body.cost_per_interaction_usd),
    differs: (differences) => differences.cost_per_interaction_usd,
    show: dollars,
    better: "less",
  },
  {
    name: "Conversions per call",
    of: ({ conversions_per_interaction: found }) => found && range(found.rate, found),
    differs: (differences) => differences.conversions_per_interaction,
    show: rate,
    better: "more",
  },
  {
    name: "Cost per conversion",
    of: (body) => range(body.cost_per_conversion_usd, body.cost_per_conversion_95_usd),
    differs: (differences) => differences.cost_per_conversion_usd,
    show: dollars,
    better: "less",
  },
  {
    name: "Revenue per dollar",
    of: (body) => range(body.revenue_per_dollar, body.revenue_per_dollar_95),
    differs: (differences) => differences.revenue_per_dollar,
    show: dollars,
    better: "more",
  },
  {
    name: "Prompt tokens per call",
    of: (body) => meanRange(body.input_tokens_per_interaction),
    differs: (differences) => differences.input_tokens_per_interaction,
    show: rate,
  },
  {
    name: "Answer tokens per call",
    of: (body) => meanRange(body.output_tokens_per_interaction),
    differs: (differences) => differences.output_tokens_per_interaction,
    show: rate,
  },
  {
    name: "Latency per call",
    of: (body) => meanRange(body.latency_per_interaction_ms),
    differs: (differences) => differences.latency_per_interaction_ms,
    show: duration,
    better: "less",
  },
];

function testedRows(
  one: CohortFiguresBody,
  other: CohortFiguresBody,
  differences: CohortDifferences,
): TestedRow[] {
  return rows.map(({ of, differs, ...row }) => {
    const { difference, low95, high95, distinguishable } = differs(differences);
    return {
      ...row,
      one: of(one),
      other: of(other),
      difference: {
        difference: number(difference),
        low95: number(low95),
        high95: number(high95),
      },
      distinguishable,
    };
  });
}

type Amount = string | number | null;
interface Tested {
  difference: Amount;
  low95: Amount;
  high95: Amount;
  distinguishable: boolean | null;
}
type MeanBody = { mean: Amount; low95: Amount; high95: Amount };

function TestedLine({ row }: { row: TestedRow }) {
  const { name, one, other, difference, show } = row;
  return (
    <tr>
      <td class="name">{name}</td>
      {[one, other].map((range) => (
        <td class="number">
          {range === null ? "–" : show(range.at)}
          {range === null || range.low === null || range.high === null
            ? null
            : <div class="hint">{`${show(range.low)} – ${show(range.high)}`}</div>}
        </td>
      ))}
      <td>
        <IntervalPlot one={one} other={other} />
      </td>
      <td class="number">
        {difference.difference === null ? "–" : signed(difference.difference, show)}
        {difference.low95 === null || difference.high95 === null ? null : (
          <div class="hint">
            {`${signed(difference.low95, show)} to ${signed(difference.high95, show)}`}
          </div>
        )}
      </td>
      <td class="nowrap">
        <Verdict row={row} />
      </td>
    </tr>
  );
}

/** Says it of the first cohort: it is the one that is looked at. */
function Verdict({ row: { difference, distinguishable, better } }: { row: TestedRow }) {
  if (distinguishable === null || difference.difference === null) {
    return <span class="muted">Too few</span>;
  }
  if (!distinguishable) return <Badge tone="neutral">Maybe chance</Badge>;
  const isMore = difference.difference > 0;
  const tone: Tone = better === undefined
    ? "neutral"
    : isMore === (better === "more")
    ? "good"
    : "bad";
  return <Badge tone={tone}>{isMore ? "Higher" : "Lower"}</Badge>;
}

const plot = { width: 128, height: 28, edge: 5 };

/** Both intervals over one another: the eye sees whether they part. */
function IntervalPlot({ one, other }: Pick<TestedRow, "one" | "other">) {
  const ranges = [one, other];
  const ends = ranges.flatMap((range) =>
    range ? [range.at, range.low ?? range.at, range.high ?? range.at] : []
  );
  if (ends.length === 0) return null;
  const [low, high] = [least(ends), greatest(ends)];
  const x = (value: number) =>
    high === low
      ? plot.width / 2
      : plot.edge + (value - low) / (high - low) * (plot.width - 2 * plot.edge);
  return (
    <svg
      class="plot"
      width={plot.width}
      height={plot.height}
      viewBox={`0 0 ${plot.width} ${plot.height}`}
      aria-hidden="true"
    >
      {ranges.map((range, index) => {
        if (!range) return null;
        const y = index === 0 ? 8 : 20;
        const [low, high] = [x(range.low ?? range.at), x(range.high ?? range.at)];
        return (
          <g class={index === 0 ? "plot-one" : "plot-other"}>
            <line x1={low} x2={high} y1={y} y2={y} />
            <circle cx={x(range.at)} cy={y} r="3.5" />
          </g>
        );
      })}
    </svg>
  );
}

function sumRows(
  one: CohortFiguresBody,
  other: CohortFiguresBody,
  differences: CohortDifferences,
): { name: string; values: string[] }[] {
  const row = (
    name: string,
    of: (body: CohortFiguresBody) => Amount,
    { difference }: { difference: Amount },
    show: (value: number) => string,
  ) => ({
    name,
    values: [
      ...[of(one), of(other)].map((value) => value === null ? "–" : show(Number(value))),
      difference === null ? "–" : signed(Number(difference), show),
    ],
  });
  return [
    row("Calls", (body) => body.interactions, differences.interactions, count),
    row("Completed", (body) => body.completed, differences.completed, count),
    row("Cost", (body) => body.cost_usd, differences.cost_usd, dollars),
    row("Conversions", (body) => body.conversions_total, differences.conversions_total, count),
    row("Revenue", (body) => body.revenue_usd, differences.revenue_usd, dollars),
    row("Latency, median", (body) => body.latency_ms.p50, differences.latency_ms.p50, duration),
    row(
      "Latency, 95th percentile",
      (body) => body.latency_ms.p95,
      differences.latency_ms.p95,
      duration,
    ),
  ];
}

function range(
  at: Amount,
  interval: { low95: Amount; high95: Amount } | null,
): Range | null {
  return at === null
    ? null
    : { at: Number(at), low: number(interval?.low95), high: number(interval?.high95) };
}

function meanRange(mean: MeanBody): Range | null {
  return range(mean.mean, mean);
}

function number(value: Amount | undefined): number | null {
  return value === null || value === undefined ? null : Number(value);
}

function signed(value: number, show: (value: number) => string): string {
  if (value === 0) return show(0);
  return `${value < 0 ? "−" : "+"}${show(Math.abs(value))}`;
}

function dollars(value: number): string {
  return value >= 1000 ? `$${count(Math.round(value))}` : usdText(value.toFixed(9));
}

/** Three digits tell enough of what is estimated. */
function rate(value: number): string {
  return value.toLocaleString("en-US", { maximumSignificantDigits: 3 });
}
