/** Section A of protocols/pitfalls.md, second half, settings: chat callers of a messages vendor. */
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

const text = (text: string) => ({ type: "text", text });

const rows: Crossing[] = [
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
      const passage = {
        vendor: "messages",
        caller: "chat",
        emulations: encoded.emulations,
      } as const;
      const blocks = [["tool_use", encoded.emulations.jsonTool!, '{"a":', "1}"]] as const;
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
      const passage = {
        vendor: "messages",
        caller: "chat",
        emulations: encoded.emulations,
      } as const;
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
