import type { Interaction } from "../domain/interaction.ts";
import type { KeptStore } from "../domain/kept.ts";
import type { Queryable } from "./database.ts";
import { storable } from "./storable.ts";

/** Kept answers on PostgreSQL, served or embedded. */
export function createKept(database: Queryable): KeptStore {
  return {
    async findResponse(accountId, responseId) {
      const [row] = await database.query(
        `select response_id, input_items, answer from kept_responses
         where account_id = $1 and response_id = $2`,
        [accountId, responseId],
      );
      return row && {
        responseId: String(row.response_id),
        inputItemsText: String(row.input_items),
        answerText: String(row.answer),
      };
    },
    async removeResponse(accountId, responseId) {
      const rows = await database.query(
        "delete from kept_responses where account_id = $1 and response_id = $2 returning response_id",
        [accountId, responseId],
      );
      return rows.length > 0;
    },
    async findReasoning(accountId, callIds) {
      const rows = await database.query(
        `select call_id, reasoning from kept_reasoning
         where account_id = $1 and call_id = any($2::text[])`,
        [accountId, callIds],
      );
      return rows.map((row) => ({
        callId: String(row.call_id),
        reasoningText: String(row.reasoning),
      }));
    },
  };
}

/** Writes what the rows' calls keep; part of the transaction that writes the rows. */
export async function insertKept(tx: Queryable, rows: readonly Interaction[]): Promise<void> {
  const responses = rows.flatMap((row) => {
    const response = row.kept?.response;
    return response === undefined ? [] : [{
      ...ownerOf(row),
      response_id: storable(response.responseId),
      input_items: storable(response.inputItemsText),
      answer: storable(response.answerText),
    }];
  });
  const reasoning = rows.flatMap((row) =>
    (row.kept?.reasoning ?? []).map((one) => ({
      ...ownerOf(row),
      call_id: storable(one.callId),
      reasoning: storable(one.reasoningText),
    }))
  );
  if (responses.length > 0) await tx.query(insertResponses, [JSON.stringify(responses)]);
  if (reasoning.length > 0) await tx.query(insertReasoning, [JSON.stringify(reasoning)]);
}

const insertResponses = insertInto("kept_responses", ["response_id", "input_items", "answer"]);
const insertReasoning = insertInto("kept_reasoning", ["call_id", "reasoning"]);

function insertInto(table: string, columns: readonly string[]): string {
  const names = ["account_id", "transaction_id", "created_at", ...columns].join(", ");
  return `insert into ${table} (${names}) select ${names} from json_to_recordset($1::text::json)
    as r(account_id bigint, transaction_id text, created_at timestamptz, ${
    columns.map((column) => `${column} text`).join(", ")
  }) on conflict do nothing`;
}

function ownerOf(row: Interaction) {
  return {
    account_id: row.accountId,
    transaction_id: row.transactionId,
    created_at: row.createdAt.toISOString(),
  };
}
