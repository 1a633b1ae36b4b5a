import assert from "@std/assert";
import type { CanonicalAnswer, CanonicalEvent } from "../../kernel/canonical.ts";
import { foldEvents } from "../../kernel/fold.ts";
import { messages } from "./mod.ts";

type Json = Record<string, unknown>;

const started = {
  type: "message_start",
  message: {
    id: "msg_1",
    model: "claude-x",
    content: [],
    usage: { input_tokens: 3, output_tokens: 1 },
  },
};
const stopped = { type: "message_stop" };

function block(index: number, content: Json, ...deltas: Json[]): Json[] {
  return [
    { type: "content_block_start", index, content_block: content },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
}

function text(value: string): Json {
  return { type: "text_delta", text: value };
}

function json(value: string): Json {
  return { type: "input_json_delta", partial_json: value };
}

function ended(reason: string | null, usage?: Json, more: Json = {}): Json {
  return { type: "message_delta", delta: { stop_reason: reason, ...more }, usage };
}

interface Decoded {
  events: CanonicalEvent[];
  answer: CanonicalAnswer;
  complete: boolean;
  terminal: boolean;
}

function decode(payloads: readonly (Json | string)[]): Decoded {
  const decoder = messages.createStreamDecoder({});
  const events: CanonicalEvent[] = [];
  let terminal = false;
  for (const payload of payloads) {
    const data = typeof payload === "string" ? payload : JSON.stringify(payload);
    const decoded = decoder.decode({ bytes: new Uint8Array(), data, terminated: true });
    events.push(...decoded.events);
    terminal ||= decoded.terminal;
    assert.equal(decoded.usageOnly, false);
  }
  const rest = decoder.end();
  events.push(...rest.events);
  return { events, answer: foldEvents(events), complete: rest.complete, terminal };
}

function parts(payloads: readonly (Json | string)[]): unknown[] {
  return decode(payloads).answer.choices[0]?.parts.map((part) =>
    part.kind === "tool-call" ? [part.kind, part.id, part.name, part.text] : [part.kind, part.text]
  ) ?? [];
}

Deno.test("thinking, text and two tools keep their order, arguments and ids", () => {
  const payloads = [
    started,
    ...block(
      0,
      { type: "thinking", thinking: "", signature: "" },
      { type: "thinking_delta", thinking: "hm" },
      { type: "signature_delta", signature: "sig" },
    ),
    ...block(1, { type: "text", text: "" }, text("Hello"), text(" world")),
    ...block(
      2,
      { type: "tool_use", id: "toolu_1", name: "f", input: {} },
      json(""),
      json('{"a":1}'),
    ),
    ...block(3, { type: "tool_use", id: "toolu_2", name: "g", input: {} }),
    ended("tool_use", { output_tokens: 55 }),
    stopped,
  ];
  assert.deepEqual(parts(payloads), [
    ["reasoning", "hm"],
    ["text", "Hello world"],
    ["tool-call", "toolu_1", "f", '{"a":1}'],
    // Pitfall 55.
    ["tool-call", "toolu_2", "g", "{}"],
  ]);
  const { answer, complete, terminal } = decode(payloads);
  assert.deepEqual(answer.choices[0]?.parts[0]?.opaque, {
    dialect: "messages",
    kind: "signature",
    value: "sig",
  });
  assert.deepEqual(answer.choices[0]?.finish, { reason: "tool_calls", raw: "tool_use" });
  assert.deepEqual([answer.id, answer.model, complete, terminal], [
    "msg_1",
    "claude-x",
    true,
    true,
  ]);
});

Deno.test("input and text that a block's start carries are kept", () => {
  assert.deepEqual(
    parts([
      started,
      ...block(0, { type: "text", text: "pre" }, text("fix")),
      ...block(1, { type: "tool_use", id: "t", name: "f", input: { a: 1 } }, json("")),
      ended("tool_use"),
      stopped,
    ]),
    [["text", "prefix"], ["tool-call", "t", "f", '{"a":1}']],
  );
});

Deno.test("usage is cumulative: later totals overwrite earlier ones, null doesn't", () => {
  const { answer } = decode([
    {
      ...started,
      message: {
        ...started.message,
        usage: { input_tokens: 3, cache_read_input_tokens: 9, output_tokens: 1 },
      },
    },
    ...block(0, { type: "text", text: "" }, text("x")),
    ended("end_turn", { output_tokens: 55, input_tokens: 5, cache_read_input_tokens: null }),
    stopped,
  ]);
  assert.equal(answer.usage?.output, 55);
  assert.equal(answer.usage?.input, 14);
  assert.equal(answer.usage?.cacheRead, 9);
});

Deno.test("output tokens from before the answer don't count it where its end has none", () => {
  const begun = { ...started.message, usage: { input_tokens: 3, output_tokens: 1 } };
  const words = block(0, { type: "text", text: "" }, text("x"));
  for (const usage of [{ output_tokens: null }, {}, { input_tokens: 3 }]) {
    const { answer } = decode([
      { ...started, message: begun },
      ...words,
      ended("end_turn", usage),
      stopped,
    ]);
    assert.equal(answer.usage?.unreported, "output");
    assert.equal(answer.usage?.output, 0);
  }
});

Deno.test("stop reasons are unified; the stop sequence is reported, and not part of the text", () => {
  const cases: [string, string][] = [
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["pause_turn", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["refusal", "content_filter"],
    ["compaction", "stop"],
    ["tool_use", "stop"],
  ];
  for (const [raw, reason] of cases) {
    const { answer } = decode([
      started,
      ...block(0, { type: "text", text: "" }, text("x")),
      ended(raw, undefined, raw === "stop_sequence" ? { stop_sequence: "END" } : {}),
      stopped,
    ]);
    assert.deepEqual(answer.choices[0]?.finish, {
      reason,
      raw,
      ...(raw === "stop_sequence" ? { stopSequence: "END" } : {}),
    });
  }
});

Deno.test("an answer that ends with end_turn after a tool call is a tool call", () => {
  const { answer } = decode([
    started,
    ...block(0, { type: "tool_use", id: "t", name: "f", input: {} }),
    ended("end_turn"),
    stopped,
  ]);
  assert.equal(answer.choices[0]?.finish?.reason, "tool_calls");
});

Deno.test("a refusal without content carries its explanation", () => {
  const { answer } = decode([
    started,
    ended("refusal", { output_tokens: 5 }, { stop_details: { explanation: "Not that." } }),
    stopped,
  ]);
  assert.deepEqual(answer.choices[0]?.parts, [{ kind: "refusal", text: "Not that." }]);
  assert.equal(answer.choices[0]?.finish?.reason, "content_filter");
});

Deno.test("arguments cut by the output limit stay as they are", () => {
  const payloads = [
    started,
    {
      type: "content_block_start",
      index: 0,
      content_block: { type: "tool_use", id: "t", name: "f" },
    },
    { type: "content_block_delta", index: 0, delta: json('{"a":') },
    ended("max_tokens"),
    stopped,
  ];
  assert.deepEqual(parts(payloads), [["tool-call", "t", "f", '{"a":']]);
  assert.equal(decode(payloads).answer.choices[0]?.finish?.reason, "length");
});

Deno.test("pings, unknown events, unknown deltas and end marks of others are nothing", () => {
  const payloads = [
    { type: "ping" },
    started,
    { type: "some_new_event", x: 1 },
    ...block(0, { type: "text", text: "" }, text("a"), { type: "new_delta", z: 1 }, text("b")),
    ended("end_turn"),
    stopped,
    "[DONE]",
  ];
  assert.deepEqual(parts(payloads), [["text", "ab"]]);
  assert.equal(decode(payloads).complete, true);
});

Deno.test("an error inside the stream is one error event and never a clean end", () => {
  const failed = decode([
    started,
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: text("half") },
    { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
    stopped,
  ]);
  assert.deepEqual(failed.events.filter((event) => event.type === "error"), [{
    type: "error",
    error: {
      status: undefined,
      code: undefined,
      type: "overloaded_error",
      message: "Overloaded",
      param: undefined,
      retryAfterSeconds: undefined,
    },
  }]);
  assert.deepEqual([failed.complete, failed.terminal], [false, false]);
  assert.equal(failed.answer.choices[0]?.finish, undefined);
});

Deno.test("redacted thinking is kept for the round trip and shows nothing", () => {
  const { answer } = decode([
    started,
    ...block(0, { type: "redacted_thinking", data: "xyz" }),
    ended("end_turn"),
    stopped,
  ]);
  assert.deepEqual(answer.choices[0]?.parts, [{
    kind: "reasoning",
    text: "",
    opaque: { dialect: "messages", kind: "redacted", value: "xyz" },
  }]);
});

Deno.test("the vendor's own tools are vendor blocks, whole, and no tool calls", () => {
  const { answer } = decode([
    started,
    ...block(
      0,
      { type: "server_tool_use", id: "s", name: "web_search", input: {} },
      json('{"query":'),
      json('"x"}'),
    ),
    ...block(1, { type: "web_search_tool_result", tool_use_id: "s", content: [{ url: "u" }] }),
    ...block(2, { type: "compaction", content: null }, {
      type: "compaction_delta",
      content: "summary",
    }),
    ...block(3, { type: "text", text: "" }, text("found")),
    ended("end_turn"),
    stopped,
  ]);
  const vendor = answer.choices[0]?.parts.filter((part) => part.kind === "vendor");
  assert.deepEqual(vendor?.map((part) => part.kind === "vendor" && part.value), [
    { type: "server_tool_use", id: "s", name: "web_search", input: { query: "x" } },
    { type: "web_search_tool_result", tool_use_id: "s", content: [{ url: "u" }] },
    { type: "compaction", content: "summary" },
  ]);
  assert.equal(answer.choices[0]?.finish?.reason, "stop");
});

Deno.test("citations with an address are carried", () => {
  const { answer } = decode([
    started,
    ...block(
      0,
      { type: "text", text: "" },
      {
        type: "citations_delta",
        citation: { type: "web_search_result_location", url: "https://a.example", title: "A" },
      },
      text("said"),
      { type: "citations_delta", citation: { type: "char_location" } },
    ),
    ended("end_turn"),
    stopped,
  ]);
  assert.deepEqual(answer.choices[0]?.parts[0]?.citations, [
    // A source stands for the whole of its block, and comes before its words.
    { url: "https://a.example", title: "A", start: 0, end: 4 },
  ]);
});

Deno.test("a repeated message_start is ignored, one of another message is a failure", () => {
  const same = decode([started, started, ended("end_turn"), stopped]);
  assert.equal(same.events.filter((event) => event.type === "start").length, 1);
  assert.equal(same.complete, true);
  const other = { ...started, message: { ...started.message, id: "msg_2" } };
  const mixed = decode([started, other, ended("end_turn"), stopped]);
  assert.equal(mixed.complete, false);
  const failure = mixed.events.find((event) => event.type === "error");
  assert.equal(failure?.error.code, "upstream_invalid_response");
});

Deno.test("a whole answer in message_start with nothing after it is complete", () => {
  const { answer, complete } = decode([{
    ...started,
    message: {
      ...started.message,
      content: [{ type: "text", text: "all" }, { type: "tool_use", id: "t", name: "f", input: {} }],
      stop_reason: "tool_use",
    },
  }]);
  assert.equal(complete, true);
  assert.deepEqual(answer.choices[0]?.parts.map((part) => part.text), ["all", "{}"]);
});

Deno.test("a report from before the answer is of its prompt alone", () => {
  const usage = { ...started.message.usage, output_tokens_details: { thinking_tokens: 0 } };
  const { events } = decode([{ ...started, message: { ...started.message, usage } }]);
  const reports = events.filter(({ type }) => type === "usage");
  assert.deepEqual(reports, [{
    type: "usage",
    usage: { input: 3, output: 0, unreported: "output", raw: usage },
    isEarly: true,
    outputSoFar: usage.output_tokens,
  }]);
});

Deno.test("text under a thinking block and deltas without a start lose nothing", () => {
  assert.deepEqual(
    parts([
      started,
      { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "h" } },
      { type: "content_block_delta", index: 0, delta: text("answer") },
      { type: "content_block_delta", index: 5, delta: text(" more") },
      ended("end_turn"),
    ]),
    [["reasoning", "h"], ["text", "answer"], ["text", " more"]],
  );
});

Deno.test("a stream without stop_reason or message_stop is never complete", () => {
  const whole = [
    started,
    ...block(0, { type: "text", text: "" }, text("a")),
    ended(null, { output_tokens: 3 }),
    ended("end_turn"),
    stopped,
  ];
  for (let length = 0; length < whole.length; length++) {
    const { complete, terminal } = decode(whole.slice(0, length));
    assert.equal(complete, length >= whole.length - 1, `cut after ${length} events`);
    assert.equal(terminal, false);
  }
  assert.equal(decode([stopped]).complete, false);
});

Deno.test("an event that is not JSON fails the stream; too many open blocks do too", () => {
  assert.equal(decode([started, "{oops", ended("end_turn"), stopped]).complete, false);
  const many = Array.from({ length: 1_001 }, (_, index) => ({
    type: "content_block_start",
    index,
    content_block: { type: "tool_use", id: `t${index}`, name: "f", input: {} },
  }));
  assert.equal(decode([started, ...many]).events.at(-1)?.type, "error");
});
