import assert from "@std/assert";
import { type BrokenRow, changed, type Payloads, refuses, spliced } from "./broken.ts";
import { checkResponsesStream } from "./responses.ts";

type Item = Record<string, unknown>;

function response(fields: Item): Item {
  const nulls = `completed_at error incomplete_details instructions max_output_tokens max_tool_calls
    previous_response_id usage user prompt_cache_key safety_identifier`;
  return {
    id: "resp_1",
    object: "response",
    created_at: 1,
    model: "m",
    status: "in_progress",
    background: false,
    output: [],
    parallel_tool_calls: true,
    reasoning: {},
    service_tier: "auto",
    store: true,
    temperature: 1,
    text: {},
    tool_choice: "auto",
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: "disabled",
    metadata: {},
    ...Object.fromEntries(nulls.split(/\s+/).map((key) => [key, null])),
    ...fields,
  };
}

const reasoning = {
  id: "rs_1",
  type: "reasoning",
  summary: [{ type: "summary_text", text: "hm" }],
};
const said = { type: "output_text", text: "Hello", annotations: [], logprobs: [] };
const message = {
  id: "msg_1",
  type: "message",
  status: "completed",
  role: "assistant",
  content: [said],
};
const call = {
  id: "fc_1",
  type: "function_call",
  status: "completed",
  call_id: "call_a",
  name: "f",
  arguments: "{}",
};
const usage = {
  input_tokens: 9,
  input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
  output_tokens: 3,
  output_tokens_details: { reasoning_tokens: 1 },
  total_tokens: 12,
};

const at = (index: number, id: string) => ({ output_index: index, item_id: id });
const summary = { ...at(0, "rs_1"), summary_index: 0 };
const part = { ...at(1, "msg_1"), content_index: 0 };

/** By index: 0–1 begin, 2–7 reasoning, 8–13 message, 14–17 call, 18 end. */
const whole: Payloads = [
  { type: "response.created", response: response({}) },
  { type: "response.in_progress", response: response({}) },
  { type: "response.output_item.added", output_index: 0, item: { ...reasoning, summary: [] } },
  {
    type: "response.reasoning_summary_part.added",
    ...summary,
    part: { type: "summary_text", text: "" },
  },
  { type: "response.reasoning_summary_text.delta", ...summary, delta: "hm" },
  { type: "response.reasoning_summary_text.done", ...summary, text: "hm" },
  { type: "response.reasoning_summary_part.done", ...summary, part: reasoning.summary[0] },
  { type: "response.output_item.done", output_index: 0, item: reasoning },
  {
    type: "response.output_item.added",
    output_index: 1,
    item: { ...message, status: "in_progress", content: [] },
  },
  { type: "response.content_part.added", ...part, part: { ...said, text: "" } },
  { type: "response.output_text.delta", ...part, delta: "Hello", logprobs: [] },
  { type: "response.output_text.done", ...part, text: "Hello", logprobs: [] },
  { type: "response.content_part.done", ...part, part: said },
  { type: "response.output_item.done", output_index: 1, item: message },
  {
    type: "response.output_item.added",
    output_index: 2,
    item: { ...call, status: "in_progress", arguments: "" },
  },
  { type: "response.function_call_arguments.delta", ...at(2, "fc_1"), delta: "{}" },
  { type: "response.function_call_arguments.done", ...at(2, "fc_1"), arguments: "{}", name: "f" },
  { type: "response.output_item.done", output_index: 2, item: call },
  {
    type: "response.completed",
    response: response({ status: "completed", output: [reasoning, message, call], usage }),
  },
];

function wire(payloads: Payloads, numbered = true): string {
  return payloads.map((one, index) => {
    const data = numbered ? { ...one, sequence_number: index } : one;
    return `event: ${one.type}\ndata: ${JSON.stringify(data)}\n\n`;
  }).join("");
}

const errorEvent = { type: "error", code: "c", message: "It broke.", param: null };

function failed(output: Item[]): Item {
  const error = { code: "c", message: "It broke." };
  return { type: "response.failed", response: response({ status: "failed", error, output }) };
}

