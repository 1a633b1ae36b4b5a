import type { Database } from "../../src/database/database.ts";
import { openEmbedded } from "../../src/database/embedded/embedded.ts";
import { migrate } from "../../src/database/migrate.ts";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { memoryFolder } from "./memory_folder.ts";
import { copyMigrated, productMigrations } from "./new_database.ts";
import {
  postgresAvailability,
  startPostgres,
  type TestDatabase,
  type TestPostgres,
} from "./postgres.ts";

export { productMigrations };

/**
 * A test on a fresh, migrated database. `open` opens the same database again: on PostgreSQL beside
 * `database`, as another process would. The embedded database has a single owner, so there
 * `database` is closed first. All opened databases are closed after the test.
 */
export type DatabaseTest = (database: Database, open: () => Promise<Database>) => Promise<void>;

export interface DatabaseTestOptions {
  /**
   * Whether no earlier test may have used the PostgreSQL database: for tests of plans, of the number
   * of rows that are read, and of what stays in files, which also depend on deleted rows; and among
   * the unit tests, where a database that stays open fails a test.
   */
  fresh?: boolean;
}

/** Registers a test once for each database of this run; see `databasesOfThisRun`. */
export function eachDatabase(
  name: string,
  test: DatabaseTest,
  options: DatabaseTestOptions = {},
): void {
  const { postgres, embedded } = databasesOfThisRun();
  if (postgres) onPostgres(name, test, options);
  if (embedded) onEmbedded(name, test);
}

/**
 * Registers a test for both kinds of database in every run: for behaviour that the two drivers must
 * share, and for statements and guarantees that depend on the engine.
 */
export function onBothDatabases(name: string, test: DatabaseTest): void {
  onPostgres(name, test);
  onEmbedded(name, test);
}

/**
 * Returns the databases on which this run runs tests whose statements are the same on both. The
 * embedded one takes several times as long, so it is used only in the long rounds (`STORE=both` or
 * `STORE=embedded`) and where there is no PostgreSQL.
 */
export function databasesOfThisRun(): { readonly postgres: boolean; readonly embedded: boolean } {
  const asked = Deno.env.get("STORE") ?? "postgres";
  if (!["postgres", "embedded", "both"].includes(asked)) {
    throw new Error(`STORE=${asked} is none of postgres, embedded and both`);
  }
  const { available } = postgresAvailability();
  return {
    postgres: asked === "both" || (asked === "postgres" && available),
    embedded: asked !== "postgres" || !available,
  };
}

/** Registers a test on PostgreSQL; without PostgreSQL it is skipped with the reason (CI: fails). */
export function onPostgres(
  name: string,
  test: DatabaseTest,
  options: DatabaseTestOptions = {},
): void {
  const { available, reason } = postgresAvailability();
  const title = available ? `${name} (postgres)` : `${name} (postgres; skipped: ${reason})`;
  if (!isDroppedAtEnd) Deno.test.afterAll(dropEmptied);
  isDroppedAtEnd = true;
  Deno.test({ name: title, ignore: !available, fn: () => runOnPostgres(test, options) });
}

/** In a batch of the gate after the first file; what later ones leave ends with the gate's server. */
let isDroppedAtEnd = false;

async function dropEmptied(): Promise<void> {
  const last = emptied;
  emptied = undefined;
  await last?.database.close();
  await last?.created.drop();
}

/** Registers a test on the embedded database. */
export function onEmbedded(name: string, test: DatabaseTest): void {
  Deno.test(`${name} (embedded)`, () => runOnEmbedded(test));
}

/** Returns the databases of this run as a list, for tests that are registered for each kind. */
export function kindsOfThisRun(): ("embedded" | "postgres")[] {
  const { postgres, embedded } = databasesOfThisRun();
  return [...embedded ? ["embedded" as const] : [], ...postgres ? ["postgres" as const] : []];
}

/** Long timeouts: tests queue hundreds of statements, on machines that may stall for seconds. */
const patient = { connectMs: 60_000, waitMs: 60_000, lockMs: 60_000 };

