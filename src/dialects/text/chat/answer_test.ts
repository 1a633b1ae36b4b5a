import assert from "@std/assert";
import { Fault } from "../../../shared/fault.ts";
import type { CanonicalAnswer } from "../../kernel/canonical.ts";
import { foldEvents } from "../../kernel/fold.ts";
import { decodeAnswer } from "./answer_decoder.ts";
import { encodeAnswer } from "./answer_encoder.ts";
import { finish } from "../../../base/steps.ts";

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

function answer(message: unknown, finish: unknown = "stop", more: Record<string, unknown> = {}) {
  const choices = [{ index: 0, message, finish_reason: finish, logprobs: null }];
  return { id: "c1", object: "chat.completion", created: 7, model: "m", choices, usage, ...more };
}

const decode = (json: unknown) => foldEvents(finish(decodeAnswer(json, {})));
/** There and back. */
const round = (json: unknown) => encodeAnswer(decode(json));

const toolCall = { id: "t1", type: "function", function: { name: "f", arguments: '{"a":1}' } };
const custom = { id: "t2", type: "custom", custom: { name: "sh", input: "ls" } };
const assistant = { role: "assistant", refusal: null };
const token = { token: "a", logprob: -1, bytes: [97], top_logprobs: [] };

/** Answers that come back as they were: the record shows what the caller received. */
const whole: [string, Record<string, unknown>][] = [
  ["text", answer({ ...assistant, content: "hi" })],
  ["empty text", answer({ ...assistant, content: "" })],
  ["a tool call", answer({ ...assistant, content: null, tool_calls: [toolCall] }, "tool_calls")],
  [
    "text, parallel calls and a custom tool",
    answer({ ...assistant, content: "hi", tool_calls: [toolCall, custom] }, "tool_calls"),
  ],
  ["a refusal", answer({ ...assistant, content: null, refusal: "no" }, "content_filter")],
  ["reasoning", answer({ ...assistant, content: "hi", reasoning_content: "hm" })],
  ["an answer cut by its limit", answer({ ...assistant, content: "hi" }, "length")],
  ["log-probabilities", {
    ...answer(null),
    choices: [{
      index: 0,
      message: { ...assistant, content: "a" },
      finish_reason: "stop",
      logprobs: { content: [token], refusal: null },
    }],
  }],
  ["two choices", {
    ...answer(null),
    choices: [0, 1].map((index) => ({
      index,
      message: { ...assistant, content: `answer ${index}` },
      finish_reason: index === 0 ? "stop" : "length",
      logprobs: null,
    })),
  }],
];
for (const [name, json] of whole) {
  Deno.test(`${name} decoded and encoded again is the same, required keys and all`, () => {
    assert.deepEqual(round(json), json);
  });
}

Deno.test("tool_calls is absent where there is none, never an empty list", () => {
  const json = round(answer({ ...assistant, content: "hi", tool_calls: [] }));
  assert.doesNotMatch(JSON.stringify(json), /tool_calls/);
});

Deno.test("the fields of the events are the vendor's own", () => {
  const events = finish(decodeAnswer(
    answer({ ...assistant, content: "hi" }, "eos", { service_tier: "flex" }),
    {},
  ));
  assert.deepEqual(events, [
    { type: "start", id: "c1", model: "m", created: 7, serviceTier: "flex" },
    { type: "block-start", choice: 0, block: 0, content: { kind: "text" } },
    { type: "block-delta", choice: 0, block: 0, text: "hi" },
    { type: "block-end", choice: 0, block: 0 },
    { type: "finish", choice: 0, reason: "stop", raw: "eos" },
    { type: "own", choice: undefined, own: { dialect: "chat", fields: { service_tier: "flex" } } },
    { type: "usage", usage: { input: 3, output: 2, raw: usage, serviceTier: "flex" } },
  ]);
});

const lenient: [string, unknown, string | undefined, string][] = [
  ["finish_reason null", answer({ content: "x" }, null), "x", "stop"],
  ["finish_reason missing", { choices: [{ message: { content: "x" } }] }, "x", "stop"],
  ["tool calls and no finish_reason", answer({ tool_calls: [toolCall] }, null), "", "tool_calls"],
  ["tool calls and 'stop'", answer({ tool_calls: [toolCall] }, "stop"), "", "tool_calls"],
  ["content as parts", answer({ content: [{ type: "text", text: "x" }] }), "x", "stop"],
  ["no id, model, created or usage", { choices: [{ message: { content: "x" } }] }, "x", "stop"],
  ["no message", { choices: [{ index: 0, finish_reason: "length" }] }, undefined, "length"],
  ["error null", { ...answer({ content: "x" }), error: null }, "x", "stop"],
];
for (const [name, json, text, finish] of lenient) {
  Deno.test(`${name}: read as the vendor meant it`, () => {
    const choice = decode(json).choices[0];
    const words = choice?.parts.filter(({ kind }) => kind === "text").map((one) => one.text);
    assert.equal(words?.join(""), text ?? "");
    assert.equal(choice?.finish?.reason, finish);
  });
}

