import type { Database } from "../../src/store/database.ts";
import { openEmbedded } from "../../src/store/embedded.ts";
import { migrate, type Migration, readMigrations } from "../../src/store/migrate.ts";
import { openPostgres } from "../../src/store/postgres.ts";
import { postgresAvailability, startPostgres, type TestDatabase } from "./postgres.ts";

/**
 * What a test does with a fresh, migrated database. `open` opens the same database once more: on
 * PostgreSQL beside `database`, as another process would; the embedded one has a single owner, so
 * there `database` is closed first. All that was opened is closed after the test.
 */
export type DatabaseTest = (database: Database, open: () => Promise<Database>) => Promise<void>;

/** Registers a test once for each kind of database. */
export function eachDatabase(name: string, test: DatabaseTest): void {
  onPostgres(name, test);
  onEmbedded(name, test);
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

/** The steps of `migrations/`. */
export function productMigrations(): Promise<Migration[]> {
  return readMigrations(new URL("../../migrations/", import.meta.url));
}

async function runOnPostgres(test: DatabaseTest): Promise<void> {
  const server = await startPostgres();
  template ??= makeTemplate();
  const created = await server.createDatabase({ template: (await template).name });
  const opened: Database[] = [];
  const open = async () => {
    const database = await openPostgres(created.url);
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

/** Copied for each test, which is faster than migrating each. */
let template: Promise<TestDatabase> | undefined;

async function makeTemplate(): Promise<TestDatabase> {
  const created = await (await startPostgres()).createDatabase();
  if (Deno.env.get("TEST_DATABASE_URL")) globalThis.addEventListener("unload", dropLater(created));
  const database = await openPostgres(created.url);
  await migrate(database, await productMigrations());
  await database.close();
  return created;
}

/** On a server that is not ours the template has to go as well, even after a failure. */
function dropLater(created: TestDatabase): () => void {
  const script = `import postgres from "postgres";
    const address = new URL(Deno.args[0]);
    const name = address.pathname.slice(1);
    address.pathname = Deno.args[1];
    const sql = postgres(address.href, { max: 1, onnotice() {} });
    await sql.unsafe("drop database if exists " + name + " with (force)");
    await sql.end();`;
  const home = new URL(Deno.env.get("TEST_DATABASE_URL") ?? "").pathname;
  return () => {
    const config = decodeURIComponent(new URL("../../deno.json", import.meta.url).pathname);
    new Deno.Command(Deno.execPath(), {
      args: ["eval", `--config=${config}`, script, created.url, home],
    }).outputSync();
  };
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
  readonly #path = Deno.makeTempDirSync({ prefix: "embedded-" });
  #database: Database | undefined;
  #closed = true;

  constructor() {
    globalThis.addEventListener("unload", () => Deno.removeSync(this.#path, { recursive: true }));
  }

  async fresh(): Promise<Database> {
    const database = this.#database && !this.#closed ? this.#database : await this.#open();
    await database.query("drop schema public cascade; create schema public");
    await migrate(database, await productMigrations());
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
