import type { ExportFilters } from "../../contracts/data/export_filters.ts";
import { filterColumns } from "../../contracts/data/export_filters.ts";
import type { ExportTable } from "../../contracts/data/export_tables.ts";
import { Fault } from "../shared/fault.ts";
import { assertStorableTime, type TimeSpan, timeSpan } from "../shared/time_span.ts";

export type ExportFormat = "json" | "csv";
export type Delivery = "job" | "stream" | "bucket";

/** What an export is to hold; its span is of `created_at`. */
export interface ExportSpec extends TimeSpan {
  format: ExportFormat;
  tables: readonly ExportTable[];
  filters: ExportFilters;
  rawCells: boolean;
}

/** The body of `POST /api/v1/exports`, by its contract. */
export interface ExportRequest {
  format: ExportFormat;
  range?: { start: string; end: string } | undefined;
  start_date?: string | undefined;
  end_date?: string | undefined;
  tables: readonly ExportTable[];
  filters: ExportFilters;
  raw_cells: boolean;
  delivery?: Delivery | undefined;
}

/** What a file of an export is (RFC 9110, "Content-Type"). */
export function exportMediaType(format: ExportFormat): string {
  return format === "csv" ? "text/csv; charset=utf-8; header=present" : "application/json";
}

/** Reads a request that fits its contract. Throws faults that name the field. */
export function readExportSpec(
  request: ExportRequest,
  context: { accountId: number; hasBucket: boolean },
): { order: ExportSpec; delivery: Delivery } {
  const tables = [...new Set(request.tables)];
  if (request.format === "csv" && tables.length > 1) {
    throw invalidFilter(
      "tables",
      "csv takes exactly one table; ask for the others in exports of their own",
    );
  }
  const order = {
    format: request.format,
    tables,
    ...span(request),
    filters: checkFilters(request.filters, tables, context.accountId),
    rawCells: request.raw_cells,
  };
  return { order, delivery: deliveryOf(request, context.hasBucket) };
}

const dayMs = 24 * 60 * 60 * 1000;
function span(request: ExportRequest): TimeSpan {
  const { range, start_date, end_date } = request;
  const hasTimes = start_date !== undefined || end_date !== undefined;
  if (range && hasTimes) {
    throw invalidFilter("range", "give either range, or start_date and end_date, not both");
  }
  if (range) {
    if (range.end < range.start) {
      throw invalidFilter("range.end", "the last day is before the first");
    }
    return assertStorableTime({
      start: new Date(range.start),
      end: new Date(Date.parse(range.end) + dayMs),
    });
  }
  if (!hasTimes) {
    throw new Fault("missing_required_field", {
      param: "start_date",
      message:
        "start_date: give start_date, end_date or both, as RFC 3339 timestamps, or range with two dates.",
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
  for (const [column, value] of Object.entries(filters)) {
    if (!knownFilters.has(column)) {
      throw invalidFilter(`filters.${column}`, `expected one of ${[...knownFilters].join(", ")}`);
    }
    if (column === "account_id" && [value].flat().some((one) => one !== accountId)) {
      throw invalidFilter(
        "filters.account_id",
        "expected the account of this key; there is no other",
      );
    }
  }
  // Every read is narrowed to the key's account anyway.
  return Object.fromEntries(Object.entries(filters).filter(([name]) => name !== "account_id"));
}

function deliveryOf({ delivery, range }: ExportRequest, hasBucket: boolean): Delivery {
  if (delivery === "bucket" && !hasBucket) {
    throw invalidFilter(
      "delivery",
      "no bucket is configured on this service; expected job or stream",
    );
  }
  return delivery ?? (range ? "job" : hasBucket ? "bucket" : "stream");
}

function invalidFilter(param: string, message: string): Fault {
  return new Fault("invalid_value", { param, message: `${param}: ${message}.` });
}
