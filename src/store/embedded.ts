import { Fault } from "../domain/fault.ts";
import type { Database, Queryable, SqlRow, SqlValue } from "./database.ts";
import type { Ask, Told } from "./embedded_protocol.ts";

/** The initialised image of a new database; its name says which version of PGlite made it. */
export const embeddedImage = new URL("./image/pglite-0.5.16.tar.gz", import.meta.url);

type WithoutId<T> = T extends unknown ? Omit<T, "id"> : never;

/**
 * Opens the embedded database in a directory that this process has claimed; a new one is made from
 * the image. Queries run in a worker thread, one after the other.
 */
export async function openEmbedded(directory: string): Promise<Database> {
  const worker = new Worker(new URL("./embedded_worker.ts", import.meta.url), { type: "module" });
  const asks = new Asks(worker);
  try {
    await asks.ask({ kind: "open", directory, image: embeddedImage.href });
  } catch (thrown) {
    worker.terminate();
    throw new Error(
      `DATA_DIR: the embedded database in ${directory} can't be opened (${
        thrown instanceof Error ? thrown.message : thrown
      }); restore it from a backup, or set DATA_DIR to another directory.`,
    );
  }
  const query =
    (tx: number | undefined) =>
    async <Row extends SqlRow>(text: string, values?: readonly SqlValue[]): Promise<Row[]> =>
      (await asks.ask({ kind: "query", tx, text, values })).rows as Row[];
  return {
    kind: "embedded",
    query: query(undefined),
    async transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
      const { tx } = await asks.ask({ kind: "begin" });
      try {
        const result = await work({ query: query(tx) });
        await asks.ask({ kind: "commit", tx: tx! });
        return result;
      } catch (thrown) {
        // After a failed commit there is nothing left to roll back.
        await asks.ask({ kind: "rollback", tx: tx! }).catch(() => {});
        throw thrown;
      }
    },
    async ping() {
      await asks.ask({ kind: "query", tx: undefined, text: "select 1", values: [] });
    },
    async close() {
      await asks.ask({ kind: "close" }).catch(() => {});
      worker.terminate();
      asks.fail("the embedded database is closed");
    },
  };
}

/** Questions to the worker, joined with their answers by number. */
class Asks {
  readonly #worker: Worker;
  readonly #pending = new Map<number, PromiseWithResolvers<Told & { ok: true }>>();
  #next = 1;
  #dead: string | undefined;

  constructor(worker: Worker) {
    this.#worker = worker;
    worker.onmessage = ({ data }: MessageEvent<Told>) => this.#settle(data);
    worker.onerror = (event) => {
      event.preventDefault();
      this.fail(event.message);
    };
  }

  ask(ask: WithoutId<Ask>): Promise<Told & { ok: true }> {
    if (this.#dead !== undefined) return Promise.reject(away(this.#dead));
    const id = this.#next++;
    const pending = Promise.withResolvers<Told & { ok: true }>();
    this.#pending.set(id, pending);
    this.#worker.postMessage({ ...ask, id });
    return pending.promise;
  }

  /** The worker is gone: nothing that waits will be answered. */
  fail(reason: string): void {
    this.#dead = reason;
    for (const pending of this.#pending.values()) pending.reject(away(reason));
    this.#pending.clear();
  }

  #settle(told: Told): void {
    const pending = this.#pending.get(told.id);
    this.#pending.delete(told.id);
    if (told.ok) pending?.resolve(told);
    else pending?.reject(new SqlError(told.error.message, told.error.code));
  }
}

/** An error of the database itself, with its SQLSTATE as the other driver has it. */
class SqlError extends Error {
  constructor(message: string, readonly code: string | undefined) {
    super(message);
    this.name = "SqlError";
  }
}

function away(reason: string): Fault {
  return new Fault("store_unavailable", { note: `embedded database: ${reason}` });
}
