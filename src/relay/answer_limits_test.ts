import assert from "@std/assert";
import type { Fault } from "../shared/fault.ts";
import { JsonTextError } from "../base/parse_in_steps.ts";
import { checkAnswerLimits, isHeavyText, parseWithinLimits } from "./answer_limits.ts";

Deno.test("an answer may have a few long member names, which a model repeated itself in", () => {
  const answer = (names: number) =>
    JSON.stringify(
      Object.fromEntries(Array.from({ length: names }, (_, at) => [at + "n".repeat(16_000), 0])),
    );
  checkAnswerLimits(answer(100));
  assert.throws(
    () => checkAnswerLimits(answer(101)),
    (fault: Fault) => fault.code === "upstream_invalid_response",
  );
});

Deno.test("a text is heavy by its length, or by what it holds", () => {
  const holding = (values: number) => JSON.stringify({ a: Array(values).fill(1) });
  const isHeavy = [holding(4_000), holding(6_000), `"${"a".repeat(1_000_000)}"`].map(isHeavyText);
  assert.deepEqual(isHeavy, [false, true, false]);
  assert.ok(isHeavyText(`"${"a".repeat(1_100_000)}"`));
  assert.ok(isHeavyText("[".repeat(20_000)));
});

Deno.test("a large answer is parsed in many steps, and within the same limits", () => {
  const parsed = (text: string) => {
    const steps = parseWithinLimits(text);
    for (let count = 1;; count++) {
      const step = steps.next();
      if (step.done) return { count, value: step.value };
    }
  };
  for (const value of [{ a: '"'.repeat(2_000_000) }, { a: Array(500_000).fill({ b: 1 }) }]) {
    const told = parsed(JSON.stringify(value));
    assert.deepEqual(told.value, value);
    assert.ok(told.count > 40, `${told.count} steps`);
  }
  assert.throws(() => parsed(`[${"0,".repeat(2_000_000)}0]`), {
    code: "upstream_invalid_response",
  });
  const long = `["${"a".repeat(1_000_000)}"]`;
  for (const text of [long.slice(0, -2), `${long} x`, `${long}\0`, `\f${long}`]) {
    assert.throws(() => JSON.parse(text), SyntaxError);
    assert.throws(() => parsed(text), JsonTextError);
  }
});
