import { createFairQueue } from "../base/fair_queue.ts";
import { programModule } from "../base/program_files.ts";
import {
  type CallersRule,
  type GradeQuestion,
  gradeReady,
  type GradeResult,
} from "./grade_protocol.ts";

/** The result for one text, or why there is none. */
export type Graded =
  | { kind: "judged"; passed: boolean; detail: string | null }
  | { kind: "unusable"; reason: string }
  | { kind: "timeout" };

/** Starting a thread and loading the validator doesn't count against a rule's time limit. */
const startMs = 60_000;
/** The thread enforces the limit itself; a thread that is this much later is ended. */
const graceMs = 3_000;
const idleMs = 60_000;
/** One account can use at most one of them at a time. */
const threadsAtOnce = 2;
/** Longer texts aren't judged, since parsing can't be interrupted. */
const maxGradedChars = 1024 * 1024;

/**
 * The threads for callers' schemas and patterns. Each handles one question at a time, for at most
 * `limitMs`. A thread starts when it is first needed, and ends after a while without work.
 */
export class GradeThread {
  readonly #turns = createFairQueue({ atOnce: threadsAtOnce, atOncePerKey: 1 });
  readonly #all = new Set<Thread>();
  readonly #free: Thread[] = [];
  #isClosed = false;

  constructor(readonly limitMs = 2_000) {}

  /**
   * Judges a text by a rule; without a text, checks whether the rule can be used at all. Calls with
   * the same `key` run one at a time, and keys take turns.
   */
  async grade(rule: CallersRule, text: string | null, key = ""): Promise<Graded> {
    if (text !== null && text.length > maxGradedChars) {
      return { kind: "unusable", reason: "the answer is longer than 1 MiB" };
    }
    return await this.#turns.run(key, () => this.#grade(rule, text));
  }

  /** Ends the threads; pending calls resolve to `timeout`. */
  close(): void {
    this.#isClosed = true;
    for (const thread of this.#all) thread.end();
  }

  async #grade(rule: CallersRule, text: string | null): Promise<Graded> {
    if (this.#isClosed) return { kind: "timeout" };
    const thread = this.#free.pop() ?? this.#begin();
    const result = await thread.ask({ rule, text, limitMs: this.limitMs });
    if (!result) {
      thread.end();
      return { kind: "timeout" };
    }
    if (!thread.hasEnded) {
      this.#free.push(thread);
      thread.rest(idleMs);
    }
    const { id: _, ...graded } = result;
    return graded;
  }

  #begin(): Thread {
    const thread = new Thread(() => {
      this.#all.delete(thread);
      const at = this.#free.indexOf(thread);
      if (at >= 0) this.#free.splice(at, 1);
    });
    this.#all.add(thread);
    return thread;
  }
}

class Thread {
  readonly #worker = new Worker(programModule("src/evals/grade_guard.ts"), {
    type: "module",
    // Needed to load the code; revoked before the thread judges anything.
    deno: { permissions: { read: "inherit" } },
  });
  readonly #ready = Promise.withResolvers<boolean>();
  #answer: (result: GradeResult | undefined) => void = () => {};
  #rest: ReturnType<typeof setTimeout> | undefined;
  #nextId = 1;
  hasEnded = false;

  constructor(readonly onEnd: () => void) {
    this.#worker.onmessage = ({ data }: MessageEvent<GradeResult | typeof gradeReady>) => {
      if (data === gradeReady) this.#ready.resolve(true);
      else this.#answer(data);
    };
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.end();
    };
  }

  /** Sends a question. Returns undefined when no answer comes in time, or the thread dies. */
  async ask(question: Omit<GradeQuestion, "id">): Promise<GradeResult | undefined> {
    clearTimeout(this.#rest);
    const start = setTimeout(() => this.#ready.resolve(false), startMs);
    const isReady = await this.#ready.promise;
    clearTimeout(start);
    if (!isReady) return undefined;
    const id = this.#nextId++;
    return await new Promise((resolve) => {
      const timer = setTimeout(() => this.#answer(undefined), question.limitMs + graceMs);
      this.#answer = (result) => {
        if (result && result.id !== id) return;
        clearTimeout(timer);
        resolve(result);
      };
      this.#worker.postMessage({ ...question, id });
    });
  }

  /** Ends the thread after `ms` without a question: its two heaps take memory. */
  rest(ms: number): void {
    this.#rest = setTimeout(() => this.end(), ms);
  }

  end(): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    clearTimeout(this.#rest);
    this.#worker.terminate();
    this.#ready.resolve(false);
    this.#answer(undefined);
    this.onEnd();
  }
}
