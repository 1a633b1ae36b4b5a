import { embeddedDatabaseIn } from "./data_dir.ts";
import { programFile } from "../base/program_files.ts";
import type { Log } from "../base/log.ts";
import { Fault, messageOf } from "../shared/fault.ts";
import type { Secret } from "../base/secret.ts";
import type { Database } from "./database.ts";
import { openEmbedded } from "./embedded/embedded.ts";
import { migrate } from "./migrate.ts";
import { readMigrations } from "./migration_file.ts";
import { codeOf, isSqlState } from "./postgres/faults.ts";
import { openPostgres } from "./postgres/postgres.ts";

/**
 * Opens and migrates the database: PostgreSQL if a URL is set, else the embedded one below the data
 * directory, which this process must have claimed. `embeddedModule` is the `module` of
 * `openEmbedded`.
 */
export async function openDatabase(
  databaseUrl: Secret | undefined,
  dataDir: string,
  log?: Log,
  embeddedModule?: URL,
): Promise<Database> {
  return await migrated(
    databaseUrl
      ? await openPostgres(databaseUrl.reveal())
      : await openEmbedded(embeddedDatabaseIn(dataDir), embeddedModule),
    { variable: "DATABASE_URL", log },
  );
}

/**
 * Opens and migrates the database of interactions. It has the same tables, but those of accounts and
 * money stay empty. Returns `database` if no URL, or the same one, is set.
 */
export async function openAnalytics(
  urls: { analyticsDatabaseUrl: Secret | undefined; databaseUrl: Secret | undefined },
  database: Database,
  log?: Log,
): Promise<Database> {
  const url = urls.analyticsDatabaseUrl?.reveal();
  if (url === undefined || url === urls.databaseUrl?.reveal()) return database;
  const variable = "ANALYTICS_DATABASE_URL";
  return await migrated(await openPostgres(url, { variable }), { variable, log });
}

async function migrated(
  database: Database,
  { variable, log }: { variable: string; log: Log | undefined },
): Promise<Database> {
  try {
    if (await sharesSessions(database)) {
      throw new Error(
        `${variable}: a pooler shares sessions among connections; set its pool_mode = session, or use the address of PostgreSQL itself.`,
      );
    }
    await checkEncoding(database, variable);
    if (database.kind === "postgres") await checkOwn(database, variable);
    const migrations = await readMigrations(programFile("migrations/"));
    await migrate(database, migrations, log ? { log } : {});
    return database;
  } catch (thrown) {
    await database.close();
    throw migrationFailure(thrown, variable);
  }
}

/** Other encodings lack characters of prompts, or, like SQL_ASCII, cut and search them as bytes. */
async function checkEncoding(database: Database, variable: string): Promise<void> {
  const [row] = await database.query("show server_encoding");
  const encoding = row?.server_encoding;
  if (encoding === "UTF8") return;
  throw new Error(`${variable}: the database has the encoding ${encoding}; use one with UTF8.`);
}

/**
 * A first start refuses a database with relations of another program, whose tools may drop what they
 * don't know (such as `prisma db push`). What extensions have brought doesn't count. The service's
 * own steps have a checksum: Rails and others give their table of steps the same name.
 */
async function checkOwn(database: Database, variable: string): Promise<void> {
  const [other] = await database.query(
    `select relname as name from pg_class
     where relkind in ('r', 'p', 'v', 'm', 'f')
       and relnamespace = quote_ident(current_schema())::regnamespace
       and not exists (
         select from pg_attribute
         where attrelid = to_regclass('schema_migrations') and attname = 'checksum'
       )
       and not exists (
         select from pg_depend
         where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e'
       )
     order by relname limit 1`,
    [],
  );
  if (other === undefined) return;
  throw new Error(
    `${variable}: the database has tables of another program, such as '${other.name}'; create one for this service.`,
  );
}

/** Returns the error to throw: if the server has refused a statement, one that says what to do. */
function migrationFailure(thrown: unknown, variable: string): unknown {
  const code = codeOf(thrown);
  if (thrown instanceof Fault || code === undefined || !isSqlState(code)) return thrown;
  const advice = Object.hasOwn(remedies, code) ? `; ${remedies[code]}` : "";
  return new Error(
    `${variable}: the tables can't be created or migrated (${code}: ${
      messageOf(thrown).replaceAll("\n", " ")
    })${advice}.`,
    { cause: thrown },
  );
}

const remedies: Readonly<Record<string, string>> = {
  "3F000": "create the schema that the user's search_path names",
  "42501": "make the user the database's owner, or grant it CREATE on the schema public",
};

/**
 * Whether two connections lead to one session, as behind a pooler by transaction. Statements are
 * prepared and settings made per connection: they would be missing, or come to others' queries.
 */
async function sharesSessions(database: Database): Promise<boolean> {
  if (database.reads === undefined) return false;
  const session = "select pg_backend_pid() as pid";
  const [own] = await database.query(session);
  // Unknown where the server takes no second connection.
  const [other] = await database.reads.query(session).catch(() => []);
  return other !== undefined && other.pid === own?.pid;
}
