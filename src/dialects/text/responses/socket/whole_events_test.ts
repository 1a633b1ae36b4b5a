import assert from "@std/assert";
import { finish } from "../../../../base/steps.ts";
import { checkResponsesStream } from "../../../../../tests/support/grammar/responses.ts";
import { wholeEvents } from "./whole_events.ts";

const message = {
  ...{ type: "message", id: "msg_1", role: "assistant", status: "completed", phase: "final" },
  content: [
    {
      ...{ type: "output_text", text: 'It says "hi".', logprobs: [{ token: "It" }] },
      annotations: [{ type: "url_citation", url: "https://a.example", start_index: 0 }],
    },
    { type: "refusal", refusal: "No more." },
  ],
};
const call = { call_id: "call_1", name: "read", status: "completed" };
const output = [
  {
    ...{ type: "reasoning", id: "rs_1", encrypted_content: "sealed", x: 1 },
    summary: [{ type: "summary_text", text: "Hm." }, { type: "summary_text", text: "So." }],
  },
  {
    ...{ type: "reasoning", id: "rs_2", summary: [] },
    content: [{ type: "reasoning_text", text: "Because." }],
  },
  { type: "web_search_call", id: "ws_1", status: "completed", action: { query: "q" } },
  { type: "mcp_call", id: "mcp_1", status: "completed", name: "m", arguments: "{}", output: "" },
  { type: "function_call", id: "fc_1", ...call, arguments: '{"a":1}' },
  { type: "custom_tool_call", id: "ctc_1", ...call, call_id: "call_2", input: "free text" },
  message,
];
const whole = {
  ...{ id: "resp_1", object: "response", created_at: 1, completed_at: 2, status: "completed" },
  ...{ background: false, error: null, incomplete_details: null, instructions: null },
  ...{ max_output_tokens: null, max_tool_calls: null, model: "m", output, metadata: {} },
  ...{ parallel_tool_calls: true, previous_response_id: null, reasoning: {}, tools: [] },
  ...{ service_tier: "default", store: true, temperature: 1, text: {}, tool_choice: "auto" },
  ...{ top_logprobs: 0, top_p: 1, truncation: "disabled", user: null, prompt_cache_key: null },
  safety_identifier: null,
  usage: {
    ...{ input_tokens: 3, output_tokens: 2, total_tokens: 5 },
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  },
};

/** The events in the framing of a stream over HTTP. */
function streamOf(text: string): string {
  return finish(wholeEvents(text))
    .map((data) => `event: ${JSON.parse(data).type}\ndata: ${data}\n\n`).join("");
}

Deno.test("an answer in one piece becomes the events of a stream, which say the same", () => {
  const said = checkResponsesStream(streamOf(JSON.stringify(whole)));
  assert.equal(said.ending, "finished");
  const [choice] = said.choices;
  assert.equal(choice!.text, 'It says "hi".');
  assert.equal(choice!.refusal, "No more.");
  assert.equal(choice!.reasoning, "Hm.So.");
  assert.deepEqual(choice!.calls.map(({ name, input }) => [name, input]), [
    ["read", '{"a":1}'],
    ["read", "free text"],
  ]);
  assert.deepEqual([said.usage?.input, said.usage?.output], [3, 2]);
});

Deno.test("its last event holds the answer as the vendor wrote it, and says that it was cut short", () => {
  const text = '{ "id":"resp_1","status":"incomplete","x":1.0,"n":12345678901234567890,' +
    '"incomplete_details":{"reason":"max_output_tokens"},"output":[] }';
  const events = finish(wholeEvents(text));
  assert.ok(events.at(-1)!.includes(text));
  assert.equal(JSON.parse(events.at(-1)!).type, "response.incomplete");
  assert.deepEqual(
    events.map((data) => JSON.parse(data).sequence_number),
    events.map((_, at) => at),
  );
  assert.equal(JSON.parse(events[0]!).response.incomplete_details, null);
});
