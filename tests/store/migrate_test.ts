import assert from "@std/assert";
import { migrate, type Migration, readMigrations } from "../../src/database/migrate.ts";
import { onBothDatabases, onPostgres, productMigrations } from "../support/databases.ts";
import { runProgram } from "../support/process.ts";
import { startPostgres } from "../support/postgres.ts";

async function withStep(sql: string): Promise<Migration[]> {
  const steps = await productMigrations();
  return [...steps, { version: (steps.at(-1)?.version ?? 0) + 1, name: "more", sql }];
}

const oneLine = (pattern: RegExp) => (thrown: unknown) => {
  const { message } = thrown as Error;
  return pattern.test(message) && !message.includes("\n");
};

onBothDatabases("steps that are applied already are not applied again", async (database) => {
  const steps = await productMigrations();
  assert.ok(steps.length >= 3);
  assert.deepEqual(await migrate(database, steps), []);
  const applied = await database.query(
    "select version, name from schema_migrations order by version",
    [],
  );
  assert.deepEqual(applied, steps.map(({ version, name }) => ({ version, name })));
});

onBothDatabases("a new step is applied alone, and its name given", async (database) => {
  const steps = await withStep("create table more (x int); create table even_more (x int);");
  assert.deepEqual(await migrate(database, steps), ["more"]);
  assert.deepEqual(await database.query("select * from even_more", []), []);
});

onBothDatabases(
  "a step that fails leaves nothing of itself, and can be tried again",
  async (database) => {
    const failing = await withStep("create table more (x int); select 1/0;");
    await assert.rejects(migrate(database, failing), /zero/);
    await assert.rejects(database.query("select * from more", []), /more/);
    assert.deepEqual(await migrate(database, await withStep("create table more (x int)")), [
      "more",
    ]);
  },
);

onBothDatabases("a step whose text has changed is refused in one line", async (database) => {
  const steps = (await productMigrations()).map((step, at) =>
    at === 1 ? { ...step, sql: `${step.sql} ` } : step
  );
  await assert.rejects(migrate(database, steps), oneLine(/migration 2 api_keys has changed/));
});

onBothDatabases("a database of a newer version is refused in one line", async (database) => {
  await migrate(database, await withStep("create table more (x int)"));
  const older = await productMigrations();
  await assert.rejects(migrate(database, older), oneLine(/newer version.*\(step \d+ more\)/));
});

onPostgres(
  "of several connections that migrate at once one applies each step",
  async (first, open) => {
    const others = await Promise.all([open(), open(), open()]);
    const steps = await withStep("create table more (x int); select pg_sleep(0.2)");
    const applied = await Promise.all([first, ...others].map((each) => migrate(each, steps)));
    assert.deepEqual(applied.flat(), ["more"]);
  },
);

onPostgres("of two processes that start on an empty database one applies every step", async () => {
  const server = await startPostgres();
  const { url, drop } = await server.createDatabase();
  try {
    const script = "tests/store/programs/migrate.ts";
    const runs = await Promise.all([1, 2].map(() => runProgram({ script, args: [url] })));
    for (const run of runs) assert.equal(run.code, 0, run.stderr);
    const applied = runs.map(({ stdout }) => JSON.parse(stdout) as string[]);
    const names = (await productMigrations()).map(({ name }) => name);
    assert.deepEqual(applied.sort((a, b) => a.length - b.length), [[], names]);
  } finally {
    await drop();
  }
});

Deno.test("files that are no steps are left aside, and two steps of one number are refused", async () => {
  const folder = await Deno.makeTempDir();
  const directory = new URL(`file://${folder}/`);
  try {
    for (const name of ["0002_b.sql", "0001_a.sql", "README.md", "0003_c.sql.orig"]) {
      await Deno.writeTextFile(`${folder}/${name}`, `-- ${name}`);
    }
    const steps = await readMigrations(directory);
    assert.deepEqual(steps.map(({ version, name }) => [version, name]), [[1, "a"], [2, "b"]]);
    await Deno.writeTextFile(`${folder}/0002_other.sql`, "");
    await assert.rejects(readMigrations(directory), oneLine(/number 2/));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
