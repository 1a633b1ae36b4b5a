import assert from "@std/assert";
import { wrappedRoot } from "./format_schema.ts";
import { SchemaBudget, SchemaRefs } from "./schema_refs.ts";

Deno.test("a list that holds itself still does so as a member", () => {
  const node = { type: "object", properties: { children: { $ref: "#" } } };
  const first = { $ref: "#/$defs/node" };
  const list = { type: "array", items: { anyOf: [first, { $ref: "#/items/anyOf/0" }] } };
  const wrapped = wrappedRoot({ ...list, $defs: { node } }, new SchemaBudget())!;
  const refs = new SchemaRefs(wrapped);
  const moved = refs.resolve("#/properties/result") as typeof list;
  const own = refs.resolve(moved.items.anyOf[0]!.$ref) as typeof node;
  assert.equal(refs.resolve(own.properties.children.$ref), moved);
  assert.equal(refs.resolve(moved.items.anyOf[1]!.$ref), moved.items.anyOf[0]);
});
