import type { Interaction, SettledCall } from "../../shared/interaction.ts";
import { Turns } from "../../base/turns.ts";
import { searchKeys } from "../search_tokens.ts";
import type { Queryable, Transaction } from "../../database/database.ts";
import { columns, writeLine } from "../columns.ts";
import { dropBackground } from "../../background/store/background_end.ts";
import {
  dropStoredResponses,
  insertStoredResponses,
} from "../../relay/conversation/store/stored_responses.ts";
import { insertMedia } from "./media.ts";
import { timesOf } from "./partitions.ts";
import { copyLine } from "../../database/copy_text.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";
import { noteErased, withoutErased } from "../../erasure/store/tombstones.ts";
import {
  addedCalls,
  changeUsage,
  countedCall,
  type UsageChange,
} from "../../usage/store/count_usage.ts";

/** Which parts of records a database holds. */
export type RecordPart = "rows" | "retained";

/** A call's row and its payloads with their search words, as lines that are copied in. */
interface WrittenCall {
  readonly call: SettledCall;
  readonly row: string;
  readonly payloads: string;
}

/** Keyed by the ids of the calls. */
export type WrittenCalls = ReadonlyMap<string, WrittenCall>;

/**
 * Makes the lines of these calls: before the transaction, which would otherwise wait for them, and
 * in turns with other work.
 */
export async function writeCalls(calls: readonly SettledCall[]): Promise<WrittenCalls> {
  const written = new Map<string, WrittenCall>();
  const turns = new Turns();
  for (const call of calls) {
    if (written.has(call.transactionId)) continue;
    await turns.pause();
    const payloads = writePayload(call);
    written.set(call.transactionId, { call, row: writeLine(call), payloads });
  }
  return written;
}

export interface WriteRecordsOptions {
  /** Calls that another database has noted as erased. */
  readonly erasedElsewhere?: readonly string[];
  /** Some of the rows may exist; they stay as they are. Otherwise one that does fails the write. */
  readonly mayExist: boolean;
}

/**
 * Writes rows with payloads and media, stored responses, or both, as part of a transaction. Rows
 * that a deletion covers are left out; their ids are returned. The rows' partitions must exist
 * (`Partitions`). `written` has the lines of all rows.
 */
export async function writeRecords(
  tx: Transaction,
  calls: readonly SettledCall[],
  parts: readonly RecordPart[],
  written: WrittenCalls,
  { erasedElsewhere, mayExist }: WriteRecordsOptions,
): Promise<string[]> {
  const { rows, erased, newlyErased } = await withoutErased(tx, calls, erasedElsewhere);
  if (erased.length > 0 && parts.includes("retained")) await dropRetained(tx, erased);
  if (parts.includes("rows")) {
    const unstored = await unstoredCalls(tx, newlyErased);
    // Last: all writers share the rows of sums, so they are locked as briefly as possible.
    await changeUsage(tx, [...unstored, ...await insertRows(tx, rows, written, mayExist)]);
  }
  if (rows.length > 0 && parts.includes("retained")) await insertStoredResponses(tx, rows);
  return erased;
}

/**
 * Removes what these calls have stored for later turns. An earlier try may have written that: with
 * two databases it is written before the rows.
 */
async function dropRetained(tx: Queryable, transactionIds: readonly string[]): Promise<void> {
  await dropBackground(tx, transactionIds);
  await dropStoredResponses(tx, transactionIds);
}

/**
 * Notes in the main database that these calls, which were found to be erased when their rows were
 * written, are erased.
 */
export async function dropErased(tx: Queryable, transactionIds: readonly string[]): Promise<void> {
  await noteErased(tx, transactionIds);
  await dropRetained(tx, transactionIds);
}

/**
 * Inserts the new rows and returns their changes of usage. Existing rows stay as they are and
 * aren't counted again.
 */
