import assert from "@std/assert";
import { SseSplitter } from "../../../base/sse.ts";
import { Fault } from "../../../shared/fault.ts";
import type { CanonicalEvent } from "../../kernel/canonical.ts";
import type { DecodedEvent } from "../../kernel/dialect.ts";
import { foldEvents } from "../../kernel/fold.ts";
import { createStreamDecoder } from "./stream_decoder.ts";
import { errorFrame } from "./stream_encoder.ts";

/** A chunk with one choice. */
function chunk(delta: unknown, finish: unknown = null, more: Record<string, unknown> = {}) {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return { id: "c", object: "chat.completion.chunk", created: 7, model: "m", choices, ...more };
}

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const role = chunk({ role: "assistant", content: "" });
const hello = [role, chunk({ content: "Hel" }), chunk({ content: "lo" })];
const stop = chunk({}, "stop");
const usageChunk = { ...stop, choices: [], usage };

function run(payloads: readonly unknown[], quirks = {}, asked = 1) {
  const decoder = createStreamDecoder(quirks, asked);
  const decoded: DecodedEvent[] = payloads.map((payload) => {
    const data = typeof payload === "string" ? payload : JSON.stringify(payload);
    return decoder.decode({ bytes: new Uint8Array(), data, terminated: true });
  });
  const { mayEnd } = decoder;
  const { events: rest, complete } = decoder.end();
  const events = [...decoded.flatMap(({ events }) => events), ...rest];
  return { decoded, events, mayEnd, complete, answer: foldEvents(events) };
}

const errorsOf = (events: readonly CanonicalEvent[]) =>
  events.flatMap((event) => event.type === "error" ? [event.error] : []);

Deno.test("the vendor's own stream becomes start, block, deltas, end, finish, usage", () => {
  const { events, complete, decoded } = run([...hello, stop, usageChunk, "[DONE]"]);
  const read = { input: 3, output: 2, raw: usage };
  assert.deepEqual(events, [
    { type: "start", id: "c", model: "m", created: 7 },
    { type: "block-start", choice: 0, block: 0, content: { kind: "text" } },
    { type: "block-delta", choice: 0, block: 0, text: "Hel" },
    { type: "block-delta", choice: 0, block: 0, text: "lo" },
    { type: "block-end", choice: 0, block: 0 },
    { type: "finish", choice: 0, reason: "stop", raw: "stop" },
    { type: "usage", usage: read },
  ]);
  assert.equal(complete, true);
  assert.deepEqual(decoded.map(({ usageOnly }) => usageOnly), [
    ...[false, false, false, false],
    true,
    false,
  ]);
  assert.deepEqual(decoded.map(({ terminal }) => terminal).indexOf(true), 5);
});

const repeated = (content: string) => chunk({ content }, "stop", { usage });
/** Whether these may be all of an answer, for a connection that is silent or breaks behind them. */
const ends: [string, unknown[], boolean][] = [
  ["a finish reason", [...hello, stop], true],
  ["usage in a chunk that repeats the reason", [...hello, stop, { ...stop, usage }], true],
  ["content", hello, false],
  ["a finish reason in the first chunk", [repeated("Hel")], false],
  ["content behind the finish reason", [role, repeated("Hel"), repeated("lo")], false],
  ["the end marker", [repeated("Hel"), repeated("lo"), "[DONE]"], true],
];
for (const [what, payloads, mayEnd] of ends) {
  Deno.test(`a chat stream ${mayEnd ? "may" : "may not"} end after ${what}`, () => {
    assert.equal(run(payloads).mayEnd, mayEnd);
  });
}

