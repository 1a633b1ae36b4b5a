import assert from "@std/assert";
import type { BlockKind, CanonicalEvent } from "./canonical.ts";
import { eventSlices, Fold, foldEvents } from "./fold.ts";

const start = (block: number, content: BlockKind, choice = 0): CanonicalEvent => (
  { type: "block-start", choice, block, content }
);
const delta = (block: number, text: string, choice = 0): CanonicalEvent => (
  { type: "block-delta", choice, block, text }
);
const end = (block: number, choice = 0): CanonicalEvent => ({ type: "block-end", choice, block });
const tool = (id: string, name: string): BlockKind => ({
  kind: "tool-call",
  id,
  name,
  custom: false,
});

const opaque = { dialect: "chat", value: "sig", kind: "signature" } as const;
const logprob = { token: "a", logprob: -1, bytes: null, top: [] };

Deno.test("the fold of an answer's events is the answer", () => {
  const answer = foldEvents([
    { type: "start", id: "c1", model: "m", created: 7 },
    start(0, { kind: "reasoning" }),
    delta(0, "hm"),
    { type: "block-end", choice: 0, block: 0, opaque },
    start(1, { kind: "text" }),
    { type: "block-delta", choice: 0, block: 1, text: "Hel", logprobs: [logprob] },
    { type: "citation", choice: 0, block: 1, citation: cited },
    delta(1, "lo"),
    end(1),
    start(2, tool("t1", "f")),
    start(3, tool("t2", "g")),
    delta(3, "{}"),
    delta(2, '{"a":'),
    delta(2, "1}"),
    { type: "usage", usage: { input: 1, output: 1 } },
    { type: "usage", usage: { input: 3, output: 4 } },
    { type: "finish", choice: 0, reason: "stop", raw: "eos", stopSequence: "END" },
  ]);
  assert.deepEqual(answer, {
    id: "c1",
    model: "m",
    created: 7,
    choices: [{
      index: 0,
      parts: [
        { kind: "reasoning", text: "hm", opaque },
        { kind: "text", text: "Hello", citations: [cited] },
        { ...tool("t1", "f"), text: '{"a":1}' },
        { ...tool("t2", "g"), text: "{}" },
      ],
      logprobs: [logprob],
      finish: { reason: "stop", raw: "eos", stopSequence: "END" },
    }],
    usage: { input: 3, output: 4 },
    truncated: false,
  });
});

const cited = { url: "https://example.com", title: undefined, start: 0, end: 3 };

Deno.test("choices stand in the order of their indexes, whichever came first", () => {
  const answer = foldEvents([
    start(0, { kind: "text" }, 2),
    delta(0, "c", 2),
    start(1, { kind: "text" }, 0),
    delta(1, "a"),
    { type: "finish", choice: 2, reason: "length", raw: "length" },
  ]);
  assert.deepEqual(answer.choices.map(({ index }) => index), [0, 2]);
  assert.deepEqual(answer.choices.map(({ finish }) => finish?.reason), [undefined, "length"]);
});

Deno.test("an answer can be read in the middle and at the end", () => {
  const fold = new Fold(100);
  fold.add(start(0, { kind: "text" }));
  fold.add(delta(0, "one "));
  assert.equal(fold.answer().choices[0]?.parts[0]?.text, "one ");
  fold.add(delta(0, "two"));
  assert.equal(fold.answer().choices[0]?.parts[0]?.text, "one two");
});

Deno.test("text of exactly the cap is whole, one unit more is cut and marked", () => {
  for (const [text, kept, truncated] of [["12345", "12345", false], ["123456", "12345", true]]) {
    const fold = new Fold(5);
    fold.add(start(0, { kind: "text" }));
    for (const unit of String(text)) fold.add(delta(0, unit));
    const answer = fold.answer();
    assert.equal(answer.choices[0]?.parts[0]?.text, kept);
    assert.equal(answer.truncated, truncated);
  }
});

Deno.test("the cap is shared by all blocks and choices; what follows a cut is left out", () => {
  const fold = new Fold(6);
  fold.add(start(0, { kind: "text" }));
  fold.add(start(1, { kind: "text" }, 1));
  fold.add(delta(0, "1234"));
  fold.add(delta(1, "56789", 1));
  fold.add(delta(0, "x"));
  fold.add({ type: "block-delta", choice: 0, block: 0, text: "", logprobs: [logprob] });
  fold.add({ type: "finish", choice: 0, reason: "stop", raw: "stop" });
  const { choices, truncated } = fold.answer();
  assert.deepEqual(choices.map(({ parts }) => parts[0]?.text), ["1234", "56"]);
  assert.equal(truncated, true);
  assert.equal(choices[0]?.logprobs, undefined);
  assert.equal(choices[0]?.finish?.reason, "stop");
});

Deno.test("log-probabilities that would fill the cap are left out, the text is not", () => {
  const fold = new Fold(320);
  fold.add(start(0, { kind: "text" }));
  const three = { ...logprob, top: [logprob, logprob] };
  for (const text of ["a", "b", "c"]) {
    fold.add({ type: "block-delta", choice: 0, block: 0, text, logprobs: [three] });
  }
  fold.add({ type: "block-delta", choice: 0, block: 0, text: "d", logprobs: [logprob] });
  const { choices: [choice], truncated, lacksLogprobs } = fold.answer();
  assert.equal(choice?.parts[0]?.text, "abcd");
  assert.deepEqual(choice?.logprobs, [three]);
  assert.deepEqual([truncated, lacksLogprobs], [false, true]);
});