async function insertRows(
  tx: Transaction,
  calls: readonly SettledCall[],
  written: WrittenCalls,
  mayExist: boolean,
): Promise<UsageChange[]> {
  if (calls.length === 0) return [];
  const { rows, payloads } = await unwritten(tx, calls, mayExist);
  await copyIn(tx, "interactions", rowColumns, rows.map((call) => rowOf(call, written)));
  await copyIn(
    tx,
    "interaction_payloads",
    payloadColumns,
    payloads.map(({ transactionId }) => written.get(transactionId)!.payloads),
  );
  await insertMedia(tx, calls);
  return addedCalls(rows);
}

/**
 * Calls that were erased while in flight: charged but never stored. Those that are stored after all
 * are counted like any row.
 */
async function unstoredCalls(
  tx: Queryable,
  rows: readonly Interaction[],
): Promise<UsageChange[]> {
  if (rows.length === 0) return [];
  const stored = await tx.query(
    "select transaction_id from interactions where transaction_id = any($1::text[])",
    [rows.map((row) => row.transactionId)],
  );
  const existing = new Set(stored.map((row) => String(row.transaction_id)));
  const unstored = rows.filter((row) => !existing.has(row.transactionId));
  return unstored.map((row) => ({ call: countedCall(row), sign: 1, erased: true }));
}

async function copyIn(tx: Transaction, ...rows: Parameters<Transaction["copyIn"]>): Promise<void> {
  const [, , lines] = rows;
  if (lines.length > 0) await tx.copyIn(...rows);
}

/**
 * Returns the calls whose row doesn't exist yet, and those whose payloads don't, each once:
 * retention drops the two one after the other. If another process writes one of them at the same
 * time, the transaction fails; `createAnalyticsWriter` repeats it. Without `mayExist`, nothing is
 * looked up.
 */
async function unwritten(
  tx: Transaction,
  calls: readonly SettledCall[],
  mayExist: boolean,
): Promise<{ rows: readonly SettledCall[]; payloads: readonly SettledCall[] }> {
  const rows = new Map<string, SettledCall>();
  // If a call comes twice, the first one is written, since that one is charged.
  for (const call of calls) if (!rows.has(call.transactionId)) rows.set(call.transactionId, call);
  const payloads = new Map(rows);
  if (!mayExist) return { rows: [...rows.values()], payloads: [...payloads.values()] };
  const there = await tx.query(
    ["interactions", "interaction_payloads"].map((table) =>
      `select one.id, '${table}' as table from unnest($1::text[]) as one (id)
       cross join lateral (
         select from ${table} where transaction_id = one.id and created_at between $2 and $3
         offset 0
       ) found`
    ).join(" union all "),
    [[...rows.keys()], ...timesOf(calls)],
    // A custom plan: made for the tables' present state, and without the partitions of other
    // months.
    { forceCustomPlan: true },
  );
  for (const { id, table } of there) {
    (table === "interactions" ? rows : payloads).delete(String(id));
  }
  return { rows: [...rows.values()], payloads: [...payloads.values()] };
}

/**
 * Returns the line that was made before the transaction, or a new one if the call has changed
 * since.
 */
function rowOf(call: SettledCall, written: WrittenCalls): string {
  const early = written.get(call.transactionId)!;
  return early.call === call ? early.row : writeLine(call);
}

const rowColumns = columns.map(({ name }) => name);

const payloadColumns = [
  ...["transaction_id", "created_at", "request", "response", "words", "vendor_error"],
];

/** Writes the line of a call's payloads, in the order of `payloadColumns`. */
function writePayload(row: SettledCall): string {
  const keys = searchKeys(row, [row.requestText, row.responseText]);
  return copyLine([
    ...[row.transactionId, row.createdAt],
    ...[row.requestText, row.responseText].map(sanitizeText),
    `{${keys.join(",")}}`,
    row.vendorAnswer ? sanitizeText(JSON.stringify(row.vendorAnswer)) : null,
  ]);
}
