import assert from "@std/assert";
import { runBackfills } from "../../src/database/backfill.ts";
import { migrate } from "../../src/database/migrate.ts";
import {
  type Migration,
  parseMigration,
  readMigrations,
} from "../../src/database/migration_file.ts";
import type { Database, Transaction } from "../../src/database/database.ts";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { onBothDatabases, onPostgres, productMigrations } from "../support/databases.ts";
import { runProgram } from "../support/process.ts";
import { startPostgres } from "../support/postgres.ts";
import { interaction, newAccount } from "./samples.ts";

/** The product's steps and some more, each given by its file's text. */
async function withSteps(...texts: readonly string[]): Promise<Migration[]> {
  const steps = await productMigrations();
  const last = steps.at(-1)!.version;
  const more = texts.map((sql, at) =>
    parseMigration(last + 1 + at, at === 0 ? "more" : `more_${at}`, sql)
  );
  return [...steps, ...more];
}

const expand = (sql: string) => withSteps(`-- phase: expand\n${sql}`);

const oneLine = (pattern: RegExp) => (thrown: unknown) => {
  const { message } = thrown as Error;
  return pattern.test(message) && !message.includes("\n");
};

onBothDatabases("steps that are applied already are not applied again", async (database) => {
  const steps = await productMigrations();
  assert.deepEqual(await migrate(database, steps), []);
  const applied = await database.query(
    "select version, name from schema_migrations order by version",
    [],
  );
  assert.deepEqual(applied, steps.map(({ version, name }) => ({ version, name })));
});

onBothDatabases("a new step is applied alone, and its name given", async (database) => {
  const steps = await expand("create table more (x int); create table even_more (x int);");
  assert.deepEqual(await migrate(database, steps), ["more"]);
  assert.deepEqual(await database.query("select * from even_more", []), []);
});

onBothDatabases(
  "a step that fails leaves nothing of itself, and can be tried again",
  async (database) => {
    const failing = await expand("create table more (x int); select 1/0;");
    await assert.rejects(migrate(database, failing), /zero/);
    await assert.rejects(database.query("select * from more", []), /more/);
    assert.deepEqual(await migrate(database, await expand("create table more (x int)")), [
      "more",
    ]);
  },
);

onBothDatabases("a step whose text has changed is refused in one line", async (database) => {
  const steps = (await productMigrations()).map((step, at) =>
    at === 0 ? { ...step, sql: `${step.sql} ` } : step
  );
  await assert.rejects(migrate(database, steps), oneLine(/migration 1 schema has changed/));
});

onBothDatabases("each step is a transaction of its own", async (database) => {
  const steps = await withSteps(
    "-- phase: expand\ncreate table more (x int)",
    "-- phase: expand\ncreate table even_more (x int); select 1/0;",
  );
  await assert.rejects(migrate(database, steps), /zero/);
  assert.deepEqual(await database.query("select * from more", []), []);
  await assert.rejects(database.query("select * from even_more", []), /even_more/);
  assert.deepEqual(await migrate(database, steps.slice(0, -1)), []);
});

onBothDatabases(
  "a newer schema is worked with as long as its steps only expand, else refused in one line",
  async (database) => {
    const own = await productMigrations();
    const last = own.at(-1)!.version;
    const newest = await withSteps(
      "-- phase: expand\ncreate table more (x int)",
      `-- phase: contract\n-- works with: ${String(last + 1).padStart(4, "0")}\ndrop table more`,
    );
    await migrate(database, newest.slice(0, -1));
    assert.deepEqual(await migrate(database, own), []);
    await migrate(database, newest);
    assert.deepEqual(await migrate(database, newest.slice(0, -1)), [], "its neighbour");
    await assert.rejects(
      migrate(database, own),
      oneLine(
        new RegExp(
          `newer version.*\\(step ${last + 2} more_1\\).*version ${last + 1} or newer` +
            `.*schema version ${last}: start`,
        ),
      ),
    );
    const other = [...own, { ...newest.at(-1)!, version: last + 3, name: "other" }];
    await assert.rejects(
      migrate(database, other),
      oneLine(new RegExp(`doesn't know \\(step ${last + 1} more\\)`)),
    );
  },
);

