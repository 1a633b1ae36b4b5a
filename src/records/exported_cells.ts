import {
  type ColumnKind,
  columnKinds,
  type InteractionColumn,
} from "../../contracts/data/export_tables.ts";
import { nanosToUsd } from "../base/money.ts";
import type { InteractionSummary, SettledCall } from "../shared/interaction.ts";
import {
  type ColumnName,
  columnTable,
  type FieldOf,
  type NamedColumn,
  type PayloadColumn,
  publicColumns,
  type StoredColumn,
} from "./columns.ts";

/**
 * Characters that a text of a caller or vendor begins with where spreadsheets read it as a formula,
 * half and full width. They drop white space first.
 */
export const formulaBeginnings: ReadonlySet<string> = new Set("=+-@＝＋－＠\t\r\n");

/** A value of an export. Times, amounts and JSON are already text; booleans may be. */
export type Cell = string | number | boolean | null;

/**
 * Columns that the database sends as whole numbers, all within the range of JSON's; it sends the
 * others as text.
 */
const numberColumns = publicColumns.filter(({ name, sqlType }) =>
  sqlType !== "text" && columnKind(name) === "number"
);
const textColumns = publicColumns.filter((column) => !numberColumns.includes(column));

/**
 * A select list of two JSON arrays, `texts` and `numbers`, with all columns but the payloads, for
 * `exportedCells`; `i` stands for `interactions`. The database writes the arrays several times
 * faster than the driver reads forty columns, and fastest where an array's columns need no cast.
 */
export const exportedArrays = `array_to_json(array[${
  textColumns.map(({ name, sqlType }) =>
    sqlType === "text"
      ? `i.${name}`
      : sqlType === "text[]"
      ? `array_to_json(i.${name})::text`
      : `i.${name}::text`
  ).join(", ")
}])::text as texts,
  array_to_json(array[${
  numberColumns.map(({ name, sqlType }) => sqlType === "bigint" ? `i.${name}` : `i.${name}::bigint`)
    .join(", ")
}])::text as numbers`;

/** A row of an export as the database sends it. */
export interface ExportedRow {
  texts: string;
  numbers: string;
  request: string | null;
  response: string | null;
}

const truncatedAt = textColumns.findIndex(({ name }) => name === "payload_truncated");

/** Where each column of an export comes from. */
const cellReaders = Object.entries<StoredColumn | PayloadColumn>(columnTable).map(
  ([publicName, column]) => {
    const kind = columnKinds.interactions[publicName as InteractionColumn];
    if ("payload" in column) return { payload: column.payload, at: -1, isNumber: false, kind };
    const isThis = ({ name }: NamedColumn) => name === (column.sqlName ?? publicName);
    const isNumber = numberColumns.some(isThis);
    const at = (isNumber ? numberColumns : textColumns).findIndex(isThis);
    return { payload: undefined, at, isNumber, kind };
  },
);

export function exportedCells(row: ExportedRow): Cell[] {
  const texts = JSON.parse(row.texts) as (string | null)[];
  const numbers = JSON.parse(row.numbers) as (number | null)[];
  const isTruncated = texts[truncatedAt] === "true";
  const cells: Cell[] = [];
  for (const { payload, at, isNumber, kind } of cellReaders) {
    if (payload !== undefined) cells.push(payloadCell(row[payload], isTruncated));
    else if (isNumber) cells.push(numbers[at]!);
    else cells.push(textCell(texts[at]!, kind));
  }
  return cells;
}

/**
 * Returns the cells of a call that was read as a record, in the order of an export. Without
 * `payloads` the payloads' cells are null.
 */
export function recordCells(
  summary: InteractionSummary,
  payloads: { request: string | null; response: string | null } = { request: null, response: null },
): Cell[] {
  return Object.values<StoredColumn | PayloadColumn>(columnTable).map((column) => {
    if ("payload" in column) return payloadCell(payloads[column.payload], summary.payloadTruncated);
    const value = summary[column.field as keyof InteractionSummary] ?? null;
    if (value instanceof Date) return value.toISOString();
    if (typeof value === "bigint") return nanosToUsd(value);
    // Arrays are written as JSON here; what the record holds as text is JSON already.
    if (value !== null && typeof value === "object") return JSON.stringify(value);
    return value;
  });
}

function textCell(text: string | null, kind: ColumnKind): Cell {
  if (text === null) return null;
  if (kind === "timestamp") return isoTime(text);
  return kind === "usd" ? nanosToUsd(BigInt(text)) : text;
}

function columnKind(sqlName: ColumnName): ColumnKind | undefined {
  return (columnKinds.interactions as Readonly<Record<string, ColumnKind>>)[sqlName];
}

/** Converts PostgreSQL's text of a time in UTC (`2026-11-21 09:00:00.123+00`) to ISO 8601. */
function isoTime(text: string): string {
  return new Date(text).toISOString();
}

/** Fields whose types JSON lacks. */
export const timeFields = fieldsOf("timestamp") as readonly FieldOf<Date>[];
export const amountFields = fieldsOf("usd") as readonly FieldOf<bigint | null>[];

function fieldsOf(kind: ColumnKind): (keyof SettledCall)[] {
  return Object.entries<StoredColumn | PayloadColumn>(columnTable).flatMap(([name, column]) =>
    "field" in column && columnKinds.interactions[name as InteractionColumn] === kind
      ? [column.field]
      : []
  );
}

/** Truncated text is no longer JSON: it is exported as a JSON string. */
function payloadCell(text: string | null, truncated: boolean): string | null {
  if (text === null || !truncated) return text;
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify(text);
  }
}
