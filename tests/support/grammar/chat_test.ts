import assert from "@std/assert";
import { type BrokenRow, changed, type Payloads, refuses, spliced } from "./broken.ts";
import { checkChatStream } from "./chat.ts";

const asked = { usage: true };
const unasked = { usage: false };

function chunk(delta: unknown, finish: string | null = null): Payloads[number] {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }];
  return { ...head, choices, usage: null };
}

const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m" };
const call = (index: number, more: unknown) =>
  chunk({ tool_calls: [{ index, ...more as object }] });
const opener = (index: number, id: string) =>
  call(index, { id, type: "function", function: { name: "f", arguments: "" } });
const fragment = (index: number, text: string) => call(index, { function: { arguments: text } });

/** By index: 0 role, 1 reasoning, 2 text, 3–4 first call, 5–6 second call, 7 finish, 8 usage. */
const whole: Payloads = [
  chunk({ role: "assistant", content: "", refusal: null }),
  chunk({ reasoning_content: "hm" }),
  chunk({ content: "Hello" }),
  opener(0, "call_a"),
  fragment(0, '{"x":1}'),
  opener(1, "call_b"),
  fragment(1, "{}"),
  chunk({}, "tool_calls"),
  {
    ...head,
    choices: [],
    usage: {
      prompt_tokens: 9,
      completion_tokens: 3,
      total_tokens: 12,
      prompt_tokens_details: { cached_tokens: 4 },
    },
  },
];

const error = { error: { message: "It broke.", type: "upstream_error", code: "c", param: null } };

function lines(payloads: Payloads): string {
  return payloads.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");
}

function wire(payloads: Payloads): string {
  return `${lines(payloads)}data: [DONE]\n\n`;
}

/** The same for a caller who didn't ask for usage. */
function withoutUsage(payloads: Payloads): Payloads {
  return payloads.slice(0, -1).map(({ usage: _, ...rest }) => rest);
}

Deno.test("the chat grammar takes whole and failed streams and reads what they say", () => {
  const said = checkChatStream(wire(whole), asked);
  assert.equal(said.ending, "finished");
  assert.deepEqual(said.usage, { input: 9, cacheRead: 4, output: 3 });
  assert.deepEqual(said.choices, [{
    text: "Hello",
    reasoning: "hm",
    refusal: "",
    calls: [
      { id: "call_a", name: "f", input: '{"x":1}', custom: false },
      { id: "call_b", name: "f", input: "{}", custom: false },
    ],
    finish: "tool_calls",
  }]);
  assert.equal(checkChatStream(wire(withoutUsage(whole)), unasked).usage, undefined);
  for (let kept = 0; kept < whole.length; kept++) {
    const failed = checkChatStream(lines([...whole.slice(0, kept), error]), asked);
    assert.deepEqual([failed.ending, failed.error?.code], ["failed", "c"]);
  }
  assert.equal(checkChatStream(`: wait\n\n${wire(whole)}`, asked).ending, "finished");
});

Deno.test("the chat grammar takes choices that interleave", () => {
  const second = whole.slice(0, -1).map((one) => changed([one], 0, ["choices", 0, "index"], 1)[0]!);
  const mixed = whole.slice(0, -1).flatMap((one, at) => [one, second[at]!]);
  assert.equal(checkChatStream(wire([...mixed, whole.at(-1)!]), asked).choices.length, 2);
});

