import assert from "@std/assert";
import { finish } from "../../../../base/steps.ts";
import { canonicalRequest, user } from "../../../../../tests/support/canonical_request.ts";
import { acceptedByMessagesVendor } from "../../../../../tests/support/messages_vendor.ts";
import type { CanonicalEvent } from "../../../kernel/canonical.ts";
import type { CanonicalRequest, OutputFormat } from "../../../kernel/canonical_request.ts";
import { foldEvents } from "../../../kernel/fold.ts";
import type { EncodedRequest } from "../../../kernel/dialect.ts";
import { ResponseRewriter } from "../../../kernel/response_rewriter.ts";
import { messages } from "../mod.ts";

type Json = Record<string, unknown>;

function schemaFormat(schema: Json): OutputFormat {
  return { type: "json-schema", name: "n", schema };
}

function encode(
  schema: Json,
  model = "claude-haiku-4-5",
  changes: Partial<CanonicalRequest> = {},
): EncodedRequest {
  const request = canonicalRequest({
    turns: [user("Hi")],
    format: schemaFormat(schema),
    paths: { format: "response_format" },
    ...changes,
  });
  const encoded = finish(messages.encodeRequest(request, { model, maxOutputTokens: undefined }));
  acceptedByMessagesVendor(encoded.body);
  return encoded;
}

function native(schema: Json, model?: string): unknown {
  const config = encode(schema, model).body.output_config as { format: { schema: unknown } };
  return config?.format.schema;
}

const closed = { additionalProperties: false };

Deno.test("constraints move into descriptions, objects are closed, oneOf becomes anyOf", () => {
  assert.deepEqual(
    native({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: {
        n: { type: "integer", minimum: 1, maximum: 9, description: "How many." },
        when: { type: "string", format: "date-time" },
        odd: { type: "string", format: "phone", pattern: "^[0-9]+$" },
        list: { type: "array", items: { type: "string" }, minItems: 1, maxItems: 3 },
        either: { oneOf: [{ type: "string" }, { type: "object", properties: { a: {} } }] },
        ref: { $ref: "#/$defs/d", description: "beside" },
      },
      required: ["n", "when", "gone"],
      $defs: { d: { type: "string", maxLength: 5 } },
    }),
    {
      type: "object",
      properties: {
        n: { type: "integer", description: "How many.\nminimum: 1.\nmaximum: 9." },
        when: { type: "string", format: "date-time" },
        odd: { type: "string", description: "format: phone.\npattern: ^[0-9]+$." },
        list: {
          type: "array",
          items: { type: "string" },
          minItems: 1,
          description: "maxItems: 3.",
        },
        either: {
          anyOf: [{ type: "string" }, { type: "object", properties: { a: {} }, ...closed }],
        },
        ref: { $ref: "#/$defs/d" },
      },
      required: ["n", "when"],
      $defs: { d: { type: "string", description: "maxLength: 5." } },
      ...closed,
    },
  );
});

Deno.test("objects joined by allOf become one, since closed ones exclude each other", () => {
  const a = { type: "object", properties: { x: { type: "string" } }, required: ["x"] };
  const b = { type: "object", properties: { y: { type: "string" } }, required: ["y"] };
  assert.deepEqual(native({ allOf: [{ $ref: "#/$defs/a" }, b], $defs: { a } }), {
    type: "object",
    properties: { x: { type: "string" }, y: { type: "string" } },
    required: ["x", "y"],
    $defs: { a: { ...a, ...closed } },
    ...closed,
  });
});

Deno.test("schemas that native mode would empty or refuse are sent as a forced tool", () => {
  const recursive = {
    type: "object",
    properties: { next: { $ref: "#" } },
    required: ["next"],
  };
  const openMap = {
    type: "object",
    properties: { m: { type: "object", additionalProperties: { type: "string" } } },
    required: ["m"],
  };
  const names = Array.from({ length: 13 }, (_, index) => [`p${index}`, { type: "string" }]);
  const optional = { type: "object", properties: Object.fromEntries(names) };
  for (const schema of [recursive, openMap, optional]) {
    const { body, emulations, losses } = encode(schema);
    assert.equal(body.output_config, undefined);
    assert.deepEqual(body.tool_choice, {
      type: "tool",
      name: "json_response",
      disable_parallel_tool_use: true,
    });
    assert.deepEqual((body.tools as Json[])[0]?.input_schema, schema);
    assert.deepEqual([emulations.jsonTool, emulations.jsonUnwrap, losses], [
      "json_response",
      undefined,
      [],
    ]);
  }
});

Deno.test("a model that can neither force a tool nor take the schema is a loss of meaning", () => {
  const openMap = { type: "object", additionalProperties: { type: "string" } };
  const { losses, body } = encode(openMap, "claude-opus-5-5");
  assert.deepEqual(losses, [{ path: "response_format", weight: "meaning" }]);
  assert.deepEqual(body.tool_choice, { type: "auto", disable_parallel_tool_use: true });
});

