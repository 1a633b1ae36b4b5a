import { commandFailure, type CommandResult, done } from "../admin/command.ts";
import { mebibytes, openProgressBar, type ProgressBar } from "../admin/export_output.ts";
import { systemClock } from "../base/clock.ts";
import type { LogLines } from "../base/log.ts";
import {
  checkEmpty,
  type CopiedTable,
  copyDatabase,
  type CopySteps,
} from "../database/copy_database.ts";
import type { Queryable } from "../database/database.ts";
import { noteCopy, readCopyNote } from "../database/data_dir.ts";
import { openPostgres } from "../database/postgres/postgres.ts";
import { adoptExports } from "../exports/store/adopt_exports.ts";
import { firstAccount } from "../keys/store/accounts.ts";
import { hasCalls } from "../records/store/calls.ts";
import { copyPartitions } from "../records/store/partitions.ts";
import { messageOf } from "../shared/fault.ts";
import { createServices } from "./application.ts";
import type { Config } from "./config.ts";
import { openMain, openStores, readJournals } from "./open_stores.ts";
import type { AdminConsole } from "./run_admin.ts";
import { version } from "./version.ts";

/**
 * `database copy`: copies the embedded database in `DATA_DIR`, which the caller has claimed, to the
 * PostgreSQL in `DATABASE_URL`. What the journal still holds is stored before.
 */
export async function copyToPostgres(
  config: Config,
  at: Pick<AdminConsole, "isWatched" | "printError">,
): Promise<CommandResult> {
  const { databaseUrl, dataDir } = config;
  if (!databaseUrl) {
    throw new Error("DATABASE_URL is missing: set it to the empty PostgreSQL database to copy to.");
  }
  const analyticsUrl = config.analyticsDatabaseUrl;
  const analyticsDatabaseUrl = analyticsUrl?.reveal() === databaseUrl.reveal()
    ? undefined
    : analyticsUrl;
  const embedded = { ...config, databaseUrl: undefined, analyticsDatabaseUrl, workers: 1 };
  await checkTarget(databaseUrl.reveal(), embedded);
  if (analyticsDatabaseUrl) await checkAnalytics(embedded, analyticsDatabaseUrl.reveal());
  await recoverJournal(embedded, at.printError);
  await using stack = new AsyncDisposableStack();
  const source = await openMain(embedded, stack);
  const target = await openMain(config, stack);
  const bar = at.isWatched ? await openProgressBar() : undefined;
  stack.defer(() => bar?.stop());
  let isNoted = false;
  const tables = await copyDatabase(source, target, {
    openPartitions: copyPartitions,
    async adapt(to) {
      await adoptExports(to, dataDir, analyticsDatabaseUrl === undefined);
      // Last before the commit, which may succeed without this process learning of it.
      await noteCopy(dataDir, systemClock.now());
      isNoted = true;
    },
    ...bar && progressOn(bar),
  }).catch((thrown) => {
    if (!isNoted) throw thrown;
    throw new Error(
      `${
        commandFailure(thrown)
      } PostgreSQL may have the copy: repeat the command, which finds out.`,
      { cause: thrown },
    );
  });
  return copied(tables, dataDir);
}

/** Checked before migrations write to a database that may be another program's, or another service's. */
async function checkTarget(url: string, embedded: Config): Promise<void> {
  const database = await openPostgres(url);
  try {
    await checkEmpty(database);
  } catch (thrown) {
    const at = await readCopyNote(embedded.dataDir);
    if (at === undefined) throw thrown;
    const isHere = await hasCopy(database, embedded).catch(() => undefined);
    const wayOut = isHere === undefined
      ? "if that was to this database, start the service with it"
      : isHere
      ? "this database has the copy: start the service with it"
      : "this database doesn't have the copy: start the service with the one that has; if none has, create a new one and copy to it";
    throw new Error(
      `${messageOf(thrown)} DATA_DIR was copied at ${at}: ${wayOut}.`,
      { cause: thrown },
    );
  } finally {
    await database.close();
  }
}

/** Whether `target` continues from the embedded database: another ledger began at another time. */
async function hasCopy(target: Queryable, embedded: Config): Promise<boolean> {
  await using stack = new AsyncDisposableStack();
  const [its, ours] = [
    await firstAccount(target),
    await firstAccount(await openMain(embedded, stack)),
  ];
  return ours !== undefined && its?.id === ours.id &&
    its.createdAt.getTime() === ours.createdAt.getTime();
}

/**
 * Throws if only the embedded database has calls: they would be copied to `DATABASE_URL`, while the
 * service looked for them at `ANALYTICS_DATABASE_URL`.
 */
async function checkAnalytics(embedded: Config, url: string): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const analytics = await openPostgres(url, { variable: "ANALYTICS_DATABASE_URL" });
  stack.defer(() => analytics.close());
  if (await hasCalls(analytics) || !await hasCalls(await openMain(embedded, stack))) return;
  throw new Error(
    "ANALYTICS_DATABASE_URL: this database has no calls, while the embedded one has some, which are copied to DATABASE_URL: leave it out here and at the start, or calls made so far won't be found.",
  );
}

/** Stores the calls of the journal and returns the leases of a killed server, as a start does. */
async function recoverJournal(config: Config, write: LogLines["write"]): Promise<void> {
  {
    await using stack = new AsyncDisposableStack();
    const opened = await openStores(config, stack, {});
    await createServices(config, opened, version, { write, flush() {} }, stack).recover();
  }
  const { waiting } = await readJournals(config);
  if (waiting === 0) return;
  throw new Error(
    `The journal still has ${waiting} calls that the embedded database doesn't take: start the service without DATABASE_URL, and see its log.`,
  );
}

function progressOn(bar: ProgressBar): Pick<CopySteps, "onTotal" | "onCopied"> {
  const done = { rows: 0, bytes: 0 };
  return {
    onTotal: (rows) => bar.start(rows, 0, { bytes: mebibytes(0) }),
    onCopied(rows, characters) {
      done.rows += rows;
      done.bytes += characters;
      bar.update(done.rows, { bytes: mebibytes(done.bytes) });
    },
  };
}

function copied(tables: readonly CopiedTable[], dataDir: string): CommandResult {
  const filled = tables.filter(({ rows }) => rows > 0);
  const rows = filled.reduce((sum, each) => sum + each.rows, 0);
  return done({ copied: tables }, [
    ...filled.map(lineOf),
    `Copied ${rows} rows of ${filled.length} tables. Rows, contents and amounts of both databases are equal.`,
    `Start the service with this DATABASE_URL and this DATA_DIR, which has the journal and the master key.`,
    `A start without DATABASE_URL is refused: the old database would spend the same credit a second time. Once all is well, remove ${dataDir}/database and ${dataDir}/exports, from which nothing is erased any more.`,
  ]);
}

function lineOf({ name, rows, nanos }: CopiedTable): string {
  const sums = Object.entries(nanos).map(([column, sum]) => `, ${column} ${sum}`);
  return `${name}: ${rows} rows${sums.join("")}`;
}
