/** Section E of protocols/pitfalls.md: messages callers of a chat vendor; some of G. */
import assert from "@std/assert";
import { foldEvents } from "../../src/dialects/kernel/fold.ts";
import { Fault } from "../../src/shared/fault.ts";
import { bytesOf, type Passage, readWhole, relayStream, writeWhole } from "./translated.ts";
import { cross, hello } from "./crossing.ts";
import { chatAnswer, said, told, toolDelta, wire } from "./pitfall_answers.ts";
import type { Payload } from "./recordings.ts";

const passage: Passage = { vendor: "chat", caller: "messages" };

function opener(index: number, name: string, args = ""): Payload {
  return toolDelta({
    index,
    id: `call_${index}`,
    type: "function",
    function: { name, arguments: args },
  });
}

function fragment(index: number, args: string): Payload {
  return toolDelta({ index, function: { arguments: args } });
}

/** Types of the events, with the kind of block or delta. */
function shape(payloads: readonly Payload[]): string[] {
  return payloads.map((event) => {
    const detail = (event.content_block ?? event.delta) as Payload | undefined;
    return [event.type, detail?.type ?? detail?.stop_reason].filter(Boolean).join(" ");
  });
}

Deno.test("pitfall 81: text is closed before a call opens", () => {
  const stream = chatAnswer([{ content: "well" }, opener(0, "f"), fragment(0, "{}")], "tool_calls");
  assert.deepEqual(shape(wire(passage, stream)), [
    "message_start",
    "content_block_start text",
    "content_block_delta text_delta",
    "content_block_stop",
    "content_block_start tool_use",
    "content_block_delta input_json_delta",
    "content_block_stop",
    "message_delta tool_use",
    "message_stop",
  ]);
});

Deno.test("pitfalls 82, 83: a call is tool_use though the vendor says stop, without an empty text", () => {
  const stream = chatAnswer([{ role: "assistant", content: "" }, opener(0, "f", "{}")], "stop");
  const events = shape(wire(passage, stream));
  assert.ok(events.includes("message_delta tool_use"));
  assert.ok(!events.includes("content_block_start text"));
});

Deno.test("pitfall 84: a call in one chunk keeps its arguments", () => {
  const { calls } = told(passage, chatAnswer([opener(0, "f", '{"a":1}')], "tool_calls"));
  assert.deepEqual(calls, [{ name: "f", input: { a: 1 } }]);
});

Deno.test("pitfall 85: reasoning is a thinking block, closed before the text", () => {
  const stream = chatAnswer([{ reasoning_content: "hm" }, { content: "so" }], "stop");
  assert.deepEqual(shape(wire(passage, stream)).slice(0, 6), [
    "message_start",
    "content_block_start thinking",
    "content_block_delta thinking_delta",
    "content_block_delta signature_delta",
    "content_block_stop",
    "content_block_start text",
  ]);
});

Deno.test("pitfalls 86, 109: usage after the finish reaches message_delta, cached parts apart", () => {
  const stream = chatAnswer([{ content: "x" }], "stop");
  Object.assign(stream.at(-1)!, {
    usage: {
      prompt_tokens: 1000,
      completion_tokens: 5,
      prompt_tokens_details: { cached_tokens: 800 },
    },
  });
  const end = wire(passage, stream).at(-2)!.usage as Payload;
  assert.deepEqual([end.input_tokens, end.cache_read_input_tokens, end.output_tokens], [
    200,
    800,
    5,
  ]);
});

Deno.test("pitfalls 87, 88: a name that comes late, no index, an id on each fragment: one call", () => {
  const late = [
    toolDelta({ index: 0, id: "x" }),
    toolDelta({ index: 0, function: { name: "f" } }),
    fragment(0, '{"a":1}'),
  ];
  const unnumbered = [
    toolDelta({ id: "x", function: { name: "f", arguments: '{"a"' } }),
    toolDelta({ id: "x", function: { arguments: ":1}" } }),
  ];
  for (const deltas of [late, unnumbered]) {
    const { calls } = told(passage, chatAnswer(deltas, "tool_calls"));
    assert.deepEqual(calls, [{ name: "f", input: { a: 1 } }]);
  }
});

Deno.test("pitfall 89: empty roles, finishes, calls and types have no effect", () => {
  const plain = chatAnswer([{ content: "a" }, opener(0, "f", "{}")], "tool_calls");
  const noisy = plain.map((chunk) => {
    const [choice] = chunk.choices as Payload[];
    if (!choice) return chunk;
    const delta = { role: "", content: null, tool_calls: [], ...(choice.delta as Payload) };
    const calls = (delta.tool_calls as Payload[]).map((call) => ({ ...call, type: null }));
    const finish_reason = choice.finish_reason ?? "";
    return {
      ...chunk,
      choices: [{ index: 0, delta: { ...delta, tool_calls: calls }, finish_reason }],
    };
  });
  assert.deepEqual(wire(passage, noisy), wire(passage, plain));
});

