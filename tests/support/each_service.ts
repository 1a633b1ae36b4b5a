import { createMigrated, databasesOfThisRun } from "./databases.ts";
import { postgresAvailability } from "./postgres.ts";
import { type Environment, startSimulatedService } from "./service.ts";

/**
 * Registers a test with a service in front of simulated vendors, once for each database of this
 * run: in the gate on PostgreSQL only, since code above the stores doesn't depend on the database.
 */
export function eachService(
  name: string,
  env: Environment | (() => Promise<Environment>),
  test: (
    service: Awaited<ReturnType<typeof startSimulatedService>>,
    database: string | undefined,
  ) => Promise<void>,
): void {
  const given = () => typeof env === "function" ? env() : Promise.resolve(env);
  for (const { title, ignore, start } of databasesFor(name)) {
    Deno.test({
      name: title,
      ignore,
      async fn() {
        const database = await start();
        try {
          const address = database.url === undefined ? {} : { DATABASE_URL: database.url };
          await using service = await startSimulatedService(
            { ...await given(), ...address },
            { database: "embedded" },
          );
          await test(service, database.url);
        } finally {
          await database.drop();
        }
      },
    });
  }
}

/** A database that a test runs on. */
interface DatabaseOfTest {
  /** The test's name with the kind of database, and the reason if it is skipped. */
  title: string;
  ignore: boolean;
  /** Creates the database; if `url` is undefined, the service makes an embedded one. */
  start(): Promise<{ url: string | undefined; drop(): Promise<void> }>;
}

/** Returns the databases of this run (`databasesOfThisRun`) with titles for the named test. */
export function databasesFor(name: string): DatabaseOfTest[] {
  const { available, reason } = postgresAvailability();
  const embedded: DatabaseOfTest = {
    title: `${name} (embedded)`,
    ignore: false,
    start: () => Promise.resolve({ url: undefined, drop: () => Promise.resolve() }),
  };
  const postgres: DatabaseOfTest = {
    title: available ? `${name} (postgres)` : `${name} (postgres; skipped: ${reason})`,
    ignore: !available,
    start: createMigrated,
  };
  const kinds = databasesOfThisRun();
  // Without PostgreSQL its test is registered too, to report that it is skipped.
  return [
    ...kinds.embedded ? [embedded] : [],
    ...kinds.postgres || !available ? [postgres] : [],
  ];
}
