/** Section F of protocols/pitfalls.md: between responses and the other dialects. */
import assert from "@std/assert";
import {
  assistant,
  call,
  calls,
  type Crossing,
  hello,
  jsonSchema,
  objectSchema,
  registerCrossings,
  result,
  tool,
  user,
} from "./crossing.ts";
import {
  chatAnswer,
  element,
  messagesAnswer,
  responsesAnswer,
  said,
  told,
  wire,
} from "./pitfall_answers.ts";
import { names, type Passage } from "./translated.ts";
import type { Payload } from "./recordings.ts";

const schema = objectSchema({ a: { type: "string" } }, {
  required: ["a"],
  additionalProperties: false,
});

const rows: Crossing[] = [
  {
    case: "92 a function that doesn't say strict is not strict",
    from: "chat",
    to: "responses",
    body: { messages: hello, tools: [tool()] },
    gives: { tools: [{ type: "function", name: "f", parameters: null, strict: false }] },
    losses: [],
  },
  {
    case: "92 strict stays strict",
    from: "chat",
    to: "responses",
    body: { messages: hello, tools: [tool("f", { strict: true, parameters: schema })] },
    gives: { tools: [{ strict: true }] },
  },
  {
    case: "93 calls in a row are one assistant message, their outputs tool messages in order",
    from: "responses",
    to: "chat",
    body: {
      input: [
        { role: "user", content: "go" },
        { type: "function_call", call_id: "a", name: "f", arguments: "{}" },
        { type: "function_call", call_id: "b", name: "g", arguments: "{}" },
        { type: "function_call_output", call_id: "a", output: "1" },
        { type: "function_call_output", call_id: "b", output: "2" },
      ],
    },
    gives: {
      messages: [
        { role: "user", content: "go" },
        { role: "assistant", content: null, tool_calls: [{ id: "a" }, { id: "b" }] },
        { role: "tool", tool_call_id: "a", content: "1" },
        { role: "tool", tool_call_id: "b", content: "2" },
      ],
    },
    losses: [],
  },
  {
    case: "93 and the same towards messages",
    from: "responses",
    to: "messages",
    body: {
      input: [
        { role: "user", content: "go" },
        { role: "assistant", content: "well" },
        { type: "function_call", call_id: "a", name: "f", arguments: "{}" },
        { type: "function_call", call_id: "b", name: "g", arguments: "{}" },
        { type: "function_call_output", call_id: "b", output: "2" },
        { type: "function_call_output", call_id: "a", output: "1" },
      ],
      tools: [{ type: "function", name: "f" }],
    },
    gives: {
      messages: [
        { role: "user" },
        {
          role: "assistant",
          content: [{ type: "text" }, { type: "tool_use", id: "a" }, { type: "tool_use", id: "b" }],
        },
        {
          role: "user",
          content: [{ tool_use_id: "b", content: "2" }, { tool_use_id: "a", content: "1" }],
        },
      ],
    },
  },
  {
    case: "96 list-shaped input keeps the user's messages",
    from: "responses",
    to: "generate",
    body: {
      input: [
        { role: "user", content: [{ type: "input_text", text: "one" }] },
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "two" }] },
        { role: "user", content: "three" },
      ],
    },
    gives: {
      contents: [
        { role: "user", parts: [{ text: "one" }] },
        { role: "model", parts: [{ text: "two" }] },
        { role: "user", parts: [{ text: "three" }] },
      ],
    },
  },
  ...(["chat", "messages", "generate"] as const).map((to): Crossing => ({
    case: `101 reasoning sealed elsewhere or not at all is not sent (to ${to})`,
    from: "responses",
    to,
    body: {
      input: [
        { role: "user", content: "go" },
        {
          type: "reasoning",
          id: "rs_1",
          summary: [{ type: "summary_text", text: "SECRET" }],
          encrypted_content: "SEALED",
        },
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "done" }] },
        { role: "user", content: "more" },
      ],
    },
    never: ["SECRET", "SEALED", "rs_1"],
  })),
  {
    case: "101 reasoning of a chat answer is not sent to responses",
    from: "chat",
    to: "responses",
    body: {
      messages: [user("go"), { ...assistant("done"), reasoning_content: "SECRET" }, user("more")],
    },
    never: ["SECRET"],
  },
  {
    case: "102 instructions are this turn's system text",
    from: "responses",
    to: "messages",
    body: { instructions: "I", input: "hello" },
    gives: { system: [{ type: "text", text: "I" }], messages: [{ role: "user" }] },
  },
  {
    case: "105 an output limit of 5 becomes 16",
    from: "chat",
    to: "responses",
    body: { messages: hello, max_completion_tokens: 5 },
    gives: { max_output_tokens: 16 },
  },
  {
    case: "106 a schema is flat towards responses and keeps its name",
    from: "chat",
    to: "responses",
    body: { messages: hello, response_format: jsonSchema(schema, { strict: true }) },
    gives: {
      text: {
        format: {
          type: "json_schema",
          name: "answer",
          schema,
          strict: true,
          json_schema: undefined,
        },
      },
    },
    losses: [],
  },
  {
    case: "106 and nested towards chat",
    from: "responses",
    to: "chat",
    body: {
      input: "hello",
      text: { format: { type: "json_schema", name: "answer", schema, strict: true } },
    },
    gives: {
      response_format: {
        type: "json_schema",
        json_schema: { name: "answer", schema, strict: true },
      },
    },
    losses: [],
  },
  ...(["chat", "responses", "messages"] as const).map((to): Crossing => ({
    case: `a picture in an answer given back is refused, not dropped (to ${to})`,
    from: "generate",
    to,
    body: {
      contents: [
        { role: "user", parts: [{ text: "draw" }] },
        { role: "model", parts: [{ inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } }] },
        { role: "user", parts: [{ text: "more red" }] },
      ],
    },
    fault: "unsupported_parameter contents[1].parts[0]",
  })),
  {
    case: "a stateless vendor call stores nothing and asks for sealed reasoning",
    from: "chat",
    to: "responses",
    body: { messages: [user("go"), calls(call("a")), result("a", "1")] },
    gives: {
      store: false,
      include: ["reasoning.encrypted_content"],
      input: [
        { type: "message", role: "user" },
        { type: "function_call", call_id: "a" },
        { type: "function_call_output", call_id: "a", output: "1" },
      ],
    },
  },
];

