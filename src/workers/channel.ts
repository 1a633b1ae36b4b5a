import { defined } from "../base/defined.ts";
import { Fault, messageOf } from "../shared/fault.ts";

/**
 * A question to a worker: to store the records of calls that it has answered (`flush`), to remove
 * erased text from its journal (`compact`), for the state of its journal, or for its metrics.
 */
export type Question = "flush" | "compact" | "journal" | "metrics";

const questions: readonly string[] = ["flush", "compact", "journal", "metrics"];

/** Absent: about all accounts; the answer may take any time. */
export interface QuestionTerms {
  accountId?: number;
  /** Not about accounts that another session of the database has locked. */
  freeOnly?: true;
  /** The other side stops working on the answer, too: nobody waits for it any more. */
  timeoutMs?: number;
}

/** A message that gets no answer. */
export type WorkerNotice =
  /** From a worker: it answers calls at this address. */
  | { kind: "ready"; address: string }
  /** From a worker: its event loop runs, and its port accepts connections. */
  | { kind: "alive" }
  /** From the parent: end as on SIGTERM. */
  | { kind: "stop" }
  /** From the parent: reload what SIGHUP reloads. */
  | { kind: "reload" };

export type Message =
  | { notice: WorkerNotice }
  | { id: number; question: Question } & QuestionTerms
  | { id: number; value: unknown }
  | { id: number; failed: Failure };

/** `code` is set for a `Fault`, so that it arrives as one. */
interface Failure {
  message: string;
  code?: Fault["code"];
  note?: string | undefined;
}

export interface ChannelDeps {
  /** Throws if the other side is gone. */
  send(message: Message): void;
  /** Called with each notice from the other side. */
  onNotice(notice: WorkerNotice): void;
  /** Answers the other side. A value must survive JSON. */
  answer(question: Question, terms: QuestionTerms): Promise<unknown>;
}

/** Questions and notices between the parent and one worker, in both directions. */
export class Channel {
  readonly #deps: ChannelDeps;
  readonly #asked = new Map<number, PromiseWithResolvers<unknown>>();
  #lastId = 0;
  #isClosed = false;

  constructor(deps: ChannelDeps) {
    this.#deps = deps;
  }

  /** Nothing happens if the other side is gone. */
  send(notice: WorkerNotice): void {
    this.#send({ notice });
  }

  /**
   * Rejects with the other side's error, or with `store_unavailable` if it ends before its answer.
   */
  ask(question: Question, terms: QuestionTerms = {}): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(gone());
    const id = ++this.#lastId;
    const asked = Promise.withResolvers<unknown>();
    this.#asked.set(id, asked);
    this.#send({ ...terms, id, question });
    return asked.promise;
  }

  /** Takes what the other side has sent; anything else is ignored. */
  take(message: unknown): void {
    if (typeof message !== "object" || message === null) return;
    const sent = message as Partial<Record<string, unknown>>;
    if ("notice" in sent) return this.#deps.onNotice(sent.notice as WorkerNotice);
    if (typeof sent.id !== "number") return;
    if (typeof sent.question === "string") {
      const terms = defined({
        accountId: numberOf(sent.accountId),
        freeOnly: sent.freeOnly === true ? true as const : undefined,
        timeoutMs: numberOf(sent.timeoutMs),
      });
      return void this.#answer(sent.id, sent.question, terms);
    }
    const asked = this.#asked.get(sent.id);
    this.#asked.delete(sent.id);
    if ("failed" in sent) asked?.reject(thrownOf(sent.failed as Failure));
    else asked?.resolve(sent.value);
  }

  /** The other side is gone. */
  close(): void {
    this.#isClosed = true;
    for (const asked of this.#asked.values()) asked.reject(gone());
    this.#asked.clear();
  }

  async #answer(id: number, question: string, terms: QuestionTerms): Promise<void> {
    try {
      if (!questions.includes(question)) throw new Error(`no such question: ${question}`);
      this.#send({ id, value: await this.#deps.answer(question as Question, terms) });
    } catch (thrown) {
      this.#send({ id, failed: failureOf(thrown) });
    }
  }

  #send(message: Message): void {
    if (this.#isClosed) return;
    try {
      this.#deps.send(message);
    } catch {
      // The other side is gone: fails all questions that wait for an answer.
      this.close();
    }
  }
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function failureOf(thrown: unknown): Failure {
  const message = messageOf(thrown);
  return thrown instanceof Fault ? { message, code: thrown.code, note: thrown.note } : { message };
}

function thrownOf({ message, code, note }: Failure): Error {
  if (code === undefined) return new Error(message);
  return new Fault(code, { message, ...(note === undefined ? {} : { note }) });
}

/** What a caller asked for lacks the other process's share: after a retry, one that runs has it. */
function gone(): Fault {
  return new Fault("store_unavailable", { note: "the other process is gone" });
}
