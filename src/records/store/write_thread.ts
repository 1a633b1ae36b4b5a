import { within } from "../../base/deadline.ts";
import { programModule } from "../../base/program_files.ts";
import { RequestThread } from "../../base/request_thread.ts";
import { Turns } from "../../base/turns.ts";
import type { Database } from "../../database/database.ts";
import {
  codedError,
  codeOf,
  connectTimeout,
  tooManyConnections,
} from "../../database/postgres/faults.ts";
import { Fault } from "../../shared/fault.ts";
import type { InsertOptions, InteractionStore, SettledCall } from "../../shared/interaction.ts";
import type { OnDropped } from "../analytics_store.ts";
import type { WriterQuestion } from "./postgres_writer.ts";
import type { WritePart, WriteUrls, Written } from "./write_work.ts";

/**
 * Writes records in another thread. Making rows and search words and talking to the database is a
 * fifth of a call's work, and no caller waits for it.
 */
export interface WriteThread {
  /** Hands over a part of a batch. Rejects with `store_unavailable` if the thread dies. */
  write(part: WritePart): Promise<Written>;
  /** Ends the thread; waits a short time for the batch that is being written. */
  close(): Promise<void>;
}

/** The module of the embedded database's thread, which also writes records. */
export const embeddedWriter = programModule("src/records/store/embedded_writer.ts");

/**
 * Returns the thread of an embedded database, which must have been opened with `embeddedWriter`;
 * for PostgreSQL, a new thread.
 */
export function openWriteThread(
  database: Database,
  threads: WriterThreads = ownThreads,
): WriteThread {
  if (database.kind === "postgres") return new OwnThread(threads);
  return {
    write: async (part) => await database.work!(part) as Written,
    // It ends with its database.
    close: () => Promise.resolve(),
  };
}

/** A running thread. */
export type WriterThread = Pick<
  RequestThread<WriterQuestion, Written>,
  "isDead" | "isIdle" | "ask" | "end"
>;

/** Starts and ends threads; tests pass one that reuses them. */
export interface WriterThreads {
  start(): WriterThread;
  /** Called with an idle thread that has closed its connections. */
  end(thread: WriterThread): void;
}

/** Each service starts its own thread, and ends it. */
export const ownThreads: WriterThreads = {
  start: () => new RequestThread(programModule("src/records/store/postgres_writer.ts"), died),
  end: (thread) => thread.end("it is closed"),
};

/** How long closing waits for the batch that is being written. */
const closeMs = 2_000;

/**
 * A thread that starts with the first batch, since a service without calls needs none. If it has
 * died, the next batch starts a new one.
 */
class OwnThread implements WriteThread {
  readonly #threads: WriterThreads;
  #thread: WriterThread | undefined;
  #isClosed = false;

  constructor(threads: WriterThreads) {
    this.#threads = threads;
  }

  write(part: WritePart): Promise<Written> {
    if (this.#isClosed) return Promise.reject(died("it is closed"));
    if (this.#thread === undefined || this.#thread.isDead) this.#thread = this.#threads.start();
    return this.#thread.ask(part);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const thread = this.#thread;
    if (thread === undefined) return;
    await within(closeMs, thread.ask("close").catch(() => {}), undefined);
    if (thread.isIdle) this.#threads.end(thread);
    else thread.end("it is closed");
  }
}

function died(reason: string): Fault {
  return new Fault("store_unavailable", { note: `the thread that writes records: ${reason}` });
}

/** Rows that are sent in one turn of the event loop: each takes some 5 µs. */
const rowsInTurn = 32;

/**
 * Returns an `insert` for `InteractionStore` that uses the thread; batches are written one after
 * the other.
 */
export function createThreadInsert(
  { thread, urls, onDropped }: { thread: WriteThread; urls: WriteUrls; onDropped: OnDropped },
): InteractionStore["insert"] {
  let batch = 0;
  let previous: Promise<unknown> = Promise.resolve();
  const insert = async (rows: readonly SettledCall[], options?: InsertOptions) => {
    batch++;
    const turns = new Turns();
    for (let from = 0;; from += rowsInTurn) {
      const isLast = from + rowsInTurn >= rows.length;
      const part = { batch, rows: rows.slice(from, from + rowsInTurn), urls, options };
      const written = thread.write(isLast ? { ...part, rowsInAll: rows.length } : part);
      if (isLast) return await written;
      // If the thread dies, the last part fails too, and its failure is reported.
      written.catch(() => {});
      await turns.pause();
    }
  };
  return async (rows, options) => {
    if (rows.length === 0) return;
    const inTurn = previous.then(() => insert(rows, options));
    previous = inTurn.catch(() => {});
    const written = await inTurn;
    if (!written.ok) throw failureOf(written);
    if (written.dropped.length > 0) await onDropped(written.dropped);
  };
}

function failureOf({ message, note, code, isStoreAway }: Extract<Written, { ok: false }>): Error {
  if (!isStoreAway) return new Error(message);
  return new Fault("store_unavailable", {
    ...note === undefined ? {} : { note },
    ...code === undefined ? {} : { cause: codedError(code) },
  });
}

/**
 * Returns an `insert` by the thread that falls back to `own`, with this thread's sessions, where
 * PostgreSQL accepts no more connections or a pooler lets them wait. These sessions may be the ones
 * that use up its limit, and while they are busy there is none for the thread.
 */
export function withOwnSessions(
  byThread: InteractionStore["insert"],
  own: InteractionStore["insert"],
): InteractionStore["insert"] {
  return (rows, options) =>
    byThread(rows, options).catch((thrown) => {
      const code = codeOf(thrown);
      if (code !== tooManyConnections && code !== connectTimeout) throw thrown;
      return own(rows, options);
    });
}
