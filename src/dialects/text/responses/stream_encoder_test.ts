import assert from "@std/assert";
import { Fault } from "../../../shared/fault.ts";
import type { CanonicalEvent } from "../../kernel/canonical.ts";
import { contextOf, encodeStream } from "../../../../tests/support/responses_fixtures.ts";
import { readEnvelope } from "./conversation/envelope.ts";
import { createStreamEncoder } from "./stream_encoder.ts";
import { responsesEvents } from "../../../../tests/support/grammar/events.ts";

const start: CanonicalEvent = { type: "start", id: "up", model: "real-model", created: 1 };
const usage: CanonicalEvent = { type: "usage", usage: { input: 5, output: 6, reasoning: 2 } };

function finish(reason: "stop" | "length" | "tool_calls" | "content_filter"): CanonicalEvent {
  return { type: "finish", choice: 0, reason, raw: reason };
}

function block(number: number, content: object, ...pieces: string[]): CanonicalEvent[] {
  return [
    { type: "block-start", choice: 0, block: number, content } as CanonicalEvent,
    ...pieces.map((text): CanonicalEvent => delta(number, text)),
    { type: "block-end", choice: 0, block: number },
  ];
}

function delta(number: number, text: string): CanonicalEvent {
  return { type: "block-delta", choice: 0, block: number, text };
}

const tool = (id: string, name = "f") => ({ kind: "tool-call", id, name, custom: false });

Deno.test("text and two parallel calls make one stream of the grammar (pitfall 103)", () => {
  const events = responsesEvents(encodeStream([
    start,
    ...block(0, { kind: "reasoning" }, "let me", " think"),
    ...block(1, { kind: "text" }, "Hel", "lo"),
    ...block(2, tool("call_a"), '{"a"', ":1}"),
    ...block(3, tool("call_b"), "{}"),
    finish("tool_calls"),
    usage,
  ]));
  const response = events.at(-1)!.response as Record<string, unknown>;
  const output = response.output as Record<string, unknown>[];
  assert.deepEqual(output.map((item) => item.type), [
    "reasoning",
    "message",
    "function_call",
    "function_call",
  ]);
  assert.deepEqual(output.map((item) => item.call_id), [
    undefined,
    undefined,
    "call_a",
    "call_b",
  ]);
  assert.equal(response.model, "real-model");
  assert.equal(response.completed_at, 1_700_000_007);
  assert.deepEqual(response.usage, {
    input_tokens: 5,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 6,
    output_tokens_details: { reasoning_tokens: 2 },
    total_tokens: 11,
  });
});

Deno.test("calls whose pieces overlap leave one after the other, whole", () => {
  const [startA, , endA] = block(0, tool("call_a"), "");
  const [startB, , endB] = block(1, tool("call_b"), "");
  const [startC, , endC] = block(2, tool("call_c"), "");
  const events = responsesEvents(encodeStream([
    start,
    startA!,
    delta(0, "[1"),
    startB!,
    delta(1, "[2"),
    startC!,
    delta(0, "1]"),
    delta(1, "2]"),
    endB!,
    delta(2, "[33]"),
    endA!,
    endC!,
    finish("tool_calls"),
  ]));
  const response = events.at(-1)!.response as Record<string, unknown>;
  const output = response.output as Record<string, unknown>[];
  assert.deepEqual(output.map((item) => [item.call_id, item.arguments]), [
    ["call_a", "[11]"],
    ["call_b", "[22]"],
    ["call_c", "[33]"],
  ]);
});

Deno.test("every piece of text leaves at once", () => {
  const encoder = createStreamEncoder(contextOf());
  const [begin] = block(0, { kind: "text" });
  assert.match(encoder.encode(start), /response\.created[^]*response\.in_progress/);
  assert.match(encoder.encode(begin!), /output_item\.added[^]*content_part\.added/);
  assert.match(encoder.encode(delta(0, "now")), /"delta":"now"/);
});

