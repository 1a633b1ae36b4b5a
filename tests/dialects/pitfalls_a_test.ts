/** Section A of protocols/pitfalls.md, first half: chat callers of a messages vendor. */
import {
  assistant,
  call,
  calls,
  type Crossing,
  hello,
  registerCrossings,
  result,
  tool,
  user,
} from "./crossing.ts";

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
];

registerCrossings(rows);
