import { programModule } from "../base/program_files.ts";
import type { CallersRule, GradeQuestion, GradeTold } from "./grade_protocol.ts";

/** What the thread says of one text, or why it could not. */
export type Graded =
  | { kind: "judged"; passed: boolean; detail: string | null }
  | { kind: "unusable"; reason: string }
  | { kind: "timeout" };

export interface GradeThread {
  /** Without a text: can the rule be used at all? */
  grade(rule: CallersRule, text: string | null): Promise<Graded>;
  /** Ends the thread; what waits is answered with `timeout`. */
  close(): void;
}

/** Starting the thread and loading the validator is not the rule's fault. */
const startMs = 20_000;

/**
 * A thread for callers' schemas and patterns, one question at a time. A question that takes longer
 * than `limitMs` ends the thread, and the next one starts another. It is started when first needed.
 */
export function createGradeThread(limitMs = 2_000): GradeThread {
  let worker: Worker | undefined;
  let closed = false;
  let giveUp = () => {};
  let last: Promise<unknown> = Promise.resolve();
  let nextId = 1;

  const end = () => {
    worker?.terminate();
    worker = undefined;
    giveUp();
  };
  /** Undefined when no answer comes in time, or the thread dies. */
  const ask = (to: Worker, question: GradeQuestion, ms: number) =>
    new Promise<GradeTold | undefined>((resolve) => {
      const timer = setTimeout(() => resolve(undefined), ms);
      const answer = (told: GradeTold | undefined) => {
        clearTimeout(timer);
        resolve(told);
      };
      giveUp = () => answer(undefined);
      to.onmessage = ({ data }: MessageEvent<GradeTold>) => {
        if (data.id === question.id) answer(data);
      };
      to.onerror = (event) => {
        event.preventDefault();
        answer(undefined);
      };
      to.postMessage(question);
    });
  const start = async () => {
    if (worker) return;
    worker = new Worker(programModule("src/jobs/grade_worker.ts"), { type: "module" });
    await ask(worker, { id: nextId++, rule: loadsAll, text: null }, startMs);
  };
  const gradeNow = async (rule: CallersRule, text: string | null): Promise<Graded> => {
    if (closed) return { kind: "timeout" };
    await start();
    const told = worker && await ask(worker, { id: nextId++, rule, text }, limitMs);
    if (!told) end();
    if (!told) return { kind: "timeout" };
    const { id: _, ...graded } = told;
    return graded;
  };
  return {
    grade(rule, text) {
      const answer = last.then(() => gradeNow(rule, text));
      last = answer.catch(() => {});
      return answer;
    },
    close() {
      closed = true;
      end();
    },
  };
}

/** Any schema: after it the validator is loaded. */
const loadsAll: CallersRule = { type: "json_schema", schema: true };
