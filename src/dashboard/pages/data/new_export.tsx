import { exportRequest } from "../../../../contracts/data/exports.ts";
import type { ExportTable } from "../../../../contracts/data/export_tables.ts";
import { readExportSpec } from "../../../exports/export_spec.ts";
import {
  type Outcome,
  type Page,
  type PageContext,
  type PageRequest,
  type Routes,
} from "../../bind.tsx";
import { PostForm } from "../../components.tsx";
import { submitOrExplain, validateForm } from "../../faults.ts";
import {
  Choices,
  DayField,
  FormButtons,
  FormError,
  type Option,
  SelectField,
  type Shown,
} from "../../fields.tsx";
import type { Form } from "../../form.ts";
import { offeredKeys } from "../../key_field.tsx";
import { askedFilters, filterField, FilterFields, readFilters } from "./record_filters.tsx";
import { dayMs } from "../../../shared/time_span.ts";

const address = "/dashboard/exports";

/** The tables' display names. */
export const tableNames: Readonly<Record<ExportTable, string>> = {
  interactions: "Interactions",
  eval_runs: "Evaluation runs",
  eval_results: "Evaluation results",
};

export function newExportRoutes(app: Routes, ctx: PageContext): void {
  app.get(
    `${address}/new`,
    "member",
    (request) => formPage(ctx, request, { values: asked(request), fieldErrors: {} }),
  );
  app.post(`${address}/new`, "member", (form, request) => start(ctx, form, request));
}

/** Returns the form's first values: the last thirty days, or what the query of a link sets. */
function asked(request: PageRequest): Shown["values"] {
  const days = (ago: number) =>
    new Date(request.now.getTime() - ago * dayMs).toISOString().slice(0, 10);
  return {
    tables: ["interactions"],
    format: ["json"],
    from: [request.query("from") ?? days(29)],
    to: [request.query("to") ?? days(0)],
    delivery: ["job"],
    ...askedFilters(request.query),
  };
}

async function start(ctx: PageContext, form: Form, request: PageRequest): Promise<Outcome> {
  const { accountId } = request;
  const { fieldErrors } = await submitOrExplain(async () => {
    const wanted = validateForm(exportRequest, await requestOf(ctx, form, request));
    const { spec, delivery } = readExportSpec(wanted, {
      accountId,
      hasBucket: ctx.exports.hasBucket,
    });
    await ctx.flushRecords();
    const tables = spec.tables.map((table) => tableNames[table]).join(", ");
    const detail = `${form.day("from")} to ${form.day("to")}, ${spec.format.toUpperCase()}`;
    const note = request.note("export.created", tables, detail);
    const location = delivery === "bucket" ? "bucket" : "job";
    await ctx.exports.start(accountId, spec, location, { audit: note });
  }, fieldOf);
  if (fieldErrors) {
    return { ...await formPage(ctx, request, { values: form.values(), fieldErrors }), status: 400 };
  }
  const text = "The export was started. Its file is kept for seven days.";
  return { to: address, notice: { kind: "done", text } };
}

/** Returns the form as a request of the API. */
async function requestOf(ctx: PageContext, form: Form, request: PageRequest): Promise<unknown> {
  return {
    tables: form.all("tables"),
    format: form.text("format"),
    range: { start: form.day("from"), end: form.day("to") },
    filters: await readFilters(ctx, request, form),
    raw_cells: form.text("raw_cells") === "yes",
    delivery: form.text("delivery") === "bucket" ? "bucket" : "job",
  };
}

function fieldOf(param: string): string | undefined {
  if (param.startsWith("tables")) return "tables";
  if (param === "range" || param.startsWith("range.start")) return "from";
  return param.startsWith("range.end") ? "to" : filterField(param) ?? param;
}

async function formPage(ctx: PageContext, request: PageRequest, shown: Shown): Promise<Page> {
  const keys = await offeredKeys(ctx, request.accountId);
  const tables = Object.entries(tableNames) as Option[];
  return {
    title: "New export",
    section: "exports",
    body: (
      <PostForm action={`${address}/new`} csrf={request.csrf} class="form">
        <FormError fieldErrors={shown.fieldErrors} />
        <Choices {...shown} id="tables" label="What" type="checkbox" options={tables} />
        <Choices
          {...shown}
          id="format"
          label="Format"
          type="radio"
          options={[
            ["json", "JSON: everything, for programs"],
            ["csv", "CSV: one table, for a spreadsheet"],
          ]}
        />
        <div class="columns">
          <DayField {...shown} id="from" label="First day" hint="UTC" required />
          <DayField {...shown} id="to" label="Last day" hint="Included" required />
        </div>
        {ctx.exports.hasBucket
          ? (
            <SelectField
              {...shown}
              id="delivery"
              label="Destination"
              options={[["job", "Keep it here for download"], ["bucket", "The service's bucket"]]}
            />
          )
          : null}
        <FilterFields {...shown} keys={keys} vendors={ctx.vendorNames} />
        <label class="choice">
          <input
            type="checkbox"
            name="raw_cells"
            value="yes"
            checked={shown.values.raw_cells?.[0] === "yes"}
          />{" "}
          CSV: don't escape formulas (=, +, -, @)
        </label>
        <FormButtons back={address}>Start export</FormButtons>
      </PostForm>
    ),
  };
}
