import type { SettledCall } from "../../../shared/interaction.ts";
import type { StoredResponse, StoredResponseStore } from "../../../shared/stored_response.ts";
import type { Queryable, SqlRow } from "../../../database/database.ts";
import { endBackground } from "../../../background/store/background_end.ts";
import { sanitizeText } from "../../../database/sanitize_text.ts";
import { type QuotedJson, unquoteJson } from "../../../base/quoted_json.ts";
import { finish } from "../../../base/steps.ts";

/** Stored responses on PostgreSQL, served or embedded. */
export function createStoredResponses(database: Queryable): StoredResponseStore {
  return {
    async findResponse(accountId, responseId) {
      const [row] = await database.query(
        `select ${responseColumns} from kept_responses where account_id = $1 and response_id = $2`,
        [accountId, sanitizeText(responseId)],
      );
      return row && readResponse(row);
    },
    async findByItems(accountId, itemIds) {
      const rows = await database.query(
        `select ${responseColumns} from kept_responses
         where account_id = $1 and item_ids && $2::text[]`,
        [accountId, itemIds.map((id) => sanitizeText(id))],
      );
      return rows.map(readResponse);
    },
    async removeResponse(accountId, responseId) {
      const rows = await database.query(
        "delete from kept_responses where account_id = $1 and response_id = $2 returning response_id",
        [accountId, sanitizeText(responseId)],
      );
      return rows.length > 0;
    },
    async findReasoning(accountId, callIds) {
      const rows = await database.query(
        `select call_id, reasoning from kept_reasoning
         where account_id = $1 and call_id = any($2::text[])`,
        [accountId, callIds.map((id) => sanitizeText(id))],
      );
      return rows.map((row) => ({
        callId: String(row.call_id),
        reasoningText: String(row.reasoning),
      }));
    },
    async backgroundState(accountId, responseId) {
      const [row] = await database.query(
        "select state from background_calls where account_id = $1 and response_id = $2",
        [accountId, sanitizeText(responseId)],
      );
      return row && String(row.state);
    },
  };
}

const responseColumns = "response_id, transaction_id, input_items, answer, item_ids, sources";

/**
 * Writes what the rows' calls store for later turns; part of the transaction that writes the rows.
 */
export async function insertStoredResponses(
  tx: Queryable,
  rows: readonly SettledCall[],
): Promise<void> {
  const unwanted = await endBackground(tx, rows);
  const responses = rows.flatMap((row) => {
    const response = unwanted.has(row.transactionId) ? undefined : row.retained?.response;
    return response === undefined ? [] : [{
      ...ownerOf(row),
      response_id: sanitizeText(response.responseId),
      input_items: sanitizeText(textOf(response.inputItemsText)),
      answer: sanitizeText(textOf(response.answerText)),
      item_ids: response.itemIds.map((id) => sanitizeText(id)),
      sources: response.sources,
    }];
  });
  const reasoning = rows.flatMap((row) =>
    (row.retained?.reasoning ?? []).map((one) => ({
      ...ownerOf(row),
      call_id: sanitizeText(one.callId),
      reasoning: sanitizeText(one.reasoningText),
    }))
  );
  if (responses.length > 0) await tx.query(insertResponses, [JSON.stringify(responses)]);
  if (reasoning.length > 0) await tx.query(insertReasoning, [JSON.stringify(reasoning)]);
}

function textOf(text: string | QuotedJson): string {
  return typeof text === "string" ? text : finish(unquoteJson(text));
}

/** Removes what erased calls have stored, and later responses that contain their text. */
export async function dropStoredResponses(
  tx: Queryable,
  transactionIds: readonly string[],
): Promise<void> {
  await tx.query(
    `delete from kept_responses
     where transaction_id = any($1::text[]) or sources && $1::text[]`,
    [transactionIds],
  );
  await tx.query("delete from kept_reasoning where transaction_id = any($1::text[])", [
    transactionIds,
  ]);
}

const insertResponses = insertInto("kept_responses", {
  response_id: "text",
  input_items: "text",
  answer: "text",
  item_ids: "text[]",
  sources: "text[]",
});
const insertReasoning = insertInto("kept_reasoning", { call_id: "text", reasoning: "text" });

function insertInto(table: string, columns: Readonly<Record<string, string>>): string {
  const names = ["account_id", "transaction_id", "created_at", ...Object.keys(columns)].join(", ");
  return `insert into ${table} (${names}) select ${names} from json_to_recordset($1::text::json)
    as r(account_id bigint, transaction_id text, created_at timestamptz, ${
    Object.entries(columns).map(([column, type]) => `${column} ${type}`).join(", ")
  }) on conflict do nothing`;
}

function readResponse(row: SqlRow): StoredResponse {
  return {
    responseId: String(row.response_id),
    transactionId: String(row.transaction_id),
    inputItemsText: String(row.input_items),
    answerText: String(row.answer),
    itemIds: row.item_ids as string[],
    sources: row.sources as string[],
  };
}

function ownerOf(row: SettledCall) {
  return {
    account_id: row.accountId,
    transaction_id: row.transactionId,
    created_at: row.createdAt.toISOString(),
  };
}
