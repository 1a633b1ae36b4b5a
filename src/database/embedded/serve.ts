import type { PGlite, Transaction } from "@electric-sql/pglite";
import { answerQuestions } from "../../base/request_thread.ts";
import { messageOf } from "../../shared/fault.ts";
import { parseArray } from "../arrays.ts";
import type { Database, SqlRow } from "../database.ts";
import { codeOf } from "../postgres/faults.ts";
import { type OpenTransaction, transact } from "../transaction.ts";
import { chunks } from "../chunks.ts";
import { GuardedPGlite } from "./guarded.ts";
import { syncFolder, unpackImage } from "./image.ts";
import { shortenLongTimers } from "./long_timers.ts";
import { mayChangeTables, PreparedStatements } from "./prepared.ts";
import {
  type Ask,
  type CopyStatement,
  type EmbeddedMessage,
  type Opening,
  type Statement,
} from "./protocol.ts";
import { synced, SyncedFiles } from "./synced_files.ts";

/** Work that runs in the database's thread; its input and output are plain values. */
export type EmbeddedWork = (input: unknown) => Promise<unknown>;

/**
 * Serves the embedded database; called by the module of its thread. In the main thread, PostgreSQL
 * in WebAssembly would block the event loop for the duration of each query. `createWork` makes what
 * `Database.work` runs.
 */
export function serveEmbedded(createWork?: (database: Database) => EmbeddedWork): void {
  const transactions = new Map<number, OpenTransaction>();
  let database: OpenDatabase | undefined;
  let work: EmbeddedWork | undefined;
  let next = 1;
  shortenLongTimers();

  const open = () => {
    if (!database) throw new Error("the embedded database is not open");
    return database;
  };

  async function answer(ask: Ask): Promise<Omit<Extract<EmbeddedMessage, { ok: true }>, "ok">> {
    switch (ask.kind) {
      case "open":
        database = new OpenDatabase(await openDirectory(ask));
        work = createWork?.(databaseOf(database));
        return { rows: [] };
      case "query": {
        const rows = ask.tx === undefined
          ? await open().query(...ask.statement)
          : await transactionOf(transactions, ask.tx).query(...ask.statement);
        return { rows };
      }
      case "copy":
        await transactionOf(transactions, ask.tx).copyIn(...ask.statement);
        return { rows: [] };
      case "begin": {
        const tx = next++;
        transactions.set(tx, await open().begin());
        return { rows: [], tx };
      }
      case "commit":
      case "rollback": {
        const transaction = transactionOf(transactions, ask.tx);
        transactions.delete(ask.tx);
        await transaction[ask.kind]();
        return { rows: [] };
      }
      case "work": {
        if (!work) throw new Error("this thread of the embedded database has no work");
        const output = await work(ask.input);
        // Even if the work has caught the error: this database can only be reopened.
        if (open().broken !== undefined) throw open().broken;
        return { rows: [], output };
      }
      case "close":
        await open().close();
        return { rows: [] };
    }
  }

  answerQuestions(async (ask: Ask): Promise<EmbeddedMessage> => {
    try {
      return { ok: true, ...await answer(ask) };
    } catch (thrown) {
      const error = { message: messageOf(thrown), code: codeOf(thrown) };
      return { ok: false, error, broken: isBroken(thrown) };
    }
  });
}

/** The open database, for what runs in its own thread. */
function databaseOf(open: OpenDatabase): Database {
  const query: Database["query"] = (...statement) => open.query(...statement);
  return {
    kind: "embedded",
    sendsBytes: true,
    query,
    async transaction(work) {
      const transaction = await open.begin();
      const rollback = () => transaction.rollback().catch(() => {});
      return await transact({ ...transaction, rollback }, work);
    },
    async ping() {
      await query("select 1", []);
    },
    // Whoever opened the database closes it.
    close: () => Promise.resolve(),
  };
}

/**
 * `shared_buffers`, in addition to the system's page cache. The default of 128 MB becomes resident
 * with the first large read, a third of the process's memory.
 */
const sharedBuffers = "16MB";

/**
 * Opens a database's directory. A new one is filled under another name and renamed, so that a
 * killed start leaves no incomplete database. If the directory holds something else, the rename
 * fails and changes nothing.
 */
async function openDirectory({ directory, image, maxFiles }: Opening): Promise<PGlite> {
  if (!await exists(`${directory}/PG_VERSION`)) {
    const fresh = `${directory}.new`;
    await Deno.remove(fresh, { recursive: true }).catch(() => {});
    unpackImage(new URL(image), fresh);
    await Deno.rename(fresh, directory);
    syncFolder(directory.slice(0, directory.lastIndexOf("/")) || "/");
  }
  const startParams = synced(GuardedPGlite.defaultStartParams);
  const database = new GuardedPGlite({
    fs: new SyncedFiles(directory),
    startParams: [
      ...startParams,
      ...["-c", `shared_buffers=${sharedBuffers}`],
      ...["-c", `max_files_per_process=${maxFiles}`],
    ],
  });
  await database.waitReady;
  // Not with each query: PGlite would copy all its codecs each time, which takes 50 µs and more.
  Object.assign(database.parsers, parsers);
  Object.assign(database.serializers, serializers);
  return database;
}

/** Max characters that are copied in at once: they are in memory three times meanwhile. */
const copiedCharacters = 256 * 1024;

