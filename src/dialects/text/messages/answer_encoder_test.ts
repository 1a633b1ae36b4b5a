import assert from "@std/assert";
import { canonicalRequest } from "../../../../tests/support/canonical_request.ts";
import { finish } from "../../../base/steps.ts";
import { summaryText } from "../../kernel/summary.ts";
import { Fault } from "../../../shared/fault.ts";
import type { AnswerPart, CanonicalAnswer, CanonicalChoice } from "../../kernel/canonical.ts";
import type { AnswerContext } from "../../kernel/dialect.ts";
import { messages } from "./mod.ts";

type Json = Record<string, unknown>;

const context: AnswerContext = {
  id: (prefix) => `${prefix}minted`,
  created: 1,
  model: "asked",
  request: canonicalRequest({}),
  body: {},
  showUsage: true,
  inputTokens: 7,
};

function answer(
  parts: AnswerPart[],
  finish: CanonicalChoice["finish"] = { reason: "stop", raw: "stop" },
): CanonicalAnswer {
  return {
    id: "upstream",
    model: undefined,
    created: undefined,
    choices: [{ index: 0, parts, logprobs: undefined, finish }],
    usage: undefined,
    truncated: false,
  };
}

function whole(given: CanonicalAnswer, changes: Partial<AnswerContext> = {}): Json {
  return messages.encodeAnswer(given, { ...context, ...changes }) as Json;
}

Deno.test("the sources of an answer without words are there whole, as they are in a stream", () => {
  const citation = { url: "https://a.b/", title: "t", start: 0, end: 0 };
  const { content } = whole(answer([
    { kind: "text", text: "", citations: [citation] },
    { kind: "text", text: "" },
  ]));
  const citations = [{
    type: "web_search_result_location",
    ...{ url: "https://a.b/", title: "t", cited_text: "", encrypted_index: "" },
  }];
  assert.deepEqual(content, [{ type: "text", text: "", citations }]);
});

Deno.test("a source without a title has its URL as one, as a search result has", () => {
  const citation = { url: "https://a.b/", title: undefined, start: 0, end: 1 };
  const { content } = whole(answer([{ kind: "text", text: "A", citations: [citation] }]));
  const [text] = content as { citations: Json[] }[];
  assert.equal(text!.citations[0]!.title, "https://a.b/");
});

function toolCall(text: string, id = "call_1"): AnswerPart {
  return { kind: "tool-call", id, name: "f", custom: false, text };
}

Deno.test("a whole answer has every field of the type, with an id of ours", () => {
  assert.deepEqual(whole(answer([{ kind: "text", text: "Hi" }])), {
    id: "msg_minted",
    type: "message",
    role: "assistant",
    model: "asked",
    content: [{ type: "text", text: "Hi" }],
    stop_reason: "end_turn",
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
    usage: {
      input_tokens: 7,
      cache_creation_input_tokens: null,
      cache_read_input_tokens: null,
      output_tokens: 1,
      output_tokens_details: null,
      server_tool_use: null,
      cache_creation: null,
      inference_geo: null,
      service_tier: null,
      speed: null,
    },
  });
});

Deno.test("arguments that are no JSON object are a 502, never a string as input", () => {
  for (const text of ["{oops", "[1]", '"x"']) {
    assert.throws(
      () => whole(answer([toolCall(text)])),
      (thrown: unknown) => thrown instanceof Fault && thrown.code === "upstream_invalid_response",
    );
  }
  const cut = whole(answer([toolCall('{"a":')], { reason: "length", raw: "length" }));
  assert.equal(cut.stop_reason, "max_tokens");
  assert.deepEqual((cut.content as Json[])[0]?.input, { _raw: '{"a":' });
  assert.deepEqual((whole(answer([toolCall("")])).content as Json[])[0]?.input, {});
});

Deno.test("stop reasons: tool_use after any call, the vendor's own words where they fit", () => {
  const reason = (finish: CanonicalChoice["finish"], parts: AnswerPart[] = []) =>
    whole(answer(parts, finish)).stop_reason;
  assert.equal(reason({ reason: "stop", raw: "stop" }, [toolCall("{}")]), "tool_use");
  // An emulated JSON tool is text by now, whatever the vendor called it.
  assert.equal(reason({ reason: "stop", raw: "tool_use" }), "end_turn");
  assert.equal(reason({ reason: "stop", raw: "stop", stopSequence: "END" }), "stop_sequence");
  assert.equal(reason({ reason: "stop", raw: "pause_turn" }), "pause_turn");
  assert.equal(
    reason({ reason: "length", raw: "model_context_window_exceeded" }),
    "model_context_window_exceeded",
  );
  assert.equal(reason({ reason: "length", raw: "MAX_TOKENS" }), "max_tokens");
  assert.equal(reason({ reason: "content_filter", raw: "SAFETY" }), "refusal");
});

Deno.test("a blocked prompt is a refusal with empty content", () => {
  const blocked = whole(answer([], { reason: "content_filter", raw: "SAFETY" }));
  assert.deepEqual([blocked.content, blocked.stop_reason], [[], "refusal"]);
  const refused = whole(answer([{ kind: "refusal", text: "No." }]));
  assert.deepEqual(refused.stop_details, { type: "refusal", category: null, explanation: "No." });
});

