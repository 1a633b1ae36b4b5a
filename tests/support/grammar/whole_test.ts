import assert from "@std/assert";
import { changed, refuses } from "./broken.ts";
import { checkWhole } from "./whole.ts";

type Json = Record<string, unknown>;
type Name = Parameters<typeof checkWhole>[0];

const chat: Json = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{
    index: 0,
    message: {
      role: "assistant",
      content: null,
      refusal: null,
      tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "{}" } }],
    },
    finish_reason: "tool_calls",
    logprobs: null,
  }],
  usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
};

const messages: Json = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content: [{ type: "text", text: "Hi" }, { type: "tool_use", id: "a", name: "f", input: {} }],
  stop_reason: "tool_use",
  stop_sequence: null,
  stop_details: null,
  container: null,
  diagnostics: null,
  usage: { input_tokens: 9, output_tokens: 3 },
};

const generate: Json = {
  candidates: [{
    index: 0,
    content: { role: "model", parts: [{ functionCall: { name: "f", args: {} } }] },
    finishReason: "STOP",
  }],
  usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 3, totalTokenCount: 12 },
  modelVersion: "m",
  responseId: "r",
};

const responses: Json = {
  ...Object.fromEntries(
    `completed_at error incomplete_details instructions max_output_tokens max_tool_calls user
    previous_response_id prompt_cache_key safety_identifier background reasoning service_tier store
    temperature text tool_choice top_logprobs top_p truncation parallel_tool_calls`
      .split(/\s+/).map((key) => [key, null]),
  ),
  id: "resp_1",
  object: "response",
  created_at: 1,
  model: "m",
  status: "completed",
  tools: [],
  metadata: {},
  output: [{
    id: "fc_1",
    type: "function_call",
    status: "completed",
    call_id: "a",
    name: "f",
    arguments: "{}",
  }],
  usage: {
    input_tokens: 9,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 3,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 12,
  },
};

const wholes: Readonly<Record<Name, Json>> = { chat, responses, messages, generate };

for (const [name, answer] of Object.entries(wholes) as [Name, Json][]) {
  Deno.test(`a whole ${name} answer is taken, and what it says is read`, () => {
    const { choices, usage } = checkWhole(name, answer);
    assert.deepEqual(choices.map(({ finish }) => finish), ["tool_calls"]);
    assert.deepEqual(choices[0]?.calls.map((call) => [call.name, JSON.parse(call.input)]), [
      ["f", {}],
    ]);
    assert.deepEqual(usage, { input: 9, cacheRead: 0, output: 3 });
  });
}

const broken: readonly [Name, string, RegExp, (string | number)[], unknown][] = [
  ["chat", "another object", /object is not/, ["object"], "chat.completion.chunk"],
  ["chat", "no usage", /usage is missing/, ["usage"], undefined],
  ["chat", "no choices", /no choice/, ["choices"], []],
  ["chat", "no logprobs", /logprobs is missing/, ["choices", 0, "logprobs"], undefined],
  ["chat", "no refusal", /refusal is missing/, ["choices", 0, "message", "refusal"], undefined],
  ["chat", "an empty tool_calls", /empty/, ["choices", 0, "message", "tool_calls"], []],
  ["chat", "empty content beside calls", /beside/, ["choices", 0, "message", "content"], ""],
  ["chat", "stop beside calls", /stop beside/, ["choices", 0, "finish_reason"], "stop"],
  ["chat", "an unknown finish", /unknown finish/, ["choices", 0, "finish_reason"], "end_turn"],
  ["chat", "totals that don't add up", /not the sum/, ["usage", "total_tokens"], 11],
  ["responses", "an id of another kind", /resp_/, ["id"], "chatcmpl-1"],
  ["responses", "an unfinished status", /incomplete_details|no end/, ["status"], "in_progress"],
  ["responses", "an error", /has an error/, ["error"], { code: "c" }],
  ["responses", "no output", /without message/, ["output"], []],
  ["responses", "no top_p", /top_p is missing/, ["top_p"], undefined],
  ["responses", "an item in progress", /in progress/, ["output", 0, "status"], "in_progress"],
  ["responses", "no usage", /usage is no object/, ["usage"], null],
  ["messages", "an id of another kind", /msg_/, ["id"], "resp_1"],
  ["messages", "an empty text", /empty/, ["content", 0, "text"], ""],
  ["messages", "an input as text", /no object/, ["content", 1, "input"], "{}"],
  ["messages", "an id with a colon", /other characters/, ["content", 1, "id"], "a:1"],
  ["messages", "end_turn after a call", /after tool_use/, ["stop_reason"], "end_turn"],
  ["messages", "no stop_reason", /stop_reason is no string/, ["stop_reason"], null],
  ["messages", "no diagnostics", /diagnostics is missing/, ["diagnostics"], undefined],
  ["messages", "no usage", /usage/, ["usage"], undefined],
  ["generate", "no responseId", /responseId/, ["responseId"], undefined],
  ["generate", "an unknown member", /not known/, ["object"], "x"],
  ["generate", "another role", /role/, ["candidates", 0, "content", "role"], "assistant"],
  ["generate", "no finishReason", /finishReason/, ["candidates", 0, "finishReason"], undefined],
  ["generate", "no usage", /usageMetadata/, ["usageMetadata"], undefined],
  ["generate", "no candidates", /no candidate/, ["candidates"], undefined],
];

for (const [dialect, name, reason, place, value] of broken) {
  const [answer] = changed([wholes[dialect]], 0, place, value);
  refuses(`whole ${dialect}`, (text) => checkWhole(dialect, JSON.parse(text)), [
    [name, reason, JSON.stringify(answer)],
  ]);
}
