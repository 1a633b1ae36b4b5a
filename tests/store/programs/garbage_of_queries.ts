import { getHeapStatistics } from "node:v8";
import type { Database, Queryable } from "../../../src/database/database.ts";

const queries = 8;
const length = 256 * 1024;

/**
 * Bytes that queries leave in this thread's heap after minor collections: each query sends a text of 256 KiB and gets as much back.
 */
export async function garbageOfQueries(database: Database): Promise<number> {
  const { gc } = globalThis as unknown as { gc(options: { type: "minor" | "major" }): void };
  const used = () => getHeapStatistics().used_heap_size;
  const ask = async (run: Queryable) => {
    const [row] = await run.query("select $1::text || 'x' as text", ["y".repeat(length)]);
    if (String(row!.text).length !== length + 1) throw new Error("another text came back");
  };
  const askAll = async () => {
    for (let asked = 0; asked < queries / 2; asked++) {
      await ask(database);
      await database.transaction(ask);
    }
  };
  // What stays of the first queries are connections, plans and compiled code.
  await askAll();
  gc({ type: "major" });
  const before = used();
  await askAll();
  // The first one moves what has survived, the second one promotes it.
  gc({ type: "minor" });
  gc({ type: "minor" });
  return used() - before;
}