/** The database with its prepared statements. */
class OpenDatabase {
  readonly #database: PGlite;
  readonly #prepared: PreparedStatements;
  /** The error after which it can only be reopened. */
  broken: unknown;

  constructor(database: PGlite) {
    this.#database = database;
    this.#prepared = new PreparedStatements(database);
  }

  /** Waits until no transaction is open. */
  async query<Row extends SqlRow>(...statement: Statement): Promise<Row[]> {
    await this.#database._checkReady();
    return await this.#run(statement);
  }

  /**
   * Begins a transaction that stays open between messages. Its `rollback` throws if the database is
   * broken. Other queries wait until it has ended.
   */
  begin(): Promise<OpenTransaction> {
    return new Promise((opened, failed) => {
      const ending = Promise.withResolvers<boolean>();
      const end = (commit: boolean) =>
        this.#watched(async () => {
          ending.resolve(commit);
          await done;
        });
      const done = this.#database.transaction(async (tx) => {
        opened({
          sendsBytes: true,
          query: (...statement) => this.#run(statement, tx),
          copyIn: (...statement) => this.#watched(() => this.#copyIn(statement, tx)),
          commit: () => end(true),
          rollback: () => end(false),
        });
        if (!await ending.promise) await tx.rollback();
      });
      done.catch(failed);
    });
  }

  async close(): Promise<void> {
    await this.#database.close();
  }

  #run<Row extends SqlRow>(statement: Statement, tx?: Transaction): Promise<Row[]> {
    return this.#watched(() => this.#runOn(statement, tx)) as Promise<Row[]>;
  }

  /** Runs nothing more after an error that broke the database. */
  async #watched<T>(run: () => Promise<T>): Promise<T> {
    if (this.broken !== undefined) throw this.broken;
    try {
      return await run();
    } catch (thrown) {
      if (isBroken(thrown)) this.broken ??= thrown;
      throw thrown;
    }
  }

  async #runOn(
    [text, values, { forceCustomPlan = false } = {}]: Statement,
    tx: Transaction | undefined,
  ): Promise<SqlRow[]> {
    const runner = tx ?? this.#database;
    if (values === undefined) {
      // Several statements, as in migrations; returns the rows of the last one.
      const results = await runner.exec(text);
      if (results.some(({ command }) => mayChangeTables(command))) {
        await this.#alone(tx, () => this.#prepared.forget());
      }
      return (results.at(-1)?.rows ?? []) as SqlRow[];
    }
    if (forceCustomPlan) {
      return (await runner.query(text, [...values])).rows as SqlRow[];
    }
    return await this.#alone(tx, () => this.#prepared.query(text, values));
  }

  /** PGlite has no `stdin`: it reads the rows from `/dev/blob`. */
  async #copyIn([table, columns, lines]: CopyStatement, tx: Transaction): Promise<void> {
    const statement = `copy ${table} (${columns.join(", ")}) from '/dev/blob'`;
    for (const some of chunks(lines, ({ length }) => length, copiedCharacters)) {
      await this.#alone(tx, () => this.#prepared.copyIn(statement, some));
    }
  }

  /**
   * Runs `work` while no other statement runs and, outside of a transaction, while none is open.
   */
  #alone<T>(tx: Transaction | undefined, work: () => Promise<T>): Promise<T> {
    return runDetached(work, (run) => {
      const alone = () => this.#database.runExclusive(run);
      return tx ? alone() : this.#database._runExclusiveTransaction(alone);
    });
  }
}

/**
 * Runs `work` inside `runner`, which retains neither it nor its result. PGlite's locks retain what
 * they have run until a major collection, since V8 puts part of them into the old generation
 * (docs/decisions, 0331 and 0375): a query's values and rows would stay with it.
 */
async function runDetached<T>(
  work: () => Promise<T>,
  runner: (run: () => Promise<void>) => Promise<void>,
): Promise<T> {
  let waiting: (() => Promise<T>) | undefined = work;
  const results: T[] = [];
  await runner(async () => {
    const run = waiting!;
    waiting = undefined;
    results.push(await run());
  });
  return results.pop()!;
}

/**
 * `int8` is always a bigint, as in the other driver; 1016 is its array. Bytes (17) have their own
 * codec: PGlite's makes a string of each byte, which takes a second and 100 MB for an image of 4 MiB.
 */
const parsers = {
  17: (value: string) => Uint8Array.fromHex(value.slice(2)),
  20: (value: string) => BigInt(value),
  1016: (value: string) => parseArray(value, BigInt),
};

const serializers = {
  17: (value: unknown) => {
    if (!(value instanceof Uint8Array)) throw new Error("bytea: expected bytes");
    return `\\x${value.toHex()}`;
  },
};

/**
 * Whether the database can only be reopened. Where PostgreSQL would restart its process, as when
 * the disk is full or fails, PGlite continues with corrupt memory, and answers every query with
 * some internal error.
 */
function isBroken(thrown: unknown): boolean {
  if (thrown instanceof WebAssembly.RuntimeError) return true;
  const code = codeOf(thrown) ?? "";
  const isAfterEffect = code === "24000" && messageOf(thrown).includes("active portal");
  // System errors, internal errors, disk full (PostgreSQL's manual, "Error Codes").
  return /^(58|XX|53100)/.test(code) || isAfterEffect;
}

function transactionOf(open: ReadonlyMap<number, OpenTransaction>, tx: number): OpenTransaction {
  const transaction = open.get(tx);
  if (!transaction) throw new Error("the transaction has ended already");
  return transaction;
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}
