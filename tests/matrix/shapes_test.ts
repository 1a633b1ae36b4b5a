import assert from "@std/assert";
import { sample } from "../support/sample.ts";
import { shared, startSimulatedService } from "../support/service.ts";
import { checkGrammar } from "./grammar.ts";
import { at } from "./raw_calls.ts";
import { type MatrixVendor, upstreamDialect, vendors } from "./vendors.ts";
import { type Json, streamValues } from "./wire.ts";

const service = shared(() => startSimulatedService({}, { database: "any" }));

/** An answer of the chat dialect, whole or put together from its stream. */
interface Answer {
  content: string;
  refusal: string;
  calls: { name: string; input: string }[];
  finish: unknown;
}

/** What callers may ask for, in the shapes that the chat dialect has for it. */
interface Shape {
  name: string;
  body: Readonly<Record<string, unknown>>;
  check(answer: Answer, vendor: MatrixVendor): void;
  /** Vendors that can't be asked this, with the code of the refusal. */
  refused?: Partial<Record<MatrixVendor["label"], string>>;
}

const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tool = (name: string, parameters?: object) => ({
  type: "function",
  function: { name, description: `Does ${name}.`, ...(parameters ? { parameters } : {}) },
});
const ask = (text: string) => ({ messages: [{ role: "user", content: text }] });
const show = (part: object) => ({
  messages: [{ role: "user", content: [{ type: "text", text: "What is this?" }, part] }],
});
const schema = (value: object) => ({
  ...ask("Tell me something."),
  response_format: { type: "json_schema", json_schema: { name: "thing", schema: value } },
});
const named = (...names: string[]) => ({ calls }: Answer) =>
  assert.deepEqual(calls.map(({ name }) => name), names);
const says = (pattern: RegExp) => ({ content, finish }: Answer) => {
  assert.match(content, pattern);
  assert.equal(finish, "stop");
};
const parses = (check: (value: unknown) => boolean) => ({ content, finish }: Answer) => {
  assert.ok(check(JSON.parse(content)), content);
  assert.equal(finish, "stop");
};
const dataUrl = (mimeType: string, text: string) => `data:${mimeType};base64,${btoa(text)}`;