onBothDatabases(
  "a database of before the first release is refused in one line, and left as it is",
  async (database) => {
    await database.query("drop schema public cascade; create schema public");
    const made = new URL("../support/before_release.sql", import.meta.url);
    await database.query(await Deno.readTextFile(made));
    const steps = await productMigrations();
    await assert.rejects(
      migrate(database, steps),
      oneLine(/before the first release.*exporting.*new database \(another DATABASE_URL/),
    );
    const tables = await database.query(
      "select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace",
    );
    assert.deepEqual(tables, [{ relname: "schema_migrations" }]);
  },
);

onPostgres("a step waits for locks a short time, lets others pass, and tries again", async (
  database,
  open,
) => {
  const other = await open();
  const steps = await expand("alter table accounts add column motto text");
  const warned: unknown[] = [];
  const log = { info() {}, warn: (message: string) => warned.push(message) };
  const patience = { log, lockTimeoutMs: 50, pauseMs: 20, attempts: 100 };
  let migrating: Promise<string[]> | undefined;
  await other.transaction(async (tx) => {
    await tx.query("select count(*) from accounts");
    migrating = migrate(database, steps, patience);
    while (warned.length < 3) await new Promise((resolve) => setTimeout(resolve, 10));
    // The step doesn't delay later statements for long.
    await (await open()).query("set lock_timeout = 2000; select count(*) from accounts");
  });
  assert.deepEqual(await migrating, ["more"]);
  await other.transaction(async (tx) => {
    await tx.query("select count(*) from accounts");
    const version = steps.at(-1)!.version + 1;
    const next = [
      ...steps,
      parseMigration(version, "next", "-- phase: expand\ndrop table accounts cascade"),
    ];
    const reason = `migration ${version} next found its tables locked by others 2 times: end their`;
    await assert.rejects(
      migrate(database, next, { ...patience, attempts: 2 }),
      oneLine(new RegExp(`${reason} long`)),
    );
  });
});

const indexes = `-- phase: expand
-- transaction: none
-- Both kinds of tables.
create index concurrently accounts_by_name on accounts (lower(name));
create unique index concurrently calls_by_request on interactions
  (request_id, created_at) where request_id <> 'r';`;

onBothDatabases("indexes are built, on tables and on partitions", async (database) => {
  const accountId = await newAccount(database);
  await createAnalyticsStore(database).insert([interaction(accountId, "one")]);
  const months = await database.query(
    "select inhrelid from pg_inherits where inhparent = 'interactions'::regclass",
  );
  assert.ok(months.length > 0);
  const steps = await withSteps(indexes);
  assert.deepEqual(await migrate(database, steps), ["more"]);
  assert.deepEqual(await migrate(database, steps), []);
  // A month that begins afterwards has it too.
  await database.query("select open_month('2044-01-01T00:00:00Z')");
  const found = await database.query(
    `select indrelid::regclass::text as on_table, indisvalid as valid from pg_index
     where indexrelid in (select 'accounts_by_name'::regclass union all
       select inhrelid from pg_inherits where inhparent = 'calls_by_request'::regclass
       union all select 'calls_by_request'::regclass) order by 1`,
  );
  assert.ok(found.every(({ valid }) => valid === true), JSON.stringify(found));
  const tables = found.map(({ on_table }) => String(on_table));
  assert.ok(tables.includes("accounts") && tables.includes("interactions_2044_01"));
  assert.equal(tables.length, 2 + months.length + 1, tables.join());
});

onPostgres("what a build that was cut left behind is built again", async (database, open) => {
  const steps = await withSteps(indexes);
  const other = await open();
  for (const table of ["accounts", "interactions_2026_11"]) {
    await database.query(`select open_month('2026-11-01T00:00:00Z')`);
    const name = table === "accounts" ? "accounts_by_name" : "calls_by_request_2026_11";
    // A build waits for the transactions that are open; here it is ended while it does.
    await other.transaction(async (tx) => {
      await tx.query(`lock table ${table} in row exclusive mode`);
      const built = open().then((third) =>
        third.query(`set statement_timeout = 0`).then(() =>
          third.query(
            `create index concurrently ${name} on ${table} (${
              table === "accounts" ? "lower(name)" : "request_id, created_at"
            })`,
          )
        )
      );
      built.catch(() => {});
      for (;;) {
        const [ended] = await database.query(
          `select pg_cancel_backend(pid) as ended from pg_stat_activity
           where query like 'create index concurrently ' || $1 || '%' and wait_event_type = 'Lock'`,
          [name],
        );
        if (ended) break;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      await assert.rejects(built);
    });
  }
  const invalid = "select indexrelid::regclass::text as name from pg_index where not indisvalid";
  assert.equal((await database.query(invalid)).length, 2);
  assert.deepEqual(await migrate(database, steps), ["more"]);
  assert.deepEqual(await database.query(invalid), []);
});

onPostgres("replicas that start during a long build wait without holding it up", async (
  database,
  open,
) => {
  const steps = await withSteps(indexes);
  const others = await Promise.all([open(), open(), open()]);
  const waiting: string[] = [];
  const log = { info: (message: string) => void waiting.push(message), warn() {} };
  const holder = await open();
  let applied: Promise<string[][]> | undefined;
  await holder.transaction(async (tx) => {
    await tx.query("lock table accounts in row exclusive mode");
    applied = Promise.all([database, ...others].map((each) => migrate(each, steps, { log })));
    while (waiting.filter((one) => one.includes("waiting for it")).length < 3) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    // A program that knows no more than what is there doesn't wait at all.
    assert.deepEqual(await migrate(await open(), steps.slice(0, -1)), []);
    await assert.rejects(
      migrate(await open(), steps, { turnMs: 0 }),
      oneLine(/Another process has been migrating/),
    );
  });
  assert.deepEqual((await applied!).flat(), ["more"]);
});

onPostgres("a migration goes on elsewhere when its machine is gone", async (database) => {
  const steps = await expand("create table more (x int)");
  const [row] = await database.query("select current_database() as name", []);
  const url = (await startPostgres()).url(String(row!.name));
  const gone = await openPostgres(url, { idleTransactionMs: 300 });
  const [locked, never] = [Promise.withResolvers<void>(), Promise.withResolvers<never>()];
  // It says nothing any more once it has the lock: nothing closes its connection.
  let queries = 0;
  const silent: Database = {
    ...gone,
    query(...statement) {
      if (++queries <= 2) return gone.query(...statement);
      locked.resolve();
      return never.promise;
    },
  };
  const lost = assert.rejects(migrate(silent, steps));
  await locked.promise;
  assert.deepEqual(await migrate(database, steps, { turnMs: 60_000 }), ["more"]);
  never.reject(new Error("the machine is gone"));
  await lost;
  await gone.close();
});

const backfill = `-- phase: backfill
with batch as (
  select id from accounts where id > coalesce(nullif($1, '')::bigint, 0) order by id limit $2::bigint
), changed as (
  update accounts a set motto = upper(name) from batch where a.id = batch.id and a.motto is null
)
select max(id)::text as position, count(*) as rows from batch`;

onBothDatabases("a backfill goes on where it was, and a contract step completes it", async (
  database,
) => {
  for (let n = 0; n < 5; n++) await newAccount(database, `account ${n}`);
  const steps = await withSteps(
    "-- phase: expand\nalter table accounts add column motto text",
    backfill,
    "-- phase: contract\n-- works with: 0003\nalter table accounts alter column motto set not null",
  );
  await migrate(database, steps.slice(0, -1));
  const mottos = async () =>
    (await database.query("select motto from accounts order by id")).map(({ motto }) => motto);
  assert.deepEqual(await mottos(), [null, null, null, null, null]);
  // A process that is killed during its second batch.
  let batches = 0;
  const dying = {
    ...database,
    transaction: <T>(work: (tx: Transaction) => Promise<T>) =>
      database.transaction(async (tx) => {
        const result = await work(tx);
        if (++batches === 2) throw new Error("killed");
        return result;
      }),
  };
  const log = { info() {} };
  const options = { read: () => Promise.resolve(steps), batchRows: 2 };
  await assert.rejects(runBackfills(dying, log, options), /killed/);
  assert.deepEqual(await mottos(), ["ACCOUNT 0", "ACCOUNT 1", null, null, null]);
  // An older program leaves it alone.
  await runBackfills(database, log, { read: productMigrations });
  assert.equal((await mottos())[2], null);
  await runBackfills(database, log, options);
  assert.deepEqual((await mottos())[4], "ACCOUNT 4");
  const [progress] = await database.query(
    "select rows_done, finished_at is not null as done from schema_backfills",
  );
  assert.deepEqual([Number(progress!.rows_done), progress!.done], [5, true]);
  // A program of the version before writes a row behind it.
  await database.query("update accounts set motto = null where name = 'account 1'");
  assert.deepEqual(await migrate(database, steps), ["more_2"]);
  assert.equal((await mottos())[1], "ACCOUNT 1");
});

onPostgres(
  "of several connections that migrate at once one applies each step",
  async (first, open) => {
    const others = await Promise.all([open(), open(), open()]);
    const steps = await expand("create table more (x int); select pg_sleep(0.2)");
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

Deno.test("files that are not steps are ignored, and two steps with one number are refused", async () => {
  const folder = await Deno.makeTempDir();
  const directory = new URL(`file://${folder}/`);
  try {
    for (const name of ["0002_b.sql", "0001_a.sql", "README.md", "0003_c.sql.orig"]) {
      await Deno.writeTextFile(`${folder}/${name}`, "-- phase: expand\n");
    }
    const steps = await readMigrations(directory);
    assert.deepEqual(steps.map(({ version, name }) => [version, name]), [[1, "a"], [2, "b"]]);
    await Deno.writeTextFile(`${folder}/0002_other.sql`, "-- phase: expand\n");
    await assert.rejects(readMigrations(directory), oneLine(/number 2/));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a header that contradicts itself, or none, is refused in one line", () => {
  const refused = [
    ["select 1", /first line must be/],
    ["-- phase: shrink", /first line must be/],
    ["-- phase: contract", /a contract step, and no other/],
    ["-- phase: expand\n-- works with: 0001", /a contract step, and no other/],
    ["-- phase: contract\n-- works with: 0007", /an earlier schema version/],
    ["-- phase: contract\n-- works with: 0001\n-- transaction: none", /only an expand step/],
    ["-- phase: expand\n-- transaction: none\nselect 1", /may only hold/],
    ["-- phase: expand\n-- transaction: none", /may only hold/],
  ] as const;
  for (const [sql, reason] of refused) {
    assert.throws(() => parseMigration(7, "x", sql), oneLine(reason), sql);
  }
});
