import assert from "@std/assert";
import { instanceOf } from "./instance.ts";

Deno.test("a schema that contains itself ends with what it allows, not with null", () => {
  const node = {
    type: "object",
    properties: {
      name: { type: "string" },
      parts: { type: "array", items: { $ref: "#/$defs/node" } },
      next: { anyOf: [{ $ref: "#/$defs/node" }, { type: "null" }] },
    },
    required: ["name", "parts", "next"],
  };
  const built = instanceOf({ $ref: "#/$defs/node", $defs: { node } }, "x");
  const nodes = [built];
  for (const one of nodes) {
    const { name, parts, next } = one as { name: unknown; parts: unknown[]; next: unknown };
    assert.equal(typeof name, "string");
    nodes.push(...parts, ...(next === null ? [] : [next]));
  }
  assert.ok(nodes.length > 1);
});