async function runOnPostgres(test: DatabaseTest, { fresh }: DatabaseTestOptions): Promise<void> {
  const used = fresh ? undefined : emptied;
  if (used) emptied = undefined;
  const { created, database } = used ?? await openMigrated();
  const others: Database[] = [];
  const open = async () => {
    const another = await openPostgres(created.url, patient);
    others.push(another);
    return another;
  };
  let isClosed = false;
  const close = async () => {
    isClosed = true;
    await database.close();
  };
  let isEmpty = false;
  try {
    await test({ ...database, close }, open);
    await Promise.all(others.map((each) => each.close()));
    isEmpty = !fresh && !isClosed && await emptyPostgres(database);
  } finally {
    if (isEmpty) {
      emptied = { created, database };
    } else {
      await Promise.all([database, ...others].map((each) => each.close()));
      await created.drop();
    }
  }
}

/**
 * The database of an earlier test of this process, without its rows: a session that has its plans
 * already saves more than half of the server's work for a test.
 */
let emptied: OpenDatabase | undefined;

interface OpenDatabase {
  readonly created: TestDatabase;
  readonly database: Database;
}

async function openMigrated(): Promise<OpenDatabase> {
  const created = await createMigrated();
  const database = await openPostgres(created.url, patient);
  shapeOnPostgres ??= await postgresShape(database);
  return { created, database };
}

/** The shape of each copy of the template. */
let shapeOnPostgres: string | undefined;

/** Deletes all rows; returns whether the database is now as a fresh one is for most tests. */
async function emptyPostgres(database: Database): Promise<boolean> {
  const [row] = await database.query(mayEmpty);
  if (!row!.may_empty || await postgresShape(database) !== shapeOnPostgres) return false;
  await database.query(emptyUsed);
  return true;
}

/** The schema's shape, with settings, and what `analyze` and `vacuum` have left for the planner. */
async function postgresShape(database: Database): Promise<string> {
  const [row] = await database.query(
    `select string_agg(reltuples::text, ' ' order by oid) as counts,
       (select count(*) from pg_db_role_setting) as settings
     from pg_class where relnamespace = 'public'::regnamespace`,
  );
  return [await shapeOf(database), row!.counts, row!.settings].join(" ");
}

/** Creates a migrated PostgreSQL database by copying a template, which is faster than migrating. */
export async function createMigrated(): Promise<TestDatabase> {
  const server = await startPostgres();
  template ??= makeTemplate(server);
  return await server.createDatabase({ template: await template });
}

let template: Promise<string> | undefined;

/** Makes the template; its name has a hash of the migrations, since all test files share it. */
async function makeTemplate(server: TestPostgres): Promise<string> {
  const migrations = await productMigrations();
  const said = new TextEncoder().encode(JSON.stringify(migrations));
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", said)).toHex();
  return await server.template(`gateway_template_${hash.slice(0, 16)}`, async (url) => {
    const database = await openPostgres(url);
    await migrate(database, migrations);
    await database.close();
  });
}

async function runOnEmbedded(test: DatabaseTest): Promise<void> {
  embedded ??= new EmbeddedDirectory();
  const directory = embedded;
  try {
    await test(await directory.fresh(), () => directory.reopen());
  } catch (thrown) {
    // A failed test may have left a transaction open, for which the next test would wait.
    embedded = undefined;
    throw thrown;
  }
}

let embedded: EmbeddedDirectory | undefined;

/** One directory for all tests of a file: emptying a database is faster than opening a new one. */
class EmbeddedDirectory {
  readonly #path = Deno.makeTempDirSync({ prefix: "embedded-", ...memoryFolder() });
  #database: Database | undefined;
  #closed = true;
  /** The schema's shape after the migrations (`shapeOf`). */
  #shape: string | undefined;
  #tables: readonly string[] = [];

