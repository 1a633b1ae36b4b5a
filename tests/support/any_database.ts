import { createMigrated } from "./databases.ts";
import { isPostgresPreferred } from "./service.ts";

/**
 * Returns the variables of a database for a service that a test starts as a program, if the test
 * isn't about the database: PostgreSQL if there is one, since the start takes half the time, and
 * otherwise none, for the embedded database. The service ends first.
 */
export async function anyDatabase(): Promise<{ env: Record<string, string> } & AsyncDisposable> {
  const created = isPostgresPreferred() ? await createMigrated() : undefined;
  return {
    env: created ? { DATABASE_URL: created.url } : {},
    [Symbol.asyncDispose]: async () => await created?.drop(),
  };
}
