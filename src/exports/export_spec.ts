import type { ExportFilters } from "../../contracts/data/export_filters.ts";
import { filterColumns } from "../../contracts/data/export_filters.ts";
import { columnKinds, type ExportTable } from "../../contracts/data/export_tables.ts";
import { withoutOwnAccount } from "../records/filter_conditions.ts";
import { Fault, invalidValue } from "../shared/fault.ts";
import { type TimeSpan, timeSpan } from "../shared/time_span.ts";

export type ExportFormat = "json" | "csv" | "jsonl";
export type Delivery = "job" | "stream" | "bucket";

/** The content of an export; its time span is of `created_at`. */
export interface ExportSpec extends TimeSpan {
  format: ExportFormat;
  tables: readonly ExportTable[];
  filters: ExportFilters;
  rawCells: boolean;
  /** Only these columns, in this order; absent: all. */
  columns?: readonly string[];
}

/** The body of `POST /api/v1/exports`, by its contract. */
export interface ExportRequest {
  format: ExportFormat;
  range?: { start: string; end: string } | undefined;
  start_date?: string | undefined;
  end_date?: string | undefined;
  tables: readonly ExportTable[];
  filters: ExportFilters;
  columns?: readonly string[] | undefined;
  payloads?: boolean | undefined;
  raw_cells: boolean;
  delivery?: Delivery | undefined;
}

/**
 * Describes an export for the audit log. The log outlives end users' data, so this names the
 * filtered columns but never the values.
 */
export function describeExport(
  { tables, format, start, end, filters = {} }:
    & Pick<ExportSpec, "tables" | "format" | "start" | "end">
    & Partial<Pick<ExportSpec, "filters">>,
): string {
  const narrowed = Object.keys(filters);
  return [
    `${tables.join(", ")} as ${format.toUpperCase()}`,
    ...(start ? [`from ${start.toISOString()}`] : []),
    ...(end ? [`to ${end.toISOString()}`] : []),
    ...(narrowed.length > 0 ? [`by ${narrowed.join(", ")}`] : []),
  ].join(", ");
}

const mediaTypes: Readonly<Record<ExportFormat, string>> = {
  json: "application/json",
  // The parameters are those of RFC 4180, section 3.
  csv: "text/csv; charset=utf-8; header=present",
  jsonl: "application/x-ndjson",
};

export function exportMediaType(format: ExportFormat): string {
  return mediaTypes[format];
}

/** Reads a request that its contract has accepted. Throws faults that name the field. */
export function readExportSpec(
  request: ExportRequest,
  context: { accountId: number; hasBucket: boolean },
): { spec: ExportSpec; delivery: Delivery } {
  const tables = [...new Set(request.tables)];
  if (request.format !== "json" && tables.length > 1) {
    throw invalidValue(
      "tables",
      `${request.format} takes exactly one table; export the others separately`,
    );
  }
  const columns = columnsOfRequest(request, tables);
  const spec = {
    format: request.format,
    tables,
    ...span(request),
    filters: checkFilters(request.filters, tables, context.accountId),
    rawCells: request.raw_cells,
    ...(columns ? { columns } : {}),
  };
  return { spec, delivery: deliveryOf(request, context.hasBucket) };
}

function columnNamesOf(table: ExportTable): string[] {
  return Object.keys(columnKinds[table]);
}

const payloadColumns: readonly string[] = ["request", "response"];

/** Returns the columns of a table except those of requests and responses. */
export function columnsWithoutPayloads(table: ExportTable): string[] {
  return columnNamesOf(table).filter((name) => !payloadColumns.includes(name));
}

/** Returns the requested columns; undefined: all. */
function columnsOfRequest(
  { columns, payloads }: ExportRequest,
  tables: readonly ExportTable[],
): readonly string[] | undefined {
  if (columns === undefined) {
    if (payloads !== false) return undefined;
    return [...new Set(tables.flatMap(columnsWithoutPayloads))];
  }
  const existing = new Set(tables.flatMap(columnNamesOf));
  for (const [at, name] of columns.entries()) {
    if (!existing.has(name)) {
      throw invalidValue(`columns[${at}]`, `expected one of ${[...existing].join(", ")}`);
    }
    if (payloads === false && payloadColumns.includes(name)) {
      throw invalidValue(`columns[${at}]`, `${name} is a payload, and payloads is false`);
    }
  }
  const empty = tables.find((table) =>
    !columnNamesOf(table).some((name) => columns.includes(name))
  );
  if (empty === undefined) return [...new Set(columns)];
  throw invalidValue("columns", `expected at least one column of ${empty}`);
}

function span(request: ExportRequest): TimeSpan {
  const { range, start_date, end_date } = request;
  const hasTimes = start_date !== undefined || end_date !== undefined;
  if (range && hasTimes) {
    throw invalidValue("range", "give either range, or start_date and end_date, not both");
  }
  if (range) {
    const names = { start: "range.start", end: "range.end" };
    return timeSpan({ start_date: range.start, end_date: range.end }, names);
  }
  if (!hasTimes) {
    throw new Fault("missing_required_field", {
      param: "start_date",
      message:
        "start_date: give start_date, end_date or both, as days or RFC 3339 timestamps, or range with two of them.",
    });
  }
  return timeSpan(request);
}

function checkFilters(
  filters: ExportFilters,
  tables: readonly ExportTable[],
  accountId: number,
): ExportFilters {
  const knownFilters = new Set(tables.flatMap(filterColumns));
  for (const column of Object.keys(filters)) {
    if (!knownFilters.has(column)) {
      throw invalidValue(`filters.${column}`, `expected one of ${[...knownFilters].join(", ")}`);
    }
  }
  return withoutOwnAccount(filters, accountId, "filters.account_id");
}

function deliveryOf({ delivery, range }: ExportRequest, hasBucket: boolean): Delivery {
  if (delivery === "bucket" && !hasBucket) {
    throw invalidValue(
      "delivery",
      "no bucket is configured on this service; expected job or stream",
    );
  }
  return delivery ?? (range ? "job" : hasBucket ? "bucket" : "stream");
}
