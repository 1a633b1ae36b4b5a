import type { ModelFigures } from "../../../../contracts/data/cohort_report.ts";
import { NotFound, type PageContext, type PageRequest, redirect } from "../../bind.tsx";
import { parseUsd } from "../../../base/money.ts";
import { type CsvCell, type CsvColumns, csvFile } from "../../csv.ts";
import { cohortProblems, cutText, loadCohort } from "./cohort.tsx";
import { type Amount, comparedRows, type PlainField, rangeOf } from "./cohort_comparison.tsx";
import { modelColumns } from "./model_comparison.tsx";

type Loaded = Awaited<ReturnType<typeof loadCohort>>;

/** Answers with one of the tables of a cohort's page as CSV, over the same calls. */
export async function cohortCsv(ctx: PageContext, request: PageRequest): Promise<Response> {
  if (Object.keys(cohortProblems(request)).length > 0) {
    return redirect(`/dashboard/cohorts/show?${request.fields}`);
  }
  const loaded = await loadCohort(ctx, request);
  const { body, compared, models } = loaded;
  const table = request.query("table");
  if (table === "comparison" && compared) return comparisonCsv(loaded, compared);
  if (table === "models" && models) {
    const general = [...cutCaveats(loaded, 0), ...models.by_model_warnings];
    return csvFile("cohort-models", {
      ...figureColumns,
      warnings: ({ warnings }) => [...general, ...warnings].join(" "),
    }, models.by_model);
  }
  if (table !== "outcomes") throw new NotFound();
  return csvFile("cohort-outcomes", {
    type: ({ type }) => type,
    label: ({ label }) => label,
    items: ({ count }) => count,
    value: ({ value }) => value,
    warnings: () => caveats(loaded, 0),
  }, body.conversions);
}

/** Columns of the models' table; the file has all models, the page only the first ones. */
const figureColumns: CsvColumns<ModelFigures> = {
  model: ({ model }) => model,
  calls: ({ interactions }) => interactions,
  ...Object.fromEntries(modelColumns.flatMap(({ title, range, versus }) => {
    const name = title.toLowerCase().replaceAll(" ", "_");
    const tested = (model: ModelFigures) => model.versus_first?.[versus];
    const entries: [string, CsvColumns<ModelFigures>[string]][] = [
      [name, (model) => cell(versus, range(model)?.at)],
      [`${name}_low95`, (model) => cell(versus, range(model)?.low)],
      [`${name}_high95`, (model) => cell(versus, range(model)?.high)],
      [`${name}_difference`, (model) => cell(versus, tested(model)?.difference)],
      [`${name}_difference_low95`, (model) => cell(versus, tested(model)?.low95)],
      [`${name}_difference_high95`, (model) => cell(versus, tested(model)?.high95)],
      [`${name}_distinguishable`, (model) => tested(model)?.distinguishable ?? null],
    ];
    return entries;
  })),
};

/** Returns what the page says of one of its cohorts on how to read the figures. */
function caveats(loaded: Loaded, index: 0 | 1): string {
  const body = [loaded.body, loaded.compared?.body][index];
  return [...cutCaveats(loaded, index), ...body?.warnings ?? []].join(" ");
}

function cutCaveats({ latest }: Loaded, index: 0 | 1): string[] {
  const text = cutText(latest[index]!);
  return text === undefined ? [] : [`not_all_calls: ${text}`];
}

/** Amounts have nine decimals, as in every file; other figures are as the API has them. */
function cell(field: string, value: Amount | undefined): CsvCell {
  if (value == null) return null;
  if (!field.endsWith("_usd")) return Number(value);
  const text = typeof value === "string" ? value : value.toFixed(9);
  return { nanos: parseUsd(text, 9, { allowNegative: true, allowExponent: true }) };
}

/** Writes the figures with their intervals, then sums and percentiles, which have none. */
function comparisonCsv(
  loaded: Loaded,
  { body: other, differences }: NonNullable<Loaded["compared"]>,
): Response {
  const one = loaded.body;
  const [ofOne, ofOther] = [caveats(loaded, 0), caveats(loaded, 1)];
  const tested = comparedRows.map(({ field }) => ({
    ...{ figure: field, one: rangeOf(one, field), other: rangeOf(other, field) },
    difference: differences[field],
  }));
  const plain = plainFields.map((field) => ({
    ...{ figure: field, one: point(one[field]), other: point(other[field]) },
    difference: { ...differences[field], ...noInterval },
  }));
  const latencies = (["p50", "p95"] as const).map((share) => ({
    figure: `latency_ms_${share}`,
    ...{ one: point(one.latency_ms[share]), other: point(other.latency_ms[share]) },
    difference: { ...differences.latency_ms[share], ...noInterval },
  }));
  type Row = (typeof tested | typeof plain | typeof latencies)[number];
  const columns: CsvColumns<Row> = {
    figure: ({ figure }) => figure,
    cohort_id: () => one.cohort_id,
    value: (row) => cell(row.figure, row.one?.at),
    low95: (row) => cell(row.figure, row.one?.low),
    high95: (row) => cell(row.figure, row.one?.high),
    compared_with: () => other.cohort_id,
    compared_value: (row) => cell(row.figure, row.other?.at),
    compared_low95: (row) => cell(row.figure, row.other?.low),
    compared_high95: (row) => cell(row.figure, row.other?.high),
    difference: (row) => cell(row.figure, row.difference.difference),
    difference_low95: (row) => cell(row.figure, row.difference.low95),
    difference_high95: (row) => cell(row.figure, row.difference.high95),
    distinguishable: ({ difference }) => difference.distinguishable,
    warnings: () => ofOne,
    compared_warnings: () => ofOther,
  };
  return csvFile("cohort-comparison", columns, [...tested, ...plain, ...latencies]);
}

const plainFields: readonly PlainField[] = [
  ...["interactions", "completed", "cost_usd", "conversions_total", "revenue_usd"] as const,
];

const noInterval = { low95: null, high95: null, distinguishable: null };

function point(value: Amount) {
  return value === null ? null : { at: value, low: null, high: null };
}
