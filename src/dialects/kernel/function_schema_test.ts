import assert from "@std/assert";
import { functionSchema } from "./function_schema.ts";
import { SchemaBudget } from "./schema_refs.ts";

Deno.test("a tuple's list becomes prefixItems, unless it is empty", () => {
  const places = { type: "string" };
  const parameters = {
    type: "object",
    properties: {
      pair: { type: "array", items: [places], additionalItems: { type: "number" } },
      none: { type: "array", items: [] },
    },
  };
  const tool = { type: "function" as const, name: "f", parameters, path: "p" };
  assert.deepEqual(functionSchema(tool, new SchemaBudget(), []).parameters, {
    type: "object",
    properties: {
      pair: { type: "array", prefixItems: [places], items: { type: "number" } },
      none: { type: "array", items: {} },
    },
  });
});
