import { greatest, least } from "../../../base/lists.ts";
import type {
  CohortDifferences,
  CohortFiguresBody,
} from "../../../../contracts/data/cohort_report.ts";
import { count, duration, usdText } from "../../amounts.ts";
import { Badge, numberColumn, Table, type Tone } from "../../components.tsx";

/** Two cohorts side by side, with their differences and whether these may be chance. */
export function CohortComparison(
  { one, other, differences, csv }: {
    one: CohortFiguresBody;
    other: CohortFiguresBody;
    differences: CohortDifferences;
    csv: string;
  },
) {
  const cohorts = [
    { title: one.cohort_id, class: "number dot-one" },
    { title: other.cohort_id, class: "number dot-other" },
  ];
  return (
    <>
      <Table
        label="Comparison"
        cards
        csv={csv}
        head={[
          "Figure",
          ...cohorts,
          { title: "Intervals at 95 %", class: "plot-head" },
          numberColumn("Difference"),
          "Verdict",
        ]}
      >
        {comparedRows.map((row) => (
          <TestedLine row={row} bodies={[one, other]} differences={differences} />
        ))}
      </Table>
      <h2>Sums</h2>
      <Table
        label="Sums"
        head={["Figure", ...cohorts, numberColumn("Difference")]}
        csv={csv}
      >
        {sumRows(one, other, differences).map(({ name, values }) => (
          <tr>
            <td class="name">{name}</td>
            {values.map((value) => <td class="number">{value}</td>)}
          </tr>
        ))}
      </Table>
      <p class="hint narrow">
        A difference whose interval at 95 % holds zero could be chance. {chanceNote}{" "}
        Intervals are rough with fewer than 30 calls of each. Sums and percentiles have none.
      </p>
    </>
  );
}

/** What an interval at 95 % means where there are several, which aren't widened for that. */
export const chanceNote =
  "Each is judged on its own: of twenty figures without a true difference, about one is marked higher or lower by chance.";

/** Lists how to read the figures, as the API does without its codes. */
export function Warnings({ about }: { about: readonly { name: string; warnings: string[] }[] }) {
  if (about.every(({ warnings }) => warnings.length === 0)) return null;
  return (
    <ul class="notice notice-plain">
      {about.flatMap(({ name, warnings }) =>
        warnings.map((warning) => (
          <li>
            <bdi>{name}</bdi>
            {`: ${warning.replace(/^\w+: /, "")}`}
          </li>
        ))
      )}
    </ul>
  );
}

/** A figure with its 95 % interval. */
export interface FigureRange {
  at: number;
  low: number | null;
  high: number | null;
}

export type Amount = string | number | null;

/** A row of the comparison: a figure that has an interval. */
interface Row {
  name: string;
  /** The field's name, both in a cohort's figures and in the differences. */
  field: Extract<keyof CohortDifferences, `${string}_per_${string}`>;
  show: (value: number) => string;
  /** Which direction is better; absent if neither is. */
  better?: "less" | "more";
}

export const comparedRows: readonly Row[] = [
  { name: "Cost per call", field: "cost_per_interaction_usd", show: dollars, better: "less" },
  {
    name: "Conversions per call",
    field: "conversions_per_interaction",
    show: rate,
    better: "more",
  },
  { name: "Cost per conversion", field: "cost_per_conversion_usd", show: dollars, better: "less" },
  { name: "Revenue per dollar", field: "revenue_per_dollar", show: dollars, better: "more" },
  { name: "Prompt tokens per call", field: "input_tokens_per_interaction", show: rate },
  { name: "Answer tokens per call", field: "output_tokens_per_interaction", show: rate },
  {
    name: "Latency per call",
    field: "latency_per_interaction_ms",
    show: duration,
    better: "less",
  },
];

/** Returns a cohort's figure with its interval; null if it has no such figure. */
export function rangeOf(
  body: Omit<CohortFiguresBody, "cohort_id">,
  field: Row["field"],
): FigureRange | null {
  switch (field) {
    case "conversions_per_interaction":
      return range(body[field]?.rate ?? null, body[field]);
    case "cost_per_conversion_usd":
      return range(body[field], body.cost_per_conversion_95_usd);
    case "revenue_per_dollar":
      return range(body[field], body.revenue_per_dollar_95);
    default:
      return range(body[field].mean, body[field]);
  }
}

