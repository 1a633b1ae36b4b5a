import assert from "@std/assert";
import { type BrokenRow, changed, type Payloads, refuses, spliced } from "./broken.ts";
import { checkMessagesStream } from "./messages.ts";

const start = (index: number, block: unknown) => ({
  type: "content_block_start",
  index,
  content_block: block,
});
const delta = (index: number, value: unknown) => ({
  type: "content_block_delta",
  index,
  delta: value,
});
const stop = (index: number) => ({ type: "content_block_stop", index });
const tool = (id: string) => ({ type: "tool_use", id, name: "f", input: {} });
const json = (index: number, partial_json: string) =>
  delta(index, { type: "input_json_delta", partial_json });
const say = (index: number, text: string) => delta(index, { type: "text_delta", text });

/**
 * By index: 0 start, 1–4 thinking, 5–7 text, 8–10 first call, 11–12 second call without input, 13
 * delta, 14 stop.
 */
const whole: Payloads = [
  {
    type: "message_start",
    message: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "m",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      container: null,
      diagnostics: null,
      usage: { input_tokens: 5, cache_read_input_tokens: 4, output_tokens: 1 },
    },
  },
  start(0, { type: "thinking", thinking: "", signature: "" }),
  delta(0, { type: "thinking_delta", thinking: "hm" }),
  delta(0, { type: "signature_delta", signature: "s" }),
  stop(0),
  start(1, { type: "text", text: "" }),
  say(1, "Hello"),
  stop(1),
  start(2, tool("a")),
  json(2, '{"x":1}'),
  stop(2),
  start(3, tool("b")),
  stop(3),
  {
    type: "message_delta",
    delta: { stop_reason: "tool_use", stop_sequence: null },
    usage: { output_tokens: 3, input_tokens: null },
  },
  { type: "message_stop" },
];

const error = { type: "error", error: { type: "api_error", message: "It broke.", code: "c" } };

function wire(payloads: Payloads): string {
  return payloads.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join("");
}

Deno.test("the messages grammar takes whole and failed streams and reads what they say", () => {
  const said = checkMessagesStream(wire(whole));
  assert.equal(said.ending, "finished");
  assert.deepEqual(said.usage, { input: 9, cacheRead: 4, output: 3 });
  assert.deepEqual(said.choices, [{
    text: "Hello",
    reasoning: "hm",
    refusal: "",
    calls: [
      { id: "a", name: "f", input: '{"x":1}', custom: false },
      { id: "b", name: "f", input: "", custom: false },
    ],
    finish: "tool_calls",
  }]);
  for (let kept = 0; kept < whole.length - 1; kept++) {
    const failed = checkMessagesStream(wire([...whole.slice(0, kept), error]));
    assert.deepEqual([failed.ending, failed.error?.code], ["failed", "c"]);
  }
  const pinged = spliced(whole, 6, 0, { type: "ping" });
  assert.equal(checkMessagesStream(wire(pinged)).ending, "finished");
});

const place = (key: string) => ["message", key];

