import { programModule } from "../../base/program_files.ts";
import { Fault } from "../../shared/fault.ts";
import type { Ask, EmbeddedMessage } from "./protocol.ts";

type WithoutId<T> = T extends unknown ? Omit<T, "id"> : never;
type Answer = Extract<EmbeddedMessage, { ok: true }>;

/** The worker that holds an open database; requests and answers are matched by id. */
export class EmbeddedThread {
  readonly #worker = new Worker(programModule("src/database/embedded/worker.ts"), {
    type: "module",
  });
  readonly #pending = new Map<number, PromiseWithResolvers<Answer>>();
  #next = 1;
  #deadOf: string | undefined;

  /** Opens the directory in a new worker. Rejects with the reason if it can't be opened. */
  static async start(directory: string, image: URL): Promise<EmbeddedThread> {
    const thread = new EmbeddedThread();
    try {
      await thread.ask({ kind: "open", directory, image: image.href });
      return thread;
    } catch (thrown) {
      thread.end("it could not be opened");
      throw thrown;
    }
  }

  private constructor() {
    this.#worker.onmessage = ({ data }: MessageEvent<EmbeddedMessage>) => this.#settle(data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.end(event.message);
    };
  }

  get isDead(): boolean {
    return this.#deadOf !== undefined;
  }

  /** Rejects with the database's own error, or with a fault if the worker dies. */
  ask(ask: WithoutId<Ask>): Promise<Answer> {
    if (this.#deadOf !== undefined) return Promise.reject(embeddedAway(this.#deadOf));
    const id = this.#next++;
    const pending = Promise.withResolvers<Answer>();
    this.#pending.set(id, pending);
    this.#worker.postMessage({ ...ask, id });
    return pending.promise;
  }

  /** Terminates the worker; pending requests fail. */
  end(reason: string): void {
    this.#deadOf ??= reason;
    this.#worker.terminate();
    for (const pending of this.#pending.values()) pending.reject(embeddedAway(reason));
    this.#pending.clear();
  }

  #settle(message: EmbeddedMessage): void {
    const pending = this.#pending.get(message.id);
    if (!message.ok && message.broken) return this.end(message.error.message);
    this.#pending.delete(message.id);
    if (message.ok) pending?.resolve(message);
    else pending?.reject(new SqlError(message.error.message, message.error.code));
  }
}

export function embeddedAway(reason: string, cause?: unknown): Fault {
  return new Fault("store_unavailable", { note: `embedded database: ${reason}`, cause });
}

/** An error of the database, with its SQLSTATE in `code` as in the other driver. */
class SqlError extends Error {
  constructor(message: string, readonly code: string | undefined) {
    super(message);
    this.name = "SqlError";
  }
}
