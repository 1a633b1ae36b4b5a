import type { Queryable, SqlValue } from "./database.ts";

/**
 * Names what a database holds now, as text: `<pg_snapshot>@<time>`. Reading as of then takes no
 * open transaction: each row says which transaction wrote it (`xmin`), and the snapshot says which
 * had ended. So a slow reader holds nothing up, and a reading can be taken up again after a restart.
 */
export async function takeSnapshot(database: Queryable): Promise<string> {
  const [row] = await database.query(
    "select pg_current_snapshot()::text as snapshot, clock_timestamp() as at",
  );
  return `${row!.snapshot}@${(row!.at as Date).toISOString()}`;
}

/** Conditions on rows as of a snapshot; `bind` gives the place of a value. */
export interface SnapshotConditions {
  /** The row of this alias was written before. Rewritten rows count as written anew. */
  written(alias: string): string;
  /** The time in this column is so long before that the row must be in. */
  old(column: string): string;
  /** The time in this column is before. */
  before(column: string): string;
}

/**
 * Transaction ids in rows have 32 bits and come again after four billion transactions. Rows whose
 * time is this far back are taken to be in the snapshot, so that an id that has come again hides
 * none. What is written so late, after a long outage, may show up in the middle of an export.
 */
const oldMs = 7 * 24 * 60 * 60 * 1000;
const circle = 2n ** 32n;

export function snapshotConditions(
  snapshot: string,
  bind: (value: SqlValue) => string,
): SnapshotConditions {
  const { next, running, at } = parse(snapshot);
  const bindTime = (time: Date) => `${bind(time.toISOString())}::timestamptz`;
  return {
    written: (alias) => {
      // Compared on the circle: how far the id lies after the snapshot's next one, against how
      // many have been given out since. Casts keep both drivers from guessing types.
      const id = `${alias}.xmin::text::bigint`;
      const upperBound = "(select pg_snapshot_xmax(pg_current_snapshot())::text::bigint)";
      const afterSnapshot = `(${id} - ${
        bind(next % circle)
      }::bigint + ${circle}) % ${circle} < ${upperBound} - ${bind(next)}::bigint`;
      if (running.length === 0) return `not (${afterSnapshot})`;
      const unfinished = bind(running.map((one) => one % circle));
      return `not (${afterSnapshot} or ${id} = any(${unfinished}::bigint[]))`;
    },
    old: (column) => `${column} < ${bindTime(new Date(at.getTime() - oldMs))}`,
    before: (column) => `${column} < ${bindTime(at)}`,
  };
}

/** `xmin:xmax:running,running…` as PostgreSQL writes it, and when it was taken. */
function parse(snapshot: string): { next: bigint; running: bigint[]; at: Date } {
  const [, next, running, at] = /^\d+:(\d+):([\d,]*)@(.+)$/.exec(snapshot) ?? [];
  if (next === undefined || running === undefined || at === undefined) {
    throw new Error("This is no snapshot of this store.");
  }
  const ids = running === "" ? [] : running.split(",").map(BigInt);
  return { next: BigInt(next), running: ids, at: new Date(at) };
}
