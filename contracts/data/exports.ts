import { z } from "@hono/zod-openapi";
import { dayOrTimeSchema, pathUuid, timestampSchema } from "../kernel/common.ts";
import { defineContract, ofRecords } from "../kernel/contract.ts";
import { exportFilters } from "./export_filters.ts";
import { columnKinds, exportRecords, exportTables } from "./export_tables.ts";

const exportFormats = ["json", "csv", "jsonl"] as const;

/** A limit that exceeds the columns of all tables together. */
const maxColumns = 100;

const columnNames = [...new Set(exportTables.flatMap((table) => Object.keys(columnKinds[table])))];

export const exportRequest = z.strictObject({
  format: z.enum(exportFormats).default("json").describe(
    "`json`: one array, or an object of arrays where several tables are named. `csv`: RFC 4180 with a header line, one table. `jsonl`: a row a line, one table. Default `json`.",
  ),
  range: z.strictObject({
    start: dayOrTimeSchema.describe("First day, UTC, or first moment; included."),
    end: dayOrTimeSchema.describe("Last day, UTC, included; or last moment, not included."),
  }).optional().describe("Job form. Either this, or `start_date` and `end_date`."),
  start_date: dayOrTimeSchema.optional().describe(
    "Direct form: first day, UTC, or first moment; included. One of the two may be missing.",
  ),
  end_date: dayOrTimeSchema.optional().describe(
    "Direct form: last day, UTC, included; or last moment, not included.",
  ),
  tables: z.array(z.enum(exportTables)).min(1).max(exportTables.length).default(["interactions"])
    .describe('Default `["interactions"]`; `csv` and `jsonl` take exactly one.'),
  columns: z.array(z.enum(columnNames as [string, ...string[]])).min(1).max(maxColumns).optional()
    .describe(
      "Only these columns, in this order; of several tables, each exports those it has, at least one. Default: all.",
    ),
  payloads: z.boolean().optional().describe(
    "`false` leaves out `request` and `response`, which are most of an export's size; `columns` can't name them then. Default true.",
  ),
  filters: exportFilters.default({}).describe(
    "Column to a value, or to an array of values of which any matches. A table that lacks the column has no match.",
  ),
  raw_cells: z.boolean().default(false).describe(
    "`csv` only: don't escape formulas. Default false: texts that begin with `=`, `+`, `-`, `@` (in full width too), a tab or a line break get a `'` in front.",
  ),
  delivery: z.enum(["job", "stream", "bucket"]).optional().describe(
    "Default: `job` for `range`; for `start_date` and `end_date` `bucket` where one is configured, else `stream`.",
  ),
}).openapi("ExportRequest");

const requestId = z.string().openapi({ format: "uuid" }).describe("Id of the export.");

const exportJob = z.strictObject({
  status: z.literal("success").describe("Always `success`."),
  request_id: requestId,
  bytes_size: z.number().int().describe("Bytes of the file; 0 until it is written."),
  message: z.string().describe("What to do next, for humans."),
}).openapi("ExportJob");

/** The answer of an export to a bucket. */
const exportLink = z.strictObject({
  export_url: z.string().describe("Signed URL of the file, valid for seven days."),
}).openapi("ExportLink");

const chosenColumns = z.record(z.string(), z.unknown()).openapi("ChosenColumns").describe(
  "A row of an export with `columns` or `payloads`: the requested columns.",
);
const whole = Object.values(exportRecords).map((record) => z.array(record));
const rows = [...whole, z.array(chosenColumns)];
const exportFile = z.union([
  ...rows,
  z.strictObject(Object.fromEntries(exportTables.map((name, at) => [
    name,
    z.union([whole[at]!, z.array(chosenColumns)]).optional().describe(
      `Rows of \`${name}\`, if requested.`,
    ),
  ]))).openapi("ExportedTables"),
]).openapi("ExportFile");
const exported = z.union([exportJob, exportLink, exportFile]);

const idParams = z.object({ request_id: pathUuid().describe("Id of the export.") });

export const createExport = defineContract({
  ...ofRecords("exports", "post", "/api/v1/exports", "createExport"),
  summary: "Export calls and evaluations",
  description:
    "Exports what is recorded when the request arrives, oldest first; later records are not included. Job form (`range`): answers when the file is written, with `Prefer: respond-async` at once with 202; fetch it with `GET /api/v1/exports/{request_id}/stream`. Direct form (`start_date`, `end_date`): the rows are streamed in the answer, or `{export_url}` where a bucket is configured. A repeat of a streamed answer is carried out again.",
  headers: z.object({
    "Prefer": z.string().optional().describe(
      "`respond-async`: the job form answers at once, with 202. Default: when the file is written.",
    ),
  }),
  body: exportRequest,
  media: {
    "application/json": exported,
    "text/csv": z.string(),
    "application/x-ndjson": z.string(),
  },
  otherStatuses: { 202: { "application/json": exportJob } },
  errors: ["idempotency_conflict"],
});

// `unknown` although it is bytes: generators give an operation one type for all its answers.
const part = z.unknown().describe("The requested bytes of the file.");

export const streamExport = defineContract({
  ...ofRecords("exports", "get", "/api/v1/exports/{request_id}/stream", "streamExport"),
  summary: "Download an export's file",
  description:
    "`Range` with one range of bytes, and `If-Range` with the `ETag`, resume a download.",
  params: idParams,
  headers: z.object({
    "Range": z.string().optional().describe(
      "`bytes=<from>-` or `bytes=<from>-<to>`: a part of the file, with 206. Default: all of it.",
    ),
    "If-Range": z.string().optional().describe(
      "`ETag` of an earlier answer: the part is sent only if the file is still the same, else all of it.",
    ),
  }),
  media: {
    "application/json": exportFile,
    "text/csv": z.string(),
    "application/x-ndjson": z.string(),
  },
  otherStatuses: {
    206: { "application/json": part, "text/csv": part, "application/x-ndjson": part },
  },
  errors: ["invalid_value", "export_not_found", "export_not_ready", "range_not_satisfiable"],
});

export const listExports = defineContract({
  ...ofRecords("exports", "get", "/api/v1/exports", "listExports"),
  summary: "List exports, newest first",
  answer: z.strictObject({
    data: z.array(z.strictObject({
      request_id: requestId,
      state: z.enum(["queued", "running", "ready", "failed", "deleted"]).describe(
        "`deleted`: its file contained data that has been erased since, or data was erased too often while it was being written.",
      ),
      format: z.enum(exportFormats).describe("Format of the file."),
      bytes_size: z.number().int().describe("Bytes of the file; 0 until it is written."),
      created_at: timestampSchema.describe("When it was requested."),
      expires_at: timestampSchema.describe("When it is deleted automatically."),
    })).describe("The exports; an account can keep a limited number."),
  }).openapi("ExportList"),
});

export const deleteExport = defineContract({
  ...ofRecords("exports", "delete", "/api/v1/exports/{request_id}", "deleteExport"),
  summary: "Cancel an export, or delete its file",
  params: idParams,
  answer: z.strictObject({
    status: z.literal("success").describe("Always `success`."),
    request_id: requestId,
    message: z.string().describe("What was done, for humans."),
  }).openapi("ExportDeleted"),
  errors: ["invalid_value", "export_not_found"],
});