Deno.test("reasoning without this dialect's seal has an empty signature, hidden where asked", () => {
  const opaque = { dialect: "generate", kind: "thoughtSignature", value: "theirs" } as const;
  const parts: AnswerPart[] = [{ kind: "reasoning", text: "hm", opaque }];
  assert.deepEqual(whole(answer(parts)).content, [
    { type: "thinking", thinking: "hm", signature: "" },
  ]);
  const request = canonicalRequest({ reasoning: { show: false } });
  assert.deepEqual(whole(answer(parts), { request }).content, []);
});

Deno.test("calls without an id get one, each its own; vendor blocks of others stay hidden", () => {
  const { content } = whole(answer([
    toolCall("{}", ""),
    toolCall("{}", ""),
    { kind: "vendor", dialect: "responses", value: { type: "web_search_call" }, text: "" },
  ]));
  const ids = (content as Json[]).map((block) => String(block.id));
  assert.equal(new Set(ids).size, 2);
  for (const id of ids) assert.match(id, /^toolu_[0-9a-f]{24}$/);
});

Deno.test("an error in a 200 is an error event; what is no message is a fault", () => {
  const [event] = finish(messages.decodeAnswer(
    { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
    {},
  ));
  assert.equal(event?.type === "error" && event.error.type, "overloaded_error");
  for (const json of [null, "x", {}, { content: "text" }]) {
    assert.throws(
      () => finish(messages.decodeAnswer(json, {})),
      (thrown: unknown) => thrown instanceof Fault && thrown.code === "upstream_invalid_response",
    );
  }
});

Deno.test("a summary that was cut off is one, and a refused one is an empty block", () => {
  const asked = { request: canonicalRequest({ asksForSummary: "optional" }) };
  const summarized = (parts: AnswerPart[], reason: "length" | "content_filter") => {
    const written = answer(parts, { reason, raw: reason });
    const { content, stop_reason } = whole(written, asked);
    const encoder = messages.createStreamEncoder({ ...context, ...asked });
    const streamed = written.choices[0]!.parts.flatMap(({ text, ...block }, at) => [
      encoder.encode({ type: "block-start", choice: 0, block: at, content: block as AnswerPart }),
      encoder.encode({ type: "block-delta", choice: 0, block: at, text }),
    ]).join("");
    assert.equal(streamed, "");
    encoder.encode({ type: "finish", choice: 0, reason, raw: reason });
    assert.match(encoder.end(), new RegExp(`"stop_reason":"${stop_reason}"`));
    return [(content as Json[]).map((block) => [block.content, block.signature]), stop_reason];
  };
  const text: AnswerPart = { kind: "text", text: "So far" };
  assert.deepEqual(summarized([text], "length"), [[["So far", ""]], "max_tokens"]);
  const refusal: AnswerPart = { kind: "refusal", text: "No." };
  assert.deepEqual(summarized([refusal], "content_filter"), [[[null, null]], "refusal"]);
});

Deno.test("a summary carries the tools that the conversation added, and those that it withdrew", () => {
  const define = (name: string) => ({ name, input_schema: { type: "object" } });
  const named = (type: string, name: string) => ({ type, tool: { type: "tool_reference", name } });
  const added = {
    ...{ type: "tool_addition", tool: { type: "tool_definition", definition: define("c") } },
  };
  const base = { model: "m", max_tokens: 9, tools: [define("a"), define("b")] };
  const decode = (turns: Json[], more = {}) =>
    finish(messages.decodeRequest({ ...base, messages: turns, ...more }));
  const user = { role: "user", content: "1" };
  const change = (...content: Json[]) => ({ role: "system", content });
  const compaction = { type: "summarize" };
  const changes = [user, change({ ...added, cache_control: { type: "ephemeral" } }), user];
  const request = decode([...changes, change(named("tool_removal", "a"))], { compaction });
  const answered = { request };
  const parts: AnswerPart[] = [{ kind: "text", text: "So far." }];
  const { content } = whole(answer(parts), answered);
  const [block] = content as Json[];
  assert.deepEqual(block!.tool_changes, [added, named("tool_removal", "a")]);
  const summary = { role: "assistant", content };
  assert.deepEqual(decode([summary, user]).tools.map(({ name }) => name), ["b", "c"]);
  // A second summary carries the changes of the first.
  const again = decode([summary, user], { compaction });
  assert.deepEqual(whole(answer(parts), { request: again }).content as Json[], content);
  // As Anthropic's, it has the outcome: also where a caller keeps what was summarized before.
  const removed = change(named("tool_removal", "c"));
  const outcome = (...turns: Json[]) => decode([...changes, ...turns], { compaction }).toolChanges;
  assert.deepEqual(outcome(user, summary, user), [added, named("tool_removal", "a")]);
  assert.deepEqual(outcome(removed, user, change(named("tool_addition", "c"))), [added]);
  assert.deepEqual(outcome(removed), []);
  const text = JSON.stringify({ ...base, messages: [summary, user] });
  const sent = { model: "m", messages: [summary, user] };
  const unsigned = finish(messages.unsignedThinking!(sent, "m"))!;
  const facts = messages.readRequest(sent);
  const edited = { model: "m", askStreamUsage: false, unsigned };
  assert.deepEqual(JSON.parse(finish(messages.spliceRequest(text, facts, edited))).messages, [
    { role: "user", content: summaryText("So far.") },
    change(added, named("tool_removal", "a")),
    user,
  ]);
});
