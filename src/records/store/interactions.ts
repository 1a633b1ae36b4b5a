import type { SettledCall } from "../../shared/interaction.ts";
import { searchKeys } from "../search_tokens.ts";
import type { Queryable } from "../../database/database.ts";
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

/** Payloads with their search words as JSON text, by the id of their call. */
export type WrittenPayloads = ReadonlyMap<string, string>;

/** So many payloads are written in one turn of the event loop, which takes less than a millisecond. */
const payloadsInTurn = 16;

/** Before the transaction, in which they would be waited for, and in turns: calls go on meanwhile. */
export async function writePayloads(rows: readonly SettledCall[]): Promise<WrittenPayloads> {
  const written = new Map<string, string>();
  for (const row of rows) {
    if (written.size % payloadsInTurn === payloadsInTurn - 1) await nextTurn();
    written.set(row.transactionId, JSON.stringify(writePayload(row)));
  }
  return written;
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Writes rows with payloads and media, stored responses, or both, as part of a transaction. Existing
 * rows stay as they are. Rows that a deletion covers are left out; their ids are returned. The rows'
 * partitions must exist (`Partitions`). `payloads`: of all rows that are written.
 */
export async function writeRecords(
  tx: Queryable,
  calls: readonly SettledCall[],
  parts: readonly RecordPart[],
  payloads: WrittenPayloads,
): Promise<string[]> {
  const { rows, erased, newlyErased } = await withoutErased(tx, calls);
  if (erased.length > 0 && parts.includes("retained")) await dropBackground(tx, erased);
  if (parts.includes("rows")) {
    const unstored = await unstoredCalls(tx, newlyErased);
    // Last: all writers share the rows of sums, so they are locked as briefly as possible.
    await changeUsage(tx, [...unstored, ...await insertRows(tx, rows, payloads)]);
  }
  if (rows.length > 0 && parts.includes("retained")) await insertStoredResponses(tx, rows);
  return erased;
}

/** Returns the newly inserted rows; existing rows are not counted again. */
async function insertRows(
  tx: Queryable,
  rows: readonly SettledCall[],
  payloads: WrittenPayloads,
): Promise<UsageChange[]> {
  if (rows.length === 0) return [];
  const inserted = await tx.query(insertUsage, [`[${rows.map(writeRow).join(",")}]`]);
  for (const some of chunks(rows, payloadLength, sentCharacters)) {
    const texts = some.map(({ transactionId }) => payloads.get(transactionId)!);
    await tx.query(insertPayloads, [`[${texts.join(",")}]`]);
  }
  await insertMedia(tx, rows);
  return addedCalls(inserted);
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

/** Max characters of payloads in one statement, far below PostgreSQL's gigabyte. */
const sentCharacters = 8 * 1024 * 1024;

function payloadLength({ requestText, responseText }: SettledCall): number {
  return (requestText?.length ?? 0) + (responseText?.length ?? 0);
}

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
