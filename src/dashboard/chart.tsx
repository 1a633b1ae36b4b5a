import { greatest } from "../base/lists.ts";
import type { Child } from "hono/jsx";
import { Table } from "./components.tsx";

/** One line or layer of a chart: a value for each step, undefined where there is none. */
export interface Series {
  name: string;
  /** Class of its colour: `tone-1`… in the sheet. */
  tone: string;
  values: readonly (number | undefined)[];
  /** What the legend and the table say of it. */
  total: string;
}

export interface ChartProps {
  id: string;
  title: string;
  /** The figure that the chart is about. */
  headline: string;
  /** What it is besides; also for those who hear the page. */
  detail?: Child;
  kind: "bars" | "lines";
  series: readonly Series[];
  /** What each step is called, in full and on the axis, and the calls that it is made of. */
  steps: readonly { name: string; short: string; href: string }[];
  /** What the first column of the table holds: Day or Hour. */
  stepTitle: string;
  format: (value: number) => string;
  class?: string;
}

/**
 * A chart with its figures in a table behind it. The drawing holds shapes alone, so that it can be
 * stretched; words stand beside it. A script shows the table's row of the step under the pointer.
 */
export function Chart(props: ChartProps) {
  const { id, title, headline, detail, series, steps, kind, format } = props;
  const top = niceTop(highest(props));
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
          <path class="grid" d={gridLines(steps.length)} />
          <rect class="cursor" width={stepWidth} height={height} y="0" visibility="hidden" />
          {kind === "bars" ? layers(series, top) : lines(series, top)}
        </svg>
        <div class="x-axis" aria-hidden="true">
          {axisSteps(steps).map(({ short }) => <span>{short}</span>)}
        </div>
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

function Figures({ title, stepTitle, steps, series, format }: ChartProps) {
  const head = [{ title: stepTitle }, ...series.map(({ name }) => ({ title: name }))];
  return (
    <Table label={`Figures of ${title}`} head={head}>
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

/** Units of the drawing. */
const stepWidth = 10;
const height = 100;

function highest({ kind, series, steps }: ChartProps): number {
  const tops = steps.map((_, at) => {
    const values = series.map(({ values }) => values[at] ?? 0);
    return kind === "bars" ? values.reduce((sum, value) => sum + value, 0) : greatest(values, 0);
  });
  return greatest(tops, 0);
}

/** The next round number, so close that drawings fill their height; half of it reads well too. */
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
      // A point without neighbours is drawn as well, as a dot.
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

/** The first, the last, and up to three between them, at even distances. */
function axisSteps<T>(steps: readonly T[]): T[] {
  const count = Math.min(5, steps.length);
  if (count < 2) return [...steps];
  const last = steps.length - 1;
  return Array.from({ length: count }, (_, at) => steps[Math.round(at * last / (count - 1))]!);
}
