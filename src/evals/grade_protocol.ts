import type { Grader } from "../../contracts/data/eval_request.ts";

/** Graders that run a schema or pattern written by the caller. */
export type CallersRule = Extract<Grader, { type: "json_schema" | "regex" }>;

/** A message to the thread. Without a text it asks whether the rule can be used at all. */
export interface GradeQuestion {
  id: number;
  rule: CallersRule;
  text: string | null;
  /** How long it may take. */
  limitMs: number;
}

/** A reply of the thread. `unusable`: the rule can't be compiled; `timeout`: it took too long. */
export type GradeResult =
  | { id: number; kind: "judged"; passed: boolean; detail: string | null }
  | { id: number; kind: "unusable"; reason: string }
  | { id: number; kind: "timeout" };

/** The thread's first message: its code is loaded, so its permissions can be revoked. */
export const gradeReady = "ready";
