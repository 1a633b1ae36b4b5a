import Anthropic from "@anthropic-ai/sdk";
import assert from "@std/assert";
import { messagesEvents } from "../../../../tests/support/grammar/events.ts";
import { Fault } from "../../../shared/fault.ts";
import type { BlockKind, CanonicalEvent } from "../../kernel/canonical.ts";
import type { AnswerContext } from "../../kernel/dialect.ts";
import { messages } from "./mod.ts";

type Json = Record<string, unknown>;

const context: AnswerContext = {
  id: (prefix) => `${prefix}minted`,
  created: 1,
  model: "asked-model",
  request: {},
  body: {},
  showUsage: true,
  inputTokens: 7,
};

const start: CanonicalEvent = { type: "start", id: "x", model: "m", created: undefined };

function begin(block: number, content: BlockKind): CanonicalEvent {
  return { type: "block-start", choice: 0, block, content };
}

function say(block: number, text: string): CanonicalEvent {
  return { type: "block-delta", choice: 0, block, text };
}

function end(block: number): CanonicalEvent {
  return { type: "block-end", choice: 0, block };
}

function call(block: number, id: string, name: string): CanonicalEvent {
  return begin(block, { kind: "tool-call", id, name, custom: false });
}

function finish(reason: "stop" | "length" | "tool_calls" | "content_filter"): CanonicalEvent {
  return { type: "finish", choice: 0, reason, raw: reason };
}

function stream(events: readonly CanonicalEvent[], changes: Partial<AnswerContext> = {}): string {
  const encoder = messages.createStreamEncoder({ ...context, ...changes });
  return events.map((event) => encoder.encode(event)).join("") + encoder.end();
}

function summary(text: string): unknown[] {
  return messagesEvents(text).map((event) => {
    if (event.type === "content_block_start") return (event.content_block as Json).type;
    if (event.type === "content_block_delta") {
      const delta = event.delta as Json;
      return delta.text ?? delta.thinking ?? delta.partial_json ?? delta.signature;
    }
    return event.type === "message_delta" ? (event.delta as Json).stop_reason : event.type;
  });
}

Deno.test("text ends before tools begin and tools give stop_reason tool_use", () => {
  const text = stream([
    start,
    begin(0, { kind: "text" }),
    say(0, "Let me"),
    say(0, " see"),
    end(0),
    call(1, "call_1", "f"),
    say(1, '{"a":'),
    say(1, "1}"),
    end(1),
    // Pitfall 82: the vendor says stop although it called a tool.
    finish("stop"),
  ]);
  assert.deepEqual(summary(text), [
    "message_start",
    "text",
    "Let me",
    " see",
    "content_block_stop",
    "tool_use",
    '{"a":',
    "1}",
    "content_block_stop",
    "tool_use",
    "message_stop",
  ]);
});

Deno.test("parallel calls that come interleaved are sent one after the other, whole", () => {
  const text = stream([
    start,
    call(0, "a", "f"),
    say(0, '{"x"'),
    call(1, "b", "g"),
    say(1, '{"y"'),
    begin(2, { kind: "text" }),
    say(0, ":1}"),
    say(2, "hm"),
    say(1, ":2}"),
    end(2),
    end(0),
    end(1),
    finish("tool_calls"),
  ]);
  assert.deepEqual(summary(text), [
    "message_start",
    "tool_use",
    '{"x"',
    ":1}",
    "content_block_stop",
    "tool_use",
    '{"y"',
    ":2}",
    "content_block_stop",
    "text",
    "hm",
    "content_block_stop",
    "tool_use",
    "message_stop",
  ]);
});

Deno.test("blocks that never ended are closed and none is lost at the end", () => {
  const text = stream([start, call(0, "a", "f"), call(1, "b", "g"), call(2, "c", "h")]);
  assert.equal(summary(text).filter((one) => one === "tool_use").length, 3 + 1);
});

Deno.test("a tool-only answer has no empty text block", () => {
  const text = stream([
    start,
    begin(0, { kind: "text" }),
    say(0, ""),
    end(0),
    call(1, "", "f"),
    end(1),
    finish("tool_calls"),
  ]);
  assert.deepEqual(summary(text), [
    "message_start",
    "tool_use",
    "{}",
    "content_block_stop",
    "tool_use",
    "message_stop",
  ]);
});

Deno.test("a whole call in one piece arrives in one input_json_delta", () => {
  const text = stream([start, call(0, "a", "f"), say(0, '{"a":1}'), end(0), finish("tool_calls")]);
  assert.ok(summary(text).includes('{"a":1}'));
});