/** Deviations of chat-completions.md §4.3 that change nothing: the answer is "Hello", complete. */
const harmless: [string, unknown[]][] = [
  ["role missing", [chunk({ content: "Hello" }), stop]],
  ["role on every chunk", [
    chunk({ role: "assistant", content: "Hel" }),
    chunk({ role: "assistant", content: "lo" }),
    stop,
  ]],
  ["role empty", [chunk({ role: "", content: "Hello" }), stop]],
  ["finish_reason empty before the end", [chunk({ content: "Hello" }, ""), stop]],
  ["finish_reason missing before the end", [
    { choices: [{ index: 0, delta: { content: "Hello" } }] },
    stop,
  ]],
  ["finish_reason twice", [...hello, stop, chunk({}, "length")]],
  ["finish on the last words", [chunk({ content: "Hel" }), chunk({ content: "lo" }, "stop")]],
  ["no delta in the finish chunk", [...hello, { choices: [{ index: 0, finish_reason: "stop" }] }]],
  ["delta null", [...hello, chunk(null), stop]],
  ["choices missing", [{ id: "c", object: "x" }, ...hello, stop]],
  ["choices null", [{ choices: null }, ...hello, stop]],
  ["an empty first chunk", [{ choices: [], prompt_filter_results: [] }, ...hello, stop]],
  ["index missing", [
    { choices: [{ delta: { content: "Hello" } }] },
    { choices: [{ finish_reason: "stop" }] },
  ]],
  ["message in place of delta", [
    { choices: [{ index: 0, message: { content: "Hello" }, finish_reason: "stop" }] },
  ]],
  ["tool_calls empty", [chunk({ content: "Hello", tool_calls: [] }), stop]],
  ["tool_calls null", [chunk({ content: "Hello", tool_calls: null }), stop]],
  ["an unknown field", [chunk({ content: "Hello", obfuscation: "x" }), stop]],
  ["content null between", [chunk({ content: "Hel" }), chunk({ content: null }), ...tail("lo")]],
  ["content as parts", [chunk({ content: [{ type: "text", text: "Hello" }] }), stop]],
  ["usage null on every chunk", [...hello.map((one) => ({ ...one, usage: null })), stop]],
  ["error null on every chunk", [...hello.map((one) => ({ ...one, error: null })), stop]],
  ["no [DONE]", [...hello, stop]],
  ["[DONE] with spaces", [...hello, stop, " [DONE] "]],
  ["an empty data line", [...hello, "", stop]],
  ["a payload that is no object", [...hello, "7", "null", "[]", stop]],
];

function tail(words: string): unknown[] {
  return [chunk({ content: words }), stop];
}

for (const [name, payloads] of harmless) {
  Deno.test(`${name}: the answer is the same`, () => {
    const { answer, complete, events } = run(payloads);
    assert.deepEqual(answer.choices, [{
      index: 0,
      parts: [{ kind: "text", text: "Hello" }],
      logprobs: undefined,
      finish: { reason: "stop", raw: "stop" },
    }]);
    assert.equal(complete, true);
    assert.deepEqual(errorsOf(events), []);
  });
}

const later = { prompt_tokens: 3, completion_tokens: 9, total_tokens: 12 };
const usagePlaces: [string, unknown[], boolean[]][] = [
  ["in a chunk of its own", [stop, { ...usageChunk, usage: later }], [false, true]],
  ["in a chunk without choices", [stop, { usage: later }], [false, true]],
  ["on the finish chunk", [{ ...stop, usage: later }], [false]],
  [
    "on every chunk, cumulative",
    [{ ...role, usage }, { ...stop, usage: later }],
    [false, false],
  ],
  ["after [DONE]", [stop, "[DONE]", { choices: [], usage: later }], [false, false, true]],
  ["as the fast vendors have it", [{ ...stop, x_groq: { id: "r", usage: later } }], [false]],
  [
    "in the choice",
    [{ ...stop, choices: [{ index: 0, delta: {}, finish_reason: "stop", usage: later }] }],
    [false],
  ],
  ["behind a chunk with x_groq alone", [
    { ...role, x_groq: { id: "r" } },
    { ...stop, usage: later },
  ], [false, false]],
];
for (const [name, payloads, usageOnly] of usagePlaces) {
  Deno.test(`usage ${name} is read, the last report wins`, () => {
    const { answer, decoded, complete } = run(payloads);
    assert.deepEqual(answer.usage, { input: 3, output: 9, raw: later });
    assert.deepEqual(decoded.map((one) => one.usageOnly), usageOnly);
    assert.equal(complete, true);
  });
}

Deno.test("the usage in one of several choices is that choice's, not the answer's", () => {
  const last = (index: number) => ({
    ...stop,
    choices: [{ index, delta: { content: "Hi" }, finish_reason: "stop", usage: later }],
  });
  const payloads = [last(0), last(1), "[DONE]"];
  assert.equal(run(payloads, {}, 2).answer.usage, undefined);
  const { answer } = run([...payloads, usageChunk], {}, 2);
  assert.deepEqual(answer.usage, { input: 3, output: 2, raw: usage });
});