const shapes: readonly Shape[] = [
  {
    name: "a PDF",
    body: show({
      type: "file",
      file: { filename: "a.pdf", file_data: dataUrl("application/pdf", "%PDF-1.4\n%%EOF") },
    }),
    check: says(/application\/pdf/),
  },
  {
    name: "sound",
    body: show({
      type: "input_audio",
      input_audio: { data: btoa("RIFF$\0\0\0WAVEfmt "), format: "wav" },
    }),
    check: says(/audio\/|wav/),
    refused: { "vendor-c": "unsupported_parameter" },
  },
  {
    name: "a tool without parameters",
    body: { ...ask("call get_weather"), tools: [tool("get_weather")] },
    check: ({ calls }) => assert.deepEqual(calls, [{ name: "get_weather", input: "{}" }]),
  },
  {
    name: "a custom tool",
    body: {
      ...ask("call run_shell to list files"),
      tools: [{ type: "custom", custom: { name: "run_shell", description: "Runs shell." } }],
    },
    check({ calls }) {
      assert.equal(calls[0]!.name, "run_shell");
      assert.match(calls[0]!.input, /list files/);
      assert.doesNotMatch(calls[0]!.input, /^\{/, "free text, no JSON around it");
    },
  },
  {
    name: "tool_choice required",
    body: { ...ask("Hi"), tools: [tool("a_tool", city)], tool_choice: "required" },
    check: named("a_tool"),
  },
  {
    name: "tool_choice named",
    body: {
      ...ask("Hi"),
      tools: [tool("a_tool", city), tool("b_tool", city)],
      tool_choice: { type: "function", function: { name: "b_tool" } },
    },
    check: named("b_tool"),
  },
  {
    name: "tool_choice none",
    body: { ...ask("call a_tool"), tools: [tool("a_tool", city)], tool_choice: "none" },
    check: says(/You asked/),
  },
  {
    name: "tool_choice allowed_tools",
    body: {
      ...ask("Hi"),
      tools: [tool("a_tool", city), tool("b_tool", city)],
      tool_choice: {
        type: "allowed_tools",
        allowed_tools: {
          mode: "required",
          tools: [{ type: "function", function: { name: "b_tool" } }],
        },
      },
    },
    check: named("b_tool"),
  },
  {
    name: "a schema with an open map",
    body: schema({ type: "object", additionalProperties: { type: "string" } }),
    check: parses((value) => typeof value === "object" && !Array.isArray(value)),
  },
  {
    name: "a schema with an array at its root",
    body: schema({ type: "array", items: { type: "integer", minimum: 1 } }),
    check: parses((value) => Array.isArray(value) && value.every(Number.isInteger)),
    // In its own dialect the schema is sent unchanged.
    refused: { "vendor-b": "invalid_request" },
  },
  {
    name: "a recursive schema",
    body: schema({
      type: "object",
      properties: {
        word: { type: "string" },
        next: { anyOf: [{ $ref: "#" }, { type: "null" }] },
      },
      required: ["word", "next"],
      additionalProperties: false,
    }),
    check: parses((value) => typeof at(value, "word") === "string"),
  },
  {
    name: "an answer that the vendor's safety stops",
    body: ask("[refuse] Something bad"),
    check({ finish, refusal }, { label }) {
      // vendor-b refuses in words, which its own dialect has a field for.
      if (label === "vendor-b") assert.match(refusal, /sorry/);
      else assert.equal(finish, "content_filter");
    },
  },
  {
    name: "results of parallel calls, ids that others don't take, and words after them",
    body: {
      tools: [tool("get_weather", city)],
      messages: [
        { role: "user", content: "Weather?" },
        {
          role: "assistant",
          content: "",
          tool_calls: ["call:1/α", "c2"].map((id) => ({
            id,
            type: "function",
            function: { name: "get_weather", arguments: id === "c2" ? "" : '{"city":"Oslo"}' },
          })),
        },
        { role: "tool", tool_call_id: "call:1/α", content: "[1,2]" },
        { role: "tool", tool_call_id: "c2", content: "42" },
        { role: "user", content: "Thanks." },
      ],
    },
    check: ({ finish }) => assert.equal(finish, "stop"),
  },
  {
    name: "a greeting by the assistant, turns of one role, system texts anywhere",
    body: {
      messages: [
        { role: "system", content: "A" },
        { role: "assistant", content: "How can I help?" },
        { role: "user", content: "One." },
        { role: "user", content: "Two." },
        { role: "assistant", content: "a" },
        { role: "assistant", content: "b" },
        { role: "system", content: "C" },
        { role: "user", content: "Three." },
      ],
    },
    check: says(/Three/),
  },
];

/** In the gate each shape meets those who refuse it and a quarter of the others; `MATRIX=all` everybody. */
const all = Deno.env.get("MATRIX") === "all";

for (const { name, body, check, refused = {} } of shapes) {
  const tried = sample(vendors, { oneOf: 4, salt: name, all });
  for (const vendor of vendors.filter((one) => tried.includes(one) || one.label in refused)) {
    Deno.test(`${name} on ${vendor.label}, whole and streamed`, async () => {
      for (const stream of [false, true]) {
        const model = `${vendor.label}/${vendor.model}`;
        const request = { model, stream, ...body };
        const answer = await service().post("/chat/v1/chat/completions", request);
        const text = await answer.text();
        const code = refused[vendor.label];
        if (code !== undefined) {
          assert.deepEqual(
            [answer.status, at(JSON.parse(text), "error", "code")],
            [400, code],
          );
          continue;
        }
        assert.equal(answer.status, 200, text);
        const isOurs = upstreamDialect(vendor, "chat") !== "chat";
        if (stream && isOurs) assert.equal(checkGrammar("chat", text).ending, "finished");
        check(stream ? gathered(text) : wholeOf(JSON.parse(text)), vendor);
      }
    });
  }
}

for (const { label, model } of vendors) {
  Deno.test(`a caller of the deprecated functions is answered in their shape by ${label}`, async () => {
    const functions = [{ name: "get_weather", description: "Tells weather.", parameters: city }];
    const messages: Json[] = [{ role: "user", content: "[steps:2] What is the weather in Oslo?" }];
    const send = (stream: boolean) =>
      service().post("/chat/v1/chat/completions", {
        model: `${label}/${model}`,
        functions,
        messages,
        stream,
      });
    const finishes: unknown[] = [];
    for (let turn = 0; turn < 3; turn++) {
      const streamed = streamValues(await (await send(true)).text());
      const deltas = streamed.map((chunk) => at(chunk, "choices", 0, "delta", "function_call"));
      const whole = await (await send(false)).json();
      const message = at(whole, "choices", 0, "message") as Json;
      const called = message.function_call as Json | undefined;
      finishes.push(at(whole, "choices", 0, "finish_reason"));
      assert.equal(message.tool_calls, undefined);
      const text = deltas.map((delta) => at(delta, "arguments") ?? "").join("");
      assert.equal(text, called?.arguments ?? "");
      if (called) messages.push(message, { role: "function", name: called.name, content: "sunny" });
    }
    assert.deepEqual(finishes, ["function_call", "function_call", "stop"]);
  });
}

function wholeOf(answer: unknown): Answer {
  const message = at(answer, "choices", 0, "message");
  return {
    content: String(at(message, "content") ?? ""),
    refusal: String(at(message, "refusal") ?? ""),
    calls: ((at(message, "tool_calls") ?? []) as Json[]).map(callOf),
    finish: at(answer, "choices", 0, "finish_reason"),
  };
}

function gathered(stream: string): Answer {
  const answer: Answer = { content: "", refusal: "", calls: [], finish: undefined };
  for (const chunk of streamValues(stream)) {
    const delta = at(chunk, "choices", 0, "delta");
    answer.content += at(delta, "content") ?? "";
    answer.refusal += at(delta, "refusal") ?? "";
    answer.finish = at(chunk, "choices", 0, "finish_reason") ?? answer.finish;
    for (const piece of (at(delta, "tool_calls") ?? []) as Json[]) {
      const call = answer.calls[Number(piece.index)] ??= { name: "", input: "" };
      const { name, input } = callOf(piece);
      call.name += name;
      call.input += input;
    }
  }
  return answer;
}

function callOf(call: Json): { name: string; input: string } {
  const body = (call.function ?? call.custom) as Json;
  return { name: String(body.name ?? ""), input: String(body.arguments ?? body.input ?? "") };
}
