import type { ExportFilters } from "../../contracts/export_filters.ts";
import { filterColumns } from "../../contracts/export_filters.ts";
import type { ExportTable } from "../../contracts/export_tables.ts";
import { Fault } from "./fault.ts";

export type ExportFormat = "json" | "csv";
export type Delivery = "job" | "stream" | "bucket";

/** What an export is to hold. Times are half-open: `start` ≤ created_at < `end`. */
export interface ExportOrder {
  format: ExportFormat;
  tables: readonly ExportTable[];
  start?: Date;
  end?: Date;
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

/** Reads a request that fits its contract. Throws faults that name the field. */
export function readOrder(
  request: ExportRequest,
  context: { accountId: number; hasBucket: boolean },
): { order: ExportOrder; delivery: Delivery } {
  const tables = [...new Set(request.tables)];
  if (request.format === "csv" && tables.length > 1) {
    throw wrong(
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
/** What the database and RFC 3339 both can say. */
const earliest = Date.parse("0001-01-02T00:00:00Z");
const latest = Date.parse("9999-12-31T00:00:00Z");

function span(request: ExportRequest): Pick<ExportOrder, "start" | "end"> {
  const { range, start_date, end_date } = request;
  const hasTimes = start_date !== undefined || end_date !== undefined;
  if (range && hasTimes) {
    throw wrong("range", "give either range, or start_date and end_date, not both");
  }
  if (range) {
    if (range.end < range.start) throw wrong("range.end", "expected a day not before range.start");
    return times(new Date(range.start), new Date(Date.parse(range.end) + dayMs));
  }
  if (!hasTimes) {
    throw new Fault("missing_required_field", {
      param: "start_date",
      message:
        "start_date: give start_date, end_date or both, as RFC 3339 timestamps, or range with two dates.",
    });
  }
  const start = start_date === undefined ? undefined : new Date(start_date);
  const end = end_date === undefined ? undefined : new Date(end_date);
  if (start && end && end <= start) throw wrong("end_date", "expected a time after start_date");
  return times(start, end);
}

function times(start: Date | undefined, end: Date | undefined): Pick<ExportOrder, "start" | "end"> {
  return { ...(start ? { start: clamp(start) } : {}), ...(end ? { end: clamp(end) } : {}) };
}

/** No call is so old or so far in the future; the years beyond are written in other ways. */
function clamp(time: Date): Date {
  return new Date(Math.min(Math.max(time.getTime(), earliest), latest));
}

function checkFilters(
  filters: ExportFilters,
  tables: readonly ExportTable[],
  accountId: number,
): ExportFilters {
  const known = new Set(tables.flatMap(filterColumns));
  for (const [column, value] of Object.entries(filters)) {
    if (!known.has(column)) {
      throw wrong(`filters.${column}`, `expected one of ${[...known].join(", ")}`);
    }
    if (column === "account_id" && [value].flat().some((one) => one !== accountId)) {
      throw wrong("filters.account_id", "expected the account of this key; there is no other");
    }
  }
  // Every read is narrowed to the key's account anyway.
  return Object.fromEntries(Object.entries(filters).filter(([name]) => name !== "account_id"));
}

function deliveryOf({ delivery, range }: ExportRequest, hasBucket: boolean): Delivery {
  if (delivery === "bucket" && !hasBucket) {
    throw wrong("delivery", "no bucket is configured on this service; expected job or stream");
  }
  return delivery ?? (range ? "job" : hasBucket ? "bucket" : "stream");
}

function wrong(param: string, message: string): Fault {
  return new Fault("invalid_value", { param, message: `${param}: ${message}.` });
}
