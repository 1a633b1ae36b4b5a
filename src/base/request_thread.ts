/** A question or its answer, with the id that both share. */
interface Numbered<T> {
  readonly id: number;
  readonly value: T;
}

/**
 * A worker thread that answers questions, each once. Questions and answers must be values that
 * `postMessage` can clone; the thread's module calls `answerQuestions`. Once the thread has died,
 * pending and later questions fail with `died(reason)`.
 */
export class RequestThread<Question, Answer> {
  readonly #worker: Worker;
  readonly #died: (reason: string) => Error;
  readonly #pending = new Map<number, PromiseWithResolvers<Answer>>();
  #next = 1;
  #deadOf: string | undefined;

  constructor(module: URL, died: (reason: string) => Error) {
    this.#died = died;
    this.#worker = new Worker(module, { type: "module" });
    this.#worker.addEventListener("message", ({ data }) => this.#settle(data));
    this.#worker.addEventListener("error", (event) => {
      event.preventDefault();
      this.end(event.message);
    });
  }

  get isDead(): boolean {
    return this.#deadOf !== undefined;
  }

  /** Whether it is alive and has answered every question. */
  get isIdle(): boolean {
    return !this.isDead && this.#pending.size === 0;
  }

  ask(question: Question): Promise<Answer> {
    if (this.#deadOf !== undefined) return Promise.reject(this.#died(this.#deadOf));
    const id = this.#next++;
    const pending = Promise.withResolvers<Answer>();
    const asked: Numbered<Question> = { id, value: question };
    // First, so that a question that can't be sent throws and is never pending.
    this.#worker.postMessage(asked);
    this.#pending.set(id, pending);
    return pending.promise;
  }

  #settle({ id, value }: Numbered<Answer>): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    pending?.resolve(value);
  }

  /** Terminates the thread at once. */
  end(reason: string): void {
    this.#deadOf ??= reason;
    this.#worker.terminate();
    for (const pending of this.#pending.values()) pending.reject(this.#died(reason));
    this.#pending.clear();
  }
}

/**
 * Called by a thread's module to answer questions. `answer` must not throw: that ends the thread.
 */
export function answerQuestions<Question, Answer>(
  answer: (question: Question) => Promise<Answer>,
): void {
  const scope = globalThis as unknown as Worker;
  scope.addEventListener("message", async ({ data }) => {
    const { id, value }: Numbered<Question> = data;
    const answered: Numbered<Answer> = { id, value: await answer(value) };
    scope.postMessage(answered);
  });
}
