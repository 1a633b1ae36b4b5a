import assert from "@std/assert";
import { decodeStream, sse } from "../../../../tests/support/responses_fixtures.ts";
import { createStreamDecoder } from "./stream_decoder.ts";

const created = {
  type: "response.created",
  response: { id: "resp_1", model: "m-1", created_at: 5, status: "in_progress", output: [] },
};
const usage = { input_tokens: 3, output_tokens: 4, total_tokens: 7 };

function completed(output: unknown[] = [], more: Record<string, unknown> = {}) {
  return {
    type: "response.completed",
    response: { id: "resp_1", model: "m-1", status: "completed", output, usage, ...more },
  };
}

function item(type: string, index: number, fields: Record<string, unknown>, verb = "added") {
  const whole = { id: `i${index}`, type, ...fields };
  return { type: `response.output_item.${verb}`, output_index: index, item: whole };
}

function piece(type: string, index: number, fields: Record<string, unknown>) {
  return { type: `response.${type}`, item_id: `i${index}`, output_index: index, ...fields };
}

function parts(wire: unknown[]) {
  return decodeStream(wire).answer.choices[0]?.parts.map((part) => ({ ...part }));
}

Deno.test("arguments that come only in .done are emitted once (pitfall 97)", () => {
  const call = { call_id: "call_1", name: "f" };
  const wire = [
    created,
    item("function_call", 0, { ...call, arguments: "" }),
    piece("function_call_arguments.done", 0, { arguments: '{"a":1}' }),
    item("function_call", 0, { ...call, arguments: '{"a":1}', status: "completed" }, "done"),
    completed([{ id: "i0", type: "function_call", ...call, arguments: '{"a":1}' }]),
  ];
  const { answer, complete } = decodeStream(wire);
  assert.ok(complete);
  assert.deepEqual(answer.choices[0]?.parts, [
    { kind: "tool-call", id: "call_1", name: "f", custom: false, text: '{"a":1}' },
  ]);
  assert.equal(answer.choices[0]?.finish?.reason, "tool_calls");
});

Deno.test("a .done after its deltas adds nothing (pitfall 98)", () => {
  const text = [
    created,
    item("message", 0, { content: [] }),
    piece("output_text.delta", 0, { content_index: 0, delta: "Hel" }),
    piece("output_text.delta", 0, { content_index: 0, delta: "lo" }),
    piece("output_text.done", 0, { content_index: 0, text: "Hello" }),
    piece("content_part.done", 0, {
      content_index: 0,
      part: { type: "output_text", text: "Hello" },
    }),
    item("message", 0, { content: [{ type: "output_text", text: "Hello" }] }, "done"),
    completed([{ id: "i0", type: "message", content: [{ type: "output_text", text: "Hello" }] }]),
  ];
  assert.deepEqual(parts(text), [{ kind: "text", text: "Hello" }]);
});

Deno.test("what deltas left out comes from .done, item.done or the terminal event", () => {
  const whole = { content: [{ type: "output_text", text: "Hello there" }] };
  const begun = [
    created,
    item("message", 0, { content: [] }),
    piece("output_text.delta", 0, { content_index: 0, delta: "Hello" }),
  ];
  const expected = [{ kind: "text", text: "Hello there" }];
  const done = piece("output_text.done", 0, { content_index: 0, text: "Hello there" });
  assert.deepEqual(parts([...begun, done, completed()]), expected);
  assert.deepEqual(parts([...begun, item("message", 0, whole, "done"), completed()]), expected);
  assert.deepEqual(
    parts([...begun, completed([{ id: "i0", type: "message", ...whole }])]),
    expected,
  );
  assert.deepEqual(
    parts([created, completed([{ id: "other", type: "message", ...whole }])]),
    expected,
  );
});

