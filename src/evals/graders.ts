import type { Grader } from "../../contracts/data/eval_request.ts";
import type { CallersRule } from "./grade_protocol.ts";
import type { Graded } from "./grade_thread.ts";

/** A grader's verdict on one answer. */
export interface Verdict {
  /** `unknown`: there was nothing to compare with; `error`: the grader failed. */
  state: "judged" | "unknown" | "error";
  passed: boolean | null;
  score: number | null;
  detail: string | null;
}

/** Graders that need no model. */
export type PlainGrader = Exclude<Grader, { type: "judge" }>;

/** Whether a grader compares with the stored answer, and so can't judge without it. */
export function requiresStoredAnswer(grader: Grader): boolean {
  return (grader.type === "exact" || grader.type === "contains") && grader.value === undefined;
}

/** Judges an answer's text; `expected` is the stored answer's text, null when there is none. */
export async function gradeText(
  grader: PlainGrader,
  { answer, expected }: { answer: string; expected: string | null },
  thread: { grade(rule: CallersRule, text: string): Promise<Graded> },
): Promise<Verdict> {
  if (grader.type === "json_schema" || grader.type === "regex") {
    const graded = await thread.grade(grader, answer);
    if (graded.kind === "judged") return judged(graded.passed, graded.detail);
    const reason = graded.kind === "timeout"
      ? "the grader took too long on this answer"
      : `the grader can't be used: ${graded.reason}`;
    return { state: "error", passed: null, score: null, detail: reason };
  }
  const wanted = grader.value ?? expected;
  // An empty text is contained in every answer.
  if (wanted === null || wanted === "") {
    return unknown("the stored interaction has no answer to compare with");
  }
  return grader.type === "exact"
    ? judged(
      answer === wanted,
      answer === wanted ? null : "the answer differs from the expected text",
    )
    : judged(
      answer.includes(wanted),
      answer.includes(wanted) ? null : "the text is not in the answer",
    );
}

function judged(passed: boolean, detail: string | null): Verdict {
  return { state: "judged", passed, score: passed ? 1 : 0, detail };
}

export function unknown(detail: string): Verdict {
  return { state: "unknown", passed: null, score: null, detail };
}

export function broken(detail: string): Verdict {
  return { state: "error", passed: null, score: null, detail };
}
