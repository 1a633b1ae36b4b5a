import type { Queryable, SqlValue } from "./database.ts";

/**
 * Returns a text that identifies the current state of a database: `<pg_snapshot>@<time>`. Reading
 * as of then needs no open transaction: a row names the transaction that wrote it (`xmin`), and the
 * snapshot says which ones had ended. So a slow reader blocks nothing, and can continue after a
 * restart.
 */
export async function takeSnapshot(database: Queryable): Promise<string> {
  const [row] = await database.query(
    "select pg_current_snapshot()::text as snapshot, clock_timestamp() as at",
  );
  return `${row!.snapshot}@${(row!.at as Date).toISOString()}`;
}

/** Conditions on rows as of a snapshot; `bind` returns the placeholder of a value. */
export interface SnapshotConditions {
  /** The row of this alias was written before the snapshot. An update counts as a new write. */
  written(alias: string): string;
  /** The time in this column is so old that the row must be in the snapshot. */
  old(column: string): string;
  /** The time in this column is before the snapshot's. */
  before(column: string): string;
}

/**
 * Transaction ids in rows have 32 bits and wrap around after four billion transactions. Rows this
 * old count as part of the snapshot, so that wraparound hides none. A row that is written this
 * late, after a long outage, may show up in the middle of an export.
 *
 * A dump doesn't have these ids: after its restore all rows have new ones, also the first migration's,
 * which every snapshot of this database contains. In another cluster they may be earlier ones, of
 * which fewer have been assigned than the snapshot says. Then no id tells anything, and all rows from
 * before the snapshot's time count.
 */
const oldMs = 7 * 24 * 60 * 60 * 1000;
const circle = 2n ** 32n;

export function snapshotConditions(
  snapshot: string,
  bind: (value: SqlValue) => string,
): SnapshotConditions {
  const { next, running, at } = parse(snapshot);
  const bindTime = (time: Date) => `${bind(time.toISOString())}::timestamptz`;
  const written = (alias: string) => {
    // Modulo 2^32: how far the id is after the snapshot's next one, against how many ids have
    // been assigned since. Casts keep both drivers from guessing types.
    const id = `${alias}.xmin::text::bigint`;
    const upperBound = "(select pg_snapshot_xmax(pg_current_snapshot())::text::bigint)";
    const nextId = `${bind(next)}::bigint`;
    const distance = `(${id} - ${bind(next % circle)}::bigint + ${circle}) % ${circle}`;
    const afterSnapshot = `(${upperBound} < ${nextId} or ${distance} < ${upperBound} - ${nextId})`;
    if (running.length === 0) return `not (${afterSnapshot})`;
    const unfinished = bind(running.map((one) => one % circle));
    return `not (${afterSnapshot} or ${id} = any(${unfinished}::bigint[]))`;
  };
  return {
    written,
    old: (column) => {
      const knowsIds = `select ${written("m")} from schema_migrations m order by version limit 1`;
      const oldTime = bindTime(new Date(at.getTime() - oldMs));
      return `${column} < case when (${knowsIds}) then ${oldTime} else ${bindTime(at)} end`;
    },
    before: (column) => `${column} < ${bindTime(at)}`,
  };
}

/** Parses PostgreSQL's `xmin:xmax:running,running…` and the time. */
function parse(snapshot: string): { next: bigint; running: bigint[]; at: Date } {
  const [, next, running, at] = /^\d+:(\d+):([\d,]*)@(.+)$/.exec(snapshot) ?? [];
  if (next === undefined || running === undefined || at === undefined) {
    throw new Error("This is no snapshot of this store.");
  }
  const ids = running === "" ? [] : running.split(",").map(BigInt);
  return { next: BigInt(next), running: ids, at: new Date(at) };
}