registerCrossings(rows);

const answers: Readonly<Record<string, Payload[]>> = {
  chat: chatAnswer([{ content: "Hello" }, { content: " you" }], "stop"),
  messages: messagesAnswer([["text", "Hello you"]], "end_turn"),
  generate: [element([{ text: "Hello you" }], { finishReason: "STOP" })],
};

for (const vendor of names.filter((name) => name !== "responses")) {
  Deno.test(`pitfalls 95, 103 (${vendor} → responses): one id, numbers without gaps`, () => {
    const events = wire({ vendor, caller: "responses" }, answers[vendor]!);
    const ids = events.flatMap(({ response }) => response ? [(response as Payload).id] : []);
    assert.ok(ids.length >= 3);
    assert.equal(new Set(ids).size, 1);
    assert.deepEqual(events.map((event) => event.sequence_number), events.map((_, at) => at));
  });
}

const item = { id: "fc_1", type: "function_call", call_id: "call_1", name: "f", arguments: "" };
const whole = { ...item, arguments: '{"a":1}', status: "completed" };
const at = { item_id: "fc_1", output_index: 0 };
const added = { type: "response.output_item.added", output_index: 0, item };
const argumentsDone = {
  type: "response.function_call_arguments.done",
  ...at,
  arguments: '{"a":1}',
};
const itemDone = { type: "response.output_item.done", output_index: 0, item: whole };
const delta = (text: string) => ({
  type: "response.function_call_arguments.delta",
  ...at,
  delta: text,
});

for (const caller of names.filter((name) => name !== "responses")) {
  const passage: Passage = { vendor: "responses", caller };
  const calls = [{ name: "f", input: { a: 1 } }];

  Deno.test(`pitfall 97 (responses → ${caller}): arguments only in a done event come once`, () => {
    for (const events of [[added, argumentsDone, itemDone], [added, itemDone], [itemDone]]) {
      assert.deepEqual(told(passage, responsesAnswer(events)).calls, calls);
    }
  });

  Deno.test(`pitfall 98 (responses → ${caller}): a done after deltas says nothing twice`, () => {
    const events = [added, delta('{"a"'), delta(":1}"), argumentsDone, itemDone];
    const answer = told(passage, responsesAnswer(events, { output: [whole] }));
    assert.deepEqual([answer.calls, answer.finish], [calls, "tool_calls"]);
  });

  Deno.test(`pitfall 99 (responses → ${caller}): an incomplete call is a length finish`, () => {
    const cut = { ...item, arguments: '{"a":', status: "incomplete" };
    const events = [added, delta('{"a":'), { ...itemDone, item: cut }];
    const last = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } };
    const answer = told(passage, responsesAnswer(events, last));
    assert.equal(answer.finish, "length");
    // A dialect of whole arguments has none to show.
    assert.equal(answer.calls.length, caller === "generate" ? 0 : 1);
  });

  Deno.test(`pitfall 100 (responses → ${caller}): a nested error frame is an error`, () => {
    const error = { type: "error", error: { code: null, message: "x" } };
    const answer = said(passage, [...responsesAnswer([added]).slice(0, 2), error]);
    assert.equal(answer.ending, "failed");
  });

  Deno.test(`pitfall 104 (responses → ${caller}): two message items are both texts in order`, () => {
    const message = (id: string, text: string) => ({
      type: "response.output_item.done",
      item: { id, type: "message", content: [{ type: "output_text", text }] },
    });
    const events = [message("msg_1", "one "), message("msg_2", "two")];
    assert.equal(told(passage, responsesAnswer(events)).text, "one two");
  });
}

Deno.test("pitfall 107 (responses → chat → responses): a refusal stays a refusal", () => {
  const part = { type: "refusal", refusal: "No." };
  const events = [{
    type: "response.output_item.done",
    output_index: 0,
    item: { id: "msg_1", type: "message", content: [part] },
  }];
  const forward = told({ vendor: "responses", caller: "chat" }, responsesAnswer(events));
  assert.deepEqual([forward.text, forward.refusal], ["", "No."]);
  const back = told(
    { vendor: "chat", caller: "responses" },
    chatAnswer([{ refusal: "No." }], "stop"),
  );
  assert.deepEqual([back.text, back.refusal], ["", "No."]);
});
