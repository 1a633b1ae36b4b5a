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
 * What a test does with a fresh, migrated database. `open` opens the same database once more: on
 * PostgreSQL beside `database`, as another process would; the embedded one has a single owner, so
 * there `database` is closed first. All that was opened is closed after the test.
 */
export type DatabaseTest = (database: Database, open: () => Promise<Database>) => Promise<void>;

/** Registers a test once for each database of this run; see `databasesOfThisRun`. */
export function eachDatabase(name: string, test: DatabaseTest): void {
  const { postgres, embedded } = databasesOfThisRun();
  if (postgres) onPostgres(name, test);
  if (embedded) onEmbedded(name, test);
}

/**
 * Registers a test once for each kind of database in every run: for what the two drivers must have
 * in common, and for statements and guarantees that depend on the engine.
 */
export function onBothDatabases(name: string, test: DatabaseTest): void {
  onPostgres(name, test);
  onEmbedded(name, test);
}

/**
 * The databases that this run tries tests on whose statements are the same on both. The embedded
 * one costs several times as much, so it takes its turn in the long rounds: `STORE=both`, or
 * `STORE=embedded`. Where there is no PostgreSQL the embedded one takes its place.
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

/** Registers a test for PostgreSQL; a skip that says why where there is none (CI: a failure). */
export function onPostgres(name: string, test: DatabaseTest): void {
  const { available, reason } = postgresAvailability();
  const title = available ? `${name} (postgres)` : `${name} (postgres; skipped: ${reason})`;
  Deno.test({ name: title, ignore: !available, fn: () => runOnPostgres(test) });
}

/** Registers a test for the embedded database. */
export function onEmbedded(name: string, test: DatabaseTest): void {
  Deno.test(`${name} (embedded)`, () => runOnEmbedded(test));
}

/** The same as a list, for tests that are registered kind by kind. */
export function kindsOfThisRun(): ("embedded" | "postgres")[] {
  const { postgres, embedded } = databasesOfThisRun();
  return [...embedded ? ["embedded" as const] : [], ...postgres ? ["postgres" as const] : []];
}

/** These tests queue hundreds of statements, on machines that may stand still for seconds. */
const patient = { connectMs: 60_000, waitMs: 60_000 };

async function runOnPostgres(test: DatabaseTest): Promise<void> {
  const created = await createMigrated();
  const opened: Database[] = [];
  const open = async () => {
    const database = await openPostgres(created.url, patient);
    opened.push(database);
    return database;
  };
  try {
    await test(await open(), open);
  } finally {
    await Promise.all(opened.map((database) => database.close()));
    await created.drop();
  }
}

/** A migrated database of PostgreSQL: copied, which is faster than migrating each. */
export async function createMigrated(): Promise<TestDatabase> {
  const server = await startPostgres();
  template ??= makeTemplate(server);
  return await server.createDatabase({ template: await template });
}

let template: Promise<string> | undefined;

/** Named by what it holds: the gate's server keeps it for all test files. */
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
    // It may have left a transaction open, and whoever came next would wait for it.
    embedded = undefined;
    throw thrown;
  }
}

let embedded: EmbeddedDirectory | undefined;

/** One directory for all tests of a file: emptying the database is faster than opening another. */
class EmbeddedDirectory {
  readonly #path = Deno.makeTempDirSync({ prefix: "embedded-", ...memoryFolder() });
  #database: Database | undefined;
  #closed = true;
  /** What there is after the migrations. */
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

/** Tables that a test has made: another copy because of them takes half a second. */
async function dropTables(database: Database, kept: readonly string[]): Promise<void> {
  const made = (await tablesIn(database)).filter((name) => !kept.includes(name));
  for (const name of made) await database.query(`drop table if exists ${name} cascade`);
}

/** A test may have changed tables or made something else; then only another copy makes sure. */
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

/** Far faster than `truncate`, which makes new files for all tables and indexes. */
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