Deno.test("text and refusal in a row are parts of one message; a call parts messages", () => {
  const events = responsesEvents(encodeStream([
    start,
    ...block(0, { kind: "text" }, "a"),
    ...block(1, { kind: "refusal" }, "no"),
    ...block(2, tool("c"), "{}"),
    ...block(3, { kind: "text" }, "b"),
    finish("stop"),
  ]));
  const output = (events.at(-1)!.response as { output: Record<string, unknown>[] }).output;
  assert.deepEqual(output.map((item) => item.type), ["message", "function_call", "message"]);
  assert.deepEqual((output[0]!.content as Record<string, unknown>[]).map((part) => part.type), [
    "output_text",
    "refusal",
  ]);
});

Deno.test("reasoning has a status, as other items: the AI SDK's provider of xAI requires it", () => {
  const events = responsesEvents(encodeStream([
    start,
    ...block(0, { kind: "reasoning" }, "hm"),
    ...block(1, { kind: "text" }, "hi"),
    finish("stop"),
  ]));
  const items = events.flatMap(({ type, item }) =>
    item === undefined ? [] : [[type, (item as Record<string, unknown>).status]]
  );
  assert.deepEqual(items.slice(0, 2), [
    ["response.output_item.added", "in_progress"],
    ["response.output_item.done", "completed"],
  ]);
});

Deno.test("an answer cut by its limit closes its last item as incomplete", () => {
  for (const content of [{ kind: "text" }, tool("c"), { kind: "reasoning" }]) {
    const events = responsesEvents(encodeStream([
      start,
      ...block(0, content, '{"a":'),
      finish("length"),
    ]));
    const last = events.at(-1)!;
    const response = last.response as Record<string, unknown>;
    assert.equal(last.type, "response.incomplete");
    assert.deepEqual(response.incomplete_details, { reason: "max_output_tokens" });
    assert.equal((response.output as Record<string, unknown>[])[0]!.status, "incomplete");
    assert.equal(response.completed_at, null);
    const done = events.find(({ type }) => type === "response.output_item.done")!;
    assert.equal((done.item as Record<string, unknown>).status, "incomplete");
  }
});

Deno.test("a blocked answer without content is one empty message and incomplete", () => {
  const events = responsesEvents(encodeStream([start, finish("content_filter"), usage]));
  const response = events.at(-1)!.response as Record<string, unknown>;
  assert.deepEqual(response.incomplete_details, { reason: "content_filter" });
  const [message] = response.output as Record<string, unknown>[];
  assert.deepEqual(message!.content, [
    { type: "output_text", text: "", annotations: [], logprobs: [] },
  ]);
});

Deno.test("a call without arguments is an empty object", () => {
  const text = encodeStream([start, ...block(0, tool("c")), finish("tool_calls")]);
  assert.equal(
    (responsesEvents(text).at(-1)!.response as { output: Record<string, unknown>[] })
      .output[0]!.arguments,
    "{}",
  );
});

Deno.test("a custom call is an item of its own kind", () => {
  const events = responsesEvents(encodeStream([
    start,
    ...block(0, { kind: "tool-call", id: "c", name: "sh", custom: true }, "ls"),
    finish("tool_calls"),
  ]));
  const [item] = (events.at(-1)!.response as { output: Record<string, unknown>[] }).output;
  assert.equal(item!.type, "custom_tool_call");
  assert.equal(item!.input, "ls");
});

Deno.test("a failure mid-stream is an error event, then response.failed, open items incomplete", () => {
  const encoder = createStreamEncoder(contextOf());
  const [begin] = block(0, { kind: "text" });
  const text = encoder.encode(start) + encoder.encode(begin!) + encoder.encode(delta(0, "half")) +
    encoder.fail(new Fault("upstream_stream_truncated"));
  const events = responsesEvents(text);
  assert.deepEqual(events.slice(-2).map(({ type }) => type), ["error", "response.failed"]);
  assert.equal(events.at(-2)!.code, "upstream_stream_truncated");
  assert.deepEqual(events.map((event) => event.sequence_number), [...events.keys()]);
  const response = events.at(-1)!.response as Record<string, unknown>;
  assert.equal(response.status, "failed");
  assert.equal(response.id, (events[0]!.response as Record<string, unknown>).id);
  assert.deepEqual(response.error, {
    code: "upstream_stream_truncated",
    message: "The vendor's stream ended before the answer was complete. Retry your request.",
    type: "upstream_error",
    param: null,
  });
  assert.equal(response.usage, null);
  const [message] = response.output as Record<string, unknown>[];
  assert.equal(message!.status, "incomplete");
  assert.deepEqual((message!.content as Record<string, unknown>[])[0]!.text, "half");
});

