/** Section B of protocols/pitfalls.md: chat callers of a generate vendor. */
import assert from "@std/assert";
import { finish } from "../../src/base/steps.ts";
import {
  assistant,
  call,
  calls,
  type Crossing,
  decode,
  hello,
  jsonSchema,
  objectSchema,
  registerCrossings,
  result,
  tool,
  user,
} from "./crossing.ts";
import { dialects } from "./translated.ts";

const from = "chat";
const to = "generate";
const newest = "gemini-3-flash";

/** A conversation with two calls of the last step answered. */
const answered = [
  user("go"),
  calls(call("a", "f"), call("b", "g")),
  result("b", "2"),
  result("a", "1"),
];

/** What a tool answers, seen alone. */
function resultGives(content: string, response: unknown): Partial<Crossing> {
  return {
    body: { messages: [user("go"), calls(call("a")), result("a", content)], tools: [tool()] },
    gives: { contents: [{}, {}, { parts: [{ functionResponse: { name: "f", response } }] }] },
  };
}

/** A schema of one property, as a tool's parameter on an old and a new model. */
function parameter(schema: Record<string, unknown>, more: Record<string, unknown> = {}) {
  return {
    messages: hello,
    tools: [tool("f", { parameters: objectSchema({ p: schema }, more) })],
  };
}

function declared(parameters: Record<string, unknown>): Record<string, unknown> {
  return { tools: [{ functionDeclarations: [{ parameters }] }] };
}

