import { type Database, noLockLimit } from "./database.ts";
import type { IndexBuild } from "./migration_file.ts";

/** Runs a statement that needs contended locks: in a transaction, with retries. */
export type WithLock = (statement: string) => Promise<void>;

/**
 * Builds an index on PostgreSQL while writers go on. An invalid index, left by an interrupted build,
 * is dropped and rebuilt; a valid one stays. PostgreSQL can't build concurrently on a partitioned
 * table: there each partition gets its own index, which is attached to the table's.
 */
export async function buildIndex(
  database: Database,
  index: IndexBuild,
  withLock: WithLock,
): Promise<void> {
  const [table] = await database.query(
    "select relkind = 'p' as partitioned from pg_class where oid = to_regclass($1)",
    [index.table],
  );
  if (table?.partitioned !== true) return await buildOne(database, index);
  if (await stateOf(database, index.name) === "missing") {
    await withLock(createIndex(index, `on only ${index.table}`));
  }
  // A partition that is added in the meantime gets its index with it.
  for (const partition of await partitionsWithout(database, index)) {
    const name = `${index.name}${partition.slice(index.table.length)}`;
    await buildOne(database, { ...index, name, table: partition });
    await withLock(`alter index ${index.name} attach partition ${name}`);
  }
}

/** Waits without limit for the transactions that are open, which go on meanwhile. */
async function buildOne(database: Database, index: IndexBuild): Promise<void> {
  const run = (statement: string) => database.query(statement, [], noLockLimit);
  const state = await stateOf(database, index.name);
  if (state === "valid") return;
  if (state === "invalid") await run(`drop index concurrently ${index.name}`);
  await run(createIndex(index, `on ${index.table}`, "concurrently "));
}

/** The statement for a database without concurrent writers. */
export function plainIndex(index: IndexBuild): string {
  return createIndex(index, `on ${index.table}`);
}

function createIndex({ unique, name, rest }: IndexBuild, on: string, concurrently = ""): string {
  return `create ${unique ? "unique " : ""}index ${concurrently}${name} ${on} ${rest}`;
}

async function stateOf(database: Database, name: string): Promise<"missing" | "valid" | "invalid"> {
  const [row] = await database.query(
    "select indisvalid as valid from pg_index where indexrelid = to_regclass($1)",
    [name],
  );
  if (!row) return "missing";
  return row.valid === true ? "valid" : "invalid";
}

async function partitionsWithout(database: Database, index: IndexBuild): Promise<string[]> {
  const rows = await database.query(
    `select p.inhrelid::regclass::text as name from pg_inherits p
     where p.inhparent = to_regclass($1) and not exists (
       select from pg_inherits part join pg_index i on i.indexrelid = part.inhrelid
       where part.inhparent = to_regclass($2) and i.indrelid = p.inhrelid
     ) order by 1`,
    [index.table, index.name],
  );
  return rows.map(({ name }) => String(name));
}
