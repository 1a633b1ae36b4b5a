import assert from "@std/assert";
import { Fault } from "../../src/shared/fault.ts";
import type { Database } from "../../src/database/database.ts";
import { embeddedImage, openEmbedded } from "../../src/database/embedded/embedded.ts";
import { copyMigrated } from "../support/new_database.ts";
import { withFolder } from "./children.ts";

const isAway = (thrown: unknown) => thrown instanceof Fault && thrown.code === "store_unavailable";

/** Opens the database of a folder; a new one is a copy, which is faster than making it. */
async function open(folder: string): Promise<Database> {
  await Deno.stat(`${folder}/database`).catch(() => copyMigrated(`${folder}/database`));
  const database = await openEmbedded(`${folder}/database`);
  await database.query("create table if not exists things (x int)");
  return database;
}

async function contents(database: Database): Promise<unknown[]> {
  return (await database.query("select x from things order by x", [])).map(({ x }) => x);
}

Deno.test("what was written is there after closing and opening again", () =>
  withFolder(async (folder) => {
    const first = await open(folder);
    await first.query("insert into things values (1)");
    await first.close();
    const second = await open(folder);
    assert.deepEqual(await contents(second), [1]);
    await second.close();
  }));

Deno.test("a closed database refuses queries, and closing again is no error", () =>
  withFolder(async (folder) => {
    const database = await open(folder);
    await Promise.all([database.close(), database.close()]);
    await assert.rejects(database.query("select 1", []), isAway);
    await assert.rejects(database.transaction(() => Promise.resolve()), isAway);
    await database.close();
  }));

Deno.test("the event loop goes on while a query works", () =>
  withFolder(async (folder) => {
    const database = await open(folder);
    let turns = 0;
    const timer = setInterval(() => turns++, 10);
    await database.query("select count(*) from generate_series(1, 1000000)", []);
    clearInterval(timer);
    await database.close();
    assert.ok(turns >= 5, `${turns} turns`);
  }));

Deno.test("a directory that is no database is refused in one line and left as it is", () =>
  withFolder(async (folder) => {
    await Deno.mkdir(`${folder}/database`);
    await Deno.writeTextFile(`${folder}/database/letter.txt`, "dear");
    await refused(`${folder}/database`);
    assert.equal(await Deno.readTextFile(`${folder}/database/letter.txt`), "dear");
    await Deno.writeTextFile(`${folder}/file`, "dear");
    await refused(`${folder}/file`);
    assert.equal(await Deno.readTextFile(`${folder}/file`), "dear");
  }));

Deno.test("an empty directory, and what a killed start left, are filled", () =>
  withFolder(async (folder) => {
    await Deno.mkdir(`${folder}/database`);
    await Deno.mkdir(`${folder}/database.new/base`, { recursive: true });
    await Deno.writeTextFile(`${folder}/database.new/PG_VERSION`, "18\n");
    const database = await open(folder);
    assert.deepEqual(await contents(database), []);
    await database.close();
    const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
    assert.deepEqual(names, ["database"], "nothing is left of making it");
  }));

Deno.test("a damaged database is refused in one line", () =>
  withFolder(async (folder) => {
    const database = await open(folder);
    await database.close();
    await Deno.writeTextFile(`${folder}/database/PG_VERSION`, "17\n");
    await refused(`${folder}/database`);
    await Deno.writeTextFile(`${folder}/database/PG_VERSION`, "18\n");
    await Deno.truncate(`${folder}/database/global/pg_control`, 10);
    await refused(`${folder}/database`);
  }));

Deno.test("the image was made by the version of PGlite that deno.json names", async () => {
  const settings = JSON.parse(
    await Deno.readTextFile(new URL("../../deno.json", import.meta.url)),
  ) as { imports: Record<string, string> };
  const version = settings.imports["@electric-sql/pglite"]?.split("@").at(-1);
  assert.ok(version);
  assert.equal(embeddedImage.pathname.split("/").at(-1), `pglite-${version}.tar.gz`);
  const { isFile } = await Deno.stat(embeddedImage);
  assert.ok(isFile);
});

async function refused(path: string): Promise<void> {
  await assert.rejects(openEmbedded(path), (thrown: unknown) => {
    assert.match(
      (thrown as Error).message,
      /^DATA_DIR: [^\n]+ can't be opened \([^\n]+\); [^\n]+\.$/,
    );
    assert.ok((thrown as Error).message.includes(path));
    return true;
  });
}
