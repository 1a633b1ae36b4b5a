import assert from "@std/assert";
import { finish } from "../../../../base/steps.ts";
import {
  call,
  canonicalRequest,
  result,
  turn,
  user,
} from "../../../../../tests/support/canonical_request.ts";
import { acceptedByMessagesVendor } from "../../../../../tests/support/messages_vendor.ts";
import { Fault } from "../../../../shared/fault.ts";
import type { CanonicalRequest, Tool } from "../../../kernel/canonical_request.ts";
import type { EncodedRequest } from "../../../kernel/dialect.ts";
import { messages } from "../mod.ts";

type Json = Record<string, unknown>;

function tool(name: string, more: Partial<Tool> = {}): Tool {
  return { type: "function", name, path: `tool ${name}`, ...more };
}

function encode(changes: Partial<CanonicalRequest>, model = "claude-haiku-4-5"): EncodedRequest {
  const request = canonicalRequest({ turns: [user("Hi")], ...changes });
  const encoded = finish(messages.encodeRequest(request, { model, maxOutputTokens: undefined }));
  acceptedByMessagesVendor(encoded.body);
  return encoded;
}

function choice(changes: Partial<CanonicalRequest>, model?: string): unknown {
  return encode({ tools: [tool("f"), tool("g")], ...changes }, model).body.tool_choice;
}

const history = [
  user("go"),
  turn("assistant", call("a", "f")),
  turn("user", result("a", "1")),
];

Deno.test("a tool without parameters or without a type gets an object schema", () => {
  const tools = [
    tool("none"),
    tool("empty", { parameters: {} }),
    tool("untyped", { parameters: { properties: { a: { type: "string" } } } }),
  ];
  assert.deepEqual(encode({ tools }).body.tools, [
    { name: "none", input_schema: { type: "object", properties: {} } },
    { name: "empty", input_schema: { type: "object", properties: {} } },
    { name: "untyped", input_schema: { properties: { a: { type: "string" } }, type: "object" } },
  ]);
});

Deno.test("branches at a schema's top are merged into one object", () => {
  const a = { type: "object", properties: { x: { type: "string" } }, required: ["x"] };
  const b = {
    type: "object",
    properties: { x: { type: "number" }, y: { type: "null" } },
    required: ["x", "y"],
  };
  const schemaOf = (parameters: Json) =>
    (encode({ tools: [tool("f", { parameters })] }).body.tools as Json[])[0]?.input_schema;
  assert.deepEqual(schemaOf({ anyOf: [a, b, { type: "null" }] }), {
    type: "object",
    properties: { x: { anyOf: [{ type: "string" }, { type: "number" }] }, y: { type: "null" } },
    required: ["x"],
  });
  assert.deepEqual(schemaOf({ allOf: [{ $ref: "#/$defs/a" }, b], $defs: { a } }), {
    $defs: { a },
    type: "object",
    properties: { x: { allOf: [{ type: "string" }, { type: "number" }] }, y: { type: "null" } },
    required: ["x", "y"],
  });
  assert.deepEqual(schemaOf({ $ref: "#/definitions/a", definitions: { a } }), {
    definitions: { a },
    ...a,
  });
  const circle = { $ref: "#/$defs/c", $defs: { c: { $ref: "#/$defs/c" } } };
  assert.equal((schemaOf(circle) as Json).type, "object");
});

Deno.test("a reference into a branch is replaced by what it names, before branches are merged", () => {
  const place = { type: "object", properties: { lat: { type: "number" } } };
  const at = { type: "object", properties: { at: place } };
  const near = { type: "object", properties: { near: { $ref: "#/anyOf/0/properties/at" } } };
  const parameters = { anyOf: [at, near] };
  const [written] = encode({ tools: [tool("f", { parameters })] }).body.tools as Json[];
  assert.deepEqual(written?.input_schema, {
    type: "object",
    properties: { at: place, near: place },
  });
});

Deno.test("definitions that name each other often are merged in bounded time", () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => {
      const next = { $ref: `#/$defs/d${index + 1}` };
      return [`d${index}`, { anyOf: [next, next, next] }];
    }),
  );
  const [written] = encode({ tools: [tool("f", { parameters: { $ref: "#/$defs/d0", $defs } })] })
    .body.tools as Json[];
  assert.equal((written?.input_schema as Json).type, "object");
});

Deno.test("a definition that many branches add to is too large, instead of written with each", () => {
  const base = { type: "object", properties: { a: { description: "x".repeat(20_000) } } };
  const anyOf = Array.from({ length: 300 }, (_, index) => ({
    allOf: [{ $ref: "#/$defs/base" }, { type: "object", properties: { a: { const: index } } }],
  }));
  const parameters = { anyOf, $defs: { base } };
  assert.throws(
    () => encode({ tools: [tool("f", { parameters })] }),
    (thrown: unknown) => thrown instanceof Fault && thrown.code === "invalid_value",
  );
  // Each level of nested branches has all names of those within.
  const names = Array.from({ length: 15_000 }, (_, index) => [`p${index}`, {}]);
  let nested: Json = { type: "object", properties: Object.fromEntries(names) };
  for (let depth = 0; depth < 19; depth++) nested = { anyOf: [nested, { type: "object" }] };
  assert.throws(
    () => encode({ tools: [tool("f", { parameters: nested })] }),
    (thrown: unknown) => thrown instanceof Fault && thrown.code === "invalid_value",
  );
});

