import assert from "@std/assert";
import OpenAI from "openai";
import type { CanonicalEvent } from "../../kernel/canonical.ts";
import { contextOf, encodeStream } from "../../../../tests/support/responses_fixtures.ts";
import { Fault } from "../../../shared/fault.ts";
import { createStreamEncoder } from "./stream_encoder.ts";

/** The official client, which checks ids, places and order strictly, reads what we write. */
function clientOf(text: string): OpenAI {
  return new OpenAI({
    apiKey: "unused",
    baseURL: "https://gateway.invalid/v1",
    maxRetries: 0,
    fetch: () =>
      Promise.resolve(new Response(text, { headers: { "content-type": "text/event-stream" } })),
  });
}

function block(number: number, content: object, text: string): CanonicalEvent[] {
  return [
    { type: "block-start", choice: 0, block: number, content } as CanonicalEvent,
    ...text.split(/(?<= )/).map((piece): CanonicalEvent => ({
      type: "block-delta",
      choice: 0,
      block: number,
      text: piece,
    })),
    { type: "block-end", choice: 0, block: number },
  ];
}

const start: CanonicalEvent = { type: "start", id: "x", model: "m", created: 1 };

Deno.test("the official client reads a stream of every kind of block", async () => {
  const image = { kind: "media", media: "image", mimeType: "image/png", id: undefined };
  const search = {
    kind: "vendor",
    dialect: "responses",
    value: { type: "web_search_call", id: "ws_1", status: "completed" },
  };
  const text = encodeStream([
    start,
    ...block(0, { kind: "reasoning" }, "thinking it over"),
    ...block(1, search, ""),
    ...block(2, { kind: "text" }, "two parallel calls "),
    ...block(3, { kind: "refusal" }, "not that"),
    ...block(4, { kind: "tool-call", id: "call_a", name: "f", custom: false }, '{"a": 1}'),
    ...block(5, { kind: "tool-call", id: "call_b", name: "g", custom: false }, ""),
    ...block(6, { kind: "tool-call", id: "call_c", name: "h", custom: true }, "free text"),
    ...block(7, image, "AAAA"),
    { type: "finish", choice: 0, reason: "tool_calls", raw: "x" },
    { type: "usage", usage: { input: 3, output: 4 } },
  ]);
  const stream = clientOf(text).responses.stream({ model: "m", input: "hi" });
  const seen: string[] = [];
  stream.on("response.output_text.delta", (event) => seen.push(event.delta));
  const response = await stream.finalResponse();
  assert.equal(seen.join(""), "two parallel calls ");
  assert.equal(response.output_text, "two parallel calls ");
  assert.deepEqual(response.output.map((item) => item.type), [
    "reasoning",
    "web_search_call",
    "message",
    "function_call",
    "function_call",
    "custom_tool_call",
    "image_generation_call",
  ]);
  assert.equal(response.usage?.total_tokens, 7);
});

Deno.test("the official client throws a failure, in the middle and before the start", async () => {
  const encoder = createStreamEncoder(contextOf());
  const text = [start, ...block(0, { kind: "text" }, "half an answer")].slice(0, 3)
    .map((event) => encoder.encode(event)).join("") + encoder.fail(new Fault("upstream_timeout"));
  const stream = await clientOf(text).responses.create({ model: "m", input: "hi", stream: true });
  const types: string[] = [];
  await assert.rejects(async () => {
    for await (const event of stream) types.push(event.type);
  }, { code: "upstream_timeout" });
  assert.equal(types.at(-1), "response.output_text.delta");

  const alone = createStreamEncoder(contextOf()).fail(new Fault("upstream_overloaded"));
  const failing = await clientOf(alone).responses.create({ model: "m", input: "x", stream: true });
  await assert.rejects(async () => {
    for await (const _ of failing);
  }, { code: "upstream_overloaded", type: "overloaded_error" });
});
