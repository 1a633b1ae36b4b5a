import type { CohortModelsBody, ModelFigures } from "../../../../contracts/data/cohort_report.ts";
import { count, counted, duration } from "../../amounts.ts";
import { numberColumn, Table } from "../../components.tsx";
import { modelName, type VendorNames } from "../../vendor_names.ts";
import {
  type Amount,
  chanceNote,
  dollars,
  type FigureRange,
  IntervalPlot,
  number,
  rangeOf,
  rate,
  signed,
  verdict,
  Warnings,
} from "./cohort_comparison.tsx";

/** How many models the page lists; the API lists up to a hundred. */
const maxModels = 12;

/** Compares what a cohort's models cost and brought, each with the one that has the most calls. */
export function ModelComparison({ models, csv, vendors }: {
  models: CohortModelsBody;
  csv: string;
  vendors: VendorNames;
}) {
  const { by_model: all, unattributed_conversions: unattributed, by_model_warnings } = models;
  const shown = all.slice(0, maxModels)
    .map((one) => ({ ...one, model: modelName(vendors, one.model) }));
  const [first] = shown;
  if (!first) return null;
  const isExperiment = shown.length > 1;
  const items = unattributed.reduce((sum, one) => sum + one.count, 0);
  const left = all.length - shown.length;
  return (
    <>
      <h2>Models</h2>
      {isExperiment ? <ModelTable models={shown} csv={csv} /> : (
        <p class="hint narrow">
          {`All of these calls went to ${first.model}. Name a virtual model with two weighted targets in place of it, and its models are compared here.`}
        </p>
      )}
      {isExperiment
        ? (
          <p class="hint narrow">
            {`Each figure with its interval at 95 %, and its difference from ${first.model}; “could be chance” where the interval of the difference holds zero. ${chanceNote}`}
          </p>
        )
        : null}
      {isExperiment
        ? (
          <Warnings
            about={[
              { name: "Models", warnings: by_model_warnings },
              ...shown.map((one) => ({ ...one, name: one.model })),
            ]}
          />
        )
        : null}
      {isExperiment && items > 0
        ? (
          <p class="hint narrow">
            {`${counted(items, "outcome")} of the cohort ${
              items === 1 ? "counts" : "count"
            } for no model: post outcomes with `}
            <code>session_id</code> or <code>transaction_id</code> of a call of the cohort.
          </p>
        )
        : null}
      {left > 0 ? <p class="hint">{`${counted(left, "more model")} had fewer calls.`}</p> : null}
    </>
  );
}

/** A column: a figure with its interval, and its difference from the first model's. */
interface ModelColumn {
  title: string;
  range: (model: ModelFigures) => FigureRange | null;
  versus: keyof NonNullable<ModelFigures["versus_first"]>;
  show: (value: number) => string;
  /** How a difference is shown, if not like the figure. */
  showDifference?: (value: number) => string;
  better: "less" | "more";
}

export const modelColumns: readonly ModelColumn[] = [
  {
    title: "Cost per call",
    range: (model) => rangeOf(model, "cost_per_interaction_usd"),
    versus: "cost_per_interaction_usd",
    show: dollars,
    better: "less",
  },
  {
    title: "Conversions per call",
    range: (model) => rangeOf(model, "conversions_per_interaction"),
    versus: "conversion_rate",
    show: rate,
    better: "more",
  },
  {
    title: "Cost per conversion",
    range: (model) => rangeOf(model, "cost_per_conversion_usd"),
    versus: "cost_per_conversion_usd",
    show: dollars,
    better: "less",
  },
  {
    title: "Error rate",
    range: ({ error_rate: at, error_rate_95: { low95, high95 } }) => (
      { at, low: low95, high: high95 }
    ),
    versus: "error_rate",
    show: (share) => `${rate(share * 100)} %`,
    // "+5 %" could also be a twentieth more.
    showDifference: (share) => `${rate(share * 100)} points`,
    better: "less",
  },
  {
    title: "Latency per call",
    range: (model) => rangeOf(model, "latency_per_interaction_ms"),
    versus: "latency_per_interaction_ms",
    show: duration,
    better: "less",
  },
];

function ModelTable({ models, csv }: { models: readonly ModelFigures[]; csv: string }) {
  const plotted = modelColumns.map((column) => ({ ...column, ranges: models.map(column.range) }));
  return (
    <Table
      label="Models"
      csv={csv}
      head={[
        "Model",
        numberColumn("Calls"),
        ...modelColumns.map(({ title }) => ({ title, class: "plot-head" })),
      ]}
    >
      {models.map((model, at) => (
        <tr>
          <th scope="row" class={`name ${at === 0 ? "dot-one" : "dot-other"}`}>{model.model}</th>
          <td class="number">{count(model.interactions)}</td>
          {plotted.map((column) => (
            <td>
              <ModelCell
                column={column}
                ranges={column.ranges}
                at={at}
                versus={model.versus_first?.[column.versus]}
              />
            </td>
          ))}
        </tr>
      ))}
    </Table>
  );
}

interface Versus {
  difference: Amount;
  distinguishable: boolean | null;
}

function ModelCell({ column: { show, showDifference = show, better }, ranges, at, versus }: {
  column: ModelColumn;
  ranges: readonly (FigureRange | null)[];
  at: number;
  versus: Versus | undefined;
}) {
  const range = ranges[at];
  if (!range) return <span class="muted">–</span>;
  const difference = number(versus?.difference);
  return (
    <>
      <IntervalPlot ranges={[range]} among={ranges} first={at} height={16} />
      {show(range.at)}
      {range.low === null || range.high === null
        ? null
        : <div class="hint">{`${show(range.low)} – ${show(range.high)}`}</div>}
      {versus === undefined || difference === null ? null : (
        <div>
          {verdict(difference, versus.distinguishable, better)}{" "}
          <span class="hint nowrap">{signed(difference, showDifference)}</span>
        </div>
      )}
    </>
  );
}
