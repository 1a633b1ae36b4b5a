import { Buffer } from "node:buffer";
import { PGlite } from "@electric-sql/pglite";
import { messageOf } from "../../shared/fault.ts";
import { parseArray } from "../arrays.ts";
import type { SqlRow } from "../database.ts";
import { unpackImage } from "./image.ts";
import type { Ask, EmbeddedMessage } from "./protocol.ts";

/**
 * The embedded database, in a thread of its own: PostgreSQL in WebAssembly would otherwise hold up
 * the event loop for as long as a query takes.
 */
const scope = globalThis as unknown as {
  onmessage: (event: MessageEvent<Ask>) => void;
  postMessage(message: EmbeddedMessage): void;
};

/** An open transaction: queries run in it, and `end` settles it. */
interface OpenTransaction {
  query(text: string, values: readonly unknown[] | undefined): Promise<SqlRow[]>;
  end(commit: boolean): Promise<void>;
}

function createWorker() {
  const transactions = new Map<number, OpenTransaction>();
  let database: PGlite | undefined;
  let next = 1;

  const open = () => {
    if (!database) throw new Error("the embedded database is not open");
    return database;
  };

  async function answer(ask: Ask): Promise<{ rows: SqlRow[]; tx?: number }> {
    switch (ask.kind) {
      case "open":
        database = await openDirectory(ask.directory, ask.image);
        return { rows: [] };
      case "query": {
        const rows = ask.tx === undefined
          ? await run(open(), ask.text, ask.values)
          : await transactionOf(transactions, ask.tx).query(ask.text, ask.values);
        return { rows };
      }
      case "begin": {
        const tx = next++;
        transactions.set(tx, await begin(open()));
        return { rows: [], tx };
      }
      case "commit":
      case "rollback": {
        const transaction = transactionOf(transactions, ask.tx);
        transactions.delete(ask.tx);
        await transaction.end(ask.kind === "commit");
        return { rows: [] };
      }
      case "close":
        await open().close();
        return { rows: [] };
    }
  }

  return async (ask: Ask): Promise<EmbeddedMessage> => {
    try {
      return { id: ask.id, ok: true, ...await answer(ask) };
    } catch (thrown) {
      const error = { message: messageOf(thrown), code: codeOf(thrown) };
      return { id: ask.id, ok: false, error, broken: isBroken(thrown) };
    }
  };
}

/**
 * Pages that the database keeps beside the system's own cache of files. The default of 128 MB
 * becomes resident with the first large read, and is a third of what the process takes.
 */
const sharedBuffers = "16MB";

/**
 * A new directory is filled beside its place and renamed: a start that is killed leaves no half
 * directory. One that holds something else is left as it is, and the rename fails.
 */
async function openDirectory(directory: string, image: string): Promise<PGlite> {
  if (!await exists(`${directory}/PG_VERSION`)) {
    const fresh = `${directory}.new`;
    await Deno.remove(fresh, { recursive: true }).catch(() => {});
    await unpackImage(new URL(image), fresh);
    await Deno.rename(fresh, directory);
  }
  return await PGlite.create(directory, {
    startParams: [...PGlite.defaultStartParams, "-c", `shared_buffers=${sharedBuffers}`],
  });
}

/** Queries of one transaction, held open over messages. Others wait until it has ended. */
function begin(database: PGlite): Promise<OpenTransaction> {
  return new Promise((opened, failed) => {
    const ending = Promise.withResolvers<boolean>();
    const done = database.transaction(async (tx) => {
      opened({
        query: (text, values) => run(tx, text, values),
        async end(commit) {
          ending.resolve(commit);
          await done;
        },
      });
      if (!await ending.promise) await tx.rollback();
    });
    done.catch(failed);
  });
}

/** What both the database and a transaction of it can do. */
type Runner = Pick<PGlite, "query" | "exec">;

async function run(
  runner: Runner,
  text: string,
  values: readonly unknown[] | undefined,
): Promise<SqlRow[]> {
  if (values === undefined) {
    // Several statements at once, as migrations need; the last one's rows count.
    const results = await runner.exec(text, { parsers });
    return (results.at(-1)?.rows ?? []) as SqlRow[];
  }
  return (await runner.query(text, [...values], { parsers, serializers })).rows as SqlRow[];
}

/**
 * `int8` is a bigint whatever its size, as with the other driver; 1016 is its array. Bytes (17) are
 * read and written at once: PGlite takes them apart into a string each, which for a picture of
 * 4 MiB takes a second and a hundred megabytes.
 */
const parsers = {
  17: (value: string) => new Uint8Array(Buffer.from(value.slice(2), "hex")),
  20: (value: string) => BigInt(value),
  1016: (value: string) => parseArray(value, BigInt),
};

const serializers = {
  17: (value: unknown) => {
    if (!(value instanceof Uint8Array)) throw new Error("bytea: expected bytes");
    const { buffer, byteOffset, byteLength } = value;
    return `\\x${Buffer.from(buffer, byteOffset, byteLength).toString("hex")}`;
  },
};

/**
 * Where PostgreSQL would end a process and start another, as when the disk is full or fails, PGlite
 * goes on with what is left in its memory and answers every query with one internal error or other.
 */
function isBroken(thrown: unknown): boolean {
  if (thrown instanceof WebAssembly.RuntimeError) return true;
  const code = codeOf(thrown) ?? "";
  const isAfterEffect = code === "24000" && messageOf(thrown).includes("active portal");
  // System errors, internal errors, disk full (PostgreSQL's manual, "Error Codes").
  return /^(58|XX|53100)/.test(code) || isAfterEffect;
}

function codeOf(thrown: unknown): string | undefined {
  if (typeof thrown !== "object" || thrown === null || !("code" in thrown)) return undefined;
  return String(thrown.code);
}

function transactionOf(open: ReadonlyMap<number, OpenTransaction>, tx: number): OpenTransaction {
  const transaction = open.get(tx);
  if (!transaction) throw new Error("the transaction has ended already");
  return transaction;
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

const work = createWorker();
scope.onmessage = async ({ data }) => scope.postMessage(await work(data));