Deno.test("choices without an index stand in their order", () => {
  const { choices } = decode({
    choices: ["a", "b"].map((content) => ({ message: { content } })),
  });
  assert.deepEqual(choices.map(({ index, parts }) => [index, parts[0]?.text]), [
    [0, "a"],
    [1, "b"],
  ]);
});

const busy = { message: "busy", code: 503 };
const errors: [string, unknown, number | undefined][] = [
  ["an error object", { error: busy }, 503],
  ["an error beside empty choices", { error: busy, choices: [] }, 503],
  ["an error string", { error: "busy" }, undefined],
  ["an array-wrapped error", [{ error: busy }], 503],
  ["an open-model server's error", { object: "error", message: "busy", code: 503 }, 503],
  ["finish error", { ...answer({ content: "" }, "error"), message: "busy" }, undefined],
  ["an error inside the choice", { choices: [{ finish_reason: "error", error: busy }] }, 503],
];
for (const [name, json, status] of errors) {
  Deno.test(`${name} inside a 200 is an error, never an empty success`, () => {
    const events = finish(decodeAnswer(json, {}));
    const error = events.at(-1);
    if (error?.type !== "error") throw new Error(`no error: ${JSON.stringify(events)}`);
    assert.deepEqual([error.error.message, error.error.status], ["busy", status]);
    assert.ok(!events.some(({ type }) => type === "finish"));
  });
}

Deno.test("a failed answer has the usage that its vendor reported, before the error", () => {
  for (const json of [answer({ content: "x" }, "error"), { error: busy, usage }]) {
    const [reported, error] = finish(decodeAnswer(json, {}));
    assert.deepEqual(reported, { type: "usage", usage: { input: 3, output: 2, raw: usage } });
    assert.equal(error?.type, "error");
  }
});

Deno.test("an answer that its server broke off for want of room is an overload", () => {
  const event = finish(decodeAnswer(answer({ content: "x" }, "insufficient_system_resource"), {}))
    .at(-1);
  if (event?.type !== "error") throw new Error(`no error: ${JSON.stringify(event)}`);
  const { code, type } = event.error;
  assert.deepEqual([code, type], ["insufficient_system_resource", "overloaded_error"]);
});

for (
  const json of [null, 7, "x", [], {}, { choices: null }, { choices: {} }, { id: "c" }, {
    choices: ["x"],
  }, {
    choices: [{}],
  }]
) {
  Deno.test(`${JSON.stringify(json)} is no answer: upstream_invalid_response`, () => {
    assert.throws(
      () => finish(decodeAnswer(json, {})),
      (thrown: unknown) => thrown instanceof Fault && thrown.code === "upstream_invalid_response",
    );
  });
}

Deno.test("an unfinished answer of an unnamed model encodes with every required key", () => {
  const unfinished: CanonicalAnswer = {
    id: undefined,
    model: undefined,
    created: undefined,
    choices: [{ index: 0, parts: [], logprobs: undefined, finish: undefined }],
    usage: undefined,
    truncated: false,
  };
  assert.deepEqual(encodeAnswer(unfinished), {
    id: "",
    object: "chat.completion",
    created: 0,
    model: "",
    choices: [{
      index: 0,
      message: { role: "assistant", content: "", refusal: null },
      finish_reason: null,
      logprobs: null,
    }],
  });
});

Deno.test("an answer without usage names the tier that its estimate is priced by", () => {
  const { usage: _, ...bare } = answer({ ...assistant, content: "hi" }, "stop", {
    service_tier: "default",
  });
  const [start] = finish(decodeAnswer(bare, {}));
  assert.equal(start?.type === "start" && start.serviceTier, "default");
});

Deno.test("many log-probabilities, and choices, are read in steps, and come out as a short list", () => {
  const content = Array.from({ length: 2_000 }, (_, at) => ({ ...token, logprob: -at }));
  const json = answer({ ...assistant, content: "hi" });
  const choices = [0, 1].map((index) => ({ ...json.choices[0], index, logprobs: { content } }));
  assert.equal([...decodeAnswer({ ...json, choices }, {})].length, 8);
  const [first, second] = decode({ ...json, choices }).choices;
  for (const { logprobs } of [first!, second!]) {
    assert.deepEqual(logprobs!.map(({ logprob }) => logprob), content.map((one) => one.logprob));
  }
});

Deno.test("an answer with more parts, calls, images or sources than any has is refused", () => {
  const text = { type: "text", text: "a" };
  const long = (count: number) => [
    { content: Array(count).fill(text) },
    { content: [{ type: "thinking", thinking: Array(count).fill(text) }] },
    { content: null, tool_calls: Array(count).fill(toolCall) },
    { content: "a", images: Array(count).fill({}) },
    { content: "a", reasoning_details: Array(count).fill({}) },
    { content: "a", annotations: [...Array(10_000), ...Array(count)].fill({}) },
  ];
  for (const message of long(10_000)) assert.ok(decode(answer(message)));
  for (const message of long(10_001)) {
    assert.throws(() => decode(answer(message)), { code: "upstream_invalid_response" });
  }
});
