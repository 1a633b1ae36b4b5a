import assert from "@std/assert";
import { noteCopy, readCopyNote, readProcessId, refuseCopied } from "./data_dir.ts";

Deno.test("a directory keeps its process's id, also after a move; a copy gets its own", async () => {
  const root = await Deno.makeTempDir();
  try {
    let made = 0;
    const copies: string[] = [];
    const idOf = (name: string) =>
      readProcessId(`${root}/${name}`, () => `process-${++made}`, () => copies.push(name));
    const copy = async (from: string, to: string) => {
      await Deno.mkdir(`${root}/${to}`);
      await Deno.copyFile(`${root}/${from}/process-id`, `${root}/${to}/process-id`);
    };
    await Deno.mkdir(`${root}/first`);
    assert.equal(await idOf("first"), "process-1");
    await copy("first", "copy");
    assert.equal(await idOf("copy"), "process-2");
    await Deno.rename(`${root}/first`, `${root}/moved`);
    assert.deepEqual([await idOf("moved"), await idOf("copy")], ["process-1", "process-2"]);
    assert.deepEqual(copies, ["copy"], "it is one until it has an id of its own");
    await Deno.mkdir(`${root}/older`);
    await Deno.writeTextFile(`${root}/older/process-id`, "process-of-an-older-version\n");
    assert.equal(await idOf("older"), "process-of-an-older-version");
    await Deno.writeTextFile(`${root}/older/process-id`, "no id\n");
    assert.equal(await idOf("older"), "process-3");
    assert.deepEqual(copies, ["copy"]);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("a database that was copied is refused, also if the note can't be read", async () => {
  const root = await Deno.makeTempDir();
  try {
    await refuseCopied(root);
    await Deno.mkdir(`${root}/database`);
    await noteCopy(root, new Date(0));
    await assert.rejects(refuseCopied(root), /copied to PostgreSQL \(1970-01-01T00:00:00.000Z\)/);
    await Deno.remove(`${root}/database/copied-to-postgres`);
    await refuseCopied(root);
    await Deno.mkdir(`${root}/database/copied-to-postgres`);
    await assert.rejects(refuseCopied(root), /can't be used/);
    await assert.rejects(noteCopy(root, new Date(0)), /can't be used/);
    assert.deepEqual([...Deno.readDirSync(`${root}/database`)].map(({ name }) => name), [
      "copied-to-postgres",
    ]);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("the note of a copy is on the disk before anything goes by it", async () => {
  const root = await Deno.makeTempDir();
  const database = `${root}/database`;
  const files = Deno.FsFile.prototype;
  const { sync, syncSync } = files;
  const synced: string[][] = [];
  const note = () => synced.push([...Deno.readDirSync(database)].map(({ name }) => name));
  files.sync = function () {
    note();
    return sync.call(this);
  };
  files.syncSync = function () {
    note();
    syncSync.call(this);
  };
  try {
    await Deno.mkdir(database);
    // As a killed command leaves it.
    await Deno.writeTextFile(`${database}/copied-to-postgres.new`, "x".repeat(100));
    await noteCopy(root, new Date(0));
    assert.deepEqual(synced, [["copied-to-postgres.new"], ["copied-to-postgres"]]);
    assert.equal(await readCopyNote(root), new Date(0).toISOString());
  } finally {
    Object.assign(files, { sync, syncSync });
    await Deno.remove(root, { recursive: true });
  }
});
