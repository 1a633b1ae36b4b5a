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

Deno.test("an integer is small and positive where its bounds allow that", () => {
  const safe = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };
  const built = (bounds: object) => Number(instanceOf({ type: "integer", ...bounds }, "x"));
  for (const bounds of [safe, { ...safe, exclusiveMinimum: 0 }, { minimum: 0 }, {}]) {
    const value = built(bounds);
    assert.ok(value >= 1 && value <= 21, JSON.stringify({ bounds, value }));
  }
  assert.equal(built({ minimum: -5, maximum: -5 }), -5);
  assert.equal(built({ minimum: 100, exclusiveMaximum: 101 }), 100);
});
