import { z } from "@hono/zod-openapi";
import { type ColumnKind, columnKinds, exportRecords, type ExportTable } from "./export_tables.ts";

/** The most values of one column; more have to be split over several exports. */
const maxValues = 10_000;
/** Names and labels are shorter. Looking up longer texts is slow (see `maxNameUnits`). */
const maxLength = 1_000;

type Scalar = string | number | boolean;
export type ExportFilters = Readonly<Record<string, Scalar | readonly Scalar[]>>;

/**
 * Column → a value, or an array of values of which any matches. It has every column of the three
 * tables that isn't JSON.
 */
export const exportFilters = z.strictObject(filterShape(), {
  error: ({ code }) =>
    code === "unrecognized_keys"
      ? `expected one of ${filterColumns("interactions").join(", ")}`
      : undefined,
}).openapi("ExportFilters") as z.ZodType<ExportFilters, ExportFilters>;

/** Returns the columns by which a table can be filtered. */
export function filterColumns(table: ExportTable): string[] {
  return columnsOf(table).filter(([, kind]) => kind !== "json").map(([name]) => name);
}

function filterShape(): Record<string, z.ZodType> {
  const shape: Record<string, z.ZodType> = {};
  for (const table of Object.keys(exportRecords) as ExportTable[]) {
    const columns: Readonly<Record<string, z.ZodType>> = exportRecords[table].shape;
    for (const [name, kind] of columnsOf(table)) {
      if (kind === "json") continue;
      const values = valueOf(columns[name]!, kind);
      // A column that several tables have is of the same kind in all of them.
      shape[name] ??= z.union([values, z.array(values).max(maxValues)], {
        error: () => `expected ${expected(values, kind)}, or an array of up to ${maxValues}`,
      }).optional().describe(`${columns[name]!.description ?? name} A value, or an array.`);
    }
  }
  return shape;
}

/**
 * Returns the schema of a filter's value: the column's, without null, which can't be filtered by.
 */
function valueOf(column: z.ZodType, kind: ColumnKind): z.ZodType {
  const inner = column instanceof z.ZodNullable ? column.unwrap() as z.ZodType : column;
  if (kind === "usd") {
    return z.string().regex(/^-?\d{1,9}(\.\d{1,9})?$/, {
      error: () => `expected ${kindNames.usd}`,
    });
  }
  return kind === "text" || kind === "word" && !(inner instanceof z.ZodEnum)
    ? z.string().max(maxLength)
    : inner;
}

function expected(values: z.ZodType, kind: ColumnKind): string {
  if (values instanceof z.ZodEnum) return `one of ${values.options.join(", ")}`;
  return kindNames[kind];
}

const kindNames: Readonly<Record<ColumnKind, string>> = {
  text: `a string of at most ${maxLength} characters`,
  word: `a string of at most ${maxLength} characters`,
  number: "a number",
  boolean: "true or false",
  timestamp: "an RFC 3339 timestamp such as 2026-11-21T09:00:00Z",
  usd: "an amount in US dollars as a string, such as 0.000054399",
  json: "a string",
};

function columnsOf(table: ExportTable): [string, ColumnKind][] {
  return Object.entries(columnKinds[table]);
}
