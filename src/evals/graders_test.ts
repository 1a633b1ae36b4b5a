import assert from "@std/assert";
import type { Graded, GradeThread } from "./grade_thread.ts";
import { gradeText, type PlainGrader, requiresStoredAnswer } from "./graders.ts";
import { judgePrompt, readVerdict } from "./eval_judge.ts";

const idle: Pick<GradeThread, "grade"> = {
  grade: () => Promise.resolve({ kind: "timeout" }),
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
    assert.equal(verdict.detail === null, passed === true, "what passed needs no reason");
  }
  for (const type of ["exact", "contains"] as const) {
    assert.equal(requiresStoredAnswer({ type }), true);
    assert.equal(requiresStoredAnswer({ type, value: "x" }), false);
  }
  assert.equal(requiresStoredAnswer({ type: "regex", pattern: "x" }), false);
});

Deno.test("a grader that took too long, or can't be used, is an error, not a no", async () => {
  const gradedAs = (graded: Graded) =>
    gradeText({ type: "regex", pattern: "a" }, { answer: "a", expected: null }, {
      grade: () => Promise.resolve(graded),
    });
  const error = { state: "error", passed: null, score: null };
  assert.deepEqual(await gradedAs({ kind: "timeout" }), {
    ...error,
    detail: "the grader took too long on this answer",
  });
  assert.deepEqual(await gradedAs({ kind: "unusable", reason: "too deep" }), {
    ...error,
    detail: "the grader can't be used: too deep",
  });
  assert.deepEqual(await gradedAs({ kind: "judged", passed: false, detail: "at /a" }), {
    ...{ state: "judged", passed: false, score: 0, detail: "at /a" },
  });
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
  const long = JSON.stringify({ passed: true, score: 1, reason: "x".repeat(2001) });
  assert.equal(readVerdict(long).detail, "x".repeat(2000));
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