const broken: BrokenRow[] = [
  ["no end marker", /\[DONE\] is missing/, lines(whole)],
  ["two end markers", /follows \[DONE\]/, `${wire(whole)}data: [DONE]\n\n`],
  ["an end marker after an error", /follows the error/, wire([...whole.slice(0, 2), error])],
  ["a chunk after an error", /follows the error/, lines([error, whole[0]!])],
  [
    "an error without code",
    /code is missing/,
    lines(changed([error], 0, ["error", "code"], undefined)),
  ],
  ["an error in a chunk", /not known/, lines([{ ...whole[0], ...error }])],
  ["an event: line", /event: line/, wire(whole).replace("data: ", "event: x\ndata: ")],
  ["an id: line", /not a line/, wire(whole).replace("data: ", "id: 1\ndata: ")],
  ["no blank line at the end", /blank line/, wire(whole).slice(0, -1)],
  ["text that isn't JSON", /not JSON/, `data: {oops\n\n${wire(whole)}`],
  ["no role", /begin with its role/, wire(whole.slice(1))],
  ["the role twice", /role comes twice/, wire(spliced(whole, 1, 0, whole[0]!))],
  ["another id", /changed/, wire(changed(whole, 3, ["id"], "chatcmpl-2"))],
  ["another model", /changed/, wire(changed(whole, 3, ["model"], "n"))],
  ["another object", /object is not/, wire(changed(whole, 3, ["object"], "chat.completion"))],
  ["no finish", /finish/, wire(spliced(whole, 7, 1))],
  [
    "an unknown finish",
    /not one of the four/,
    wire(changed(whole, 7, ["choices", 0, "finish_reason"], "end_turn")),
  ],
  [
    "stop after tool calls",
    /stop after tool calls/,
    wire(changed(whole, 7, ["choices", 0, "finish_reason"], "stop")),
  ],
  ["tool_calls without calls", /without tool calls/, wire(spliced(whole, 3, 4))],
  ["text after the finish", /follows the finish/, wire(spliced(whole, 8, 0, whole[2]!))],
  [
    "no finish_reason",
    /finish_reason is missing/,
    wire(changed(whole, 2, ["choices", 0, "finish_reason"], undefined)),
  ],
  ["a chunk that says nothing", /says nothing/, wire(spliced(whole, 2, 0, chunk({})))],
  [
    "an empty piece",
    /content is empty/,
    wire(changed(whole, 2, ["choices", 0, "delta", "content"], "")),
  ],
  ["null content", /no string/, wire(changed(whole, 2, ["choices", 0, "delta", "content"], null))],
  ["an unknown delta", /not known/, wire(spliced(whole, 2, 0, chunk({ thinking: "x" })))],
  [
    "an empty tool_calls",
    /tool_calls is empty/,
    wire(spliced(whole, 2, 0, chunk({ tool_calls: [] }))),
  ],
  ["a call that opens out of order", /out of order/, wire(spliced(whole, 3, 2))],
  [
    "a call index from another counting",
    /out of order/,
    wire(
      changed(changed(whole, 3, ["choices", 0, "delta", "tool_calls", 0, "index"], 2), 4, [
        "choices",
        0,
        "delta",
        "tool_calls",
        0,
        "index",
      ], 2),
    ),
  ],
  ["two calls with one id", /one id/, wire(spliced(whole, 5, 1, opener(1, "call_a")))],
  ["two calls under one index", /not known/, wire(spliced(whole, 5, 1, opener(0, "call_b")))],
  ["a call without id", /id is empty/, wire(spliced(whole, 3, 1, opener(0, "")))],
  [
    "a call without index",
    /no count/,
    wire(changed(whole, 4, ["choices", 0, "delta", "tool_calls", 0, "index"], undefined)),
  ],
  ["a call without arguments", /empty text/, wire(spliced(whole, 4, 1))],
  [
    "an input as object",
    /no string/,
    wire(changed(whole, 3, ["choices", 0, "delta", "tool_calls", 0, "function", "arguments"], {})),
  ],
  ["no usage chunk", /usage chunk is missing/, wire(whole.slice(0, -1))],
  [
    "usage before the finish",
    /before a finish/,
    wire(spliced(whole.slice(0, -1), 2, 0, whole[8]!)),
  ],
  ["usage on the finish chunk", /not null/, wire(changed(whole, 7, ["usage"], whole[8]!.usage))],
  [
    "usage that doesn't add up",
    /not the sum/,
    wire(changed(whole, 8, ["usage", "total_tokens"], 13)),
  ],
  [
    "more cached than prompt",
    /more cached/,
    wire(changed(whole, 8, ["usage", "prompt_tokens_details", "cached_tokens"], 10)),
  ],
  [
    "a second choice without finish",
    /without finish|before a finish/,
    wire(spliced(whole, 1, 0, changed([whole[0]!], 0, ["choices", 0, "index"], 1)[0]!)),
  ],
  [
    "a gap in the choices",
    /finish/,
    wire(
      whole.map((one) =>
        (one.choices as unknown[]).length > 0
          ? changed([one], 0, ["choices", 0, "index"], 1)[0]!
          : one
      ),
    ),
  ],
  ["nothing at all", /no choice/, "data: [DONE]\n\n"],
];

refuses("chat", (stream) => checkChatStream(stream, asked), broken);
refuses("chat", (stream) => checkChatStream(stream, unasked), [
  ["usage that nobody asked for", /didn't ask/, wire(whole)],
  ["a usage chunk that nobody asked for", /didn't ask/, wire([...withoutUsage(whole), whole[8]!])],
]);
