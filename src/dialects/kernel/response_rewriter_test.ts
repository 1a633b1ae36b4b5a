import assert from "@std/assert";
import type { CanonicalEvent } from "./canonical.ts";
import { foldEvents } from "./fold.ts";
import type { Emulations } from "./dialect.ts";
import { ResponseRewriter } from "./response_rewriter.ts";

const nothing: Emulations = {
  toolNames: {},
  customTools: [],
  jsonTool: undefined,
  jsonUnwrap: undefined,
  stripFence: false,
};

/** The folded answer to a block in pieces, with the emulations reversed. */
function undone(
  emulations: Partial<Emulations>,
  content: (CanonicalEvent & { type: "block-start" })["content"],
  pieces: readonly string[],
) {
  const events: CanonicalEvent[] = [
    { type: "block-start", choice: 0, block: 0, content },
    ...pieces.map((text): CanonicalEvent => ({ type: "block-delta", choice: 0, block: 0, text })),
    { type: "block-end", choice: 0, block: 0 },
    { type: "finish", choice: 0, reason: "tool_calls", raw: "tool_use" },
  ];
  const rewriter = new ResponseRewriter({ ...nothing, ...emulations }, () => "call_minted");
  const choice = foldEvents(events.flatMap((event) => rewriter.apply(event))).choices[0]!;
  return { part: choice.parts[0]!, reason: choice.finish?.reason };
}

const call = (
  name: string,
  id = "call_1",
) => ({ kind: "tool-call", id, name, custom: false } as const);

Deno.test("an alias becomes the caller's tool name again", () => {
  const { part, reason } = undone({ toolNames: { a_b: "a.b" } }, call("a_b"), ['{"x":', "1}"]);
  assert.deepEqual(part, { ...call("a.b"), text: '{"x":1}' });
  assert.equal(reason, "tool_calls");
});

Deno.test("an answer whose schema was wrapped is unwrapped, and any other text stays", () => {
  const text = { kind: "text" } as const;
  const list = undone({ jsonUnwrap: "result" }, text, ['{"result":', " [1]}"]);
  assert.deepEqual(list.part, { ...text, text: "[1]" });
  const numbers = undone({ jsonUnwrap: "result" }, text, [
    '{"result" : [12345678901234567890, 1.0]',
    "}",
  ]);
  assert.deepEqual(numbers.part, { ...text, text: "[12345678901234567890, 1.0]" });
  const cut = undone({ jsonUnwrap: "result" }, text, ['{"result":', " [1"]);
  assert.deepEqual(cut.part, { ...text, text: '{"result": [1' });
});

Deno.test("a tool call without an id gets one", () => {
  const { part } = undone({}, call("f", ""), ["{}"]);
  assert.equal(part.kind === "tool-call" && part.id, "call_minted");
});

Deno.test("a custom tool gets its free text back, whatever the pieces", () => {
  for (const pieces of [['{"input":"a\\nb"}'], ['{"inp', 'ut":"a\\', 'nb"}']]) {
    const { part } = undone({ customTools: ["run"] }, call("run"), pieces);
    assert.deepEqual(part, { ...call("run"), custom: true, text: "a\nb" });
  }
});

Deno.test("the JSON tool's arguments are the answer's text, which ends with stop", () => {
  const { part, reason } = undone({ jsonTool: "json" }, call("json"), ['{"a":', "1}"]);
  assert.deepEqual(part, { kind: "text", text: '{"a":1}' });
  assert.equal(reason, "stop");
});

Deno.test("a wrapped root is taken out, and what was cut short stays as it is", () => {
  const undo = { jsonTool: "json", jsonUnwrap: "result" };
  assert.equal(undone(undo, call("json"), ['{"result":[1,', "2]}"]).part.text, "[1,2]");
  assert.equal(undone(undo, call("json"), ['{"result":"a"}']).part.text, '"a"');
  assert.equal(undone(undo, call("json"), ['{"result":[1,']).part.text, '{"result":[1,');
});

Deno.test("a code fence around JSON is taken off, a fence inside text is not", () => {
  const undo = { stripFence: true };
  assert.equal(
    undone(undo, { kind: "text" }, ["```json\n", '{"a":1}', "\n```"]).part.text,
    '{"a":1}',
  );
  assert.equal(
    undone(undo, { kind: "text" }, ["see ```x``` there"]).part.text,
    "see ```x``` there",
  );
});

/** The texts and calls of an answer made of blocks, with an emulated JSON answer undone. */
function around(
  ...blocks: { content: ReturnType<typeof call> | { kind: "text" }; text: string }[]
) {
  const rewriter = new ResponseRewriter({ ...nothing, jsonTool: "json" }, () => "call_minted");
  const events = blocks.flatMap(({ content, text }, block): CanonicalEvent[] => [
    { type: "block-start", choice: 0, block, content },
    ...[...text].map((piece): CanonicalEvent => ({
      type: "block-delta",
      choice: 0,
      block,
      text: piece,
    })),
    { type: "block-end", choice: 0, block },
  ]);
  events.push({ type: "finish", choice: 0, reason: "tool_calls", raw: "tool_use" });
  const choice = foldEvents(events.flatMap((event) => rewriter.apply(event))).choices[0]!;
  return {
    parts: choice.parts.map((part) =>
      part.kind === "tool-call" ? `${part.name}(${part.text})` : part.text
    ),
    reason: choice.finish?.reason,
  };
}

const says = (text: string) => ({ content: { kind: "text" } as const, text });
const calls = (name: string, text: string) => ({ content: call(name, `call_${name}`), text });

Deno.test("words around the JSON tool's call don't spoil the JSON", () => {
  const answer = around(says("Let me see. "), calls("json", '{"a":1}'), says(" There."));
  assert.deepEqual(answer, { parts: ['{"a":1}'], reason: "stop" });
});

Deno.test("words without the JSON tool's call are the answer, before other calls too", () => {
  assert.deepEqual(around(says("I can't."), says(" Sorry.")).parts, ["I can't.", " Sorry."]);
  assert.deepEqual(around(says("Let me see."), calls("f", "{}")), {
    parts: ["Let me see.", "f({})"],
    reason: "tool_calls",
  });
});

Deno.test("a tool call that never got a name is the vendor's fault", () => {
  assert.throws(() => undone({}, call(""), ["{}"]), { code: "upstream_invalid_tool_call" });
});
