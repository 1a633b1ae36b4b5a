import assert from "@std/assert";
import { Fault } from "../../src/shared/fault.ts";
import type { Database } from "../../src/database/database.ts";
import { embeddedImage, openEmbedded } from "../../src/database/embedded/embedded.ts";
import { copyMigrated } from "../support/new_database.ts";
import { otherTurns } from "../support/racing_clock.ts";
import { shared } from "../support/service.ts";
import { withFolder } from "./children.ts";

const isAway = (thrown: unknown) => thrown instanceof Fault && thrown.code === "store_unavailable";

/** Opens the database of a folder; a new one is a copy, which is faster than making it. */
async function open(folder: string): Promise<Database> {
  await Deno.stat(`${folder}/database`).catch(() => copyMigrated(`${folder}/database`));
  const database = await openEmbedded(`${folder}/database`);
  await database.query("create table if not exists things (x int)");
  return database;
}

/** A database whose table is empty; those that are about no files share one. */
const running = shared(async () => {
  const folder = await Deno.makeTempDir({ prefix: "embedded-" });
  const database = await open(folder);
  return {
    database,
    async stop() {
      await database.close();
      await Deno.remove(folder, { recursive: true });
    },
  };
});

async function withTable(work: (database: Database) => Promise<void>): Promise<void> {
  const { database } = running();
  await database.query("drop table things; create table things (x int)");
  await work(database);
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

Deno.test("a closed database refuses queries, and closing it again is not an error", () =>
  withFolder(async (folder) => {
    const database = await open(folder);
    await Promise.all([database.close(), database.close()]);
    await assert.rejects(database.query("select 1", []), isAway);
    await assert.rejects(database.transaction(() => Promise.resolve()), isAway);
    await database.close();
  }));

Deno.test("the event loop goes on while a query works", () =>
  withTable(async (database) => {
    const query = "select count(*) from generate_series(1, 1000000)";
    const turns = await otherTurns(() => database.query(query, []));
    assert.ok(turns >= 50, `${turns} turns`);
  }));

const preparedSql = "select statement, generic_plans, custom_plans from pg_prepared_statements";

async function preparedLike(database: Database, text: string) {
  const all = await database.query(preparedSql, [], { forceCustomPlan: true });
  return all.filter(({ statement }) => String(statement).includes(text));
}

Deno.test("behind a long statement the database answers a ping, and none once it is closed", () =>
  withFolder(async (folder) => {
    const database = await open(folder);
    // Minutes on any machine.
    const numbers = "generate_series(1, 100000)";
    let isDone = false;
    const long = database.query(`select count(*) from ${numbers} a, ${numbers} b`, [])
      .finally(() => isDone = true);
    await database.ping();
    assert.equal(isDone, false);
    await Promise.all([assert.rejects(long, isAway), database.close()]);
    await assert.rejects(database.ping(), isAway);
  }));

Deno.test("a statement that is repeated is parsed once, and planned for all values in the end", () =>
  withTable(async (database) => {
    await database.query("insert into things values ($1)", [7]);
    const rows = [];
    for (let run = 0; run < 10; run++) {
      rows.push(
        ...await database.query("select x, x::bigint as big from things where x > $1", [run]),
      );
    }
    await database.transaction(async (tx) => {
      rows.push(...await tx.query("select x, x::bigint as big from things where x > $1", [0]));
    });
    assert.deepEqual(rows, Array.from({ length: 8 }, () => ({ x: 7, big: 7n })));
    const [found, ...others] = await preparedLike(database, "as big");
    assert.deepEqual(others, []);
    assert.equal(found?.custom_plans, 5n);
    assert.equal(found?.generic_plans, 6n);
    await database.query("select x as custom from things", [], { forceCustomPlan: true });
    await database.transaction((tx) =>
      tx.query("select x as custom from things", [], { forceCustomPlan: true })
    );
    assert.deepEqual(await preparedLike(database, "as custom"), []);
  }));

Deno.test("statements are parsed again after a change of tables and after an error", () =>
  withTable(async (database) => {
    await database.query("create unique index on things (x)");
    const add = (x: number) => database.query("insert into things values ($1)", [x]);
    await add(1);
    for (let run = 0; run < 3; run++) await assert.rejects(add(1), { code: "23505" });
    await assert.rejects(
      database.transaction((tx) => tx.query("insert into things values ($1)", [1])),
      { code: "23505" },
    );
    await add(2);
    const read = (text: string) => database.query(text, []);
    assert.deepEqual(await read("select * from things order by x"), [{ x: 1 }, { x: 2 }]);
    await database.query("alter table things add y int default 3");
    assert.deepEqual((await read("select * from things order by x"))[0], { x: 1, y: 3 });
    await database.query("alter table things alter y type text", []);
    assert.deepEqual((await read("select * from things order by x"))[0], { x: 1, y: "3" });
    await assert.rejects(database.transaction(async (tx) => {
      await tx.query("alter table things drop y");
      assert.deepEqual((await tx.query("select * from things order by x", []))[0], { x: 1 });
      throw new Error("changed its mind");
    }));
    // What was parsed amid the change has to fail, once.
    await read("select * from things order by x").catch(() => {});
    assert.deepEqual((await read("select * from things order by x"))[0], { x: 1, y: "3" });
  }));

Deno.test("plans are made again when tables have grown, and the number of statements is bounded", () =>
  withTable(async (database) => {
    const look = () => database.query("select x as grown from things where x = $1", [1]);
    for (let run = 0; run < 10; run++) await look();
    assert.equal((await preparedLike(database, "as grown"))[0]?.generic_plans, 5n);
    const million = "1".repeat(1_000_000);
    for (let run = 0; run < 5; run++) {
      await database.query("insert into things select length($1::text)", [million]);
    }
    await look();
    assert.equal((await preparedLike(database, "as grown"))[0]?.generic_plans, 0n);
    for (let nth = 0; nth < 320; nth++) await database.query(`select ${nth} as many`, []);
    const kept = await preparedLike(database, "");
    assert.equal(kept.length, 300);
    assert.ok(kept.some(({ statement }) => statement === "select 319 as many"));
    assert.ok(!kept.some(({ statement }) => statement === "select 10 as many"));
  }));

Deno.test("a directory that is not a database is refused in one line and left as it is", () =>
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
    await copyMigrated(`${folder}/database`);
    await Deno.writeTextFile(`${folder}/database/PG_VERSION`, "17\n");
    await refused(`${folder}/database`);
    await Deno.writeTextFile(`${folder}/database/PG_VERSION`, "18\n");
    await Deno.truncate(`${folder}/database/global/pg_control`, 10);
    await refused(`${folder}/database`);
  }));

