import type { SettledCall } from "../../shared/interaction.ts";
import { pushAll } from "../../base/lists.ts";
import { Turns } from "../../base/turns.ts";
import { searchKeys } from "../search_tokens.ts";
import type { Queryable, SqlRow } from "../../database/database.ts";
import { columns, writeRow } from "../columns.ts";
import { dropBackground } from "../../background/store/background_end.ts";
import { insertStoredResponses } from "../../relay/conversation/store/stored_responses.ts";
import { insertMedia } from "./media.ts";
import { chunks } from "../../database/chunks.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";
import { withoutErased } from "../../erasure/store/tombstones.ts";
import {
  addedCalls,
  changeUsage,
  countedColumns,
  type UsageChange,
} from "../../usage/store/count_usage.ts";
import { unstoredCalls } from "../../usage/store/usage_sums.ts";

/** Which parts of records a database holds. */
export type RecordPart = "rows" | "retained";

/** A call's row and its payloads with their search words, as the JSON texts that are inserted. */
interface WrittenCall {
  readonly call: SettledCall;
  readonly row: string;
  readonly payloads: string;
}

/** By the ids of the calls. */
export type WrittenCalls = ReadonlyMap<string, WrittenCall>;

/** Before the transaction, in which they would be waited for, and in turns: calls go on meanwhile. */
export async function writeCalls(calls: readonly SettledCall[]): Promise<WrittenCalls> {
  const written = new Map<string, WrittenCall>();
  const turns = new Turns();
  for (const call of calls) {
    await turns.pause();
    const payloads = JSON.stringify(writePayload(call));
    written.set(call.transactionId, { call, row: writeRow(call), payloads });
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
  if (erased.length > 0 && parts.includes("retained")) await dropBackground(tx, erased);
  if (parts.includes("rows")) {
    const unstored = await unstoredCalls(tx, newlyErased);
    // Last: all writers share the rows of sums, so they are locked as briefly as possible.
    await changeUsage(tx, [...unstored, ...await insertRows(tx, rows, written)]);
  }
  if (rows.length > 0 && parts.includes("retained")) await insertStoredResponses(tx, rows);
  return erased;
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
function rowOf(call: SettledCall, written: WrittenCalls): string {
  const early = written.get(call.transactionId)!;
  return early.call === call ? early.row : writeRow(call);
}

/** The rows that all the statements return. */
async function inStatements(
  tx: Queryable,
  statement: string,
  texts: readonly string[],
): Promise<SqlRow[]> {
  const returned: SqlRow[] = [];
  for (const some of chunks(texts, ({ length }) => length, sentCharacters)) {
    pushAll(returned, await tx.query(statement, [`[${some.join(",")}]`]));
  }
  return returned;
}

const columnNames = columns.map(({ name }) => name).join(", ");

const insertUsage = `insert into interactions (${columnNames})
  select ${columnNames} from json_to_recordset($1::text::json)
    as r(${columns.map(({ name, sqlType }) => `${name} ${sqlType}`).join(", ")})
  on conflict do nothing returning ${countedColumns.join(", ")}`;

const insertPayloads =
  `insert into interaction_payloads (transaction_id, created_at, request, response, words,
    vendor_error)
  select transaction_id, created_at, request, response, words, vendor_error
    from json_to_recordset($1::text::json) as r(transaction_id text, created_at timestamptz,
      request text, response text, words bigint[], vendor_error text)
  on conflict do nothing`;

/** Max characters of one statement: the driver encodes them in one turn of the event loop. */
const sentCharacters = 256 * 1024;

function writePayload(row: SettledCall): Record<string, unknown> {
  return {
    transaction_id: row.transactionId,
    created_at: row.createdAt.toISOString(),
    request: sanitizeText(row.requestText),
    response: sanitizeText(row.responseText),
    words: searchKeys(row, [row.requestText, row.responseText]),
    vendor_error: row.vendorAnswer ? sanitizeText(JSON.stringify(row.vendorAnswer)) : null,
  };
}