Deno.test("reasoning is a thinking block of its own, closed before the text", () => {
  const text = stream([
    start,
    begin(0, { kind: "reasoning" }),
    say(0, "hmm"),
    end(0),
    begin(1, { kind: "text" }),
    say(1, "yes"),
    end(1),
    finish("stop"),
  ]);
  assert.deepEqual(summary(text), [
    "message_start",
    "thinking",
    "hmm",
    "",
    "content_block_stop",
    "text",
    "yes",
    "content_block_stop",
    "end_turn",
    "message_stop",
  ]);
});

Deno.test("reasoning stays away from a caller who asked not to see it", () => {
  const request = { ...context.request, reasoning: { show: false } };
  const text = stream(
    [start, begin(0, { kind: "reasoning" }), say(0, "hmm"), end(0), finish("stop")],
    { request },
  );
  assert.deepEqual(summary(text), ["message_start", "end_turn", "message_stop"]);
});

Deno.test("signatures of this dialect come just before the stop, others as an empty one", () => {
  const own = { dialect: "messages", kind: "signature", value: "sig" } as const;
  const foreign = { dialect: "generate", kind: "thoughtSignature", value: "theirs" } as const;
  const redacted = { dialect: "messages", kind: "redacted", value: "xyz" } as const;
  const text = stream([
    start,
    begin(0, { kind: "reasoning" }),
    say(0, "hmm"),
    { type: "block-end", choice: 0, block: 0, opaque: own },
    begin(1, { kind: "reasoning" }),
    { type: "block-end", choice: 0, block: 1, opaque: own },
    begin(2, { kind: "reasoning" }),
    { type: "block-end", choice: 0, block: 2, opaque: foreign },
    begin(3, { kind: "reasoning" }),
    { type: "block-end", choice: 0, block: 3, opaque: redacted },
    begin(4, { kind: "reasoning" }),
    say(4, "so"),
    { type: "block-end", choice: 0, block: 4, opaque: foreign },
    finish("stop"),
  ]);
  assert.deepEqual(summary(text), [
    "message_start",
    "thinking",
    "hmm",
    "sig",
    "content_block_stop",
    "thinking",
    "sig",
    "content_block_stop",
    "redacted_thinking",
    "content_block_stop",
    "thinking",
    "so",
    "",
    "content_block_stop",
    "end_turn",
    "message_stop",
  ]);
  assert.ok(!text.includes("theirs"));
});

Deno.test("usage after the finish reaches message_delta, cache numbers apart from input", () => {
  const text = stream([
    start,
    begin(0, { kind: "text" }),
    say(0, "x"),
    end(0),
    finish("stop"),
    { type: "usage", usage: { input: 1000, cacheRead: 800, output: 55, reasoning: 5 } },
  ]);
  const events = messagesEvents(text);
  const first = events[0]?.message as Json;
  assert.equal((first.usage as Json).input_tokens, 7);
  assert.deepEqual(events.at(-2)?.usage, {
    input_tokens: 200,
    cache_creation_input_tokens: null,
    cache_read_input_tokens: 800,
    output_tokens: 55,
    output_tokens_details: { thinking_tokens: 5 },
    server_tool_use: null,
  });
});

Deno.test("a refusal becomes stop_reason refusal with its words in stop_details", () => {
  const text = stream([
    start,
    begin(0, { kind: "refusal" }),
    say(0, "I can't"),
    end(0),
    finish("stop"),
  ]);
  const events = messagesEvents(text);
  assert.deepEqual(events.at(-2)?.delta, {
    stop_reason: "refusal",
    stop_sequence: null,
    stop_details: { type: "refusal", category: null, explanation: "I can't" },
    container: null,
  });
});

Deno.test("an answer without content is message_start, message_delta, message_stop", () => {
  assert.deepEqual(summary(stream([start, finish("stop")])), [
    "message_start",
    "end_turn",
    "message_stop",
  ]);
  assert.deepEqual(summary(stream([])), ["message_start", "end_turn", "message_stop"]);
});

Deno.test("only the first of several answers is written, and media as a note", () => {
  const text = stream([
    start,
    { type: "block-start", choice: 1, block: 0, content: { kind: "text" } },
    { type: "block-delta", choice: 1, block: 0, text: "other" },
    begin(1, { kind: "media", media: "image", mimeType: "image/png", id: undefined }),
    say(1, "QUJD"),
    end(1),
    finish("stop"),
  ]);
  assert.ok(!text.includes("other") && !text.includes("QUJD"));
  assert.ok(text.includes("[image left out: image/png]"));
});

