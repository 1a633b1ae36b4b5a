import assert from "@std/assert";
import type { Step } from "../base/heavy_work.ts";
import { maxTries } from "../base/mend_json.ts";
import type { Steps } from "../base/steps.ts";
import type { CanonicalAnswer, CanonicalEvent } from "../dialects/kernel/canonical.ts";
import type { AnswerContext } from "../dialects/kernel/dialect.ts";
import { encodeInSteps } from "../dialects/kernel/read_arguments.ts";
import { dialects } from "../dialects/text/mod.ts";
import { Meter } from "./meter.ts";
import { answerInSteps, recordedAnswer } from "./recorded_answer.ts";

/** Of a caller whose vendor speaks another dialect: there the arguments have to be an object. */
const translated = { request: {}, id: (prefix: string) => prefix, model: "m" } as AnswerContext;
const encodeFolded = (answer: CanonicalAnswer) =>
  encodeInSteps(dialects.messages, answer, translated);

/** An answer with a text, and calls with these arguments. */
function meterOf(...calls: string[]): Meter {
  const meter = new Meter(64 * 2 ** 20, () => 0);
  meter.listen([
    { type: "block-start", choice: 0, block: 0, content: { kind: "text" } },
    { type: "block-delta", choice: 0, block: 0, text: "I look." },
    { type: "block-end", choice: 0, block: 0 },
    ...calls.flatMap((text, index): CanonicalEvent[] => {
      const call = { choice: 0, block: index + 1 };
      const content = { kind: "tool-call", id: "c", name: "look", custom: false } as const;
      return [
        { type: "block-start", ...call, content },
        { type: "block-delta", ...call, text },
        { type: "block-end", ...call },
      ];
    }),
    { type: "finish", choice: 0, reason: "tool_calls", raw: "tool_use" },
  ]);
  return meter;
}

/** Records an answer with this text and a call with these arguments for the messages dialect. */
function recordOf(args: string) {
  const meter = meterOf(args);
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

Deno.test("a long answer with broken calls is repaired in steps, one for each way that is tried", async () => {
  const tried = `{"a":"b","c":tru,"d":${"[1,".repeat(60)}`;
  const meter = meterOf(tried, '{"a":1}', `{"a":[1,2`, tried);
  const failures: unknown[] = [];
  const failed = (thrown: unknown) => failures.push(thrown);
  const { step, steps } = countedSteps();
  const made = await answerInSteps(ending, { meter, plan: { encodeFolded }, failed }, step);
  const otherwise = recordedAnswer(meter, { encodeFolded }, (act, otherwise) => {
    try {
      return act();
    } catch {
      return otherwise();
    }
  });
  assert.deepEqual(made, otherwise);
  assert.equal(made?.errorCode, "upstream_invalid_response");
  const inputs = JSON.parse(made?.text ?? "").content.slice(1).map((
    { input }: { input: unknown },
  ) => input);
  assert.deepEqual(inputs.slice(1, 3), [{ a: 1 }, { a: [1, 2] }]);
  assert.equal(failures.length, 1);
  assert.ok(steps() > 2 * maxTries, `${steps()} steps`);
});

Deno.test("long arguments are completed, and written, in short steps", async () => {
  const meter = meterOf(`{"a":[${'"some text",'.repeat(90_000)}`);
  const { step, steps } = countedSteps();
  const failed = () => {};
  const made = await answerInSteps(ending, { meter, plan: { encodeFolded }, failed }, step);
  assert.equal(JSON.parse(made!.text!).content[1].input.a.length, 90_000);
  // Four texts are tried, each counted and read in at least eleven pieces.
  assert.ok(steps() > 50, `${steps()} steps`);
});

const ending = { status: "completed", httpStatus: 200 } as const;

function countedSteps(): { step: Step; steps: () => number } {
  let steps = 0;
  const step: Step = Object.assign(<T>(job: () => T) => Promise.resolve(job()), {
    isHeavy: true,
    inSteps: async <T>(job: () => Steps<T>) => {
      await Promise.resolve();
      const running = job();
      for (;; steps++) {
        const { done, value } = running.next();
        if (done) return value;
      }
    },
  });
  return { step, steps: () => steps };
}
