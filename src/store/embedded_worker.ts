import { PGlite } from "@electric-sql/pglite";
import type { SqlRow } from "./database.ts";
import type { Ask, Told } from "./embedded_protocol.ts";

/**
 * The embedded database, in a thread of its own: PostgreSQL in WebAssembly would otherwise hold up
 * the event loop for as long as a query takes.
 */
const scope = globalThis as unknown as {
  onmessage: (event: MessageEvent<Ask>) => void;
  postMessage(message: Told): void;
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

  return async (ask: Ask): Promise<Told> => {
    try {
      return { id: ask.id, ok: true, ...await answer(ask) };
    } catch (thrown) {
      const code = typeof thrown === "object" && thrown !== null && "code" in thrown
        ? String(thrown.code)
        : undefined;
      const message = thrown instanceof Error ? thrown.message : String(thrown);
      return { id: ask.id, ok: false, error: { message, code } };
    }
  };
}

/**
 * A new directory is filled from an initialised image, which takes a tenth of `initdb`. It is
 * filled beside its place and renamed: a start that is killed leaves no half directory.
 */
async function openDirectory(directory: string, image: string): Promise<PGlite> {
  if (await exists(`${directory}/PG_VERSION`)) return await PGlite.create(directory);
  const fresh = `${directory}.new`;
  await Deno.remove(fresh, { recursive: true }).catch(() => {});
  await Deno.remove(directory, { recursive: true }).catch(() => {});
  const blob = new Blob([await Deno.readFile(new URL(image))], { type: "application/gzip" });
  const loading = await PGlite.create(fresh, { loadDataDir: blob });
  await loading.close();
  await Deno.rename(fresh, directory);
  return await PGlite.create(directory);
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
  return (await runner.query(text, [...values], { parsers })).rows as SqlRow[];
}

/** `int8` is a bigint whatever its size, as with the other driver. */
const parsers = { 20: (value: string) => BigInt(value) };

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
