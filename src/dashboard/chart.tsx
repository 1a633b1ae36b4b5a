import { greatest } from "../base/lists.ts";
import type { Child } from "hono/jsx";
import { Table } from "./components.tsx";

/** One line or layer of a chart: a value for each step, undefined where there is none. */
export interface Series {
  name: string;
  /** CSS class of its colour, such as `tone-1`. */
  tone: string;
  values: readonly (number | undefined)[];
  /** Its total as the legend shows it. */
  total: string;
}

export interface ChartProps {
  id: string;
  title: string;
  /** The figure that the chart is about. */
  headline: string;
  /** More about the figure, which screen readers read too. */
  detail?: Child;
  kind: "bars" | "lines";
  series: readonly Series[];
  /** The steps of the x axis, with their names and links to their calls. */
  steps: readonly ChartStep[];
  /** Title of the table's first column: Day or Hour. */
  stepTitle: string;
  /** Address of the figures as a CSV file. */
  csv: string;
  format: (value: number) => string;
  class?: string;
}

export interface ChartStep {
  name: string;
  short: string;
  href: string;
  /** The axis's label for a month that begins in this step; absent if none does. */
  month?: string;
}

/**
 * A chart with a table of its figures below. The drawing holds only shapes, since it is stretched;
 * texts are elements beside it. A script shows the table's row for the step under the pointer.
 */
export function Chart(props: ChartProps) {
  const { id, title, headline, detail, series, steps, kind, format } = props;
  const top = niceTop(highest(props));
  const ticks = ticksOf(steps);
  return (
    <figure
      class={`panel chart ${props.class ?? ""}`}
      data-chart={kind}
      aria-labelledby={`${id}-t`}
    >
      <figcaption>
        <h2 id={`${id}-t`}>{title}</h2>
        <p class="headline">{headline}</p>
        {detail === undefined ? null : <p class="muted detail">{detail}</p>}
      </figcaption>
      <div class="plot">
        <div class="y-axis" aria-hidden="true">
          {[top, top / 2, 0].map((value) => <span>{format(value)}</span>)}
        </div>
        <svg
          viewBox={`0 0 ${steps.length * stepWidth} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title}: ${headline}. The table below holds the figures.`}
        >
          <path class="grid" d={gridLines(steps.length) + ticks.map(tickLine).join("")} />
          <rect class="cursor" width={stepWidth} height={height} y="0" visibility="hidden" />
          {kind === "bars" ? layers(series, top) : lines(series, top)}
        </svg>
        <svg class="x-axis" aria-hidden="true">
          {ticks.map(({ at, text, anchor }) => (
            <text x={`${Math.round(1e4 * at / steps.length) / 100}%`} y="9" text-anchor={anchor}>
              {text}
            </text>
          ))}
        </svg>
      </div>
      {series.length > 1 || kind === "lines" ? <Legend series={series} /> : null}
      <details class="figures">
        <summary>
          Show as table<span class="visually-hidden">{` of ${title}`}</span>
        </summary>
        <Figures {...props} />
      </details>
    </figure>
  );
}

function Legend({ series }: { series: readonly Series[] }) {
  return (
    <ul class="legend">
      {series.map(({ name, tone, total }) => (
        <li>
          <span class={`swatch ${tone}`}></span>
          <span class="legend-name" title={name}>{name}</span> <span class="muted">{total}</span>
        </li>
      ))}
    </ul>
  );
}

function Figures({ title, stepTitle, steps, series, format, csv }: ChartProps) {
  const head = [stepTitle, ...series.map(({ name }) => name)];
  return (
    <Table label={`Figures of ${title}`} head={head} csv={csv}>
      {steps.map((step, at) => (
        <tr>
          <td>
            <a href={step.href}>{step.name}</a>
          </td>
          {series.map(({ values: { [at]: value } }) => (
            <td>{value === undefined ? "–" : format(value)}</td>
          ))}
        </tr>
      ))}
    </Table>
  );
}

