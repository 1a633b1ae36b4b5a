import assert from "@std/assert";
import { Fault } from "../../src/shared/fault.ts";
import type { Database } from "../../src/database/database.ts";
import { openEmbedded } from "../../src/database/embedded/embedded.ts";
import { copyMigrated } from "../support/new_database.ts";
import { Child, withFolder } from "./children.ts";

/** `KILLS` asks for more of them. */
const isLong = Deno.env.get("KILLS") !== undefined;

const isAway = (thrown: unknown): thrown is Fault =>
  thrown instanceof Fault && thrown.code === "store_unavailable";

/** Opens a database and gives its threads as they are made, so that a test can end one. */
async function openWatched(path: string): Promise<{ database: Database; workers: Worker[] }> {
  const workers: Worker[] = [];
  const Original = globalThis.Worker;
  globalThis.Worker = class extends Original {
    constructor(...args: ConstructorParameters<typeof Worker>) {
      super(...args);
      workers.push(this);
    }
  };
  try {
    return { database: await openEmbedded(path), workers };
  } finally {
    globalThis.Worker = Original;
  }
}

async function contents(database: Database): Promise<unknown[]> {
  return (await database.query("select x from things order by x", [])).map(({ x }) => x);
}

Deno.test("when the thread dies what waits is refused, and the next query opens the database again", () =>
  withFolder(async (folder) => {
    await copyMigrated(`${folder}/database`);
    const { database, workers } = await openWatched(`${folder}/database`);
    await database.query("create table things (x int); insert into things values (1)");
    const inside = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const open = database.transaction(async (tx) => {
      await tx.query("insert into things values (2)", []);
      inside.resolve();
      await goOn.promise;
      await tx.query("insert into things values (3)", []);
    });
    await inside.promise;
    const waiting = [
      database.query("insert into things values (4)", []),
      database.transaction((tx) => tx.query("insert into things values (5)", [])),
      database.ping(),
    ].map((work) => assert.rejects(work, isAway));
    // It can't make anything of this, which ends it as any error outside of a query does.
    workers[0]!.postMessage(null);
    await Promise.all(waiting);
    goOn.resolve();
    await assert.rejects(open, isAway);
    assert.deepEqual(await contents(database), [1]);
    await database.close();
  }));

Deno.test("after a disk that took nothing more the database works again by itself", () =>
  withFolder(async (folder) => {
    await copyMigrated(`${folder}/database`);
    const database = await openEmbedded(`${folder}/database`);
    await database.query("create table things (x int); insert into things values (1); checkpoint");
    const log = `${folder}/database/pg_wal`;
    await Deno.rename(log, `${log}.away`);
    // More than what the log has room for.
    const much = "insert into things select * from generate_series(2, 500000)";
    await assert.rejects(database.query(much, []), (thrown: unknown) =>
      // The engine's own words may be no more than "Aborted()".
      isAway(thrown) &&
      /^embedded database: it ended .* and is opened again: ./.test(thrown.note!));
    await Deno.rename(`${log}.away`, log);
    const rows = await untilWell(() => contents(database));
    assert.deepEqual(rows, [1]);
    await database.query("insert into things values (3)", []);
    await database.close();
  }));

Deno.test("a first start that is killed at any moment leaves a directory that opens", () =>
  withFolder(async (folder) => {
    for (const killAfterMs of isLong ? [150, 300, 450, 600, 750, 900] : [300, 600]) {
      const path = `${folder}/killed-after-${killAfterMs}`;
      const child = new Child("write_embedded.ts", path);
      await new Promise((resolve) => setTimeout(resolve, killAfterMs));
      await child.kill();
      const database = await openEmbedded(path);
      await database.query(
        "create table if not exists things (x int); insert into things values (0)",
      );
      assert.deepEqual((await contents(database))[0], 0);
      await database.close();
    }
  }));

Deno.test("a process that is killed while it writes loses no confirmed write", () =>
  withFolder(async (folder) => {
    const path = `${folder}/database`;
    let written = 0;
    for (let round = 1; round <= (isLong ? 10 : 2); round++) {
      await using child = new Child("write_embedded.ts", path);
      await child.printed(`row ${written + 20}`);
      await child.kill();
      const last = Number(child.lines.at(-1)?.split(" ")[1]);
      const database = await openEmbedded(path);
      const rows = await contents(database);
      await database.close();
      // The row that was being written may be there too.
      assert.ok(rows.length === last || rows.length === last + 1, `${rows.length} of ${last} rows`);
      assert.deepEqual(rows, Array.from(rows, (_, at) => at + 1));
      written = rows.length;
    }
  }));

Deno.test("closing doesn't wait for a transaction for ever", () =>
  withFolder(async (folder) => {
    await copyMigrated(`${folder}/database`);
    const database = await openEmbedded(`${folder}/database`);
    const forever = Promise.withResolvers<void>();
    const stuck = database.transaction(() => forever.promise);
    stuck.catch(() => {});
    await database.close();
    forever.resolve();
    await assert.rejects(stuck, isAway);
  }));

/** Tries until it succeeds, for at most ten seconds. */
async function untilWell<T>(work: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    try {
      return await work();
    } catch (thrown) {
      if (performance.now() > deadline) throw thrown;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
