/** A PostgreSQL server that all test files of a run share; `env` tells them its address. */
export interface DatabaseServer {
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/**
 * Starts the shared server: one per file would take as long as many of the tests. Without
 * PostgreSQL it starts nothing; the tests that need it say what is missing.
 */
export async function startDatabaseServer(root: string): Promise<DatabaseServer> {
  const none = { env: {}, stop: () => Promise.resolve() };
  const postgres = await programs(root);
  if (!postgres || !isThere(postgres)) return none;
  const server = await postgres.startPostgres({
    private: true,
    // Keeps its files small: they may be in memory, and never have to survive a crash.
    settings: { max_wal_size: "128MB" },
  });
  return { env: { TEST_DATABASE_URL: server.url("postgres") }, stop: () => server.stop() };
}

type Programs = typeof import("../support/postgres.ts");

/** Loads the module that starts PostgreSQL; undefined in a tree whose tests need no database. */
async function programs(root: string): Promise<Programs | undefined> {
  const path = `${root}/tests/support/postgres.ts`;
  const isFile = await Deno.stat(path).then(() => true, () => false);
  return isFile ? await import("../support/postgres.ts") : undefined;
}

function isThere(postgres: Programs): boolean {
  try {
    return postgres.postgresAvailability().available;
  } catch {
    return false;
  }
}
