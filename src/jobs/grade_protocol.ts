import type { Grader } from "../../contracts/eval_request.ts";

/** Graders that run what their caller wrote. */
export type CallersRule = Extract<Grader, { type: "json_schema" | "regex" }>;

/** To the thread. Without a text: can the rule be used at all? */
export interface GradeQuestion {
  id: number;
  rule: CallersRule;
  text: string | null;
}

/** From the thread. `unusable`: the rule can't be compiled. */
export type GradeTold =
  | { id: number; kind: "judged"; passed: boolean; detail: string | null }
  | { id: number; kind: "unusable"; reason: string };
