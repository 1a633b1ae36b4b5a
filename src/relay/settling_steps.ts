import type { Log } from "../base/log.ts";
import type { Steps } from "../base/steps.ts";
import { systemCodeOf } from "../base/system_code.ts";
import { Fault } from "../shared/fault.ts";

/** The steps between an answer's last byte and its row, each run on its own. */
export type SettlingStep =
  | "answered"
  | "task"
  | "price"
  | "identity"
  | "prompt"
  | "bill"
  | "usage"
  | "answer"
  | "payload"
  | "kept"
  | "journal"
  | "record"
  | "remember"
  | "cache"
  | "tell"
  | "authorization"
  | "streams"
  | "stored form";

export interface SettlingDeps {
  log: Pick<Log, "error">;
  /** Called before each step; tests make it throw. */
  before?: (step: SettlingStep) => void;
}

/**
 * Runs the steps that settle a call so that a failing step does not stop the others: it is logged
 * without its content, counted, and replaced by a simpler fallback.
 */
export class SettlingSteps {
  readonly #deps: SettlingDeps;
  #failed = 0;

  constructor(deps: SettlingDeps) {
    this.#deps = deps;
  }

  /** Steps that failed so far. */
  get failed(): number {
    return this.#failed;
  }

  /**
   * Runs `act`, or `otherwise` if that fails. `otherwise` must not throw; if it does, so does
   * `run`.
   */
  run<T>(step: SettlingStep, transactionId: string, act: () => T, otherwise: () => T): T {
    try {
      this.#deps.before?.(step);
      return act();
    } catch (thrown) {
      this.note(step, transactionId, thrown);
      return otherwise();
    }
  }

  /** The same for work that comes in steps. */
  *runSteps<T>(
    step: SettlingStep,
    transactionId: string,
    act: () => Steps<T>,
    otherwise: () => T,
  ): Steps<T> {
    try {
      this.#deps.before?.(step);
      return yield* act();
    } catch (thrown) {
      this.note(step, transactionId, thrown);
      return otherwise();
    }
  }

  /** Counts and logs a step that failed elsewhere. */
  note(step: SettlingStep, transaction: string, thrown: unknown): void {
    this.#failed++;
    try {
      const reason = describeError(thrown);
      this.#deps.log.error("a step of settling a call failed", { transaction, step, ...reason });
    } catch {
      // A failing log must not stop a call.
    }
  }
}

/** The kind of error, by the system's own code if it has one, and where it was thrown. */
function describeError(thrown: unknown): { reason: string; at?: string } {
  const reason = thrown instanceof Fault
    ? thrown.code
    : thrown instanceof Error
    ? systemCodeOf(thrown) ?? thrown.name
    : typeof thrown;
  const at = thrown instanceof Error ? placeOf(thrown) : undefined;
  return { reason, ...(at === undefined ? {} : { at }) };
}

/**
 * File, line and column of the innermost frame. The stack text begins with the message, which is
 * skipped.
 */
function placeOf({ stack = "", message }: Error): string | undefined {
  const frames = stack.slice(stack.indexOf(message) + message.length);
  const [, frame] = frames.split("\n", 2);
  const position = frame?.slice(frame.lastIndexOf("/") + 1).replace(")", "");
  return position !== undefined && /^[\w.-]{1,60}:\d{1,6}:\d{1,6}$/.test(position)
    ? position
    : undefined;
}