const rows: Crossing[] = [
  {
    case: "32 parallel results are one content in the order of the calls",
    from,
    to,
    body: { messages: [...answered, user("thx")], tools: [tool(), tool("g")] },
    gives: {
      contents: [
        { role: "user" },
        {
          role: "model",
          parts: [{ functionCall: { name: "f" } }, { functionCall: { name: "g" } }],
        },
        {
          role: "user",
          parts: [
            { functionResponse: { name: "f", response: { output: "1" } } },
            { functionResponse: { name: "g", response: { output: "2" } } },
            { text: "thx" },
          ],
        },
      ],
    },
    losses: [],
  },
  {
    case: "32 the same of a messages caller",
    from: "messages",
    to,
    body: {
      max_tokens: 9,
      messages: [
        user("go"),
        assistant([
          { type: "tool_use", id: "a", name: "f", input: {} },
          { type: "tool_use", id: "b", name: "g", input: {} },
        ]),
        user([
          { type: "tool_result", tool_use_id: "b", content: "2" },
          { type: "tool_result", tool_use_id: "a", content: "1", is_error: true },
        ]),
      ],
      tools: [{ name: "f", input_schema: objectSchema({}) }],
    },
    gives: {
      contents: [{}, {}, {
        parts: [
          { functionResponse: { name: "f", response: { error: "1" } } },
          { functionResponse: { name: "g", response: { output: "2" } } },
        ],
      }],
    },
  },
  {
    case: "33 the name of a result is looked up by its call",
    from: "responses",
    to,
    body: {
      input: [
        { type: "function_call", call_id: "a", name: "lookup", arguments: "{}" },
        { type: "function_call_output", call_id: "a", output: "found" },
      ],
    },
    gives: {
      contents: [{ role: "user" }, {}, { parts: [{ functionResponse: { name: "lookup" } }] }],
    },
  },
  {
    case: "33 a result without a call is refused",
    from,
    to,
    body: { messages: [user("go"), result("x", "1")], tools: [tool()] },
    fault: "invalid_value messages[1]",
  },
  { case: "34 a number as result", from, to, ...resultGives("42", { output: "42" }) } as Crossing,
  {
    case: "34 a list as result",
    from,
    to,
    ...resultGives("[1,2]", { output: "[1,2]" }),
  } as Crossing,
  { case: "34 an object as result", from, to, ...resultGives('{"a":1}', { a: 1 }) } as Crossing,
  {
    case: "35 without a signature the first call of a step gets the sentinel, its siblings none",
    from,
    to,
    model: newest,
    body: { messages: answered, tools: [tool(), tool("g")] },
    gives: {
      contents: [{}, {
        parts: [
          { thoughtSignature: "skip_thought_signature_validator" },
          { functionCall: { name: "g" }, thoughtSignature: undefined },
        ],
      }, {}],
    },
  },
  {
    case: "36 a signature that came back stands on its own part",
    from,
    to,
    model: newest,
    body: {
      messages: [
        user("go"),
        calls(
          { ...call("a", "f"), extra_content: { google: { thought_signature: "c2ln" } } },
          call("b", "g"),
        ),
        result("a", "1"),
        result("b", "2"),
      ],
      tools: [tool(), tool("g")],
    },
    gives: {
      contents: [{}, {
        parts: [{ thoughtSignature: "c2ln" }, { thoughtSignature: undefined }],
      }, {}],
    },
    never: ["skip_thought"],
  },
  {
    case: "37 words beyond the subset are converted or removed",
    from,
    to,
    body: {
      messages: hello,
      tools: [tool("f", {
        parameters: objectSchema(
          { n: { type: "integer", exclusiveMinimum: 0 }, c: { const: "x" } },
          { $schema: "s", propertyNames: { pattern: "x" } },
        ),
      })],
    },
    gives: declared({ properties: { n: { type: "INTEGER", minimum: 1 }, c: { enum: ["x"] } } }),
    never: ["exclusiveMinimum", "$schema", "const", "propertyNames"],
  },
  {
    case: "38 a type of several with null is nullable",
    from,
    to,
    body: parameter({ type: ["string", "null"] }),
    gives: declared({ properties: { p: { type: "STRING", nullable: true } } }),
  },
  {
    case: "39 null in an enum is nullable",
    from,
    to,
    body: parameter({ enum: ["a", null] }),
    gives: declared({ properties: { p: { enum: ["a"], nullable: true } } }),
  },
  {
    case: "39 an enum of numbers is one of strings",
    from,
    to,
    body: parameter({ type: "integer", enum: [1, 2] }),
    gives: declared({ properties: { p: { enum: ["1", "2"], format: "enum" } } }),
  },
  {
    case: "40 a tool that takes nothing has no parameters",
    from,
    to,
    body: { messages: hello, tools: [tool("f", { parameters: objectSchema({}) })] },
    gives: { tools: [{ functionDeclarations: [{ name: "f", parameters: undefined }] }] },
    never: ["parameters"],
  },
  {
    case: "41 a nested empty object stays, so that required holds",
    from,
    to,
    body: parameter({ type: "object", properties: {} }, { required: ["p"] }),
    gives: declared({ properties: { p: { type: "OBJECT" } }, required: ["p"] }),
  },
  {
    case: "42 references are inlined",
    from,
    to,
    body: parameter({ $ref: "#/$defs/P" }, { $defs: { P: { type: "string" } } }),
    gives: declared({ properties: { p: { type: "STRING" } } }),
    never: ["$ref", "$defs"],
  },
  {
    case: "42 recursive references go as JSON Schema",
    from,
    to,
    model: newest,
    body: parameter({ $ref: "#/$defs/P" }, {
      $defs: { P: objectSchema({ next: { $ref: "#/$defs/P" } }) },
    }),
    gives: {
      tools: [{ functionDeclarations: [{ parameters: undefined, parametersJsonSchema: {} }] }],
    },
  },
  {
    case: "43 no tools, no tools",
    from,
    to,
    body: { messages: hello, tools: [], tool_choice: "auto" },
    never: ["tools", "toolConfig"],
    losses: [],
  },
  {
    case: "44 a strict tool is VALIDATED",
    from,
    to,
    body: { messages: hello, tools: [tool("f", { strict: true })] },
    gives: { toolConfig: { functionCallingConfig: { mode: "VALIDATED" } } },
  },
  {
    case: "45 penalties are dropped on 2.5 and named",
    from,
    to,
    model: "gemini-2.5-flash",
    body: { messages: hello, frequency_penalty: 0.5, presence_penalty: 0.5 },
    never: ["Penalty"],
    losses: ["frequency_penalty hint", "presence_penalty hint"],
  },
  {
    case: "45 penalties are kept on others",
    from,
    to,
    body: { messages: hello, frequency_penalty: 0.5 },
    gives: { generationConfig: { frequencyPenalty: 0.5 } },
    losses: [],
  },
  ...[
    // What is shown of no thinking is refused.
    [
      "gemini-2.5-flash",
      { thinkingBudget: 0, thinkingLevel: undefined, includeThoughts: undefined },
    ],
    ["gemini-2.5-pro", { thinkingBudget: 128, thinkingLevel: undefined }],
    ["gemini-3-pro", { thinkingBudget: undefined, thinkingLevel: "LOW" }],
    ["gemini-3-flash", { thinkingBudget: undefined, thinkingLevel: "MINIMAL" }],
  ].map(([model, thinkingConfig]): Crossing => ({
    case: `46 effort none on ${model}`,
    from,
    to,
    model: model as string,
    body: { messages: hello, reasoning_effort: "none" },
    gives: { generationConfig: { thinkingConfig } },
    losses: [],
  })),
  {
    case: "47 six stop sequences are refused",
    from: "messages",
    to,
    body: { max_tokens: 9, messages: hello, stop_sequences: ["a", "b", "c", "d", "e", "f"] },
    fault: "unsupported_parameter stop_sequences",
  },
  {
    case: "48 a seed beyond 32 bits is dropped and named",
    from,
    to,
    body: { messages: hello, seed: 5_000_000_000 },
    never: ["seed"],
    losses: ["seed hint"],
  },
  {
    case: "49 system texts alone are refused",
    from,
    to,
    body: { messages: [{ role: "system", content: "S" }] },
    fault: "invalid_value messages",
  },
  {
    case: "49 the same of a responses caller",
    from: "responses",
    to,
    body: { input: [{ role: "developer", content: "S" }] },
    fault: "invalid_value input",
  },
  {
    case: "50 a model without system texts reads them in the first user turn",
    from,
    to,
    model: "gemma-3-27b-it",
    body: { messages: [{ role: "system", content: "S" }, ...hello] },
    gives: {
      systemInstruction: undefined,
      contents: [{ role: "user", parts: [{ text: "S" }, { text: "hello" }] }],
    },
  },
  {
    case: "a JSON schema is asked of 2.5 in its own field",
    from,
    to,
    model: "gemini-2.5-flash",
    body: { messages: hello, response_format: jsonSchema(objectSchema({ a: { type: "string" } })) },
    gives: {
      generationConfig: {
        responseMimeType: "application/json",
        responseJsonSchema: { properties: { a: { type: "string" } } },
      },
    },
    losses: [],
  },
  ...[["text", "image"], ["image"]].map((modalities): Crossing => ({
    case: `${modalities} output of a model that makes pictures`,
    from,
    to,
    model: "gemini-2.5-flash-image",
    body: { messages: hello, modalities },
    gives: {
      generationConfig: { responseModalities: modalities.map((one) => one.toUpperCase()) },
    },
    losses: [],
  })),
  {
    case: "pictures of a model that makes none",
    from,
    to,
    model: newest,
    body: { messages: hello, modalities: ["text", "image"] },
    never: ["generationConfig"],
    losses: ["modalities meaning"],
  },
  {
    case: "text output is nothing",
    from,
    to,
    body: { messages: hello, modalities: ["text"] },
    never: ["generationConfig"],
    losses: [],
  },
  {
    case: "spoken output is not carried",
    from,
    to,
    body: { messages: hello, modalities: ["text", "audio"], audio: { voice: "ash" } },
    never: ["generationConfig"],
    losses: ["modalities meaning", "audio meaning"],
  },
  {
    case: "pictures of a vendor whose dialect has no field for them",
    from: "generate",
    to: "messages",
    body: {
      contents: [{ parts: [{ text: "hello" }] }],
      generationConfig: { responseModalities: ["TEXT", "IMAGE"] },
    },
    losses: ["generationConfig.responseModalities meaning"],
  },
  {
    case: "turns of the model in a row are one message: @google/genai keeps each chunk as a turn",
    from: "generate",
    to: "chat",
    body: {
      contents: [
        { role: "user", parts: [{ text: "go" }] },
        { role: "model", parts: [{ text: "hm", thought: true }] },
        { role: "model", parts: [{ text: "I'll lo" }] },
        { role: "model", parts: [{ text: "ok." }] },
        { role: "model", parts: [{ functionCall: { id: "a", name: "f", args: {} } }] },
        { role: "model", parts: [{ functionCall: { id: "b", name: "f", args: {} } }] },
        {
          role: "user",
          parts: [{
            functionResponse: {
              ...{ id: "a", name: "f", response: { output: "1" } },
              parts: [{ inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } }],
            },
          }],
        },
        {
          role: "user",
          parts: [{ functionResponse: { id: "b", name: "f", response: { output: "2" } } }],
        },
        { role: "user", parts: [{ text: "and?" }] },
      ],
      tools: [{ functionDeclarations: [{ name: "f" }] }],
    },
    gives: {
      messages: [
        { role: "user", content: "go" },
        { role: "assistant", content: "I'll look.", tool_calls: [{ id: "a" }, { id: "b" }] },
        { role: "tool", tool_call_id: "a" },
        { role: "tool", tool_call_id: "b" },
        { role: "user", content: [{ type: "text" }, { type: "image_url" }, { text: "and?" }] },
      ],
    },
    losses: [],
  },
  {
    case: "results follow their calls directly: OpenAI's responses endpoint takes messages between",
    from: "responses",
    to: "chat",
    body: {
      input: [
        { role: "user", content: "go" },
        ...["a", "b"].map((call_id) => ({
          ...{ type: "function_call", call_id, name: "f", arguments: "{}" },
        })),
        { role: "user", content: "wait" },
        { type: "function_call_output", call_id: "a", output: "1" },
        { role: "developer", content: "note" },
        { type: "function_call_output", call_id: "b", output: "2" },
      ],
      tools: [{ type: "function", name: "f" }],
    },
    gives: {
      messages: [
        { role: "user", content: "go" },
        { role: "assistant", tool_calls: [{ id: "a" }, { id: "b" }] },
        { role: "tool", tool_call_id: "a" },
        { role: "tool", tool_call_id: "b" },
        { role: "user", content: "wait" },
        { role: "system", content: "note" },
      ],
    },
    losses: [],
  },
];

