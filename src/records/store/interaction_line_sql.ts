import {
  type ColumnKind,
  columnKinds,
  type InteractionColumn,
} from "../../../contracts/data/export_tables.ts";
import type { LineForm } from "../analytics_store.ts";
import { columns, type NamedColumn, sqlNameOf } from "../columns.ts";
import { formulaBeginnings } from "../exported_cells.ts";

/** A public column in SQL, with `i` for the row and `p` for its payloads. */
interface LineColumn {
  name: string;
  kind: ColumnKind;
  sql: string;
  sqlType: NamedColumn["sqlType"];
}

const lineColumns: readonly LineColumn[] = Object.entries(columnKinds.interactions).map(
  ([name, kind]) => {
    const sqlName = sqlNameOf(name as InteractionColumn);
    const stored = columns.find((column) => column.name === sqlName);
    return stored
      ? { name, kind, sql: `i.${sqlName}`, sqlType: stored.sqlType }
      : { name, kind, sql: `p.${name}`, sqlType: "text" };
  },
);

const byName = new Map(lineColumns.map((column) => [column.name, column]));

/**
 * Returns an expression for a row's line, with `i` for `interactions` and `p` for whole payloads.
 * It writes the same bytes as `csvWriter` and `jsonWriter` of `src/exports/row_writers.ts`, so that
 * lines never become strings in this process. Names come from the contract's table, never from
 * callers.
 */
export function lineSql(form: LineForm): string {
  const written = form.columns?.flatMap((name) => byName.get(name) ?? []) ?? lineColumns;
  if (form.format === "csv") {
    const cells = written.map((column) => csvCell(column, form.rawCells));
    return concat([...cells.flatMap((cell, at) => at === 0 ? [cell] : ["','", cell]), "E'\\r\\n'"]);
  }
  const cells = written.flatMap((column, at) => {
    const start = at === 0 ? `${form.before}{` : ",";
    return [literal(`${start}"${column.name}":`), jsonCell(column, form.oneLine === true)];
  });
  return concat([...cells, literal(`}${form.after}`)]);
}

/** PostgreSQL accepts up to 100 arguments. `concat` leaves out nulls. */
const argumentsAtOnce = 90;

function concat(texts: readonly string[]): string {
  if (texts.length <= argumentsAtOnce) return `concat(${texts.join(", ")})`;
  const first = concat(texts.slice(0, argumentsAtOnce));
  return concat([first, ...texts.slice(argumentsAtOnce)]);
}

/** Returns the text of a value, neither quoted nor escaped; null stays null. */
function textOf({ kind, sql, sqlType }: LineColumn): string {
  // The session's time zone is UTC. Digits below milliseconds are cut off, as in a Date.
  if (kind === "timestamp") return `to_char(${sql}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  // A numeric has the nine decimals of its factor.
  if (kind === "usd") return `(${sql} * 0.000000001)::text`;
  if (sqlType === "text[]") return `array_to_json(${sql})::text`;
  return sqlType === "text" ? sql : `${sql}::text`;
}

function jsonCell(column: LineColumn, oneLine: boolean): string {
  const { kind } = column;
  const text = oneLine && kind === "json" ? flattened(textOf(column)) : textOf(column);
  const isBare = kind === "number" || kind === "boolean" || kind === "json";
  // Neither a time nor an amount has anything to escape.
  const isOurs = kind === "timestamp" || kind === "usd";
  const value = isBare ? text : isOurs ? `'"' || ${text} || '"'` : `to_json(${text})::text`;
  return `coalesce(${value}, 'null')`;
}

/**
 * Replaces line ends by spaces. `replace` copies the text between two matches in one go;
 * `translate` takes ten times as long.
 */
function flattened(text: string): string {
  return `replace(replace(${text}, E'\\n', ' '), E'\\r', ' ')`;
}

function csvCell(column: LineColumn, rawCells: boolean): string {
  const { kind } = column;
  const text = textOf(column);
  if (kind !== "text" && kind !== "word" && kind !== "json") return text;
  // `strpos` stops at the first match; a regular expression first converts the whole text.
  const isSpecial = [`'"'`, "','", "E'\\n'", "E'\\r'"].map((one) => `strpos(${text}, ${one}) > 0`)
    .join(" or ");
  const quoted = (before: string) => `'"${before}' || replace(${text}, '"', '""') || '"'`;
  const plain = `when ${text} = '' or ${isSpecial} then ${quoted("")} else ${text} end`;
  if (rawCells || kind === "word") return `case ${plain}`;
  const guarded = `case when ${isSpecial} then ${quoted("''")} else '''' || ${text} end`;
  return `case when ascii(${text}) in (${formulaCodes}) then ${guarded} ${plain}`;
}

const formulaCodes = [...formulaBeginnings].map((one) => one.charCodeAt(0)).join(", ");

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Whether a form has the default columns of exports: all, or all but payloads. */
export function hasDefaultColumns({ columns: chosen }: LineForm): boolean {
  if (chosen === undefined) return true;
  const bare = lineColumns.filter(({ sql }) => !sql.startsWith("p."));
  return chosen.join() === bare.map(({ name }) => name).join();
}
