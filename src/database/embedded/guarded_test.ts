import assert from "@std/assert";
import fs from "node:fs";
import { embeddedImage } from "./embedded.ts";
import { GuardedPGlite } from "./guarded.ts";
import { unpackImage } from "./image.ts";
import { PreparedStatements } from "./prepared.ts";
import { synced, SyncedFiles } from "./synced_files.ts";

Deno.test({
  name:
    "after a commit that found no room in the log every statement fails, and none waits without end",
  // PostgreSQL stops where it stands, with a timer of its own.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const directory = Deno.makeTempDirSync();
    unpackImage(new URL(embeddedImage), `${directory}/database`);
    const database = new GuardedPGlite({
      fs: new SyncedFiles(`${directory}/database`),
      startParams: synced(GuardedPGlite.defaultStartParams),
    });
    const { writeSync } = fs;
    try {
      await database.waitReady;
      const prepared = new PreparedStatements(database);
      await database.exec("create table words (word text)");
      await prepared.query("insert into words values ($1)", ["a"]);
      const log = logDescriptors(`${directory}/database/pg_wal`);
      assert.ok(log.size > 0, "the log is open");
      fs.writeSync = ((descriptor: number, ...rest: [Uint8Array]) => {
        if (!log.has(descriptor)) return writeSync(descriptor, ...rest);
        throw Object.assign(new Error("no space"), { code: "ENOSPC" });
      }) as typeof writeSync;
      const full = { message: /could not write to log file/, code: "53100" };
      await assert.rejects(prepared.query("insert into words values ($1)", ["b"]), full);
      fs.writeSync = writeSync;
      await assert.rejects(prepared.query("insert into words values ($1)", ["c"]), full);
      await assert.rejects(database.query("select 1"), full);
      await assert.rejects(database.transaction((tx) => tx.query("delete from words")), full);
    } finally {
      fs.writeSync = writeSync;
      Deno.removeSync(directory, { recursive: true });
    }
  },
});

/** The descriptors of this process for files in a folder. */
function logDescriptors(folder: string): Set<number> {
  const descriptors = new Set<number>();
  for (const { name } of Deno.readDirSync("/proc/self/fd")) {
    try {
      const path = Deno.readLinkSync(`/proc/self/fd/${name}`);
      if (path.startsWith(folder)) descriptors.add(Number(name));
    } catch {
      // It was the folder's own.
    }
  }
  return descriptors;
}