registerCrossings(rows);

Deno.test("pitfall 51 (chat → generate): an address has to be fetched, the vendor's files not", () => {
  const image = (url: string) =>
    decode("chat", { messages: [user([{ type: "image_url", image_url: { url } }])] });
  const needs = (url: string) => {
    const [part] = image(url).turns[0]!.parts;
    if (part?.type !== "media") throw new Error("no media");
    return dialects.generate.mustInline?.(part, url);
  };
  assert.equal(needs("https://pictures.example/a.png"), true);
  assert.equal(needs("https://generativelanguage.googleapis.com/v1beta/files/x"), false);
  // Not fetched it is refused, never left out silently.
  const { losses } = finish(
    dialects.generate.encodeRequest(image("https://pictures.example/a.png"), {
      model: newest,
      maxOutputTokens: undefined,
    }),
  );
  assert.deepEqual(losses, [{ path: "messages[0].content[0]", weight: "meaning" }]);
});

Deno.test("pitfall 52 (generate → chat): both forms of a model's name are one", () => {
  const contents = [{ role: "user", parts: [{ text: "hello" }] }];
  for (const model of ["gemini-x", "models/gemini-x"]) {
    const request = finish(dialects.generate.decodeRequest({ model, contents }));
    assert.equal(request.model, "gemini-x");
  }
  assert.equal(
    dialects.generate.upstreamPath("models/gemini-x", false),
    "/models/gemini-x:generateContent",
  );
});