Deno.test("a root that is no object is wrapped for the tool and unwrapped again", () => {
  const target = { model: "claude-sonnet-4-20250514", maxOutputTokens: undefined };
  const schema = { type: "array", items: { $ref: "#/$defs/n" }, $defs: { n: { type: "number" } } };
  const request = canonicalRequest({ turns: [user("x")], format: schemaFormat(schema) });
  const { body, emulations } = finish(messages.encodeRequest(request, target));
  assert.deepEqual((body.tools as Json[])[0]?.input_schema, {
    type: "object",
    properties: { result: { type: "array", items: { type: "number" } } },
    required: ["result"],
    ...closed,
  });
  assert.equal(emulations.jsonUnwrap, "result");
});

Deno.test("beside the caller's tools any tool is forced", () => {
  const tools = [{ type: "function", name: "json_response", path: "t" } as const];
  const openMap = { type: "object", additionalProperties: true };
  const free = encode(openMap, undefined, { tools });
  assert.deepEqual(free.body.tool_choice, { type: "any", disable_parallel_tool_use: true });
  assert.equal(free.emulations.jsonTool, "json_response_");
  const barred = encode(openMap, undefined, { tools, toolChoice: { mode: "none" } });
  assert.deepEqual(barred.body.tool_choice, {
    type: "tool",
    name: "json_response_",
    disable_parallel_tool_use: true,
  });
});

Deno.test("where the caller forces a tool of its own, no tool of ours offers a way around it", () => {
  const tools = ["f", "g"].map((name) => ({ type: "function", name, path: name }) as const);
  const openMap = { type: "object", additionalProperties: true };
  const forced: [NonNullable<CanonicalRequest["toolChoice"]>, Json][] = [
    [{ mode: "required" }, { type: "any" }],
    [{ mode: "required", names: ["f"] }, { type: "tool", name: "f" }],
    [{ mode: "required", names: ["f", "g"] }, { type: "any" }],
  ];
  for (const [toolChoice, expected] of forced) {
    const { body, emulations, losses } = encode(openMap, undefined, { tools, toolChoice });
    assert.deepEqual(body.tool_choice, expected);
    assert.deepEqual((body.tools as Json[]).map(({ name }) => name), ["f", "g"]);
    assert.deepEqual([emulations.jsonTool, losses], [undefined, []]);
  }
  const serial = encode(openMap, undefined, {
    tools,
    toolChoice: { mode: "required" },
    parallelToolCalls: false,
  });
  assert.deepEqual(serial.body.tool_choice, { type: "any", disable_parallel_tool_use: true });
});

Deno.test("a call of the caller's tool stays one where JSON is emulated, however it is named", () => {
  const tools = ["json_response", "json_response_"].map((name) =>
    ({ type: "function", name, path: name }) as const
  );
  const { emulations } = encode({ type: "object", additionalProperties: true }, undefined, {
    tools,
  });
  assert.equal(emulations.jsonTool, "json_response__");
  const content = [
    { type: "text", text: "Let me see." },
    ...["json_response", "json_response_"].map((name) => (
      { type: "tool_use", id: name, name, input: { a: 1 } }
    )),
  ];
  const rewriter = new ResponseRewriter(emulations, () => "minted");
  const events = finish(messages.decodeAnswer({
    id: "m",
    content,
    stop_reason: "tool_use",
    usage: { input_tokens: 1, output_tokens: 1 },
  }, {}));
  const [choice] = foldEvents(events.flatMap((event) => rewriter.apply(event))).choices;
  assert.deepEqual(
    choice?.parts.map((part) => [part.kind, "name" in part ? part.name : part.text]),
    [
      ["text", "Let me see."],
      ["tool-call", "json_response"],
      ["tool-call", "json_response_"],
    ],
  );
  assert.equal(choice?.finish?.reason, "tool_calls");
});

Deno.test("plain JSON mode is a sentence, with the fence to be stripped", () => {
  const { body, emulations } = encode({}, undefined, { format: { type: "json" } });
  assert.match(JSON.stringify(body.system), /one JSON object only/);
  assert.equal(emulations.stripFence, true);
});

Deno.test("an emulated JSON answer ends as text with stop, one in words is not lost", () => {
  const { emulations } = encode({ type: "object", additionalProperties: true });
  const answer = (content: Json[], reason: string) => {
    const rewriter = new ResponseRewriter(emulations, () => "minted");
    const events: CanonicalEvent[] = finish(messages.decodeAnswer(
      { id: "m", content, stop_reason: reason, usage: { input_tokens: 1, output_tokens: 1 } },
      {},
    ));
    return foldEvents(events.flatMap((event) => rewriter.apply(event))).choices[0];
  };
  const input = { a: 1 };
  const used = answer(
    [{ type: "tool_use", id: "t", name: emulations.jsonTool, input }],
    "tool_use",
  );
  assert.deepEqual(used?.parts, [{ kind: "text", text: '{"a":1}' }]);
  assert.equal(used?.finish?.reason, "stop");
  const told = answer([{ type: "text", text: "I can't" }], "end_turn");
  assert.deepEqual(told?.parts, [{ kind: "text", text: "I can't" }]);
});
