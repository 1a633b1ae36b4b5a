import type { Log } from "../base/log.ts";
import { Fault } from "../shared/fault.ts";

/** What is done between an answer's last byte and its row, each on its own. */
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
  | "tell"
  | "authorization"
  | "streams"
  | "stored form";

export interface SettlingDeps {
  log: Pick<Log, "error">;
  /** Called before each step; a test makes it throw. */
  before?: (step: SettlingStep) => void;
}

/**
 * Runs the steps by which a call is settled, so that none takes the others with it: one that throws
 * is logged without what it was about, counted, and done in a plainer way.
 */
export class Tries {
  readonly #deps: SettlingDeps;
  #failed = 0;

  constructor(deps: SettlingDeps) {
    this.#deps = deps;
  }

  /** Steps that failed so far. */
  get failed(): number {
    return this.#failed;
  }

  /** `otherwise` must be what can't throw; should it all the same, that is the caller's to bear. */
  attempt<T>(step: SettlingStep, transactionId: string, act: () => T, otherwise: () => T): T {
    try {
      this.#deps.before?.(step);
      return act();
    } catch (thrown) {
      this.note(step, transactionId, thrown);
      return otherwise();
    }
  }

  /** A step that failed elsewhere. */
  note(step: SettlingStep, transaction: string, thrown: unknown): void {
    this.#failed++;
    try {
      const reason = kindOf(thrown);
      this.#deps.log.error("a step of settling a call failed", { transaction, step, ...reason });
    } catch {
      // A log that can't be written to takes no call with it.
    }
  }
}

/** What was thrown, and where: messages may quote what the call was about. */
function kindOf(thrown: unknown): { reason: string; at?: string } {
  const reason = thrown instanceof Fault
    ? thrown.code
    : thrown instanceof Error
    ? thrown.name
    : typeof thrown;
  const at = thrown instanceof Error ? placeOf(thrown) : undefined;
  return { reason, ...(at === undefined ? {} : { at }) };
}

/** File, line and column of the innermost frame; what the message says stands before the frames. */
function placeOf({ stack = "", message }: Error): string | undefined {
  const frames = stack.slice(stack.indexOf(message) + message.length);
  const [, frame] = frames.split("\n", 2);
  const position = frame?.slice(frame.lastIndexOf("/") + 1).replace(")", "");
  return position !== undefined && /^[\w.-]{1,60}:\d{1,6}:\d{1,6}$/.test(position)
    ? position
    : undefined;
}
