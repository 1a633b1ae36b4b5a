import assert from "@std/assert";
import type { AnswerPart, CanonicalEvent } from "../../../kernel/canonical.ts";
import { foldEvents } from "../../../kernel/fold.ts";
import { LogprobReader } from "../../../kernel/token_logprobs.ts";
import { ChoiceReader } from "./choice_reader.ts";
import { readChoiceLogprobs } from "./logprobs.ts";

/** Deltas of one choice, then a finish chunk, as events. */
function read(deltas: readonly Record<string, unknown>[], finish = "tool_calls"): CanonicalEvent[] {
  const reader = new ChoiceReader(0, { value: 0 });
  const events: CanonicalEvent[] = [];
  for (const delta of deltas) reader.read({ delta }, events);
  reader.read({ delta: {}, finish_reason: finish }, events);
  reader.close(events);
  return events;
}

function fold(deltas: readonly Record<string, unknown>[], finish?: string) {
  const choice = foldEvents(read(deltas, finish)).choices[0];
  return { parts: choice?.parts ?? [], finish: choice?.finish?.reason };
}

/** A delta with one tool-call entry: index, id, name and arguments, absent where undefined. */
function call(index?: number, id?: string, name?: string, args?: string, more = {}) {
  return { tool_calls: [entry(index, id, name, args, more)] };
}

function entry(index?: number, id?: string, name?: string, args?: string, more = {}) {
  const body = Object.entries({ name, arguments: args }).filter(([, value]) => value !== undefined);
  return {
    ...(index === undefined ? {} : { index }),
    ...(id === undefined ? {} : { id }),
    function: Object.fromEntries(body),
    ...more,
  };
}

type Call = [string, string, string];
const callsOf = (parts: readonly AnswerPart[]): Call[] =>
  parts.flatMap((part): Call[] =>
    part.kind === "tool-call" ? [[part.id, part.name, part.text]] : []
  );

const one: Call[] = [["t1", "f", '{"a":1}']];
const two: Call[] = [["t1", "f", '{"a":1}'], ["t2", "g", '{"b":2}']];

