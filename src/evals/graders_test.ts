import assert from "@std/assert";
import type { GradeThread } from "./grade_thread.ts";
import { gradeText, type PlainGrader, requiresStoredAnswer } from "./graders.ts";
import { judgePrompt, readVerdict } from "./eval_judge.ts";

const idle: GradeThread = {
  grade: () => Promise.resolve({ kind: "timeout" }),
  close() {},
};

const cases: readonly [PlainGrader, string, string | null, boolean | null][] = [
  [{ type: "exact", value: "Yes" }, "Yes", "No", true],
  [{ type: "exact", value: "Yes" }, "Yes ", "Yes ", false],
  [{ type: "exact" }, "Yes", "Yes", true],
  [{ type: "exact" }, "Yes", "No", false],
  [{ type: "exact" }, "Yes", null, null],
  [{ type: "contains", value: "es" }, "Yes", null, true],
  [{ type: "contains", value: "ES" }, "Yes", null, false],
  [{ type: "contains" }, "Yes, of course", "Yes", true],
  // Every text holds the empty one, which says nothing.
  [{ type: "contains" }, "Yes", "", null],
];

Deno.test("exact and contains compare with their value, else with the stored answer", async () => {
  for (const [grader, answer, expected, passed] of cases) {
    const verdict = await gradeText(grader, { answer, expected }, idle);
    assert.equal(verdict.passed, passed, JSON.stringify([grader, answer, expected]));
    assert.equal(verdict.score, passed === null ? null : Number(passed));
    assert.equal(verdict.state, passed === null ? "unknown" : "judged");
  }
  assert.equal(requiresStoredAnswer({ type: "exact" }), true);
  assert.equal(requiresStoredAnswer({ type: "exact", value: "x" }), false);
});

Deno.test("a grader that took too long is an error, not a no", async () => {
  const verdict = await gradeText(
    { type: "regex", pattern: "a" },
    { answer: "a", expected: null },
    idle,
  );
  assert.deepEqual([verdict.state, verdict.passed], ["error", null]);
});

Deno.test("what is judged is quoted, and never read for placeholders", () => {
  const evidence = { input: "{{answer}}", answer: "{{expected}} $&", expected: null };
  assert.equal(
    judgePrompt("Is {{answer}} right for {{input}}?", evidence),
    "Criterion:\nIs <answer>\n{{expected}} $&\n</answer> right for <input>\n{{answer}}\n</input>?",
  );
  const all = judgePrompt("Is it polite?", evidence);
  for (const part of ["<input>", "<answer>", "<expected>\n(there is none)", "Is it polite?"]) {
    assert.ok(all.includes(part), part);
  }
});

Deno.test("only the object that was asked for is a verdict", () => {
  const good = readVerdict('{"passed": true, "score": 1, "reason": "Fine."}');
  assert.deepEqual(good, { state: "judged", passed: true, score: 1, detail: "Fine." });
  for (
    const text of [
      "",
      "true",
      "null",
      '{"passed": true, "score": 1}',
      '{"passed": "true", "score": 1, "reason": ""}',
      '{"passed": true, "score": 1.01, "reason": ""}',
      '{"passed": true, "score": 1, "reason": "", "more": 1}',
      'It is {"passed": true, "score": 1, "reason": ""}',
    ]
  ) assert.equal(readVerdict(text).state, "error", text);
});