  constructor() {
    globalThis.addEventListener("unload", () => Deno.removeSync(this.#path, { recursive: true }));
  }

  async fresh(): Promise<Database> {
    if (this.#shape !== undefined) {
      const database = this.#database && !this.#closed ? this.#database : await this.#open();
      await dropTables(database, this.#tables);
      if (await shapeOf(database) === this.#shape) {
        await database.query(emptyAll);
        return database;
      }
      await database.close();
      await Deno.remove(`${this.#path}/database`, { recursive: true });
    }
    await copyMigrated(`${this.#path}/database`);
    const database = await this.#open();
    this.#shape = await shapeOf(database);
    this.#tables = await tablesIn(database);
    return database;
  }

  async reopen(): Promise<Database> {
    if (!this.#closed) await this.#database?.close();
    return await this.#open();
  }

  async #open(): Promise<Database> {
    const database = await openEmbedded(`${this.#path}/database`);
    this.#closed = false;
    this.#database = {
      ...database,
      close: async () => {
        this.#closed = true;
        await database.close();
      },
    };
    return this.#database;
  }
}

async function tablesIn(database: Database): Promise<string[]> {
  const rows = await database.query(
    `select c.oid::regclass::text as name from pg_class c
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`,
  );
  return rows.map(({ name }) => String(name));
}

/** Drops tables that a test has made, which saves half a second for another copy. */
async function dropTables(database: Database, kept: readonly string[]): Promise<void> {
  const made = (await tablesIn(database)).filter((name) => !kept.includes(name));
  for (const name of made) await database.query(`drop table if exists ${name} cascade`);
}

/** Returns a hash of the schema: if a test has changed it, only another copy is safe. */
async function shapeOf(database: Database): Promise<string> {
  const [row] = await database.query(
    `select md5(string_agg(line, ' ' order by line)) as shape from (
    select concat_ws(':', c.oid, c.relname, c.relkind, a.attname, a.atttypid, a.attnotnull) as line
      from pg_class c left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
      where c.relnamespace = 'public'::regnamespace
    union all select concat_ws(':', oid, proname, md5(prosrc)) from pg_proc
      where pronamespace = 'public'::regnamespace
    union all select concat_ws(':', oid, tgname, tgenabled) from pg_trigger
    union all select concat_ws(':', oid, conname) from pg_constraint
    union all select concat_ws(':', version) from schema_migrations
  ) as lines`,
  );
  return String(row!.shape);
}

/** Deletes all rows: far faster than `truncate`, which makes new files for tables and indexes. */
const emptyAll = `do $$
declare
  one regclass;
  filled boolean;
begin
  set local session_replication_role = replica;
  for one in select oid from pg_class where relkind = 'r'
    and relnamespace = 'public'::regnamespace and relname <> 'schema_migrations'
  loop
    execute format('select exists (select from %s)', one) into filled;
    if filled then execute format('delete from %s', one); end if;
  end loop;
  for one in select oid from pg_class where relkind = 'S' and relnamespace = 'public'::regnamespace
  loop
    execute format('alter sequence %s restart', one);
  end loop;
end $$`;

/**
 * Whether the user may delete rows without their triggers, which a user of `TEST_DATABASE_URL` need
 * not, and no statement or transaction of the test is still open, which would hold up the deletes
 * or write rows after them.
 */
const mayEmpty = `select current_setting('is_superuser') = 'on' and not exists (
  select from pg_stat_activity where datname = current_database()
  and backend_type = 'client backend' and pid <> pg_backend_pid() and state <> 'idle') as may_empty`;

/**
 * Deletes all rows on PostgreSQL: of the tables that have a page, since to look into each of the
 * others takes a plan. Tables that have grown are truncated, so that they don't slow down later tests.
 */
const emptyUsed = `do $$
declare
  used record;
begin
  set local session_replication_role = replica;
  for used in select oid::regclass as name, pg_relation_size(oid) as bytes from pg_class
    where relkind = 'r' and relnamespace = 'public'::regnamespace
    and relname <> 'schema_migrations' and pg_relation_size(oid) > 0
  loop
    if used.bytes > 65536 then execute format('truncate %s cascade', used.name);
    else execute format('delete from %s', used.name); end if;
  end loop;
  perform setval(seqrelid, seqstart, false) from pg_sequence
    where pg_sequence_last_value(seqrelid) is not null;
end $$`;