const broken: BrokenRow[] = [
  ["no event: lines", /event: line/, wire(whole).replaceAll(/event: .*\n/g, "")],
  ["another event: line", /differ/, wire(whole).replace("event: message_stop", "event: ping")],
  ["no blank line at the end", /blank line/, wire(whole).slice(0, -1)],
  ["an end marker", /not JSON/, `${wire(whole)}data: [DONE]\n\n`],
  ["no message_start", /before message_start/, wire(whole.slice(1))],
  ["two message_start", /second message_start/, wire(spliced(whole, 1, 0, whole[0]!))],
  ["a start with content", /carries content/, wire(changed(whole, 0, place("content"), [{}]))],
  ["a start with stop_reason", /is set/, wire(changed(whole, 0, place("stop_reason"), "end_turn"))],
  ["a start without usage", /no object/, wire(changed(whole, 0, place("usage"), undefined))],
  [
    "a start without diagnostics",
    /missing/,
    wire(changed(whole, 0, place("diagnostics"), undefined)),
  ],
  ["an id of another kind", /msg_/, wire(changed(whole, 0, place("id"), "chatcmpl-1"))],
  [
    "a gap in the indexes",
    /index is not 1/,
    wire(whole.map((one) => one.index === 1 ? { ...one, index: 7 } : one)),
  ],
  [
    "an index twice",
    /index is not 1/,
    wire(whole.map((one) => one.index === 1 ? { ...one, index: 0 } : one)),
  ],
  ["two blocks open", /while another is open/, wire(spliced(whole, 7, 1))],
  ["a delta after the stop", /not open/, wire(spliced(whole, 8, 0, say(1, "x")))],
  ["a delta for another block", /not open/, wire(changed(whole, 6, ["index"], 0))],
  ["a text delta in a call", /text_delta in a tool_use/, wire(spliced(whole, 9, 1, say(2, "x")))],
  [
    "thinking in text",
    /thinking_delta in a text/,
    wire(changed(whole, 6, ["delta"], { type: "thinking_delta", thinking: "x" })),
  ],
  ["input in text", /input_json_delta in a text/, wire(spliced(whole, 6, 1, json(1, "{}")))],
  ["thinking after its signature", /follows the signature/, wire(spliced(whole, 4, 0, whole[2]!))],
  ["two signatures", /follows the signature/, wire(spliced(whole, 4, 0, whole[3]!))],
  ["an empty text block", /empty text/, wire(spliced(whole, 6, 1))],
  ["an empty thinking block", /empty thinking/, wire(spliced(whole, 2, 2))],
  [
    "a text block that starts filled",
    /starts with text/,
    wire(changed(whole, 5, ["content_block", "text"], "x")),
  ],
  [
    "null citations",
    /citations is null/,
    wire(changed(whole, 5, ["content_block", "citations"], null)),
  ],
  [
    "a call that starts with input",
    /starts with its input/,
    wire(changed(whole, 8, ["content_block", "input"], { x: 1 })),
  ],
  ["an input as text", /no object/, wire(changed(whole, 8, ["content_block", "input"], "{}"))],
  [
    "an id with a colon",
    /other characters/,
    wire(changed(whole, 8, ["content_block", "id"], "a:1")),
  ],
  ["two calls with one id", /one id/, wire(changed(whole, 11, ["content_block", "id"], "a"))],
  ["a call without name", /tool_use.name/, wire(changed(whole, 8, ["content_block", "name"], ""))],
  ["input that isn't JSON", /not JSON/, wire(spliced(whole, 9, 1, json(2, '{"x":')))],
  ["input that is an array", /no object/, wire(spliced(whole, 9, 1, json(2, "[1]")))],
  ["no message_delta", /without message_delta/, wire(spliced(whole, 13, 1))],
  ["two message_delta", /second message_delta/, wire(spliced(whole, 13, 0, whole[13]!))],
  ["message_delta while a block is open", /while a block is open/, wire(spliced(whole, 12, 1))],
  [
    "a block after message_delta",
    /after message_delta/,
    wire(spliced(whole, 14, 0, start(4, { type: "text", text: "" }))),
  ],
  [
    "an unknown stop_reason",
    /unknown stop_reason/,
    wire(changed(whole, 13, ["delta", "stop_reason"], "stop")),
  ],
  [
    "end_turn after tool_use",
    /after tool_use/,
    wire(changed(whole, 13, ["delta", "stop_reason"], "end_turn")),
  ],
  ["tool_use without a call", /without tool_use/, wire(spliced(whole, 8, 5))],
  [
    "a stop sequence for nothing",
    /doesn't fit/,
    wire(changed(whole, 13, ["delta", "stop_sequence"], "END")),
  ],
  ["no usage at the end", /usage is no object/, wire(changed(whole, 13, ["usage"], undefined))],
  ["no message_stop", /message_stop is missing/, wire(whole.slice(0, -1))],
  ["an event after the end", /follows message_stop/, wire([...whole, { type: "ping" }])],
  ["an error after the end", /follows message_stop/, wire([...whole, error])],
  ["an event after the error", /follows the error/, wire([whole[0]!, error, whole.at(-1)!])],
  [
    "an error of another type",
    /unknown error type/,
    wire(changed([error], 0, ["error", "type"], "upstream_error")),
  ],
  ["an error without code", /error.code/, wire(changed([error], 0, ["error", "code"], undefined))],
  ["an unknown event", /unknown event/, wire(spliced(whole, 1, 0, { type: "message_update" }))],
];

refuses("messages", checkMessagesStream, broken);
