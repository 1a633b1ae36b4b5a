/** Section C of protocols/pitfalls.md: answers of a messages vendor for chat callers. */
import assert from "@std/assert";
import { type Block, messagesAnswer, said, told, wire } from "./pitfall_answers.ts";
import type { Payload } from "./recordings.ts";

const passage = { vendor: "messages", caller: "chat" } as const;

function answer(blocks: readonly (Block | Payload)[], stop: string) {
  return told(passage, messagesAnswer(blocks, stop));
}

/** Indexes of the tool calls in the chunks, in order of the first mention. */
function toolIndexes(blocks: readonly Block[]): unknown[] {
  const chunks = wire(passage, messagesAnswer(blocks, "tool_use"));
  const deltas = chunks.flatMap(({ choices }) => choices as Payload[]).map(({ delta }) => delta);
  const calls = deltas.flatMap((delta) => ((delta as Payload).tool_calls ?? []) as Payload[]);
  return [...new Set(calls.map(({ index }) => index))];
}

Deno.test("pitfall 53: calls are counted from 0, whatever the blocks' indexes", () => {
  assert.deepEqual(
    toolIndexes([["text", "x"], ["tool_use", "f", "{}"], ["tool_use", "g", "{}"]]),
    [0, 1],
  );
});

Deno.test("pitfall 54: thinking before text and a call", () => {
  const blocks: Block[] = [["thinking", "hm"], ["text", "so"], ["tool_use", "f", '{"a":1}']];
  const { text, reasoning, calls, finish } = answer(blocks, "tool_use");
  assert.deepEqual([text, reasoning, finish], ["so", "hm", "tool_calls"]);
  assert.deepEqual(calls, [{ name: "f", input: { a: 1 } }]);
  assert.deepEqual(toolIndexes(blocks), [0]);
});

Deno.test("pitfall 55: a call without input deltas has the arguments {}", () => {
  for (const pieces of [[], [""]]) {
    const [choice] = said(passage, messagesAnswer([["tool_use", "f", ...pieces]], "tool_use"))
      .choices;
    assert.equal(choice?.calls[0]?.input, "{}");
  }
});

Deno.test("pitfall 56: a stop sequence is a stop", () => {
  const stream = messagesAnswer([["text", "one"]], "stop_sequence");
  Object.assign(stream.at(-2)!.delta as Payload, { stop_sequence: "END" });
  assert.deepEqual([told(passage, stream).text, told(passage, stream).finish], ["one", "stop"]);
});

Deno.test("pitfall 57: a refusal without content is content_filter with its reason", () => {
  const stream = messagesAnswer([], "refusal");
  const details = { type: "refusal", category: null, explanation: "Not that." };
  Object.assign(stream.at(-2)!.delta as Payload, { stop_details: details });
  const { text, refusal, finish } = told(passage, stream);
  assert.deepEqual([text, refusal, finish], ["", "Not that.", "content_filter"]);
});

Deno.test("pitfall 58: a call cut by the output limit is not repaired", () => {
  const [choice] = said(passage, messagesAnswer([["tool_use", "f", '{"a":']], "max_tokens"))
    .choices;
  assert.deepEqual([choice?.calls[0]?.input, choice?.finish], ['{"a":', "length"]);
});

Deno.test("pitfall 59: pings, unknown events and unknown deltas change nothing", () => {
  const plain = messagesAnswer([["text", "one"]], "end_turn");
  const strewn = plain.flatMap((event) => [
    { type: "ping" },
    { type: "weather_report" },
    event,
    ...(event.type === "content_block_delta" ? [{ ...event, delta: { type: "new_delta" } }] : []),
  ]);
  assert.deepEqual(wire(passage, strewn), wire(passage, plain));
});

Deno.test("pitfall 60: an error after a 200 is the error frame, without a finish", () => {
  const broken = messagesAnswer([["text", "one"]], "end_turn").slice(0, 3);
  const error = { type: "error", error: { type: "overloaded_error", message: "Busy." } };
  const answer = said(passage, [...broken, error]);
  assert.equal(answer.ending, "failed");
  assert.deepEqual(answer.choices.map(({ finish }) => finish), [undefined]);
});

Deno.test("pitfalls 61, 62, 108: the end's usage replaces the start's, cached parts included", () => {
  const usage = (start: Payload, end: Payload) =>
    said(passage, messagesAnswer([["text", "x"]], "end_turn", { start, end })).usage;
  const output = usage({ input_tokens: 3, output_tokens: 1 }, { output_tokens: 55 });
  assert.deepEqual(output, { input: 3, cacheRead: 0, output: 55 });
  const later = { input_tokens: 7, cache_read_input_tokens: 4, output_tokens: 5 };
  assert.deepEqual(usage({ input_tokens: 3, cache_read_input_tokens: 9 }, later), {
    input: 11,
    cacheRead: 4,
    output: 5,
  });
  const written = { input_tokens: 3, cache_creation_input_tokens: 12304, output_tokens: 550 };
  const chunks = wire(passage, messagesAnswer([], "end_turn", { start: written, end: written }));
  const told = chunks.at(-1)!.usage as Payload;
  assert.equal(told.prompt_tokens, 12307);
  assert.deepEqual((told.prompt_tokens_details as Payload).cache_write_tokens, 12304);
});

Deno.test("pitfall 63: several text blocks are one text without anything between", () => {
  assert.equal(answer([["text", "a"], ["text", "b"]], "end_turn").text, "ab");
});

Deno.test("pitfall 64: redacted thinking is not shown", () => {
  const hidden = { type: "redacted_thinking", data: "SEALED" };
  const chunks = wire(passage, messagesAnswer([hidden, ["text", "a"]], "end_turn"));
  assert.ok(!JSON.stringify(chunks).includes("SEALED"));
});

Deno.test("pitfall 65: the vendor's own tools are no tool calls, whatever the stop reason", () => {
  const blocks = [
    { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "q" } },
    { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] },
    ["text", "found"],
  ] as (Block | Payload)[];
  for (const stop of ["end_turn", "tool_use"]) {
    const { text, calls, finish } = answer(blocks, stop);
    assert.deepEqual([text, calls, finish], ["found", [], "stop"]);
  }
});

Deno.test("pitfall 66: a pause is a stop", () => {
  assert.equal(answer([["text", "a"]], "pause_turn").finish, "stop");
});
