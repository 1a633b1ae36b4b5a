import { RequestThread } from "../../base/request_thread.ts";
import { Fault } from "../../shared/fault.ts";
import type { Ask, EmbeddedMessage, Opening } from "./protocol.ts";

type Answer = Extract<EmbeddedMessage, { ok: true }>;

/** Instead of `Aborted(). Build with -sASSERTIONS for more info.`, all that is left of its reason. */
const silentStop = "it stopped without a reason, as on a full disk";

/** The thread that holds an open database. */
export class EmbeddedThread {
  readonly #thread: RequestThread<Ask, EmbeddedMessage>;

  /** Opens the directory in a new thread of `module`. Rejects with the reason if it can't be opened. */
  static async start(opening: Opening, module: URL): Promise<EmbeddedThread> {
    const thread = new EmbeddedThread(module);
    try {
      await thread.ask({ kind: "open", ...opening });
      return thread;
    } catch (thrown) {
      thread.end("it could not be opened");
      throw thrown;
    }
  }

  private constructor(module: URL) {
    this.#thread = new RequestThread(module, embeddedAway);
  }

  get isDead(): boolean {
    return this.#thread.isDead;
  }

  /** Rejects with the database's own error, or with a fault if the thread dies. */
  async ask(ask: Ask): Promise<Answer> {
    const answer = await this.#thread.ask(ask);
    if (answer.ok) return answer;
    const { message, code } = answer.error;
    if (!answer.broken) throw new SqlError(message, code);
    const reason = `it ended on an error and is opened again: ${
      message.startsWith("Aborted(") ? silentStop : message
    }`;
    this.end(reason);
    throw embeddedAway(reason);
  }

  /** Terminates the thread; pending requests fail. */
  end(reason: string): void {
    this.#thread.end(reason);
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