Deno.test("the service tier travels with the usage, additive reasoning is the vendor's quirk", () => {
  const raw = {
    prompt_tokens: 36,
    completion_tokens: 10,
    total_tokens: 736,
    completion_tokens_details: { reasoning_tokens: 690 },
  };
  const payloads = [{ ...stop, usage: raw, service_tier: "flex" }];
  const { answer } = run(payloads, { additiveReasoning: true });
  assert.deepEqual(answer.usage, {
    input: 36,
    output: 700,
    reasoning: 690,
    serviceTier: "flex",
    raw,
  });
  assert.equal(run(payloads).answer.usage?.output, 10);
});

const cut: [string, unknown[]][] = [
  ["nothing", []],
  ["only [DONE]", ["[DONE]"]],
  ["only usage", [usageChunk]],
  ["words without a finish", hello],
  ["words and [DONE] without a finish", [...hello, "[DONE]"]],
  ["usage but no finish", [...hello, usageChunk]],
  ["one of two choices unfinished", [
    ...hello,
    { choices: [{ index: 1, delta: { content: "x" } }] },
    stop,
  ]],
];
for (const [name, payloads] of cut) {
  Deno.test(`a stream of ${name} is cut, never an answer that ended`, () => {
    const { complete, events } = run(payloads);
    assert.equal(complete, false);
    const open = events.filter(({ type }) => type === "block-start").length;
    assert.equal(events.filter(({ type }) => type === "block-end").length, open);
  });
}

const second = { choices: [{ index: 1, delta: { content: "x" }, finish_reason: "stop" }] };
const ofTwo: [name: string, payloads: unknown[], isWhole: boolean][] = [
  ["the first choice whole, the second never begun", [...hello, stop], false],
  ["the first choice whole, the second begun", [...hello, stop, {
    choices: [{ index: 1, delta: { content: "x" } }],
  }], false],
  ["both whole, without an end marker", [...hello, stop, second], true],
  ["both whole, with an end marker", [...hello, stop, second, "[DONE]"], true],
  ["one choice and an end marker, from a vendor that gives one", [...hello, stop, "[DONE]"], true],
];
for (const [name, payloads, isWhole] of ofTwo) {
  Deno.test(`two choices asked for, ${name}: ${isWhole ? "whole" : "cut"}`, () => {
    assert.equal(run(payloads, {}, 2).complete, isWhole);
  });
}

Deno.test("choices of one chunk that are all numbered 0 are what was asked for, or pieces of one", () => {
  const both = (one: object, other: object) => ({
    choices: [{ index: 0, ...one }, { index: 0, ...other }],
  });
  const payloads = [
    both({ delta: { content: "a" } }, { delta: { content: "x" } }),
    both({ delta: { content: "b" } }, { delta: { content: "y" } }),
    both({ delta: {}, finish_reason: "stop" }, { delta: {}, finish_reason: "stop" }),
    "[DONE]",
  ];
  const textsOf = (asked: number) =>
    run(payloads, {}, asked).answer.choices.map(({ index, parts }) => [
      index,
      ...parts.map((part) => "text" in part ? part.text : ""),
    ]);
  assert.deepEqual(textsOf(2), [[0, "ab"], [1, "xy"]]);
  assert.deepEqual(textsOf(1), [[0, "axby"]]);
});

Deno.test("pieces of one chunk that have a number of their own stay with their choice", () => {
  const chunkOf = (...pieces: [index: number, content: string][]) => ({
    choices: pieces.map(([index, content]) => ({ index, delta: { content } })),
  });
  const payloads = [
    chunkOf([0, "a"], [1, "x"], [1, "y"]),
    chunkOf([1, "z"], [1, "!"]),
    // Such a server numbers its choices, so 0 is a number here.
    chunkOf([0, "b"], [0, "c"]),
    // More than were asked for are pieces, too.
    chunkOf([0, "d"], [0, "e"], [0, "f"]),
  ];
  const { choices } = run(payloads, {}, 2).answer;
  const texts = choices.map(({ parts: [part] }) => part && "text" in part && part.text);
  assert.deepEqual(texts, ["abcdef", "xyz!"]);
});

