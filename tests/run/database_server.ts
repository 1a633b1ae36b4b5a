/** A PostgreSQL that all test files of a run share, and the environment that leads them to it. */
export interface DatabaseServer {
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/**
 * Starts it: one for each file takes as long as many of their tests. What is missing where there is
 * no PostgreSQL is told by the tests that need it.
 */
export async function startDatabaseServer(root: string): Promise<DatabaseServer> {
  const none = { env: {}, stop: () => Promise.resolve() };
  const postgres = await programs(root);
  if (!postgres || !isThere(postgres)) return none;
  const server = await postgres.startPostgres({
    private: true,
    // Its files may be in memory, and nobody recovers them.
    settings: { max_wal_size: "128MB" },
  });
  return { env: { TEST_DATABASE_URL: server.url("postgres") }, stop: () => server.stop() };
}

type Programs = typeof import("../support/postgres.ts");

/** Undefined in a tree whose tests need no database. */
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