Deno.test("tool choices are written in the dialect's terms", () => {
  assert.equal(choice({}), undefined);
  assert.deepEqual(choice({ toolChoice: { mode: "auto" } }), { type: "auto" });
  assert.deepEqual(choice({ toolChoice: { mode: "required" } }), { type: "any" });
  assert.deepEqual(choice({ toolChoice: { mode: "required", names: ["g"] } }), {
    type: "tool",
    name: "g",
  });
  assert.deepEqual(choice({ toolChoice: { mode: "required", names: ["g", "f"] } }), {
    type: "any",
  });
});

Deno.test("none keeps the tools, since the history may have used them", () => {
  const encoded = encode({ turns: history, tools: [tool("f")], toolChoice: { mode: "none" } });
  assert.deepEqual(encoded.body.tool_choice, { type: "none" });
  assert.equal((encoded.body.tools as unknown[]).length, 1);
});

Deno.test("a history with tools and a request without them still names the tools", () => {
  const encoded = encode({ turns: history });
  assert.deepEqual(encoded.body.tools, [
    { name: "f", input_schema: { type: "object", properties: {} } },
  ]);
  assert.deepEqual(encoded.body.tool_choice, { type: "none" });
});

Deno.test("allowed tools are the ones sent, with those that the history used", () => {
  const names = (changes: Partial<CanonicalRequest>) =>
    (encode({ tools: ["f", "g", "h"].map((name) => tool(name)), ...changes }).body.tools as Json[])
      .map((one) => one.name);
  assert.deepEqual(names({ toolChoice: { mode: "auto", names: ["g"] } }), ["g"]);
  assert.deepEqual(names({ toolChoice: { mode: "auto", names: ["g"] }, turns: history }), [
    "f",
    "g",
  ]);
});

Deno.test("serial calls need a tool choice, and tools", () => {
  assert.deepEqual(choice({ parallelToolCalls: false }), {
    type: "auto",
    disable_parallel_tool_use: true,
  });
  assert.deepEqual(choice({ parallelToolCalls: false, toolChoice: { mode: "none" } }), {
    type: "none",
  });
  assert.equal(choice({ parallelToolCalls: true }), undefined);
  assert.equal("tool_choice" in encode({ parallelToolCalls: false }).body, false);
});

Deno.test("a model that refuses forcing gets auto, a sentence and a report", () => {
  const paths = { toolChoice: "tool_choice" };
  const any = encode(
    { tools: [tool("f")], toolChoice: { mode: "required" }, paths },
    "claude-opus-5-5",
  );
  assert.deepEqual(any.body.tool_choice, { type: "auto" });
  assert.match(JSON.stringify(any.body.system), /must call one of the tools/);
  assert.deepEqual(any.losses, [{ path: "tool_choice", weight: "hint" }]);
  const named = encode(
    { tools: [tool("f")], toolChoice: { mode: "required", names: ["f"] }, paths },
    "claude-sonnet-5-5",
  );
  assert.match(JSON.stringify(named.body.system), /must call the tool f /);
});

Deno.test("names that the vendor refuses get aliases everywhere, to be undone", () => {
  const encoded = encode({
    turns: [
      user("go"),
      turn("assistant", call("a", "ns.f:1")),
      turn("user", result("a", "1")),
    ],
    tools: [tool("ns.f:1"), tool("ns_f_1")],
    toolChoice: { mode: "required", names: ["ns.f:1"] },
  });
  const alias = (encoded.body.tool_choice as Json).name as string;
  assert.match(alias, /^ns_f_1_[0-9a-f]{8}$/);
  assert.deepEqual(encoded.emulations.toolNames, { [alias]: "ns.f:1" });
  assert.deepEqual((encoded.body.tools as Json[]).map((one) => one.name), [alias, "ns_f_1"]);
  assert.ok(JSON.stringify(encoded.body.messages).includes(alias));
});

Deno.test("a custom tool is a function with one text, calls of it too", () => {
  const encoded = encode({
    turns: [
      user("go"),
      turn("assistant", { ...call("a", "sql"), arguments: "SELECT 1", custom: true }),
      turn("user", result("a", "1")),
    ],
    tools: [{
      type: "custom",
      name: "sql",
      description: "Runs SQL.",
      format: { type: "grammar", syntax: "lark", definition: "start: x" },
      path: "t",
    }, { type: "custom", name: "note", format: { type: "text" }, path: "t" }],
  });
  assert.deepEqual(encoded.emulations.customTools, ["sql", "note"]);
  const [written, free] = encoded.body.tools as Json[];
  assert.equal(free?.description, undefined, "free text is what every custom tool takes");
  assert.match(String(written?.description), /^Runs SQL\.\n.*start: x/);
  assert.deepEqual(Object.keys((written?.input_schema as Json).properties as Json), ["input"]);
  assert.ok(JSON.stringify(encoded.body.messages).includes('{"input":"SELECT 1"}'));
});

Deno.test("strict tools are lowered where the model has them, else strict is dropped", () => {
  const parameters = {
    type: "object",
    properties: { n: { type: "integer", minimum: 1 } },
    required: ["n"],
  };
  const tools = [tool("f", { parameters, strict: true })];
  const [strict] = encode({ tools }).body.tools as Json[];
  assert.equal(strict?.strict, true);
  assert.deepEqual(strict?.input_schema, {
    type: "object",
    properties: { n: { type: "integer", description: "minimum: 1." } },
    required: ["n"],
    additionalProperties: false,
  });
  const target = { model: "claude-sonnet-4-20250514", maxOutputTokens: undefined };
  const older = finish(
    messages.encodeRequest(canonicalRequest({ turns: [user("x")], tools }), target),
  );
  assert.deepEqual(older.body.tools, [{ name: "f", input_schema: parameters }]);
  assert.deepEqual(older.losses, [{ path: "tool f.strict", weight: "hint" }]);
});