Deno.test("the responses grammar takes whole and failed streams and reads what they say", () => {
  const read = checkResponsesStream(wire(whole));
  assert.equal(read.ending, "finished");
  assert.deepEqual(read.usage, { input: 9, cacheRead: 4, output: 3 });
  assert.deepEqual(read.choices, [{
    text: "Hello",
    reasoning: "hm",
    refusal: "",
    calls: [{ id: "call_a", name: "f", input: "{}", custom: false }],
    finish: "tool_calls",
  }]);
  const open = { ...message, status: "incomplete" };
  const ends: [number, Item[]][] = [[2, []], [8, [reasoning]], [11, [reasoning, open]]];
  for (const [kept, output] of ends) {
    const end = checkResponsesStream(wire([...whole.slice(0, kept), failed(output)] as Payloads));
    assert.deepEqual([end.ending, end.error?.code], ["failed", "c"]);
    const both = [...whole.slice(0, kept), errorEvent, failed(output)] as Payloads;
    assert.equal(checkResponsesStream(wire(both)).ending, "failed");
  }
  assert.equal(checkResponsesStream(wire([errorEvent])).error?.code, "c");
});

const last = (key: string, value: unknown) => wire(changed(whole, 18, ["response", key], value));

const broken: BrokenRow[] = [
  ["no event: lines", /event: line/, wire(whole).replaceAll(/event: .*\n/g, "")],
  ["another event: line", /differ/, wire(whole).replace("event: response.created", "event: x")],
  ["an end marker", /\[DONE\]/, `${wire(whole)}data: [DONE]\n\n`],
  ["no blank line at the end", /blank line/, wire(whole).slice(0, -1)],
  ["no numbers", /sequence_number is not 0/, wire(whole, false)],
  [
    "numbers from 1",
    /sequence_number is not 0/,
    wire(whole.map((one, index) => ({ ...one, sequence_number: index + 1 })), false),
  ],
  [
    "a gap in the numbers",
    /sequence_number is not 3/,
    wire(
      whole.map((one, index) => ({ ...one, sequence_number: index < 3 ? index : index + 1 })),
      false,
    ),
  ],
  ["no created", /first event/, wire(whole.slice(1))],
  ["no in_progress", /second is not/, wire(spliced(whole, 1, 1))],
  ["created twice", /second is not|second response.created/, wire(spliced(whole, 1, 0, whole[0]!))],
  ["created after the start", /second response.created/, wire(spliced(whole, 5, 0, whole[0]!))],
  ["no end", /terminal event is missing/, wire(whole.slice(0, -1))],
  ["two ends", /follows the terminal/, wire([...whole, whole[18]!])],
  [
    "an error event in the middle, alone",
    /terminal event is missing/,
    wire([...whole.slice(0, 5), errorEvent]),
  ],
  [
    "more of the answer after an error event",
    /but response.failed follows/,
    wire(spliced(whole, 5, 0, errorEvent)),
  ],
  ["an event after the error", /follows the error/, wire([errorEvent, whole[0]!])],
  ["an error without code", /error code/, wire(changed([errorEvent], 0, ["code"], null))],
  ["another response id", /id changed/, last("id", "resp_2")],
  ["an id of another kind", /resp_/, wire(changed(whole, 0, ["response", "id"], "chatcmpl-1"))],
  ["another model at the end", /model changed/, last("model", "n")],
  ["a response without top_p", /top_p is missing/, last("top_p", undefined)],
  ["another status at the end", /status differ/, last("status", "in_progress")],
  [
    "details of an incomplete answer",
    /incomplete_details/,
    last("incomplete_details", { reason: "max_output_tokens" }),
  ],
  ["usage before the end", /usage before/, wire(changed(whole, 1, ["response", "usage"], usage))],
  ["no usage at the end", /usage is no object/, last("usage", null)],
  ["usage that doesn't add up", /not the sum/, last("usage", { ...usage, total_tokens: 11 })],
  [
    "usage without details",
    /input_tokens_details/,
    last("usage", { ...usage, input_tokens_details: null }),
  ],
  [
    "an error in an answer that ended well",
    /has an error/,
    last("error", { code: "c", message: "x" }),
  ],
  ["other output at the end", /not what was told/, last("output", [message, call])],
  ["an item still open", /still open/, wire(spliced(whole, 17, 1))],
  ["two items open", /while another is open/, wire(spliced(whole, 13, 1))],
  ["a gap in output_index", /output_index is not 1/, wire(changed(whole, 8, ["output_index"], 2))],
  ["a delta for another item", /another item_id/, wire(changed(whole, 10, ["item_id"], "msg_2"))],
  [
    "a delta with another index",
    /another output_index/,
    wire(changed(whole, 10, ["output_index"], 0)),
  ],
  ["a delta outside items", /outside an item/, wire(spliced(whole, 2, 0, whole[10]!))],
  [
    "a text delta in a call",
    /output_text.delta in a function_call/,
    wire(spliced(whole, 15, 0, { ...whole[10]!, ...at(2, "fc_1") })),
  ],
  ["a delta before its part", /before a part/, wire(spliced(whole, 9, 1))],
  ["a part that begins with text", /has its text/, wire(changed(whole, 9, ["part", "text"], "x"))],
  ["an empty delta", /delta is empty/, wire(changed(whole, 10, ["delta"], ""))],
  ["a delta without logprobs", /logprobs/, wire(changed(whole, 10, ["logprobs"], undefined))],
  ["a delta after its done", /after the text's done/, wire(spliced(whole, 12, 0, whole[10]!))],
  ["a done that isn't its deltas", /not its deltas/, wire(changed(whole, 11, ["text"], "Hell"))],
  [
    "a part that isn't its deltas",
    /not its deltas/,
    wire(changed(whole, 12, ["part", "text"], "Hell")),
  ],
  ["a part that isn't done", /part open/, wire(spliced(whole, 12, 1))],
  ["a part done before its text", /before its text/, wire(spliced(whole, 11, 1))],
  ["two parts open", /two parts/, wire(spliced(whole, 10, 0, { ...whole[9]!, content_index: 1 }))],
  [
    "a gap in content_index",
    /content_index has a gap/,
    wire(changed(whole, 9, ["content_index"], 1)),
  ],
  [
    "a summary in a message",
    /summary_text part is here/,
    wire(changed(whole, 9, ["part", "type"], "summary_text")),
  ],
  [
    "an item that begins with content",
    /has content/,
    wire(changed(whole, 8, ["item", "content"], [said])),
  ],
  [
    "an item that begins completed",
    /not in_progress/,
    wire(changed(whole, 8, ["item", "status"], "completed")),
  ],
  [
    "an item that ends in progress",
    /done item's status/,
    wire(changed(whole, 13, ["item", "status"], "in_progress")),
  ],
  ["an item whose id changes", /id changed/, wire(changed(whole, 13, ["item", "id"], "msg_9"))],
  ["two items with one id", /one id/, wire(changed(whole, 14, ["item", "id"], "msg_1"))],
  ["a call without call_id", /call_id/, wire(changed(whole, 14, ["item", "call_id"], ""))],
  [
    "a call with a long call_id",
    /1 to 64/,
    wire(changed(whole, 14, ["item", "call_id"], "x".repeat(65))),
  ],
  [
    "a call that begins with input",
    /has its input/,
    wire(changed(whole, 14, ["item", "arguments"], "{}")),
  ],
  ["a call without done", /without its done/, wire(spliced(whole, 16, 1))],
  [
    "a call whose done isn't its deltas",
    /not its deltas/,
    wire(changed(whole, 16, ["arguments"], '{"x":1}')),
  ],
  [
    "a call whose item isn't its deltas",
    /not its deltas/,
    wire(changed(whole, 17, ["item", "arguments"], "[]")),
  ],
  [
    "an incomplete item in a completed answer",
    /incomplete item in/,
    wire(
      changed(changed(whole, 17, ["item", "status"], "incomplete"), 18, [
        "response",
        "output",
        2,
        "status",
      ], "incomplete"),
    ),
  ],
  [
    "an answer without message or call",
    /without message/,
    wire(changed(spliced(whole, 8, 10), -1, ["response", "output"], [reasoning])),
  ],
  [
    "a failed answer with output never told",
    /other items/,
    wire([...whole.slice(0, 2), failed([message])] as Payloads),
  ],
  [
    "a failed answer with an item in progress",
    /in_progress/,
    wire(
      [
        ...whole.slice(0, 11),
        failed([reasoning, { ...message, status: "in_progress" }]),
      ] as Payloads,
    ),
  ],
  [
    "a failed answer without error",
    /response.error/,
    wire(changed([...whole.slice(0, 2), failed([])] as Payloads, 2, ["response", "error"], null)),
  ],
];

refuses("responses", checkResponsesStream, broken);
