import { programFile } from "../base/program_files.ts";
import { systemClock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Database, Queryable } from "./database.ts";
import { type Migration, readMigrations } from "./migration_file.ts";
import { whenUnlocked } from "./when_unlocked.ts";

/** Rows per batch, so that row locks are short. */
const rowsPerBatch = 1000;

/**
 * The statement of a backfill step gets $1, the position where the last batch ended (empty before the
 * first), and $2, the batch size; it returns one row with `position` and `rows`. A batch that isn't
 * full is the last: concurrently written rows would otherwise keep it going.
 */
type Backfill = Pick<Migration, "version" | "sql">;

/** Records that a backfill is due; part of its step's transaction. */
export async function startBackfill(tx: Queryable, { version, name }: Migration): Promise<void> {
  await tx.query("insert into schema_backfills (version, name) values ($1, $2)", [version, name]);
}

/**
 * The background job that runs due backfills: one batch at a time, in one process at a time, each
 * followed by a pause as long as it took. A killed process loses one batch.
 */
export async function runBackfills(
  database: Database,
  log: Pick<Log, "info">,
  { read = () => readMigrations(programFile("migrations/")), batchRows = rowsPerBatch } = {},
): Promise<void> {
  const waiting = await unfinished(database);
  if (waiting.length === 0) return;
  const existing = new Map((await read()).map((each) => [each.version, each]));
  for (const version of waiting) {
    // Processes of a newer version run that version's backfills.
    const step = existing.get(version);
    if (!step) continue;
    for (;;) {
      const began = systemClock.monotonicMs();
      const outcome = await runBatch(database, step, batchRows);
      if (outcome === "busy") break;
      if (outcome === "done") {
        log.info("a backfill is complete", { step: step.version, name: step.name });
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, systemClock.monotonicMs() - began));
    }
  }
}

/**
 * Completes the backfills that precede a contract step, from the beginning: programs of the previous
 * version may have written rows before the position that a backfill had reached.
 */
export async function completeBackfills(
  database: Database,
  steps: readonly Migration[],
): Promise<void> {
  for (const step of steps.filter(({ phase }) => phase === "backfill")) {
    const [restarted] = await whenUnlocked(() =>
      database.query(
        `update schema_backfills set position = '', finished_at = null where version = $1
         returning version`,
        [step.version],
      )
    );
    if (!restarted) continue;
    for (;;) {
      const outcome = await whenUnlocked(() => runBatch(database, step, rowsPerBatch));
      if (outcome === "done") break;
      // Another process is running it right now.
      if (outcome === "busy") await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

async function unfinished(database: Queryable): Promise<number[]> {
  const rows = await database.query(
    "select version from schema_backfills where finished_at is null order by version",
    [],
  );
  return rows.map(({ version }) => Number(version));
}

/** One transaction holds the batch and its progress. */
async function runBatch(
  database: Database,
  { version, sql }: Backfill,
  batchRows: number,
): Promise<"more" | "done" | "busy"> {
  return await database.transaction(async (tx) => {
    const [progress] = await tx.query(
      `select position, finished_at from schema_backfills where version = $1
       for update skip locked`,
      [version],
    );
    if (!progress) return "busy";
    if (progress.finished_at !== null) return "done";
    const [batch] = await tx.query(sql, [String(progress.position), batchRows]);
    const rows = Number(batch?.rows ?? 0);
    const isLast = rows < batchRows;
    await tx.query(
      `update schema_backfills set rows_done = rows_done + $2::bigint,
         position = coalesce($3, position),
         finished_at = case when $4::boolean then clock_timestamp() end
       where version = $1`,
      [version, rows, rows === 0 ? null : String(batch!.position), isLast],
    );
    return isLast ? "done" : "more";
  });
}
