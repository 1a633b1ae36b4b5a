import assert from "@std/assert";
import type { SqlValue } from "../database/database.ts";
import { filterConditions, withRecordedNames } from "./filter_conditions.ts";

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

Deno.test("models of calls are also named as in usage; a router's own names stay whole", () => {
  const vendorLabel = (name: string) => name === "openai" ? "vendor-b" : name;
  const named = (query: Parameters<typeof withRecordedNames>[0]) => {
    const { filters, modelNames } = withRecordedNames(query, vendorLabel);
    return { model: filters?.model, modelNames };
  };
  assert.deepEqual(named({ filters: { model: "vendor-f/openai/gpt-4o" } }), {
    model: ["vendor-f/openai/gpt-4o", "openai/gpt-4o"],
    modelNames: ["vendor-f/openai/gpt-4o"],
  });
  for (const model of ["gpt-4o", "openai/gpt-4o"]) {
    assert.deepEqual(named({ filters: { model } }), { model, modelNames: undefined });
  }
  // Evaluations have the name in the request.
  const model = "vendor-b/gpt-4o";
  assert.deepEqual(named({ table: "eval_runs", filters: { model } }), {
    model,
    modelNames: undefined,
  });
});