Deno.test("ids that change from event to event don't double the text", () => {
  const content = [{ type: "output_text", text: "Hi" }];
  const wire = [
    created,
    { type: "response.output_item.added", output_index: 0, item: { id: "a", type: "message" } },
    {
      type: "response.output_text.delta",
      item_id: "b",
      output_index: 0,
      content_index: 0,
      delta: "Hi",
    },
    completed([{ id: "c", type: "message", content }]),
  ];
  assert.deepEqual(parts(wire), [{ kind: "text", text: "Hi" }]);
});

Deno.test("pieces without added events, ids or indexes are read", () => {
  const wire = [
    { type: "response.output_text.delta", delta: "A" },
    { type: "response.output_text.delta", delta: "B" },
    { type: "response.completed", response: { usage } },
  ];
  const { answer, complete } = decodeStream(wire);
  assert.ok(complete);
  assert.equal(answer.choices[0]?.parts[0]?.text, "AB");
});

Deno.test("the name of a call may come after its arguments", () => {
  const wire = [
    created,
    piece("function_call_arguments.delta", 0, { delta: '{"a":' }),
    piece("function_call_arguments.done", 0, { arguments: '{"a":1}', name: "f" }),
    item(
      "function_call",
      0,
      { call_id: "call_9", name: "f", arguments: '{"a":1}' },
      "done",
    ),
    completed(),
  ];
  assert.equal(parts(wire)?.[0]?.text, '{"a":1}');
});

Deno.test("an incomplete function_call item ends with length, without exception (pitfall 99)", () => {
  const call = { call_id: "c", name: "f", arguments: '{"a":', status: "incomplete" };
  const wire = [
    created,
    item("function_call", 0, { call_id: "c", name: "f", arguments: "" }),
    piece("function_call_arguments.delta", 0, { delta: '{"a":' }),
    item("function_call", 0, call, "done"),
    {
      type: "response.incomplete",
      response: {
        status: "incomplete",
        incomplete_details: { reason: "max_output_tokens" },
        output: [{ id: "i0", type: "function_call", ...call }],
        usage,
      },
    },
  ];
  const { answer, complete } = decodeStream(wire);
  assert.ok(complete);
  assert.equal(answer.choices[0]?.parts[0]?.text, '{"a":');
  assert.deepEqual(answer.choices[0]?.finish, { reason: "length", raw: "max_output_tokens" });
});

Deno.test("error events are recognised nested and flat, and reported once (pitfall 100)", () => {
  const nested = { type: "error", error: { code: null, message: "x" } };
  const flat = { type: "error", code: "rate_limit_exceeded", message: "slow", param: null };
  const failed = {
    type: "response.failed",
    response: { status: "failed", error: { message: "x" } },
  };
  for (const frame of [nested, failed]) {
    const { events, complete } = decodeStream([created, frame, failed, completed()]);
    const errors = events.filter((event) => event.type === "error");
    assert.equal(errors.length, 1);
    assert.equal(errors[0]?.error.message, "x");
    assert.equal(errors[0]?.error.code, undefined);
    assert.ok(!complete);
  }
  const { events } = decodeStream([created, flat]);
  const [error] = events.filter((event) => event.type === "error");
  assert.deepEqual(error?.error, {
    status: 429,
    code: "rate_limit_exceeded",
    type: undefined,
    message: "slow",
    param: undefined,
    retryAfterSeconds: undefined,
  });
});

Deno.test("a stream that ends without a terminal event is not complete, marker or not", () => {
  const begun = [created, piece("output_text.delta", 0, { content_index: 0, delta: "a" })];
  assert.ok(!decodeStream(begun).complete);
  assert.ok(!decodeStream([...begun, "[DONE]"]).complete);
  assert.ok(decodeStream([...begun, completed(), "[DONE]"]).complete);
  const ends = decodeStream(begun).events.filter((event) => event.type === "block-end");
  assert.equal(ends.length, 1);
});

Deno.test("the terminal event alone is terminal", () => {
  const decoder = createStreamDecoder({});
  assert.ok(!decoder.decode(sse(created)).terminal);
  assert.ok(!decoder.decode(sse("[DONE]")).terminal);
  assert.ok(decoder.decode(sse(completed())).terminal);
});