/** Ways to stream the same calls (chat-completions.md §4.3; pitfalls 53, 84, 87–89). */
const ways: [string, Record<string, unknown>[], Call[]][] = [
  ["opener, then fragments", [
    call(0, "t1", "f", ""),
    call(0, undefined, undefined, '{"a"'),
    call(0, undefined, undefined, ":1}"),
  ], one],
  ["the whole call in one chunk", [call(0, "t1", "f", '{"a":1}')], one],
  ["arguments as the object that they are", [
    { tool_calls: [{ index: 0, id: "t1", function: { name: "f", arguments: { a: 1 } } }] },
  ], one],
  [
    "all calls under one index",
    [call(0, "t1", "f", '{"a":1}'), call(0, "t2", "g", '{"b":2}')],
    two,
  ],
  ["all calls under one index, in fragments that name themselves", [
    call(0, "t1", "f", '{"a"'),
    call(0, "t1", "f", ":1}"),
    call(0, "t2", "g", '{"b"'),
    call(0, "t2", "g", ":2}"),
  ], two],
  ["all calls under one index, in fragments without a name", [
    call(0, "t1", "f", '{"a"'),
    call(0, undefined, undefined, ":1}"),
    call(0, "t2", "g", '{"b"'),
    call(0, undefined, undefined, ":2}"),
  ], two],
  ["a new id on each fragment", [
    call(0, "t1", "f", '{"a"'),
    call(0, "t9", undefined, ":1}"),
  ], one],
  ["a call of an unknown kind among them", [
    call(0, "t1", "f", '{"a":1}'),
    { tool_calls: [{ index: 1, id: "m", type: "mcp", mcp: { x: 1 } }] },
    { tool_calls: [{ index: 1, mcp: { y: 2 } }] },
    call(2, "t2", "g", '{"b":2}'),
  ], two],
  ["the name after the id", [
    call(0, "t1"),
    call(0, undefined, "f"),
    call(0, undefined, undefined, '{"a":1}'),
  ], one],
  ["the name after the first fragment of the arguments", [
    call(0, "t1", undefined, '{"a"'),
    call(0, undefined, "f", ":"),
    call(0, undefined, undefined, "1}"),
  ], one],
  ["the id on every fragment", [call(0, "t1", "f", '{"a"'), call(0, "t1", undefined, ":1}")], one],
  ["the id on every fragment and no index", [
    call(undefined, "t1", "f", '{"a"'),
    call(undefined, "t1", undefined, ":1}"),
  ], one],
  ["no index and the id on the opener alone", [
    call(undefined, "t1", "f", '{"a"'),
    call(undefined, undefined, undefined, ":1}"),
  ], one],
  ["type null and an empty name later", [
    call(0, "t1", "f", "", { type: null }),
    call(0, "", "", '{"a":1}', { type: null }),
  ], one],
  [
    "a second call with index 1",
    [call(0, "t1", "f", '{"a":1}'), call(1, "t2", "g", '{"b":2}')],
    two,
  ],
  ["two calls interleaved", [
    call(0, "t1", "f", '{"a"'),
    call(1, "t2", "g", '{"b"'),
    call(0, undefined, undefined, ":1}"),
    call(1, undefined, undefined, ":2}"),
  ], two],
  ["two calls in one chunk", [
    { tool_calls: [entry(0, "t1", "f", '{"a":1}'), entry(1, "t2", "g", '{"b":2}')] },
  ], two],
  ["two calls told apart by their ids alone", [
    call(undefined, "t1", "f", '{"a"'),
    call(undefined, undefined, undefined, ":1}"),
    call(undefined, "t2", "g", '{"b"'),
    call(undefined, undefined, undefined, ":2}"),
  ], two],
  ["two calls with ids alone in one chunk", [
    { tool_calls: [entry(undefined, "t1", "f", "{"), entry(undefined, "t2", "g", "{")] },
    call(undefined, "t1", undefined, '"a":1}'),
    call(undefined, "t2", undefined, '"b":2}'),
  ], two],
  ["indexes that begin at 1, and a call without one", [
    call(1, "t1", "f", '{"a":1}'),
    call(undefined, "t2", "g", '{"b":2}'),
  ], two],
  ["two whole calls without index and id, told apart by position", [
    { tool_calls: [entry(undefined, "", "f", '{"a":1}'), entry(undefined, "", "g", '{"b":2}')] },
  ], two.map(([, name, args]) => ["", name, args])],
  ["two whole calls without index and id, one after the other", [
    call(undefined, undefined, "f", '{"a":1}'),
    call(undefined, undefined, "g", '{"b":2}'),
  ], two.map(([, name, args]) => ["", name, args])],
  ["a call without arguments", [call(0, "t1", "f", "")], [["t1", "f", ""]]],
  ["a call whose name never came", [call(0, "t1", undefined, "{}")], [["t1", "", "{}"]]],
  ["arguments that are no JSON, unrepaired", [call(0, "t1", "f", '{"a":')], [["t1", "f", '{"a":']]],
  ["the deprecated function_call", [
    { function_call: { name: "f", arguments: "" } },
    { function_call: { arguments: '{"a":1}' } },
  ], [["", "f", '{"a":1}']]],
  [
    "entries that are no objects",
    [{ tool_calls: [null, "x"] }, call(0, "t1", "f", '{"a":1}')],
    one,
  ],
];
for (const [name, deltas, calls] of ways) {
  Deno.test(`tool calls streamed as ${name} are whole`, () => {
    assert.deepEqual(callsOf(fold(deltas).parts), calls);
  });
}

Deno.test("a block opens only once its name is known, and closes before the finish", () => {
  const types = read([call(0, "t1", undefined, "{"), call(0, undefined, "f", "}")])
    .map(({ type }) => type);
  assert.deepEqual(types, ["block-start", "block-delta", "block-end", "finish"]);
});

Deno.test("a custom tool's input is its text", () => {
  const custom = (body: Record<string, string>) => ({
    tool_calls: [{ index: 0, id: "t1", type: "custom", custom: body }],
  });
  const { parts } = fold([custom({ name: "sh", input: "ls" }), custom({ input: " -l" })]);
  assert.deepEqual(parts, [
    { kind: "tool-call", id: "t1", name: "sh", custom: true, text: "ls -l" },
  ]);
});

Deno.test("'stop' after tool calls is tool_calls, without them it stays stop", () => {
  assert.equal(fold([call(0, "t1", "f", "{}")], "stop").finish, "tool_calls");
  assert.equal(fold([{ content: "x" }, { tool_calls: [] }], "stop").finish, "stop");
  assert.equal(fold([call(0, "t1", "f", '{"a":')], "length").finish, "length");
});

Deno.test("content null beside tool calls is not text", () => {
  const { parts } = fold([{ content: null, ...call(0, "t1", "f", "{}") }]);
  assert.deepEqual(parts.map(({ kind }) => kind), ["tool-call"]);
});

