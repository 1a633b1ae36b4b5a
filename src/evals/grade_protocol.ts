import type { Grader } from "../../contracts/data/eval_request.ts";

/** Graders that run what their caller wrote. */
export type CallersRule = Extract<Grader, { type: "json_schema" | "regex" }>;

/** To the thread. Without a text: can the rule be used at all? */
export interface GradeQuestion {
  id: number;
  rule: CallersRule;
  text: string | null;
  /** How long it may take. */
  limitMs: number;
}

/** From the thread. `unusable`: the rule can't be compiled; `timeout`: it took too long. */
export type GradeResult =
  | { id: number; kind: "judged"; passed: boolean; detail: string | null }
  | { id: number; kind: "unusable"; reason: string }
  | { id: number; kind: "timeout" };

/** The first thing that the thread says: it is loaded, and may do nothing any more but judge. */
export const gradeReady = "ready";
