import { dirname } from "node:path";
import { freeDescriptors } from "../../base/descriptors.ts";
import { within } from "../../base/deadline.ts";
import { programFile, programModule } from "../../base/program_files.ts";
import { Fault, messageOf } from "../../shared/fault.ts";
import type { Database, SqlRow, Transaction } from "../database.ts";
import { strayFilesIn } from "../file_owners.ts";
import { isDiskFull } from "../full_disk.ts";
import { createBusyTolerantPing } from "./busy_tolerant_ping.ts";
import { maxDatabaseFiles, type Statement } from "./protocol.ts";
import { embeddedAway, EmbeddedThread } from "./thread.ts";
import { type OpenTransaction, transact } from "../transaction.ts";

/** Image of an initialized database; its name has the PGlite version that created it. */
export const embeddedImage = programFile("src/database/embedded/image/pglite-0.5.17.tar.gz");

/** Pause after a failed attempt to reopen the database. */
const holdOffMs = 1000;
/** How long closing waits for an open transaction. */
const closeMs = 2000;
/** With this many free descriptors the database may open as many files as it ever does. */
const maxProbed = 1_600;

/**
 * Opens the embedded database in a directory that this process has claimed; a new one is created from
 * the image. Queries run in a thread, one after the other. If the thread dies or breaks (as after a
 * full disk), waiting queries fail with `Fault("store_unavailable")`, and the next query reopens the
 * database. `module`: a thread's module that calls `serveEmbedded` with work of its own. `free`: how
 * many files the process may open; asked once, before there are calls, which would fail while all
 * descriptors are opened to count them. Throws an Error of one line if the directory can't be opened.
 */
export async function openEmbedded(
  directory: string,
  module: URL = programModule("src/database/embedded/worker.ts"),
  free = () => freeDescriptors(() => Deno.openSync(dirname(directory)), maxProbed),
): Promise<Database> {
  const threads = new Threads(directory, module, maxDatabaseFiles(free()));
  try {
    await threads.live();
  } catch (thrown) {
    threads.close("it could not be opened");
    const reason = reasonOf(thrown);
    throw new Error(
      `DATA_DIR: the embedded database in ${directory} can't be opened (${reason}); ` +
        `${await wayOut(directory)}.`,
    );
  }
  const query = async <Row extends SqlRow>(...statement: Statement) =>
    await runOn<Row>(await threads.live(), undefined, ...statement);
  return {
    kind: "embedded",
    sendsBytes: true,
    query,
    transaction: async <T>(work: (tx: Transaction) => Promise<T>) =>
      await transact(await begin(await threads.live()), work),
    ping: createBusyTolerantPing(() => query("select 1", [])),
    async work(input) {
      const thread = await threads.live();
      return (await thread.ask({ kind: "work", input })).output;
    },
    async close() {
      const thread = await threads.live().catch(() => undefined);
      if (thread) await within(closeMs, thread.ask({ kind: "close" }).catch(() => {}), undefined);
      threads.close("it is closed");
    },
  };
}

/** What the operator can do about a database that can't be opened. */
async function wayOut(directory: string): Promise<string> {
  // The directory may not exist: a new database is first made beside it.
  if (await isDiskFull(dirname(directory))) {
    return "its disk is full, so the database itself may be intact: make room there and start again";
  }
  const stray = await strayFilesIn(directory);
  const changeOwner = stray === undefined ? "" : `${stray}; or `;
  return `${changeOwner}restore it from a backup, or set DATA_DIR to another directory`;
}

/** The current thread; replaced when it has died. */
class Threads {
  #live: EmbeddedThread | undefined;
  #opening: Promise<EmbeddedThread> | undefined;
  #holdOff: ReturnType<typeof setTimeout> | undefined;
  #closedOf: string | undefined;

  constructor(readonly directory: string, readonly module: URL, readonly maxFiles: number) {}

  live(): Promise<EmbeddedThread> {
    if (this.#closedOf !== undefined) return Promise.reject(embeddedAway(this.#closedOf));
    if (this.#live && !this.#live.isDead) return Promise.resolve(this.#live);
    return this.#opening ??= this.#open();
  }

  close(reason: string): void {
    this.#closedOf = reason;
    this.#live?.end(reason);
    clearTimeout(this.#holdOff);
  }

  async #open(): Promise<EmbeddedThread> {
    try {
      const { directory, maxFiles, module } = this;
      const image = embeddedImage.href;
      this.#live = await EmbeddedThread.start({ directory, image, maxFiles }, module);
      this.#opening = undefined;
      return this.#live;
    } catch (thrown) {
      if (this.#closedOf === undefined) {
        this.#holdOff = setTimeout(() => this.#opening = undefined, holdOffMs);
      }
      throw thrown instanceof Fault ? thrown : embeddedAway(messageOf(thrown), thrown);
    }
  }
}

async function runOn<Row extends SqlRow>(
  thread: EmbeddedThread,
  tx: number | undefined,
  ...statement: Statement
): Promise<Row[]> {
  return (await thread.ask({ kind: "query", tx, statement })).rows as Row[];
}

async function begin(thread: EmbeddedThread): Promise<OpenTransaction> {
  const { tx } = await thread.ask({ kind: "begin" });
  if (tx === undefined) throw new Error("The embedded database began no transaction.");
  return {
    sendsBytes: true,
    query: (...statement) => runOn(thread, tx, ...statement),
    async copyIn(...statement) {
      await thread.ask({ kind: "copy", tx, statement });
    },
    async commit() {
      await thread.ask({ kind: "commit", tx });
    },
    async rollback() {
      await thread.ask({ kind: "rollback", tx }).catch(() => {});
    },
  };
}

function reasonOf(thrown: unknown): string {
  return (thrown instanceof Fault && thrown.note || messageOf(thrown)).split("\n")[0]!;
}