Deno.test({
  name: "files of another owner are named where a database can't be opened",
  ignore: Deno.uid() !== 0,
  fn: () =>
    withFolder(async (folder) => {
      await copyMigrated(`${folder}/database`);
      await Deno.chown(`${folder}/database/global/pg_control`, 12345, null);
      await (await open(folder)).close();
      await Deno.truncate(`${folder}/database/global/pg_control`, 10);
      await refused(
        `${folder}/database`,
        /; the directory belongs to user 0, but not \S+\/global\/pg_control \(user 12345\): run chown -R 0 \S+\/database; or restore/,
      );
    }),
});

Deno.test({
  name: "a full disk is reported as such, without advice to restore a backup",
  // Only a disk of its own can be full for this test alone.
  ignore: !await canMount(),
  fn: () =>
    withFolder(async (folder) => {
      const said = await onSmallDisk(
        folder,
        `import { openEmbedded } from "./src/database/embedded/embedded.ts";
         import { claimDataDir } from "./src/database/data_dir.ts";
         const opened = await openEmbedded("${folder}/database").catch(({ message }) => message);
         const claimed = await claimDataDir("${folder}").catch(({ message }) => message);
         console.log(JSON.stringify([opened, claimed]));`,
      );
      const [opened, claimed] = JSON.parse(said) as string[];
      assert.match(
        opened!,
        /can't be opened \(.*\); its disk is full, .*: make room there and start/,
      );
      assert.match(
        claimed!,
        /can't be used \(.*\): its disk is full \(df -h, df -i\): make room there and start/,
      );
    }),
});

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

async function refused(path: string, expected = / can't be opened /): Promise<void> {
  await assert.rejects(openEmbedded(path), (thrown: unknown) => {
    assert.match(
      (thrown as Error).message,
      /^DATA_DIR: [^\n]+ can't be opened \([^\n]+\); [^\n]+\.$/,
    );
    assert.match((thrown as Error).message, expected);
    assert.ok((thrown as Error).message.includes(path));
    return true;
  });
}

Deno.test("work in the database's thread shares the database, and a broken one is reopened", () =>
  withFolder(async (folder) => {
    await copyMigrated(`${folder}/database`);
    const module = new URL("./programs/swallowing_thread.ts", import.meta.url);
    const probed: number[] = [];
    const database = await openEmbedded(`${folder}/database`, module, () => {
      probed.push(400);
      return 400;
    });
    assert.equal(await database.work!("create table things (x int)"), "done");
    const added = await database.transaction(async (tx) => {
      await tx.query("insert into things values (1)");
      // Waits until this transaction has ended.
      const worked = database.work!("insert into things values (2)");
      assert.deepEqual(await tx.query("select x from things"), [{ x: 1 }]);
      return { worked };
    });
    assert.equal(await added.worked, "done");
    assert.equal(await database.work!("insert into nothing values (1)"), "swallowed");
    assert.deepEqual(await contents(database), [1, 2]);
    const systemError = "do $$ begin raise exception 'no disk' using errcode = '58030'; end $$";
    await assert.rejects(database.work!(systemError), isAway);
    assert.deepEqual(await contents(database), [1, 2]);
    const [limit] = await database.query("show max_files_per_process");
    assert.deepEqual([limit?.max_files_per_process, probed], ["100", [400]], "found once");
    assert.equal(await database.work!("insert into things values (3)"), "done");
    assert.deepEqual(await contents(database), [1, 2, 3]);
    await database.close();
    await assert.rejects(database.work!("select 1"), isAway);
  }));

Deno.test("a clock that is set back by months leaves no timer that fires again and again", () =>
  withFolder(async (folder) => {
    await (await open(folder)).close();
    const module = new URL("./programs/set_back_thread.ts", import.meta.url);
    const database = await openEmbedded(`${folder}/database`, module);
    assert.equal(await database.work!(undefined), 0);
    assert.deepEqual(await contents(database), [1, 2]);
    await database.close();
  }));

async function canMount(): Promise<boolean> {
  if (Deno.build.os !== "linux" || Deno.uid() !== 0) return false;
  const mount = new Deno.Command("unshare", {
    args: ["--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
    stderr: "null",
  });
  return await mount.output().then(({ success }) => success, () => false);
}

/** Runs a program for which the folder is a disk of its own of 8 MiB; gives what it printed. */
async function onSmallDisk(folder: string, program: string): Promise<string> {
  const { stdout } = await new Deno.Command("unshare", {
    args: [
      ...["--mount", "sh", "-c", `mount -t tmpfs -o size=8m tmpfs "$1" && exec "$2" eval "$3"`],
      ...["sh", folder, Deno.execPath(), program],
    ],
    cwd: new URL("../../", import.meta.url),
    stderr: "inherit",
  }).output();
  return new TextDecoder().decode(stdout);
}
