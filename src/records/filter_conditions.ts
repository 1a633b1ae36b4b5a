import {
  columnKinds,
  type ExportTable,
  type InteractionColumn,
} from "../../contracts/data/export_tables.ts";
import { lowerCaseUuid } from "../../contracts/kernel/common.ts";
import { filterColumns } from "../../contracts/data/export_filters.ts";
import { pushAll } from "../base/lists.ts";
import { parseUsd } from "../base/money.ts";
import type { InteractionQuery } from "../shared/interaction.ts";
import { invalidValue } from "../shared/fault.ts";
import { isStorableTime } from "../shared/time_span.ts";
import type { SqlValue } from "../database/database.ts";
import { sanitizeText } from "../database/sanitize_text.ts";
import { sqlNameOf } from "./columns.ts";

type Filters = Readonly<Record<string, unknown>>;

/**
 * Writes the filters of a table as conditions with bound values; column names come from the
 * contract's list, never from text. A column that only other tables have matches no rows; a column
 * that no table has, or `account_id`, throws `invalid_value`. With `indexedBy`, the index of no other
 * text column is used.
 */
export function filterConditions(
  table: ExportTable,
  alias: string,
  filters: Filters,
  bind: (value: SqlValue) => string,
  indexedBy?: string,
): string[] {
  return Object.entries(filters).map(([column, value]) => {
    const wanted = [value].flat();
    if (!isColumn(table, column)) return nothing(table, column);
    const kind = (columnKinds[table] as Readonly<Record<string, string>>)[column];
    if (kind === "timestamp") {
      // No call has a time that the database can't store.
      const times = wanted.map((one) => new Date(String(one))).filter(isStorableTime)
        .map((time) => time.toISOString());
      return `${alias}.${column} = any(${bind(times)}::timestamptz[])`;
    }
    if (kind === "usd") {
      const nanos = wanted.map((one) => parseUsd(String(one), 9, { allowNegative: true }));
      return `${alias}.${sqlNameOf(column as InteractionColumn)} = any(${bind(nanos)}::bigint[])`;
    }
    if (kind === "number" && table === "interactions") {
      // Whole numbers, as in the column: its text would have no index.
      const numbers = wanted.map(Number).filter(Number.isSafeInteger);
      return `${alias}.${column} = any(${bind(numbers)}::bigint[])`;
    }
    const texts = wantedTexts(column, wanted);
    const isChecked = indexedBy !== undefined && indexedBy !== column;
    // No index serves a joined text.
    const text = isChecked ? `(${alias}.${column}::text || '')` : `${alias}.${column}::text`;
    // An index returns the rows of a single value in order of time.
    if (texts.length === 1) return `${text} = ${bind(texts[0]!)}`;
    return `${text} = any(${bind(texts)}::text[])`;
  });
}

/**
 * Returns the filters without the one by account, since every read is limited to the key's account
 * anyway. `param` names that filter in the fault for another account.
 */
export function withoutOwnAccount<Value>(
  filters: Readonly<Record<string, Value>>,
  accountId: number,
  param: string,
): Record<string, Value> {
  const { account_id: wanted = [], ...others } = filters;
  if ([wanted].flat().some((one) => one !== accountId)) {
    throw invalidValue(param, "expected the account of this key; there is no other");
  }
  return others;
}

/** Returns the texts that a filter by a column looks for, each once. */
export function wantedTexts(column: string, wanted: readonly unknown[]): string[] {
  const isTransaction = column.endsWith("transaction_id");
  const textOf = (one: unknown) => isTransaction ? lowerCaseUuid(String(one)) : String(one);
  return [...new Set(wanted.map((one) => sanitizeText(textOf(one))))];
}

/**
 * Returns a vendor's label by any of its names, including those of the operator's file; other words
 * stay as they are.
 */
export type VendorLabel = (name: string) => string;

/**
 * Returns the query with vendors named by their labels, as in records, and with models that are
 * named as in usage (`vendor-b/gpt-5-mini`) also by their names at the vendor.
 */
export function withRecordedNames<
  Query extends {
    readonly table?: ExportTable;
    readonly filters?: Readonly<Record<string, unknown>>;
  },
>(query: Query, vendorLabel: VendorLabel): Query & Pick<InteractionQuery, "modelNames"> {
  const { vendor, ...filters } = query.filters ?? {};
  const labels = vendor === undefined
    ? {}
    : { vendor: [...new Set([vendor].flat().map((name) => vendorLabel(String(name))))] };
  const named = { ...query, filters: { ...filters, ...labels } };
  const { table = "interactions" } = query;
  const names = table === "interactions" ? wantedTexts("model", [filters.model ?? []].flat()) : [];
  const atVendors = names.flatMap((name) => {
    const [label, ...rest] = name.split("/");
    // An alias stays part of the name: `openai/gpt-4o` is OpenRouter's own name of a model.
    return rest.length > 0 && vendorLabel(label!) === label ? [rest.join("/")] : [];
  });
  if (atVendors.length === 0) return named;
  const model = [...new Set([...names, ...atVendors])];
  return { ...named, filters: { ...named.filters, model }, modelNames: names };
}

function isColumn(table: ExportTable, column: string): boolean {
  return column !== "account_id" && filterColumns(table).includes(column);
}

function nothing(table: ExportTable, column: string): string {
  const others = Object.keys(columnKinds) as ExportTable[];
  if (others.some((other) => other !== table && isColumn(other, column))) return "false";
  const names = filterColumns(table).filter((one) => one !== "account_id");
  throw invalidValue(`filters.${column}`, `expected one of ${names.join(", ")}`);
}

export function interactionConditions(
  query: InteractionQuery,
): { conditions: string[]; values: SqlValue[] } {
  const values: SqlValue[] = [query.accountId];
  const conditions = ["i.account_id = $1"];
  if (query.start) conditions.push(`i.created_at >= $${values.push(query.start)}`);
  if (query.end) conditions.push(`i.created_at < $${values.push(query.end)}`);
  const bind = (value: SqlValue) => `$${values.push(value)}`;
  pushAll(
    conditions,
    filterConditions("interactions", "i", query.filters ?? {}, bind, query.indexedBy),
  );
  if (query.modelNames) conditions.push(namedAsInUsage(query.modelNames, bind));
  return { conditions, values };
}

/** A query names at most so many vendors one by one, since each makes planning slower. */
const maxVendorsApart = 20;

/**
 * Matches names of models as they are at the vendor or in usage. Vendor and model apart, since the
 * planner has neither statistics nor an index of the joined name.
 */
function namedAsInUsage(names: readonly string[], bind: (value: SqlValue) => string): string {
  const wanted = bind(names);
  const byVendor = Map.groupBy(names, (name) => name.split("/", 1)[0]!);
  const atVendors = byVendor.size > maxVendorsApart
    ? [`i.vendor || '/' || i.model = any(${wanted}::text[])`]
    : [...byVendor].map(([vendor, its]) => {
      const models = its.map((name) => name.slice(vendor.length + 1));
      return `i.vendor = ${bind(vendor)} and i.model = any(${bind(models)}::text[])`;
    });
  return `(${[`i.model = any(${wanted}::text[])`, ...atVendors].join(" or ")})`;
}