Deno.test("a failure before the start is one error event", () => {
  const encoder = createStreamEncoder(contextOf());
  const [event] = responsesEvents(encoder.fail(new Fault("upstream_overloaded")));
  assert.equal(event!.type, "error");
  assert.equal(event!.code, "upstream_overloaded");
});

Deno.test("sealed reasoning travels in an envelope, its own dialect's only to those who ask for it", () => {
  const include = ["reasoning.encrypted_content"];
  const sealed = (dialect: "responses" | "messages", body = {}) =>
    responsesEvents(encodeStream([
      start,
      { type: "block-start", choice: 0, block: 0, content: { kind: "reasoning" } },
      {
        type: "block-end",
        choice: 0,
        block: 0,
        opaque: {
          dialect,
          kind: dialect === "responses" ? "encrypted_content" : "signature",
          value: "SIG",
          itemId: "rs_vendor",
        },
      },
      ...block(1, { kind: "text" }, "x"),
      finish("stop"),
    ], contextOf(body)));
  const contentOf = (events: ReturnType<typeof sealed>) =>
    (events.at(-1)!.response as { output: Record<string, unknown>[] }).output[0]!
      .encrypted_content as string;
  // What one vendor of the dialect sealed, another refuses; passed on, an envelope is taken out.
  assert.deepEqual(readEnvelope(contentOf(sealed("responses", { include }))), {
    ...{ dialect: "responses", kind: "encrypted_content", value: "SIG", itemId: "rs_vendor" },
  });
  assert.equal(contentOf(sealed("responses")), undefined);
  assert.match(contentOf(sealed("messages")), /^gwenv1\./);
});

Deno.test("sources named during and after a text stand in the message", () => {
  const citation = { url: "https://a.example", title: undefined, start: undefined, end: undefined };
  const [begin, , end] = block(0, { kind: "text" }, "");
  const events = responsesEvents(encodeStream([
    start,
    begin!,
    delta(0, "x"),
    { type: "citation", choice: 0, block: 0, citation },
    end!,
    { type: "citation", choice: 0, block: 0, citation: { ...citation, url: "https://b.example" } },
    finish("stop"),
  ]));
  const [message] = (events.at(-1)!.response as { output: { content: unknown[] }[] }).output;
  const [part] = message!.content as { annotations: { url: string }[] }[];
  assert.deepEqual(part!.annotations.map((one) => one.url), [
    "https://a.example",
    "https://b.example",
  ]);
});

Deno.test("further answers and sound, which the dialect can't say, leave no trace", () => {
  const events = responsesEvents(encodeStream([
    start,
    ...block(0, { kind: "media", media: "audio", mimeType: "audio/wav", id: undefined }, "AAAA"),
    { type: "block-start", choice: 1, block: 1, content: { kind: "text" } },
    { type: "block-delta", choice: 1, block: 1, text: "second" },
    { type: "block-end", choice: 1, block: 1 },
    ...block(2, { kind: "text" }, "first"),
    finish("stop"),
    { type: "finish", choice: 1, reason: "length", raw: "length" },
  ]));
  const response = events.at(-1)!.response as { output: unknown[]; status: string };
  assert.equal(response.output.length, 1);
  assert.equal(response.status, "completed");
});

Deno.test("sealed reasoning is done when its block ends, so that its seal doesn't wait", () => {
  const encoder = createStreamEncoder(contextOf());
  const opaque = { dialect: "messages", kind: "signature", value: "SIG" } as const;
  const [begin, piece, end] = block(0, { kind: "reasoning" }, "hm");
  const told = [start, begin!, piece!, { ...end, opaque } as CanonicalEvent]
    .map((event) => encoder.encode(event));
  assert.match(told.at(-1)!, /response\.output_item\.done/);
});