Deno.test("summaries are paragraphs of one block, which ends with the sealed content", () => {
  const wire = [
    created,
    item("reasoning", 0, { summary: [] }),
    piece("reasoning_summary_text.delta", 0, { summary_index: 0, delta: "One" }),
    piece("reasoning_summary_text.done", 0, { summary_index: 0, text: "One." }),
    piece("reasoning_summary_text.delta", 0, { summary_index: 1, delta: "Two" }),
    item("reasoning", 0, {
      encrypted_content: "gAAA",
      summary: [{ type: "summary_text", text: "One." }, { type: "summary_text", text: "Two" }],
    }, "done"),
    completed(),
  ];
  assert.deepEqual(parts(wire), [{
    kind: "reasoning",
    text: "One.\n\nTwo",
    opaque: { dialect: "responses", kind: "encrypted_content", value: "gAAA", itemId: "i0" },
  }]);
});

Deno.test("raw reasoning text of open models is reasoning, and never text", () => {
  const wire = [
    created,
    item("reasoning", 0, { summary: [], content: [] }),
    piece("content_part.added", 0, {
      content_index: 0,
      part: { type: "reasoning_text", text: "" },
    }),
    piece("reasoning_text.delta", 0, { content_index: 0, delta: "hm" }),
    piece("reasoning_text.done", 0, { content_index: 0, text: "hmm" }),
    piece("content_part.done", 0, {
      content_index: 0,
      part: { type: "reasoning_text", text: "hmm" },
    }),
    completed(),
  ];
  assert.deepEqual(parts(wire), [{ kind: "reasoning", text: "hmm" }]);
});

Deno.test("reasoning with neither text nor sealed content is nothing", () => {
  const wire = [
    created,
    item("reasoning", 0, { summary: [] }),
    item("reasoning", 0, { summary: [] }, "done"),
    completed([{ id: "i0", type: "reasoning", summary: [] }]),
  ];
  assert.equal(decodeStream(wire).answer.choices[0]?.parts.length, 0);
});

Deno.test("a refusal is a refusal block, not text (pitfall 107)", () => {
  const wire = [
    created,
    item("message", 0, { content: [] }),
    piece("refusal.delta", 0, { content_index: 0, delta: "I can" }),
    piece("refusal.done", 0, { content_index: 0, refusal: "I can't" }),
    completed(),
  ];
  assert.deepEqual(parts(wire), [{ kind: "refusal", text: "I can't" }]);
});

Deno.test("custom tool calls carry their free text", () => {
  const call = { call_id: "c1", name: "sh" };
  const wire = [
    created,
    item("custom_tool_call", 0, { ...call, input: "" }),
    piece("custom_tool_call_input.delta", 0, { delta: "ls" }),
    piece("custom_tool_call_input.done", 0, { input: "ls -l" }),
    item("custom_tool_call", 0, { ...call, input: "ls -l" }, "done"),
    completed(),
  ];
  assert.deepEqual(parts(wire), [
    { kind: "tool-call", id: "c1", name: "sh", custom: true, text: "ls -l" },
  ]);
});

Deno.test("the vendor's own work is a block of this dialect, and no tool call", () => {
  const search = { status: "completed", action: { type: "search", query: "q" } };
  const wire = [
    created,
    item("web_search_call", 0, search, "done"),
    completed([{ id: "i0", type: "web_search_call", ...search }]),
  ];
  const { answer } = decodeStream(wire);
  assert.equal(answer.choices[0]?.parts.length, 1);
  assert.equal(answer.choices[0]?.parts[0]?.kind, "vendor");
  assert.equal(answer.choices[0]?.finish?.reason, "stop");
  assert.equal(answer.usage?.webSearches, 1);
});