const busy = { message: "busy", code: 503 };
const failures: [string, unknown, string | undefined, number | undefined][] = [
  ["an error object", { error: { message: "busy", type: "overloaded_error" } }, "busy", undefined],
  ["an error string", { error: "busy" }, "busy", undefined],
  ["an error with empty choices", { choices: [], error: busy }, "busy", 503],
  ["the aggregator's valid chunk", chunk({ content: "" }, "error", { error: busy }), "busy", 503],
  ["finish error alone", chunk({ content: "" }, "error"), undefined, undefined],
  ["a finish with error in its name", chunk({}, "server_error"), undefined, undefined],
  [
    "an error inside the choice",
    {
      choices: [{ index: 0, delta: {}, finish_reason: "error", error: busy }],
    },
    "busy",
    503,
  ],
  ["an array-wrapped error", [{ error: busy }], "busy", 503],
  ["an open-model server's error", { object: "error", ...busy }, "busy", 503],
  ["an event that is not JSON", "<html>", "A stream event was not JSON.", undefined],
];
for (const [name, payload, message, status] of failures) {
  Deno.test(`${name} in mid-stream is an error, never an empty success`, () => {
    const { events, complete } = run([...hello, payload, stop, "[DONE]"]);
    const [error, ...others] = errorsOf(events);
    assert.deepEqual([error?.message, error?.status, others.length], [message, status, 0]);
    assert.equal(complete, false);
  });
}

Deno.test("n > 1: interleaved choices keep their own blocks and their own ends", () => {
  const of = (index: number, delta: unknown, finish: string | null = null) => ({
    choices: [{ index, delta, finish_reason: finish }],
  });
  const { answer, complete, events } = run([
    of(1, { content: "b" }),
    of(0, { content: "a" }),
    of(1, { content: "B" }),
    { choices: [of(0, { content: "A" }).choices[0], of(1, {}, "length").choices[0]] },
    of(0, {}, "stop"),
  ]);
  assert.deepEqual(
    answer.choices.map(({ index, parts, finish }) => [index, parts[0]?.text, finish?.reason]),
    [[0, "aA", "stop"], [1, "bB", "length"]],
  );
  assert.equal(complete, true);
  const blocks = events.flatMap((one) => one.type === "block-start" ? [one.block] : []);
  assert.deepEqual(blocks, [0, 1]);
});

Deno.test("bytes cut anywhere, comments, CRLF and a missing last blank line change nothing", () => {
  const frames = [...hello, chunk({ content: " 🎈" }), stop, usageChunk]
    .map((one, index) => `data:${index % 2 ? " " : ""}${JSON.stringify(one)}`);
  const text = ": OPENROUTER PROCESSING\r\n\r\n" + frames.join("\r\n\r\n") + "\n\n: bye\n\n" +
    "data: [DONE]";
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at <= bytes.length; at++) {
    const splitter = new SseSplitter({ maxEventBytes: 1 << 20 });
    const decoder = createStreamDecoder({});
    const sse = [bytes.subarray(0, at), bytes.subarray(at)].flatMap((one) => splitter.push(one));
    const events = [...sse, ...splitter.end()].flatMap((one) => decoder.decode(one).events);
    assert.equal(decoder.end().complete, true);
    assert.equal(foldEvents(events).choices[0]?.parts[0]?.text, "Hello 🎈", `cut at ${at}`);
  }
});

Deno.test("an error in mid-stream has the usage beside it, before the error", () => {
  const error = { message: "busy", code: 503 };
  for (
    const last of [chunk({}, "error", { error, usage }), { error, usage }, {
      ...chunk({}, "error"),
      usage,
    }]
  ) {
    const { events } = run([...hello, last]);
    const at = events.findIndex(({ type }) => type === "usage");
    assert.deepEqual(events[at], { type: "usage", usage: { input: 3, output: 2, raw: usage } });
    assert.equal(events[at + 1]?.type, "error");
  }
});

Deno.test("our own error frame is one event with the four fields, and no [DONE]", () => {
  const fault = new Fault("upstream_stream_truncated");
  const frame = errorFrame(fault);
  assert.match(frame, /^data: \{.*\}\n\n$/);
  assert.deepEqual(JSON.parse(frame.slice(6)), {
    error: {
      message: fault.message,
      type: "upstream_error",
      code: "upstream_stream_truncated",
      param: null,
    },
  });
  assert.equal(run([...hello, frame.slice(6).trim()]).complete, false);
});

const behind: [string, unknown][] = [
  ["a chunk of another answer", chunk({ content: "stray" })],
  ["an error", { error: { message: "no" } }],
  ["no JSON", "HTTP/1.1 200 OK"],
];
for (const [name, stray] of behind) {
  Deno.test(`${name} behind [DONE] belongs to no answer`, () => {
    const { events, complete } = run([chunk({ content: "own" }), stop, "[DONE]", stray]);
    assert.ok(!JSON.stringify(events).includes("stray"));
    assert.deepEqual(errorsOf(events), []);
    assert.equal(complete, true);
  });
}
