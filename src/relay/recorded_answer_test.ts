import assert from "@std/assert";
import type { CanonicalAnswer, CanonicalEvent } from "../dialects/kernel/canonical.ts";
import type { AnswerContext } from "../dialects/kernel/dialect.ts";
import { dialects } from "../dialects/text/mod.ts";
import { Meter } from "./meter.ts";
import { recordedAnswer } from "./recorded_answer.ts";

/** Of a caller whose vendor speaks another dialect: there the arguments have to be an object. */
const translated = { request: {}, id: (prefix: string) => prefix, model: "m" } as AnswerContext;
const encodeFolded = (answer: CanonicalAnswer) =>
  dialects.messages.encodeAnswer(answer, translated);

/** Records an answer with this text and a call with these arguments for the messages dialect. */
function recordOf(args: string) {
  const text = { choice: 0, block: 0 };
  const call = { choice: 0, block: 1 };
  const content = { kind: "tool-call", id: "c", name: "look", custom: false } as const;
  const events: CanonicalEvent[] = [
    { type: "block-start", ...text, content: { kind: "text" } },
    { type: "block-delta", ...text, text: "I look." },
    { type: "block-end", ...text },
    { type: "block-start", ...call, content },
    { type: "block-delta", ...call, text: args },
    { type: "block-end", ...call },
    { type: "finish", choice: 0, reason: "tool_calls", raw: "tool_use" },
  ];
  const meter = new Meter(64 * 2 ** 20, () => 0);
  meter.listen(events);
  let tries = 0;
  const record = recordedAnswer(meter, { encodeFolded }, (
    act,
    otherwise,
  ) => {
    try {
      tries++;
      return act();
    } catch {
      return otherwise();
    }
  });
  const recorded = JSON.parse(record.text ?? '{"content":[]}');
  return { ...record, content: recorded.content, tries };
}

const long = 3 * 2 ** 20;
const broken: [what: string, args: string][] = [
  ["longer than are read", JSON.stringify({ a: "x".repeat(long) })],
  ["longer than are read, and cut", `{"a":${'[{"b":['.repeat(60)}${"1,".repeat(long / 2)}`],
  ["of more values than are read", JSON.stringify({ a: Array(200_000).fill(1) })],
  ["that are not JSON, with escapes", "\u0001".repeat(2 ** 20)],
];
for (const [what, args] of broken) {
  Deno.test(`a record has the beginning of arguments ${what}, and the rest of the answer`, () => {
    const { content, isCut, errorCode } = recordOf(args);
    assert.deepEqual(content.map(({ type }: { type: string }) => type), ["text", "tool_use"]);
    const { unreadable } = content[1].input;
    assert.ok(unreadable.length > 1000 && unreadable.length < 2 ** 20, `${unreadable.length}`);
    assert.ok(args.startsWith(unreadable));
    assert.deepEqual([isCut, errorCode], [true, "upstream_invalid_response"]);
  });
}

Deno.test("a record has what can be read of arguments that were cut, or that are none", () => {
  assert.deepEqual(recordOf('{"a":1,"b":"wor').content[1].input, { a: 1, b: "wor" });
  assert.deepEqual(recordOf("no").content[1].input, { unreadable: "no" });
  assert.equal(recordOf('{"a":1}').tries, 1);
});