const kinds: [string, Record<string, unknown>[], [string, string][]][] = [
  ["reasoning_content, then text", [
    { reasoning_content: "think" },
    { reasoning_content: "ing", content: "" },
    { content: "said" },
  ], [["reasoning", "thinking"], ["text", "said"]]],
  ["reasoning", [{ reasoning: "th" }, { reasoning: "ink" }, { content: "x" }], [
    ["reasoning", "think"],
    ["text", "x"],
  ]],
  ["reasoning beside the same in reasoning_details", [
    { reasoning: "think", reasoning_details: [{ type: "reasoning.text", text: "think" }] },
  ], [["reasoning", "think"]]],
  ["reasoning_details alone", [{
    reasoning_details: [
      { type: "reasoning.text", text: "a" },
      { type: "reasoning.summary", summary: "b" },
      { type: "reasoning.encrypted", data: "sealed" },
    ],
  }], [["reasoning", "ab"]]],
  ["sealed reasoning alone", [{ reasoning_details: [{ data: "sealed" }] }], []],
  ["thinking as a part of content", [
    { content: [{ type: "thinking", thinking: [{ type: "text", text: "th" }] }] },
    { content: [{ type: "thinking", thinking: "ink" }, { type: "text", text: "said" }] },
  ], [["reasoning", "think"], ["text", "said"]]],
  ["a refusal", [{ refusal: "I " }, { refusal: "can't" }], [["refusal", "I can't"]]],
  ["a refusal as a part of content", [{ content: [{ type: "refusal", refusal: "no" }] }], [
    ["refusal", "no"],
  ]],
  ["text, reasoning, text", [{ content: "a" }, { reasoning: "b" }, { content: "c" }], [
    ["text", "a"],
    ["reasoning", "b"],
    ["text", "c"],
  ]],
];
for (const [name, deltas, expected] of kinds) {
  Deno.test(`${name}: each piece lands in a block of its kind`, () => {
    assert.deepEqual(fold(deltas, "stop").parts.map(({ kind, text }) => [kind, text]), expected);
  });
}

Deno.test("blocks open and close in turn, none is left open, however the answer was cut", () => {
  const reader = new ChoiceReader(3, { value: 5 });
  const events: CanonicalEvent[] = [];
  reader.read({ delta: { reasoning: "r" } }, events);
  reader.read({ delta: { content: "t" } }, events);
  reader.read({ delta: call(0, "t1", "f", "{") }, events);
  assert.equal(reader.finished, false);
  reader.close(events);
  reader.close(events);
  assert.deepEqual(
    events.flatMap((event) => "block" in event ? `${event.type} ${event.block}` : []),
    [
      ...["block-start 5", "block-delta 5", "block-end 5"],
      ...["block-start 6", "block-delta 6", "block-end 6"],
      ...["block-start 7", "block-delta 7", "block-end 7"],
    ],
  );
  assert.ok(events.every((event) => "choice" in event && event.choice === 3));
});

Deno.test("log-probabilities stay with the words they belong to", () => {
  const token = { token: "a", logprob: -0.1, bytes: [97], top_logprobs: [{ token: "b" }] };
  const read = { token: "a", logprob: -0.1, bytes: [97] };
  const top = [{ token: "b", logprob: 0, bytes: null }];
  const readList = (content: unknown) =>
    readChoiceLogprobs({ logprobs: { content } }, new LogprobReader());
  assert.deepEqual(readList([token, 7]), [{ ...read, top }]);
  for (const none of [null, undefined, {}]) assert.equal(readList(none), undefined);
  const reader = new ChoiceReader(0, { value: 0 });
  const events: CanonicalEvent[] = [];
  reader.read({ delta: { content: "a" }, logprobs: { content: [token] } }, events);
  // vLLM has no text for the first tokens of a character of several tokens.
  reader.read({ delta: { content: "" }, logprobs: { content: [token] } }, events);
  assert.deepEqual(foldEvents(events).choices[0]?.logprobs, [{ ...read, top }, { ...read, top }]);
  const thought = {
    delta: { reasoning_content: "Hm", content: "" },
    logprobs: { content: [token] },
  };
  reader.read(thought, events);
  reader.read(thought, events);
  const [{ parts, logprobs } = {}] = foldEvents(events).choices;
  assert.deepEqual(parts?.map(({ kind }) => kind), ["text", "reasoning"]);
  assert.equal(logprobs?.length, 2);
});
