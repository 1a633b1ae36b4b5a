import postgres from "postgres";
import { Fault } from "../domain/fault.ts";
import type { Database, Queryable, SqlRow, SqlValue } from "./database.ts";

/** Connections of one process; calls under way never hold one, so few are enough. */
const maxConnections = 10;
const connectTimeoutSeconds = 5;

/**
 * Opens PostgreSQL at an address. Connections are made as they are needed and again after an
 * outage; the first one is made here. Throws an Error of one line, without the address's password,
 * when the server can't be reached or refuses.
 */
export async function openPostgres(url: string): Promise<Database> {
  const sql = postgres(url, {
    max: maxConnections,
    connect_timeout: connectTimeoutSeconds,
    idle_timeout: 60,
    backoff: () => 0.2,
    onnotice: () => {},
    types: {
      bigint: {
        to: 20,
        from: [20],
        serialize: (value: bigint | number) => String(value),
        parse: (value: string) => BigInt(value),
      },
    },
  });
  const database = createDatabase(sql);
  try {
    await database.ping();
    return database;
  } catch (thrown) {
    await sql.end({ timeout: 1 }).catch(() => {});
    throw new Error(`DATABASE_URL: ${startFailure(thrown, url)}`);
  }
}

type Sql = ReturnType<typeof postgres>;

function createDatabase(sql: Sql): Database {
  return {
    kind: "postgres",
    query: (text, values) => run(sql, text, values),
    async transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
      try {
        return await sql.begin((tx) =>
          work({ query: (text, values) => run(tx, text, values) })
        ) as T;
      } catch (thrown) {
        throw asFault(thrown);
      }
    },
    async ping() {
      await run(sql, "select 1");
    },
    async close() {
      await sql.end({ timeout: 5 });
    },
  };
}

/** What both a pool and a transaction can do. */
interface Runner {
  unsafe: Sql["unsafe"];
}

async function run<Row extends SqlRow>(
  sql: Runner,
  text: string,
  values?: readonly SqlValue[],
): Promise<Row[]> {
  try {
    // Without values the simple protocol takes several statements at once, as migrations need.
    const rows = values === undefined
      ? await sql.unsafe(text)
      : await sql.unsafe(text, values as never[], { prepare: true });
    return [...rows] as unknown as Row[];
  } catch (thrown) {
    throw asFault(thrown);
  }
}

/** Codes of a server that can't be reached or takes no more connections. */
const awayCodes: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ETIMEDOUT",
  "EPIPE",
  "ENOTFOUND",
  "EHOSTUNREACH",
  "ENOENT",
  "CONNECTION_CLOSED",
  "CONNECTION_ENDED",
  "CONNECTION_DESTROYED",
  "CONNECT_TIMEOUT",
  "53300",
  "57P01",
  "57P02",
  "57P03",
]);

function asFault(thrown: unknown): unknown {
  const code = codeOf(thrown);
  if (code === undefined || !(awayCodes.has(code) || code.startsWith("08"))) return thrown;
  return new Fault("store_unavailable", { note: `PostgreSQL: ${code}`, cause: thrown });
}

function codeOf(thrown: unknown): string | undefined {
  if (typeof thrown !== "object" || thrown === null || !("code" in thrown)) return undefined;
  return String(thrown.code);
}

function startFailure(thrown: unknown, url: string): string {
  const cause = thrown instanceof Fault ? thrown.cause : thrown;
  const host = new URL(url).host;
  switch (codeOf(cause)) {
    case "28P01":
    case "28000":
      return `PostgreSQL at ${host} refuses this user or password; correct them in the address.`;
    case "3D000":
      return `PostgreSQL at ${host} has no database of that name; create it or correct the address.`;
    default:
      return `PostgreSQL at ${host} can't be reached (${
        codeOf(cause) ?? "unknown reason"
      }); start it or correct the address.`;
  }
}