Deno.test("pitfall 90: every data line has its event line", () => {
  const text = relayStream(
    passage,
    [bytesOf(
      chatAnswer([{ content: "a" }], "stop").map((one) => `data: ${JSON.stringify(one)}\n\n`)
        .join(""),
    )],
  ).text;
  const lines = (name: string) => text.split("\n").filter((line) => line.startsWith(name)).length;
  assert.ok(lines("data: ") > 0);
  assert.equal(lines("event: "), lines("data: "));
});

Deno.test("pitfall 91: arguments that are no JSON are a 502 in a whole answer, never text", () => {
  const call = { id: "x", type: "function", function: { name: "f", arguments: "{oops" } };
  const json = {
    choices: [{ index: 0, message: { content: null, tool_calls: [call] }, finish_reason: "stop" }],
  };
  assert.throws(
    () => writeWhole(passage, foldEvents(readWhole(passage, json))),
    (thrown: unknown) => thrown instanceof Fault && thrown.code === "upstream_invalid_response",
  );
});

Deno.test("pitfalls 111, 112: additive reasoning is output, more reasoning than output no less than 0", () => {
  const counted = (usage: Payload, quirks: Passage["quirks"]) => {
    const stream = chatAnswer([{ content: "x" }], "stop");
    Object.assign(stream.at(-1)!, { usage });
    return said({ ...passage, caller: "generate", ...(quirks ? { quirks } : {}) }, stream).usage;
  };
  const additive = {
    prompt_tokens: 36,
    completion_tokens: 10,
    total_tokens: 736,
    completion_tokens_details: { reasoning_tokens: 690 },
  };
  assert.deepEqual(counted(additive, { additiveReasoning: true }), {
    input: 36,
    cacheRead: 0,
    output: 700,
  });
  const cached = {
    prompt_tokens: 5,
    completion_tokens: 1,
    prompt_tokens_details: { cached_tokens: 9 },
  };
  assert.deepEqual(counted(cached, undefined), { input: 14, cacheRead: 9, output: 1 });
  const more = {
    prompt_tokens: 1,
    completion_tokens: 5,
    total_tokens: 6,
    completion_tokens_details: { reasoning_tokens: 8 },
  };
  assert.equal(counted(more, undefined)?.output, 5);
});

Deno.test("pitfalls 113, 114, 115: errors in a 200, in a chunk, and streams without a finish", () => {
  const ending = (payloads: readonly Payload[]) => said(passage, payloads).ending;
  assert.equal(ending([{ error: { message: "x" } }]), "failed");
  const finish = [{ index: 0, delta: {}, finish_reason: "error" }];
  assert.equal(ending([...chatAnswer([], "stop").slice(0, 0), { choices: finish }]), "failed");
  assert.equal(ending([{ error: { message: "x" }, choices: [] }]), "failed");
  assert.equal(ending(chatAnswer([{ content: "a" }], "stop").slice(0, 1)), "failed");
});

Deno.test("pitfall 121: a character split between reads stays whole", () => {
  const bytes = bytesOf(
    chatAnswer([{ content: "🙂é" }], "stop").map((one) => `data: ${JSON.stringify(one)}\n\n`).join(
      "",
    ),
  );
  const pieces = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
  assert.equal(relayStream(passage, pieces).answer.choices[0]?.parts[0]?.text, "🙂é");
});

Deno.test("LiteLLM's references, which lack their #, name a tool's definitions for every vendor", () => {
  const home = { type: "object", properties: { city: { type: "string" } } };
  const person = { type: "object", properties: { home: { $ref: "/$defs/Home" } } };
  const body = {
    max_tokens: 9,
    messages: hello,
    tools: [{ name: "json_tool_call", input_schema: { ...person, $defs: { Home: home } } }],
  };
  const sent = (to: Passage["vendor"], model: string) =>
    JSON.stringify(cross({ from: "messages", to, model, body }).body.tools);
  for (const to of ["chat", "responses"] as const) {
    assert.match(sent(to, "gpt-5.6-sol"), /"home":\{"\$ref":"#\/\$defs\/Home"\}/);
  }
  for (const model of ["gemini-3.8-flash", "gemini-2.0-flash"]) {
    assert.match(
      sent("generate", model),
      /"home":\{"type":"(object|OBJECT)","properties":\{"city"/,
    );
  }
});
