/** Section A of protocols/pitfalls.md: chat callers of a messages vendor. */
import assert from "@std/assert";
import { messagesAnswer, told } from "./pitfall_answers.ts";
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

const png = "iVBORw0KGgo=";
const from = "chat";
const to = "messages";

const toolUse = (id: string, input: unknown = { x: 1 }) => ({
  type: "tool_use",
  id,
  name: "f",
  input,
});
const toolResult = (id: string, content: string) => ({
  type: "tool_result",
  tool_use_id: id,
  content,
});
const text = (text: string) => ({ type: "text", text });

const rows: Crossing[] = [
  {
    case: "1 parallel tool results and the user's words are one turn",
    from,
    to,
    body: {
      messages: [
        user("go"),
        calls(call("a"), call("b")),
        result("a", "1"),
        result("b", "2"),
        user("thx"),
      ],
      tools: [tool()],
    },
    gives: {
      messages: [
        { role: "user", content: [text("go")] },
        { role: "assistant", content: [toolUse("a"), toolUse("b")] },
        { role: "user", content: [toolResult("a", "1"), toolResult("b", "2"), text("thx")] },
      ],
    },
    losses: [],
  },
  {
    case: "2 results stand before the text of their turn",
    from: "generate",
    to,
    body: {
      contents: [
        { role: "user", parts: [{ text: "go" }] },
        { role: "model", parts: [{ functionCall: { name: "f", args: { x: 1 }, id: "a" } }] },
        {
          role: "user",
          parts: [
            { text: "see:" },
            { functionResponse: { name: "f", id: "a", response: { output: "1" } } },
          ],
        },
      ],
      tools: [{ functionDeclarations: [{ name: "f" }] }],
    },
    gives: {
      messages: [
        { role: "user" },
        { role: "assistant" },
        { role: "user", content: [toolResult("a", "1"), text("see:")] },
      ],
    },
    losses: [],
  },
  {
    case: "3 empty arguments are an empty object",
    from,
    to,
    body: { messages: [user("go"), calls(call("a", "f", "")), result("a", "1")], tools: [tool()] },
    gives: { messages: [{}, { content: [toolUse("a", {})] }, {}] },
  },
  {
    case: "4 arguments are an object, never text",
    from,
    to,
    body: {
      messages: [user("go"), calls(call("a", "f", '{"a":1}')), result("a", "1")],
      tools: [tool()],
    },
    gives: { messages: [{}, { content: [toolUse("a", { a: 1 })] }, {}] },
  },
  {
    case: "5 a tool without parameters gets an empty object schema",
    from,
    to,
    body: { messages: hello, tools: [tool()] },
    gives: { tools: [{ name: "f", input_schema: { type: "object", properties: {} } }] },
    losses: [],
  },
  {
    case: "6 a schema without type gets one",
    from,
    to,
    body: { messages: hello, tools: [tool("f", { parameters: { properties: { a: {} } } })] },
    gives: { tools: [{ input_schema: { type: "object", properties: { a: {} } } }] },
  },
  {
    case: "7 no empty text block beside tool calls",
    from,
    to,
    body: {
      messages: [user("go"), { ...calls(call("a")), content: "" }, result("a", "1")],
      tools: [tool()],
    },
    gives: { messages: [{}, { content: [toolUse("a")] }, {}] },
  },
  {
    case: "8 an assistant message of null is dropped, its neighbours merged",
    from,
    to,
    body: { messages: [user("a"), assistant(null), user("b")] },
    gives: { messages: [{ role: "user", content: [text("a"), text("b")] }] },
    never: ["null"],
  },
  {
    case: "9 system texts in the middle are hoisted in order",
    from,
    to,
    body: {
      messages: [
        { role: "system", content: "A" },
        user("u"),
        assistant("v"),
        { role: "developer", content: "B" },
        user("w"),
      ],
    },
    gives: {
      system: [text("A"), text("B")],
      messages: [{ role: "user" }, { role: "assistant" }, { role: "user" }],
    },
    losses: [],
  },
  {
    case: "10 a cache mark stays on its system block",
    from,
    to,
    body: {
      messages: [
        {
          role: "system",
          content: [{ ...text("A"), cache_control: { type: "ephemeral" } }, text("B")],
        },
        ...hello,
      ],
    },
    gives: { system: [{ ...text("A"), cache_control: { type: "ephemeral" } }, text("B")] },
    losses: [],
  },
  {
    case: "11 max_tokens is always sent",
    from,
    to,
    body: { messages: hello },
    gives: { max_tokens: 64_000 },
  },
  {
    case: "12 max_completion_tokens wins over max_tokens",
    from,
    to,
    body: { messages: hello, max_tokens: 5, max_completion_tokens: 9 },
    gives: { max_tokens: 9 },
    losses: [],
  },
  {
    case: "13 temperature is clamped to 1",
    from,
    to,
    body: { messages: hello, temperature: 1.7 },
    gives: { temperature: 1 },
    losses: ["temperature hint"],
  },
  {
    case: "13 a model without sampling gets no temperature",
    from,
    to,
    model: "claude-opus-5-5",
    body: { messages: hello, temperature: 1.7, top_p: 0.5 },
    never: ["temperature", "top_p"],
    losses: ["temperature hint", "top_p hint"],
  },
  {
    case: "14 temperature is kept, top_p dropped, where both are refused",
    from,
    to,
    body: { messages: hello, temperature: 0.3, top_p: 0.5 },
    gives: { temperature: 0.3, top_p: undefined },
    losses: ["top_p hint"],
  },
  {
    case: "15 one stop string is a list",
    from,
    to,
    body: { messages: hello, stop: "END" },
    gives: { stop_sequences: ["END"] },
    losses: [],
  },
  {
    case: "15 stop strings of white space are left out",
    from,
    to,
    body: { messages: hello, stop: ["\n", "END"] },
    gives: { stop_sequences: ["END"] },
    losses: ["stop hint"],
  },
  {
    case: "15 stop null is absent",
    from,
    to,
    body: { messages: hello, stop: null },
    never: ["stop_sequences"],
    losses: [],
  },
  { case: "16 n of 1 is no loss", from, to, body: { messages: hello, n: 1 }, losses: [] },
  {
    case: "16 n of 2 is refused",
    from,
    to,
    body: { messages: hello, n: 2 },
    fault: "unsupported_parameter n",
  },
  {
    case: "17 tool_choice none keeps the tools",
    from,
    to,
    body: { messages: hello, tools: [tool()], tool_choice: "none" },
    gives: { tools: [{ name: "f" }], tool_choice: { type: "none" } },
  },
  {
    case: "18 serial calls need a tool choice",
    from,
    to,
    body: { messages: hello, tools: [tool()], parallel_tool_calls: false },
    gives: { tool_choice: { type: "auto", disable_parallel_tool_use: true } },
    losses: [],
  },
  {
    case: "18 serial calls without tools are nothing",
    from,
    to,
    body: { messages: hello, parallel_tool_calls: false },
    never: ["tool_choice"],
  },
  {
    case: "19 forcing on a model that refuses it is auto and a sentence",
    from,
    to,
    model: "claude-opus-5-5",
    body: { messages: hello, tools: [tool()], tool_choice: "required" },
    gives: {
      tool_choice: { type: "auto" },
      system: [text("You must call one of the tools in your answer.")],
    },
    losses: ["tool_choice hint"],
  },
  {
    case: "20 foreign fields never reach the vendor, effective ones are named",
    from,
    to,
    body: {
      messages: hello,
      logit_bias: {},
      seed: 1,
      user: "u",
      metadata: { k: "v" },
      store: true,
      frequency_penalty: 0,
    },
    gives: { metadata: { user_id: "u" } },
    never: ["seed", "store", "logit_bias", '"k"', "frequency"],
    losses: ["seed hint", "metadata hint", "store hint"],
  },
  {
    case: "21 constraints move into descriptions, objects are closed, oneOf becomes anyOf",
    from,
    to,
    body: {
      messages: hello,
      response_format: jsonSchema(objectSchema({
        n: { type: "integer", minimum: 1 },
        one: { oneOf: [{ type: "string" }, { type: "null" }] },
      }, { required: ["n", "one"] })),
    },
    gives: {
      output_config: {
        format: {
          type: "json_schema",
          schema: { additionalProperties: false, properties: { n: { minimum: undefined } } },
        },
      },
    },
    never: ["oneOf", '"minimum"'],
    also: ({ body }) => {
      const said = JSON.stringify(body);
      assert.match(said, /minimum: 1/);
      assert.match(said, /anyOf/);
    },
  },
  {
    case: "22 an open map is sent as a forced tool",
    from,
    to,
    body: {
      messages: hello,
      response_format: jsonSchema({ type: "object", additionalProperties: { type: "string" } }),
    },
    gives: {
      output_config: undefined,
      tools: [{ name: "json_response" }],
      tool_choice: { type: "tool", name: "json_response" },
    },
    losses: [],
  },
  {
    case: "23 an emulated JSON answer is text with stop, calls one at a time",
    from,
    to,
    model: "claude-3-5-sonnet",
    body: { messages: hello, response_format: jsonSchema(objectSchema({ a: {} })) },
    gives: { tool_choice: { type: "tool", disable_parallel_tool_use: true } },
    also: (encoded) => {
      const passage = { vendor: "messages", caller: "chat", undo: encoded.undo } as const;
      const blocks = [["tool_use", encoded.undo.jsonTool!, '{"a":', "1}"]] as const;
      const answer = told(passage, messagesAnswer(blocks, "tool_use"));
      assert.deepEqual([answer.text, answer.calls, answer.finish], ['{"a":1}', [], "stop"]);
    },
  },
  {
    case: "24 an emulated answer in words is not lost",
    from,
    to,
    model: "claude-3-5-sonnet",
    body: { messages: hello, response_format: jsonSchema(objectSchema({ a: {} })) },
    also: (encoded) => {
      const passage = { vendor: "messages", caller: "chat", undo: encoded.undo } as const;
      const blocks = [["text", "I would rather talk."]] as const;
      const answer = told(passage, messagesAnswer(blocks, "end_turn"));
      assert.deepEqual([answer.text, answer.finish], ["I would rather talk.", "stop"]);
    },
  },
  {
    case: "25 image types, addresses and a PDF among the images",
    from,
    to,
    body: {
      messages: [user([
        { type: "image_url", image_url: { url: "data:image/jpg;base64,/9j/4AAQ" } },
        { type: "image_url", image_url: { url: "https://pictures.example/a.png" } },
        { type: "image_url", image_url: "data:application/pdf;base64,JVBERi0xLjQ=" },
      ])],
    },
    gives: {
      messages: [{
        content: [
          { type: "image", source: { type: "base64", media_type: "image/jpeg" } },
          { type: "image", source: { type: "url", url: "https://pictures.example/a.png" } },
          { type: "document", source: { type: "base64", media_type: "application/pdf" } },
        ],
      }],
    },
    losses: [],
  },
  {
    case: "26 an id with other characters is the same safe id on both sides",
    from,
    to,
    body: {
      messages: [user("go"), calls(call("call:1/α")), result("call:1/α", "1")],
      tools: [tool()],
    },
    never: ["call:1/"],
    also: ({ body }) => {
      const [, asked, answered] = body.messages as { content: Record<string, string>[] }[];
      assert.match(asked!.content[0]!.id!, /^[a-zA-Z0-9_-]+$/);
      assert.equal(answered!.content[0]!.tool_use_id, asked!.content[0]!.id);
    },
  },
  {
    case: "27 a budget beyond max_tokens is lowered or thinking dropped",
    from,
    to,
    body: { messages: hello, reasoning_effort: "high", max_tokens: 1000 },
    gives: { max_tokens: 1000, thinking: undefined },
    losses: ["reasoning_effort hint"],
  },
  {
    case: "27 a budget fits below max_tokens",
    from,
    to,
    body: { messages: hello, reasoning_effort: "high", max_tokens: 4000 },
    gives: { max_tokens: 4000, thinking: { type: "enabled", budget_tokens: 3999 } },
    losses: [],
  },
  {
    case: "28 thinking goes without temperature",
    from,
    to,
    body: { messages: hello, reasoning_effort: "low", temperature: 0.2 },
    gives: { thinking: { type: "enabled" }, temperature: undefined },
    losses: ["temperature hint"],
  },
  {
    case: "29 effort none is told to a model that thinks by itself",
    from,
    to,
    model: "claude-opus-4-8",
    body: { messages: hello, reasoning_effort: "none" },
    gives: { thinking: { type: "disabled" } },
    losses: [],
  },
  {
    case: "30 an answer to be continued loses its white space at the end",
    from,
    to,
    body: { messages: [user("6 * 7?"), assistant("The answer is ")] },
    gives: { messages: [{}, { role: "assistant", content: [text("The answer is")] }] },
  },
  {
    case: "31 sound is refused, not dropped",
    from,
    to,
    body: {
      messages: [user([text("hear"), {
        type: "input_audio",
        input_audio: { data: png, format: "wav" },
      }])],
    },
    fault: "unsupported_parameter messages[0].content[1]",
  },
];

registerCrossings(rows);