Deno.test("a cut never leaves half a character, which no store would take", () => {
  for (let cap = 0; cap <= 6; cap++) {
    const fold = new Fold(cap);
    fold.add(start(0, { kind: "text" }));
    fold.add(delta(0, "a🎈b🎈"));
    const text = fold.answer().choices[0]?.parts[0]?.text ?? "";
    assert.ok(text.isWellFormed(), `cap ${cap}: ${JSON.stringify(text)}`);
    assert.ok("a🎈b🎈".startsWith(text) && text.length >= cap - 1);
  }
});

Deno.test("a character cut between two deltas comes out whole", () => {
  const fold = new Fold(10);
  fold.add(start(0, { kind: "text" }));
  fold.add(delta(0, "\ud83c"));
  fold.add(delta(0, "\udf88"));
  assert.equal(fold.answer().choices[0]?.parts[0]?.text, "🎈");
});

Deno.test("events of blocks that never began, and errors, change nothing", () => {
  const error = readError();
  const answer = foldEvents([delta(7, "lost"), end(7), error, {
    type: "citation",
    choice: 0,
    block: 7,
    citation: cited,
  }]);
  assert.deepEqual(answer.choices, []);
});

function readError(): CanonicalEvent {
  const nothing = { code: undefined, type: undefined, message: undefined, param: undefined };
  return { type: "error", error: { ...nothing, status: 500, retryAfterSeconds: undefined } };
}

Deno.test("an answer of more blocks than any answer has is cut as a record, and no answer as a whole", () => {
  const blocks = Array.from({ length: 20_001 }, (_, block) => start(block, { kind: "text" }));
  const fold = new Fold(100);
  for (const event of blocks) fold.add(event);
  assert.equal(fold.excess, "blocks");
  const { choices, truncated } = fold.answer();
  assert.deepEqual([choices[0]!.parts.length, truncated], [20_000, true]);
  assert.throws(() => foldEvents(blocks), { code: "upstream_invalid_response" });
  assert.equal(foldEvents(blocks.slice(1)).choices[0]!.parts.length, 20_000);
});

Deno.test("arguments with more names than any answer has are dropped from a record, and no answer as a whole", () => {
  const calls = (count: number) =>
    Array.from({ length: count }, (_, block) => [
      start(block, { kind: "tool-call", id: "c", name: "f", custom: false }),
      delta(block, `{${Array.from({ length: 5_000 }, (_, at) => `"k${block}_${at}":1`).join()}}`),
      end(block),
    ]).flat();
  const fold = new Fold(Number.MAX_SAFE_INTEGER);
  for (const event of calls(40)) fold.add(event);
  assert.equal(fold.excess, "names");
  const texts = fold.answer().choices[0]!.parts.map(({ text }) => text);
  assert.deepEqual([texts[20]!.slice(0, 8), texts.at(-1)], ['{"k20_0"', ""]);
  assert.throws(() => foldEvents(calls(40)), { code: "upstream_invalid_response" });
  assert.equal(foldEvents(calls(20)).truncated, false);
});

Deno.test("own fields that have no room are left out without being read whole", () => {
  let read = 0;
  const entry = {
    get text() {
      read++;
      return "x".repeat(1000);
    },
  };
  const folded = (fields: Record<string, unknown>) => {
    const fold = new Fold(10_000);
    fold.add({ type: "own", choice: undefined, own: { dialect: "chat", fields } });
    return fold.answer();
  };
  const full = folded({ entries: Array(1000).fill(entry) });
  assert.deepEqual([full.own, full.truncated], [undefined, true]);
  assert.ok(read < 20, `${read}`);
  read = 0;
  const fold = new Fold(10_000);
  fold.add(start(0, { kind: "text" }));
  const own = { dialect: "chat", fields: { entries: Array(1000).fill(entry) } } as const;
  fold.add({ type: "block-end", choice: 0, block: 0, own });
  const { choices, truncated } = fold.answer();
  assert.deepEqual([choices[0]!.parts[0]!.own, truncated], [undefined, true]);
  assert.ok(read < 20, `${read}`);
  const fields = { entries: Array(9).fill(entry) };
  const fitting = folded(fields);
  assert.deepEqual([fitting.own?.fields, fitting.truncated], [fields, false]);
});

Deno.test("events are folded in slices of few events, and of little text", () => {
  const of = (text: string) => ({ type: "block-delta", choice: 0, block: 0, text }) as const;
  const long = Array(5).fill(of("a".repeat(700_000)));
  assert.deepEqual(eventSlices(long).map(({ length }) => length), [2, 2, 1]);
  assert.deepEqual(eventSlices(Array(600).fill(of("a"))).map(({ length }) => length), [512, 88]);
  assert.deepEqual(eventSlices([...long, of("b")]).flat(), [...long, of("b")]);
});