function TestedLine(
  { row: { name, field, show, better }, bodies, differences }: {
    row: Row;
    bodies: readonly CohortFiguresBody[];
    differences: CohortDifferences;
  },
) {
  const ranges = bodies.map((body) => rangeOf(body, field));
  const tested = differences[field];
  const [difference, low, high] = [tested.difference, tested.low95, tested.high95].map(number);
  return (
    <tr>
      <td class="name">{name}</td>
      {ranges.map((range, at) => (
        <td class="number" data-label={bodies[at]!.cohort_id}>
          {range === null ? "–" : show(range.at)}
          {range === null || range.low === null || range.high === null
            ? null
            : <div class="hint">{`${show(range.low)} – ${show(range.high)}`}</div>}
        </td>
      ))}
      <td data-label="At 95 %">
        <IntervalPlot ranges={ranges} />
      </td>
      <td class="number" data-label="Difference">
        {difference == null ? "–" : signed(difference, show)}
        {low == null || high == null ? null : (
          <div class="hint">
            <span class="nowrap">{signed(low, show)} to</span>{" "}
            <span class="nowrap">{signed(high, show)}</span>
          </div>
        )}
      </td>
      <td class="nowrap" data-label="Verdict">
        {verdict(difference, tested.distinguishable, better)}
      </td>
    </tr>
  );
}

/** Says how the first cohort, whose page this is, compares with the other. */
export function verdict(
  difference: number | null | undefined,
  distinguishable: boolean | null,
  better: Row["better"],
) {
  if (difference == null) return <span class="muted">–</span>;
  if (distinguishable === null) return <span class="muted">No interval</span>;
  if (!distinguishable) return <Badge tone="neutral">Could be chance</Badge>;
  const isMore = difference > 0;
  const tone: Tone = better === undefined
    ? "neutral"
    : isMore === (better === "more")
    ? "good"
    : "bad";
  return <Badge tone={tone}>{isMore ? "Higher" : "Lower"}</Badge>;
}

const plot = { width: 128, height: 28, edge: 5 };

/**
 * Draws intervals above one another, so that people see whether they overlap. `among` are all the
 * intervals on the same scale, including those drawn elsewhere; `first` is the index among them of
 * the first one drawn here.
 */
export function IntervalPlot(
  { ranges, among = ranges, first = 0, height = plot.height }: {
    ranges: readonly (FigureRange | null)[];
    among?: readonly (FigureRange | null)[];
    first?: number;
    height?: number;
  },
) {
  const ends = among.flatMap((range) =>
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
      height={height}
      viewBox={`0 0 ${plot.width} ${height}`}
      aria-hidden="true"
    >
      {ranges.map((range, index) => {
        if (!range) return null;
        const y = index === 0 ? 8 : 20;
        const [low, high] = [x(range.low ?? range.at), x(range.high ?? range.at)];
        return (
          <g class={first + index === 0 ? "plot-one" : "plot-other"}>
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
  const sum = (name: string, field: PlainField, show: (value: number) => string) =>
    row(name, (body) => body[field], differences[field], show);
  const latency = (name: string, share: "p50" | "p95") =>
    row(name, (body) => body.latency_ms[share], differences.latency_ms[share], duration);
  return [
    sum("Calls", "interactions", count),
    sum("Completed", "completed", count),
    sum("Cost", "cost_usd", dollars),
    sum("Conversions", "conversions_total", count),
    sum("Revenue", "revenue_usd", dollars),
    latency("Latency, median", "p50"),
    latency("Latency, 95th percentile", "p95"),
  ];
}

/** Fields without an interval. */
export type PlainField =
  | "interactions"
  | "completed"
  | "cost_usd"
  | "conversions_total"
  | "revenue_usd";

function range(
  at: Amount,
  interval: { low95: Amount; high95: Amount } | null,
): FigureRange | null {
  return at === null
    ? null
    : { at: Number(at), low: number(interval?.low95), high: number(interval?.high95) };
}

export function number(value: Amount | undefined): number | null {
  return value == null ? null : Number(value);
}

export function signed(value: number, show: (value: number) => string): string {
  // A value that rounds to zero gets no sign.
  if (show(Math.abs(value)) === show(0)) return show(0);
  return `${value < 0 ? "−" : "+"}${show(Math.abs(value))}`;
}

export function dollars(value: number): string {
  return value >= 1000 ? `$${count(Math.round(value))}` : usdText(value.toFixed(9));
}

/** Formats an estimate with three digits: more would claim precision that it doesn't have. */
export function rate(value: number): string {
  return value.toLocaleString("en-US", { maximumSignificantDigits: 3 });
}