Deno.test("sound that comes between pieces of text doesn't hold them back", () => {
  const encoder = messages.createStreamEncoder(context);
  const sent = (...events: CanonicalEvent[]) =>
    events.map((event) => encoder.encode(event)).join("");
  const sound = { kind: "media", media: "audio", mimeType: "audio/wav", id: undefined } as const;
  const pieces = [
    sent(start, begin(0, sound), say(0, "QUJD")),
    sent(begin(1, { kind: "text" }), say(1, "Hello")),
    sent(say(0, "REVG")),
    sent(say(1, " there")),
    sent(end(1), end(0), finish("stop")) + encoder.end(),
  ];
  assert.match(pieces[1]!, /"text":"Hello"/);
  assert.equal(pieces[2], "");
  assert.match(pieces[3]!, /"text":" there"/);
  assert.deepEqual(summary(pieces.join("")), [
    "message_start",
    ...["text", "[audio left out: audio/wav]", "content_block_stop"],
    ...["text", "Hello", " there", "content_block_stop"],
    ...["end_turn", "message_stop"],
  ]);
});

Deno.test("a sound that waits is a note in its turn, and nothing of it is collected", () => {
  const sound = { kind: "media", media: "audio", mimeType: "audio/wav", id: undefined } as const;
  const events = [start, begin(0, { kind: "text" }), begin(1, sound), say(1, "QUJD"), say(0, "Hi")];
  const text = stream([...events, end(0), say(1, "REVG"), end(1), finish("stop")]);
  assert.deepEqual(summary(text), [
    "message_start",
    ...["text", "Hi", "content_block_stop"],
    ...["text", "[audio left out: audio/wav]", "content_block_stop"],
    ...["end_turn", "message_stop"],
  ]);
});

Deno.test("a failure is the dialect's error event and nothing after it", () => {
  const encoder = messages.createStreamEncoder(context);
  const sent = encoder.encode(start) + encoder.encode(begin(0, { kind: "text" })) +
    encoder.encode(say(0, "half")) + encoder.fail(new Fault("upstream_stream_truncated"));
  assert.deepEqual(messagesEvents(sent).at(-1), {
    type: "error",
    error: {
      type: "api_error",
      message: "The vendor's stream ended before the answer was complete. Retry your request.",
      code: "upstream_stream_truncated",
      details: { error_code: "upstream_stream_truncated" },
    },
    request_id: null,
  });
  const overloaded = messagesEvents(messages.errorFrame(new Fault("upstream_overloaded")));
  assert.equal((overloaded[0]?.error as Json).type, "overloaded_error");
});

Deno.test("every event is sent as soon as it can be", () => {
  const encoder = messages.createStreamEncoder(context);
  assert.match(encoder.encode(start), /^event: message_start\n/);
  assert.equal(encoder.encode(begin(0, { kind: "text" })), "");
  assert.match(encoder.encode(say(0, "a")), /content_block_start[^]*text_delta/);
  assert.match(encoder.encode(say(0, "b")), /^event: content_block_delta\n/);
  assert.match(encoder.encode(end(0)), /^event: content_block_stop\n/);
  assert.match(encoder.encode(call(1, "a", "f")), /^event: content_block_start\n/);
});

Deno.test("the vendor's own client library reads the stream", async () => {
  const text = stream([
    start,
    begin(0, { kind: "reasoning" }),
    say(0, "hmm"),
    end(0),
    begin(1, { kind: "text" }),
    say(1, "see "),
    say(1, "this"),
    end(1),
    call(2, "call_1", "f"),
    say(2, '{"a":1}'),
    end(2),
    call(3, "call_2", "g"),
    end(3),
    finish("tool_calls"),
    { type: "usage", usage: { input: 10, output: 5, cacheRead: 4 } },
  ]);
  const client = new Anthropic({
    apiKey: "k",
    fetch: () =>
      Promise.resolve(
        new Response(text, { headers: { "content-type": "text/event-stream" } }),
      ),
  });
  const message = await client.messages.stream({
    model: "m",
    max_tokens: 10,
    messages: [{ role: "user", content: "x" }],
  }).finalMessage();
  assert.deepEqual(message.content.map((block) => block.type), [
    "thinking",
    "text",
    "tool_use",
    "tool_use",
  ]);
  const [, said, first, second] = message.content;
  assert.equal(said?.type === "text" && said.text, "see this");
  assert.deepEqual(first?.type === "tool_use" && first.input, { a: 1 });
  assert.deepEqual(second?.type === "tool_use" && second.input, {});
  assert.equal(message.stop_reason, "tool_use");
  assert.equal(message.usage.input_tokens, 6);
  assert.equal(message.usage.cache_read_input_tokens, 4);
  assert.equal(message.usage.output_tokens, 5);
});
