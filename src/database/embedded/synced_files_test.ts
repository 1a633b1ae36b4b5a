import assert from "@std/assert";
import fs from "node:fs";
import { PGlite } from "@electric-sql/pglite";
import { embeddedImage } from "./embedded.ts";
import { unpackImage } from "./image.ts";
import { synced, SyncedFiles } from "./synced_files.ts";

/** A new database in this thread, and how often a file of it was synced. */
async function openCounted(): Promise<{ database: PGlite; syncs: () => number; end(): void }> {
  const directory = Deno.makeTempDirSync();
  unpackImage(new URL(embeddedImage), `${directory}/database`);
  const { fsyncSync } = fs;
  let syncs = 0;
  fs.fsyncSync = (descriptor) => {
    syncs++;
    fsyncSync(descriptor);
  };
  const database = await PGlite.create({
    fs: new SyncedFiles(`${directory}/database`),
    startParams: synced(PGlite.defaultStartParams),
  });
  const end = () => {
    fs.fsyncSync = fsyncSync;
    Deno.removeSync(directory, { recursive: true });
  };
  return { database, syncs: () => syncs, end };
}

Deno.test("a commit of the embedded database is synced before it is confirmed, and so is a checkpoint", async () => {
  const { database, syncs, end } = await openCounted();
  try {
    const { rows } = await database.query("show fsync");
    assert.deepEqual(rows, [{ fsync: "on" }]);
    await database.exec("create table words (word text)");
    for (let commit = 1; commit <= 3; commit++) {
      const before = syncs();
      await database.query("insert into words values ('a')");
      assert.ok(syncs() > before, `commit ${commit}`);
    }
    const before = syncs();
    await database.exec("checkpoint");
    assert.ok(syncs() > before + 1);
    await database.close();
  } finally {
    end();
  }
});

Deno.test({
  name: "a commit whose sync fails is not confirmed",
  // PostgreSQL stops where it stands, with a timer of its own.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const { database, end } = await openCounted();
    try {
      await database.exec("create table words (word text)");
      fs.fsyncSync = () => {
        throw new Error("EIO");
      };
      await assert.rejects(database.query("insert into words values ('a')"));
      await database.close().catch(() => {});
    } finally {
      end();
    }
  },
});