Deno.test("annotations are citations, each once; obfuscation is ignored", () => {
  const annotation = {
    type: "url_citation",
    url: "https://a.example",
    title: "A",
    start_index: 0,
    end_index: 2,
  };
  const content = [{ type: "output_text", text: "Hi", annotations: [annotation] }];
  const wire = [
    created,
    item("message", 0, { content: [] }),
    piece("output_text.delta", 0, { content_index: 0, delta: "Hi", obfuscation: "xyz" }),
    piece("output_text.annotation.added", 0, { content_index: 0, annotation_index: 0, annotation }),
    item("message", 0, { content }, "done"),
    completed([{ id: "i0", type: "message", content }]),
  ];
  assert.deepEqual(parts(wire), [{
    kind: "text",
    text: "Hi",
    citations: [{ url: "https://a.example", title: "A", start: 0, end: 2 }],
  }]);
});

Deno.test("log-probabilities that come only in .done are kept", () => {
  const logprobs = [{ token: "Hi", logprob: -0.5, bytes: [72, 105], top_logprobs: [] }];
  const wire = [
    created,
    piece("output_text.delta", 0, { content_index: 0, delta: "Hi", logprobs: [] }),
    piece("output_text.done", 0, { content_index: 0, text: "Hi", logprobs }),
    completed(),
  ];
  assert.deepEqual(decodeStream(wire).answer.choices[0]?.logprobs, [
    { token: "Hi", logprob: -0.5, bytes: [72, 105], top: [] },
  ]);
});

Deno.test("additive reasoning counts beside the output only where the total says so (111)", () => {
  const told = (total: number) => ({
    type: "response.completed",
    response: {
      output: [],
      usage: {
        input_tokens: 36,
        output_tokens: 10,
        output_tokens_details: { reasoning_tokens: 690 },
        total_tokens: total,
      },
    },
  });
  const quirks = { additiveReasoning: true };
  assert.equal(decodeStream([created, told(736)], quirks).answer.usage?.output, 700);
  assert.equal(decodeStream([created, told(46)], quirks).answer.usage?.output, 10);
  assert.equal(decodeStream([created, told(736)]).answer.usage?.output, 10);
});

Deno.test("an event that isn't JSON fails the answer", () => {
  const { events, complete } = decodeStream([created, "{not json"]);
  assert.equal(events.at(-1)?.type, "error");
  assert.ok(!complete);
});

Deno.test("texts of items that overlap are blocks one after the other", () => {
  const text = (index: number, delta: string) =>
    piece("output_text.delta", index, { content_index: 0, delta });
  const { events } = decodeStream([created, text(0, "a"), text(1, "b"), text(0, "c"), completed()]);
  const blocks = events.filter((event) => event.type.startsWith("block-"))
    .map((event) => `${event.type} ${"block" in event ? event.block : ""}`);
  assert.deepEqual(
    blocks,
    [0, 1, 2].flatMap((block) => [
      `block-start ${block}`,
      `block-delta ${block}`,
      `block-end ${block}`,
    ]),
  );
});

Deno.test("xAI's record of its search of X is the vendor's own work, counted as a search", () => {
  const search = { call_id: "xs_call_1", name: "x_keyword_search", input: "" };
  const done = { ...search, input: '{"query":"a"}', status: "completed" };
  const message = { id: "m", type: "message", content: [{ type: "output_text", text: "Found." }] };
  const { answer } = decodeStream([
    created,
    item("custom_tool_call", 0, search),
    piece("custom_tool_call_input.delta", 0, { delta: done.input }),
    piece("custom_tool_call_input.done", 0, { input: done.input }),
    item("custom_tool_call", 0, done, "done"),
    completed([{ id: "i0", type: "custom_tool_call", ...done }, message]),
  ]);
  const [choice] = answer.choices;
  assert.equal(choice!.finish!.reason, "stop");
  assert.deepEqual(choice!.parts.map(({ kind }) => kind), ["vendor", "text"]);
  assert.equal(answer.usage?.xSearches, 1);
});
