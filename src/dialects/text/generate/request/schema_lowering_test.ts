import assert from "@std/assert";
import type { Loss } from "../../../kernel/canonical_request.ts";
import type { JsonRecord } from "../../../kernel/json.ts";
import { jsonSchemaOf } from "./schema_from_subset.ts";
import { lowerSchema } from "./schema_lowering.ts";

Deno.test("only keywords that the dialect has are sent, every other constraint is reported (37)", () => {
  const schema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: {
      age: { type: "integer", exclusiveMinimum: 0, exclusiveMaximum: 10 },
      rate: { type: "number", exclusiveMinimum: 0, description: "share" },
      kind: { const: "a" },
    },
    propertyNames: { pattern: "^a" },
    additionalProperties: false,
    examples: [1],
  };
  const { json, losses } = lower(schema);
  assert.deepEqual(json, {
    type: "object",
    properties: {
      age: { type: "integer", minimum: 1, maximum: 9 },
      rate: { type: "number", description: "share (exclusiveMinimum: 0)" },
      kind: { enum: ["a"] },
    },
    additionalProperties: false,
  });
  assert.deepEqual(losses, ["t#/properties/rate/exclusiveMinimum", "t#/propertyNames"]);
  assert.deepEqual(subset(schema), {
    type: "OBJECT",
    properties: {
      age: { type: "INTEGER", minimum: 1, maximum: 9 },
      rate: { type: "NUMBER", description: "share (exclusiveMinimum: 0)" },
      kind: { type: "STRING", format: "enum", enum: ["a"] },
    },
  });
});

Deno.test("nullable in every spelling, beside items and format (38)", () => {
  assert.deepEqual(subset({ type: ["string", "null"], format: "date-time" }), {
    type: "STRING",
    format: "date-time",
    nullable: true,
  });
  assert.deepEqual(subset({ type: ["array", "null"], items: { type: "integer" } }), {
    type: "ARRAY",
    items: { type: "INTEGER" },
    nullable: true,
  });
  assert.deepEqual(subset({ anyOf: [{ type: "number" }, { type: "null" }], description: "d" }), {
    type: "NUMBER",
    description: "d",
    nullable: true,
  });
  assert.deepEqual(subset({ type: ["string", "integer"], description: "d" }), {
    description: "d",
    anyOf: [{ type: "STRING", description: "d" }, { type: "INTEGER", description: "d" }],
  });
  assert.deepEqual(lower({ type: "string", nullable: true }).json, { type: ["string", "null"] });
});

Deno.test("lists of values: null, numbers, empty strings (39)", () => {
  assert.deepEqual(subset({ type: "string", enum: ["a", null] }), {
    type: "STRING",
    format: "enum",
    enum: ["a"],
    nullable: true,
  });
  assert.deepEqual(subset({ type: "integer", enum: [1, 2] }), {
    type: "STRING",
    format: "enum",
    enum: ["1", "2"],
  });
  assert.deepEqual(subset({ enum: ["", "x"] }), { type: "STRING", format: "enum", enum: ["x"] });
});

Deno.test("an empty object inside stays, so that required stays true (41)", () => {
  const schema = {
    type: "object",
    properties: { o: { type: "object" } },
    required: ["o", "gone"],
  };
  assert.deepEqual(subset(schema), {
    type: "OBJECT",
    properties: { o: { type: "OBJECT" } },
    required: ["o"],
  });
});

Deno.test("references are replaced; recursion keeps them where it can, else is a loss (42)", () => {
  const plain = { properties: { a: { $ref: "#/$defs/A" } }, $defs: { A: { type: "string" } } };
  assert.deepEqual(lower(plain).json, { properties: { a: { type: "string" } } });
  const tree = {
    type: "object",
    properties: { next: { $ref: "#/definitions/N" } },
    definitions: { N: { type: "object", properties: { next: { $ref: "#/definitions/N" } } } },
  };
  assert.deepEqual(lower(tree).json, {
    type: "object",
    properties: { next: { $ref: "#/$defs/N" } },
    $defs: { N: { type: "object", properties: { next: { $ref: "#/$defs/N" } } } },
  });
  const losses: Loss[] = [];
  assert.deepEqual(lowerSchema(tree, { jsonSchema: false }, "t", losses), {});
  assert.deepEqual(losses, [{ path: "t", weight: "meaning" }]);
});

Deno.test("allOf is merged, oneOf is anyOf, tuples and lists without items say what they hold", () => {
  const schema = {
    allOf: [
      { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
      { properties: { b: { oneOf: [{ type: "string" }, { type: "integer" }] } }, required: ["b"] },
    ],
  };
  assert.deepEqual(lower(schema).json, {
    type: "object",
    properties: { b: { anyOf: [{ type: "string" }, { type: "integer" }] }, a: { type: "string" } },
    required: ["a", "b"],
  });
  assert.deepEqual(subset({ type: "array" }), { type: "ARRAY", items: { type: "STRING" } });
  assert.deepEqual(subset({ type: "array", items: [{ type: "string" }, { type: "number" }] }), {
    type: "ARRAY",
    items: { anyOf: [{ type: "STRING" }, { type: "NUMBER" }] },
  });
});

Deno.test("pointers of losses are plain ASCII without commas, fit for a header", () => {
  const { losses } = lower({ properties: { "ä,b/c": { not: {} } } });
  assert.deepEqual(losses, ["t#/properties/%C3%A4%2Cb~1c/not"]);
});

Deno.test("the subset read back is the JSON Schema that it stands for", () => {
  const schema = {
    type: "object",
    properties: {
      a: { type: ["string", "null"] },
      b: { type: "array", items: { type: "integer" }, minItems: 1 },
      c: { anyOf: [{ type: "string" }, { type: "number" }] },
    },
    required: ["a"],
  };
  assert.deepEqual(jsonSchemaOf(subset(schema)!), schema);
  assert.deepEqual(jsonSchemaOf({ type: "ARRAY", minItems: "3", any_of: [{ type: "STRING" }] }), {
    type: "array",
    minItems: 3,
    anyOf: [{ type: "string" }],
  });
  // A keyword that every object has a member for is a name like others.
  assert.deepEqual(Object.keys(jsonSchemaOf({ constructor: 1 })), ["constructor"]);
});

function lower(schema: JsonRecord): { json: JsonRecord | undefined; losses: string[] } {
  const losses: Loss[] = [];
  const { jsonSchema } = lowerSchema(schema, { jsonSchema: true }, "t", losses);
  return { json: jsonSchema, losses: losses.map(({ path }) => path) };
}

function subset(schema: JsonRecord): JsonRecord | undefined {
  return lowerSchema(schema, { jsonSchema: false }, "t", []).subset;
}
