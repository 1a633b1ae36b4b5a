import type { SettledCall } from "../../shared/interaction.ts";
import { pushAll } from "../../base/lists.ts";
import { Turns } from "../../base/turns.ts";
import { searchKeys } from "../search_tokens.ts";
import type { Queryable, SqlRow } from "../../database/database.ts";
import { columns, writeCells } from "../columns.ts";
import { dropBackground } from "../../background/store/background_end.ts";
import {
  dropStoredResponses,
  insertStoredResponses,
} from "../../relay/conversation/store/stored_responses.ts";
import { insertMedia } from "./media.ts";
import { formatCell } from "../../database/arrays.ts";
import { chunks } from "../../database/chunks.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";
import { noteErased, withoutErased } from "../../erasure/store/tombstones.ts";
import {
  addedCalls,
  changeUsage,
  countedColumns,
  type UsageChange,
} from "../../usage/store/count_usage.ts";
import { unstoredCalls } from "../../usage/store/usage_sums.ts";

/** Which parts of records a database holds. */
export type RecordPart = "rows" | "retained";

/** A call's row and its payloads with their search words, as cells of the arrays that are inserted. */
interface WrittenCall {
  readonly call: SettledCall;
  readonly row: Cells;
  readonly payloads: Cells;
}

/** The values of a row, column by column, each as an element of an array's literal. */
type Cells = readonly string[];

/** By the ids of the calls. */
export type WrittenCalls = ReadonlyMap<string, WrittenCall>;

/** Before the transaction, in which they would be waited for, and in turns: calls go on meanwhile. */
export async function writeCalls(calls: readonly SettledCall[]): Promise<WrittenCalls> {
  const written = new Map<string, WrittenCall>();
  const turns = new Turns();
  for (const call of calls) {
    await turns.pause();
    const payloads = writePayload(call);
    written.set(call.transactionId, { call, row: writeCells(call), payloads });
  }
  return written;
}

/**
 * Writes rows with payloads and media, stored responses, or both, as part of a transaction. Existing
 * rows stay as they are. Rows that a deletion covers are left out; their ids are returned. The rows'
 * partitions must exist (`Partitions`). `written`: of all rows that are written.
 */
export async function writeRecords(
  tx: Queryable,
  calls: readonly SettledCall[],
  parts: readonly RecordPart[],
  written: WrittenCalls,
): Promise<string[]> {
  const { rows, erased, newlyErased } = await withoutErased(tx, calls);
  if (erased.length > 0 && parts.includes("retained")) await dropRetained(tx, erased);
  if (parts.includes("rows")) {
    const unstored = await unstoredCalls(tx, newlyErased);
    // Last: all writers share the rows of sums, so they are locked as briefly as possible.
    await changeUsage(tx, [...unstored, ...await insertRows(tx, rows, written)]);
  }
  if (rows.length > 0 && parts.includes("retained")) await insertStoredResponses(tx, rows);
  return erased;
}

/** An earlier try may have written it: with two databases it goes before the rows. */
async function dropRetained(tx: Queryable, transactionIds: readonly string[]): Promise<void> {
  await dropBackground(tx, transactionIds);
  await dropStoredResponses(tx, transactionIds);
}

/** In the main database: these calls were found to be erased when their rows were to be written. */
export async function dropErased(tx: Queryable, transactionIds: readonly string[]): Promise<void> {
  await noteErased(tx, transactionIds);
  await dropRetained(tx, transactionIds);
}

/** Returns the newly inserted rows; existing rows are not counted again. */
async function insertRows(
  tx: Queryable,
  calls: readonly SettledCall[],
  written: WrittenCalls,
): Promise<UsageChange[]> {
  if (calls.length === 0) return [];
  const inserted = await inStatements(tx, insertUsage, calls.map((call) => rowOf(call, written)));
  const payloads = calls.map(({ transactionId }) => written.get(transactionId)!.payloads);
  await inStatements(tx, insertPayloads, payloads);
  await insertMedia(tx, calls);
  return addedCalls(inserted);
}

/** What was written before the transaction, unless the call has changed in it. */
function rowOf(call: SettledCall, written: WrittenCalls): Cells {
  const early = written.get(call.transactionId)!;
  return early.call === call ? early.row : writeCells(call);
}

/** The rows that all the statements return. */
async function inStatements(
  tx: Queryable,
  statement: string,
  rows: readonly Cells[],
): Promise<SqlRow[]> {
  const returned: SqlRow[] = [];
  for (const some of chunks(rows, charactersOf, sentCharacters)) {
    const arrays = some[0]!.map((_, at) => arrayOf(some, at));
    pushAll(returned, await tx.query(statement, arrays));
  }
  return returned;
}

// Plain loops in module functions: V8 drops the compiled code of callbacks that live no longer than a
// batch, and would compile them again for nearly every batch.

function charactersOf(row: Cells): number {
  let characters = 0;
  for (const cell of row) characters += cell.length + 1;
  return characters;
}

/** The literal of the array with one cell of each row. */
function arrayOf(rows: readonly Cells[], at: number): string {
  const cells: string[] = [];
  for (const row of rows) cells.push(row[at]!);
  return `{${cells.join(",")}}`;
}

/**
 * Inserts rows that come as an array for each column: PostgreSQL reads these in a third of the time that
 * JSON takes, which names each value.
 */
function insertInto(
  table: string,
  columns: readonly { name: string; sqlType: string }[],
  returning = "",
): string {
  const names = columns.map(({ name }) => name).join(", ");
  // Arrays of arrays would have to be of one length: each comes as a text.
  const isArray = (sqlType: string) => sqlType.endsWith("[]");
  const values = columns.map(({ name, sqlType }) =>
    isArray(sqlType) ? `${name}::${sqlType}` : name
  );
  const arrays = columns.map(({ sqlType }, at) =>
    `$${at + 1}::text::${isArray(sqlType) ? "text" : sqlType}[]`
  );
  return `insert into ${table} (${names}) select ${values.join(", ")}
    from unnest(${arrays.join(", ")}) as r (${names}) on conflict do nothing ${returning}`;
}

const insertUsage = insertInto("interactions", columns, `returning ${countedColumns.join(", ")}`);

const insertPayloads = insertInto("interaction_payloads", [
  { name: "transaction_id", sqlType: "text" },
  { name: "created_at", sqlType: "timestamptz" },
  { name: "request", sqlType: "text" },
  { name: "response", sqlType: "text" },
  { name: "words", sqlType: "bigint[]" },
  { name: "vendor_error", sqlType: "text" },
]);

/** Max characters of one statement: the driver encodes them in one turn of the event loop. */
const sentCharacters = 256 * 1024;

/** In the order of the columns of `insertPayloads`. */
function writePayload(row: SettledCall): Cells {
  const keys = searchKeys(row, [row.requestText, row.responseText]);
  return [
    ...[row.transactionId, row.createdAt].map(formatCell),
    ...[row.requestText, row.responseText].map((text) => formatCell(sanitizeText(text))),
    `"{${keys.join(",")}}"`,
    formatCell(row.vendorAnswer ? sanitizeText(JSON.stringify(row.vendorAnswer)) : null),
  ];
}
