import assert from "@std/assert";
import type { Database, SqlRow } from "../../database/database.ts";
import { createAnalyticsStore } from "../../records/store/analytics_store.ts";
import { createVacuum } from "./vacuum.ts";

/** A server with two tables that can't be rewritten, one of which was dropped meanwhile. */
function failingDatabase(): Database {
  const rowsOf = (text: string, values: readonly unknown[]): SqlRow[] => {
    if (text.includes("as gone")) return [{ gone: values[0] === "interactions_2025_01" }];
    if (text.includes("from pg_class")) {
      return ["interactions_2025_01", "kept_responses", "accounts"].map((name) => ({ name }));
    }
    if (text.startsWith("vacuum") && !text.endsWith("accounts")) {
      throw new Error("no room on the disk\nwhere it was written");
    }
    return [];
  };
  const query = (text: string, values: readonly unknown[] = []) =>
    Promise.resolve().then(() => rowsOf(text, values));
  return { kind: "postgres", query } as unknown as Database;
}

/** `rows`: the database of interactions. */
function vacuumOf(main: Database, rows = main) {
  return createVacuum(main, createAnalyticsStore(rows, main));
}

Deno.test("a table that could not be rewritten is named with the reason, one that is gone is not", async () => {
  const { rewritten, notRewritten } = await vacuumOf(failingDatabase()).scrub("all");
  assert.deepEqual(rewritten, ["accounts"]);
  assert.deepEqual(notRewritten, [
    "kept_responses (no room on the disk)",
    "the server's write-ahead log",
    "archives of the log, backups and standby servers",
  ]);
});

Deno.test("what a deletion touched is rewritten on the embedded database alone", async () => {
  const { rewritten, notRewritten } = await vacuumOf(failingDatabase()).scrub("erased");
  assert.deepEqual([rewritten, notRewritten], [[], [
    "a server's tables, which `admin scrub` rewrites",
  ]]);
});

Deno.test("a second database is rewritten too, and what both leave is named once", async () => {
  const { rewritten, notRewritten } = await vacuumOf(failingDatabase(), failingDatabase())
    .scrub("all");
  assert.deepEqual(rewritten, ["accounts", "accounts"]);
  assert.equal(notRewritten.length, 3);
});