/** In units of the drawing, as is `height`. */
const stepWidth = 10;
const height = 100;

function highest({ kind, series, steps }: ChartProps): number {
  const tops = steps.map((_, at) => {
    const values = series.map(({ values }) => values[at] ?? 0);
    return kind === "bars" ? values.reduce((sum, value) => sum + value, 0) : greatest(values, 0);
  });
  return greatest(tops, 0);
}

/** Returns the next round number, so close that drawings fill their height; half is round too. */
export function niceTop(value: number): number {
  if (value <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  return tenths.map((one) => one * unit / 10).find((top) => top >= value * 0.9999)!;
}

const tenths = [10, 12, 16, 20, 30, 40, 50, 60, 80, 100];

function gridLines(steps: number): string {
  return [0.5, height / 2, height - 0.5].map((y) => `M0 ${y}H${steps * stepWidth}`).join("");
}

function layers(series: readonly Series[], top: number) {
  const sums: number[] = [];
  return series.map(({ tone, values }) => {
    const path = values.map((value, at) => {
      if (value === undefined || value <= 0) return "";
      const below = sums[at] ?? 0;
      sums[at] = below + value;
      const [y, bottom] = [heightOf(sums[at]!, top), heightOf(below, top)];
      return `M${at * stepWidth + 1.5} ${bottom}V${y}h${stepWidth - 3}V${bottom}z`;
    });
    return <path class={`layer ${tone}`} d={path.join("")} />;
  });
}

function lines(series: readonly Series[], top: number) {
  return series.map(({ tone, values }) => {
    let isOpen = false;
    const path = values.map((value, at) => {
      const wasOpen = isOpen;
      isOpen = value !== undefined;
      if (value === undefined) return "";
      const point = `${(at + 0.5) * stepWidth} ${heightOf(value, top)}`;
      // A point without neighbours is drawn as a dot.
      if (wasOpen) return `L${point}`;
      const isAlone = values[at + 1] === undefined;
      return isAlone ? `M${point}h-1h2` : `M${point}h0.01`;
    });
    return <path class={`line ${tone}`} d={path.join("")} />;
  });
}

function heightOf(value: number, top: number): number {
  return Math.round((1 - value / top) * height * 100) / 100;
}

interface Tick {
  /** Its position, in steps from the left edge. */
  at: number;
  text: string;
  anchor: "start" | "middle" | "end";
  /** Whether a month begins there, which gets a line of the grid. */
  isMonth: boolean;
}

/** Returns ticks where months begin, if at least two do; otherwise at even distances. */
function ticksOf(steps: readonly ChartStep[]): Tick[] {
  const months = steps.flatMap(({ month }, at) => month === undefined ? [] : [{ at, text: month }]);
  if (months.length < 2) return evenTicks(steps);
  const every = Math.ceil(months.length / maxMonths);
  return months.filter((_, nth) => nth % every === 0).map(({ at, text }): Tick => {
    const isLast = at > steps.length * 0.94;
    return { at, text, anchor: isLast ? "end" : "start", isMonth: true };
  });
}

const maxMonths = 6;

/** Returns ticks at the first and last steps, and at up to three steps between them. */
function evenTicks(steps: readonly ChartStep[]): Tick[] {
  const count = Math.min(5, steps.length);
  const last = steps.length - 1;
  return Array.from({ length: count }, (_, nth): Tick => {
    const at = count < 2 ? 0 : Math.round(nth * last / (count - 1));
    const { short: text } = steps[at]!;
    if (at === 0) return { at, text, anchor: "start", isMonth: false };
    return at === last
      ? { at: last + 1, text, anchor: "end", isMonth: false }
      : { at: at + 0.5, text, anchor: "middle", isMonth: false };
  });
}

function tickLine({ at, isMonth }: Tick): string {
  return isMonth ? `M${at * stepWidth} 0V${height}` : "";
}
