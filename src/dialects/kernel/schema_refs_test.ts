import assert from "@std/assert";
import { inlineRefs, SchemaBudget, SchemaRefs, withLocalRefs } from "./schema_refs.ts";

function isRecursive(schema: Readonly<Record<string, unknown>>): boolean {
  return inlineRefs(schema).problem === "recursive";
}

Deno.test("references are replaced, members beside them win, definitions are gone", () => {
  const schema = {
    type: "object",
    properties: {
      a: { $ref: "#/$defs/A", description: "mine" },
      b: { type: "array", items: { $ref: "#/definitions/B" } },
    },
    $defs: { A: { type: "string", description: "theirs" } },
    definitions: { B: { anyOf: [{ $ref: "#/$defs/A" }, { type: "null" }] } },
  };
  assert.deepEqual(inlineRefs(schema).schema, {
    type: "object",
    properties: {
      a: { type: "string", description: "mine" },
      b: {
        type: "array",
        items: { anyOf: [{ type: "string", description: "theirs" }, { type: "null" }] },
      },
    },
  });
});

Deno.test("pointers are decoded, anchors and ids are found", () => {
  const schema = {
    $id: "https://x/y",
    $defs: { "a/b c": { type: "integer" }, n: { $anchor: "num", $id: "other", type: "number" } },
  };
  assert.deepEqual(new SchemaRefs(schema).resolve("#/$defs/a~1b%20c"), { type: "integer" });
  assert.equal(new SchemaRefs(schema).resolve("#num"), schema.$defs.n);
  assert.equal(new SchemaRefs(schema).resolve("other"), schema.$defs.n);
  assert.equal(new SchemaRefs(schema).resolve("https://x/y#/$defs/n"), schema.$defs.n);
  assert.equal(new SchemaRefs(schema).resolve("#/constructor"), undefined);
});

Deno.test("recursion is detected through the root, a definition or a property", () => {
  const tree = { $defs: { N: { properties: { next: { $ref: "#/$defs/N" } } } }, $ref: "#/$defs/N" };
  assert.equal(inlineRefs(tree).problem, "recursive");
  assert.ok(isRecursive({ properties: { me: { $ref: "#" } } }));
  assert.ok(isRecursive({ properties: { a: { items: { $ref: "#/properties/a" } } } }));
  assert.ok(
    !isRecursive({
      $defs: { A: {} },
      properties: { a: { $ref: "#/$defs/A" }, b: { $ref: "#/$defs/A" } },
    }),
  );
});

Deno.test("what only looks like a reference stays: property names, enums, defaults", () => {
  const schema = {
    properties: { $ref: { type: "string" } },
    default: { $ref: "#/nowhere" },
    enum: [{ $ref: "#/nowhere" }],
  };
  assert.deepEqual(inlineRefs(schema).schema, schema);
});

Deno.test("a reference that lacks its # becomes one into the document, where that has it", () => {
  const home = { type: "object", properties: { next: { $ref: "/$defs/Home" } } };
  const schema = {
    $defs: { Home: home, N: { $id: "/$defs/Other", type: "number" }, Other: {} },
    properties: {
      home: { $ref: "/$defs/Home", title: "Home" },
      all: { anyOf: [{ $ref: "/$defs/Home" }, { type: "null" }] },
      other: { $ref: "/$defs/Other" },
      nothing: { $ref: "/$defs/Nothing" },
      local: { $ref: "#/$defs/Home" },
      $ref: { type: "string", default: { $ref: "/$defs/Home" } },
    },
  };
  assert.deepEqual(withLocalRefs(schema), {
    $defs: {
      Home: { type: "object", properties: { next: { $ref: "#/$defs/Home" } } },
      N: schema.$defs.N,
      Other: {},
    },
    properties: {
      ...schema.properties,
      home: { $ref: "#/$defs/Home", title: "Home" },
      all: { anyOf: [{ $ref: "#/$defs/Home" }, { type: "null" }] },
    },
  });
  const untouched = { $defs: { A: {} }, properties: { a: { $ref: "#/$defs/A" } } };
  assert.equal(withLocalRefs(untouched), untouched);
  let deep: Record<string, unknown> = { $ref: "/$defs/A" };
  for (let level = 0; level < 5000; level++) deep = { items: deep };
  assert.ok(withLocalRefs({ $defs: { A: {} }, ...deep }));
});

Deno.test("a reference to nothing, or to another document, is not followed", () => {
  assert.equal(inlineRefs({ $ref: "#/$defs/A" }).problem, "unresolved");
  assert.equal(inlineRefs({ $ref: "https://example.com/schema" }).problem, "unresolved");
});

Deno.test("definitions that multiply each other don't fill the memory", () => {
  const $defs: Record<string, unknown> = { d0: { type: "string" } };
  for (let level = 1; level < 40; level++) {
    const below = { $ref: `#/$defs/d${level - 1}` };
    $defs[`d${level}`] = { properties: { a: below, b: below } };
  }
  assert.equal(inlineRefs({ $defs, $ref: "#/$defs/d39" }).problem, "too_large");
  let deep: Record<string, unknown> = {};
  for (let level = 0; level < 5000; level++) deep = { items: deep };
  assert.equal(inlineRefs(deep).problem, "too_large");
});

Deno.test("small schemas that swell share one room", () => {
  const room = new SchemaBudget();
  const schema = {
    properties: { a: { $ref: "#/$defs/a" } },
    $defs: { a: { enum: ["x".repeat(1_000_000)] } },
  };
  const problems = Array.from({ length: 5 }, () => inlineRefs(schema, room).problem);
  assert.deepEqual(problems, [undefined, undefined, undefined, undefined, "too_large"]);
});
