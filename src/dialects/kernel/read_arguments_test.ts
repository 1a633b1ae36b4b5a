import assert from "@std/assert";
import { finish } from "../../base/steps.ts";
import { dialects } from "../text/mod.ts";
import type { AnswerContext } from "./dialect.ts";
import { foldEvents } from "./fold.ts";
import { encodeInSteps, readArguments } from "./read_arguments.ts";

const context = {
  request: {},
  body: {},
  id: (prefix: string) => prefix,
  model: "m",
  created: 0,
} as Partial<AnswerContext> as AnswerContext;

function answerWith(calls: readonly string[]) {
  return foldEvents(calls.flatMap((text, block) => {
    const at = { choice: 0, block };
    const content = { kind: "tool-call", id: `c${block}`, name: "look", custom: false } as const;
    return [
      { type: "block-start", ...at, content },
      { type: "block-delta", ...at, text },
      { type: "block-end", ...at },
    ] as const;
  }));
}

for (const dialect of [dialects.messages, dialects.generate]) {
  Deno.test(`calls are written for ${dialect.name} in a step each, and parsed once`, () => {
    const calls = Array.from({ length: 20 }, (_, index) => `{"a":[${index}]}`);
    const answer = answerWith(calls);
    const steps = encodeInSteps(dialect, answer, context);
    for (let count = 0; count < calls.length; count++) assert.equal(steps.next().done, false);
    const read = answer.choices[0]!.parts.map(readArguments);
    const { done, value } = steps.next();
    assert.ok(done);
    assert.deepEqual(value, dialect.encodeAnswer(answerWith(calls), context));
    const held = new Set(objectsIn(value));
    assert.ok(read.every((one) => held.has(one)));
  });

  Deno.test(`calls that go on after they were read for ${dialect.name} are read again`, () => {
    const answer = answerWith(['{"a":1}']);
    finish(encodeInSteps(dialect, answer, context));
    const [part] = answer.choices[0]!.parts;
    part!.text = '{"a":2}';
    assert.deepEqual(readArguments(part!), { a: 2 });
  });
}

function objectsIn(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return [value, ...Object.values(value).flatMap(objectsIn)];
}
