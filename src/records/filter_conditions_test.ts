import assert from "@std/assert";
import type { SqlValue } from "../database/database.ts";
import { filterConditions } from "./filter_conditions.ts";

Deno.test("calls are found by their UUIDs whatever the case, and by other texts exactly", () => {
  const id = "0197e0c2-5b1c-7aaa-8bbb-0123456789ab";
  const bound = (table: "interactions" | "eval_results", filters: Record<string, unknown>) => {
    const values: SqlValue[] = [];
    filterConditions(table, "t", filters, (value) => `$${values.push(value)}`);
    return values;
  };
  const upper = id.toUpperCase();
  assert.deepEqual(bound("interactions", { transaction_id: upper, session_id: upper }), [
    id,
    upper,
  ]);
  assert.deepEqual(bound("interactions", { transaction_id: [upper, id, "Txn"] }), [[id, "Txn"]]);
  assert.deepEqual(bound("eval_results", { answer_transaction_id: upper }), [id]);
});
