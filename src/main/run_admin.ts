import { callControl, callExport } from "../admin/control.ts";
import { type CommandResult, readInput } from "../admin/command.ts";
import { type ExportDeps, runExport } from "../admin/export_command.ts";
import { runExportCommand } from "../admin/export_output.ts";
import type { PriceCommands } from "../admin/price_commands_deps.ts";
import { readsInput, runCommand, runCommandOf, usage } from "../admin/commands.ts";
import { journalCommands } from "../admin/journal_command.ts";
import { adminDepsOf } from "../admin/deps.ts";
import { systemClock } from "../base/clock.ts";
import { createUuidv7 } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { type Config, readConfig } from "./config.ts";
import { messageOf } from "../shared/fault.ts";
import { runHealth } from "./run_health.ts";
import { vacuumHere } from "../admin/vacuum_here.ts";
import { createAccounts } from "../keys/store/accounts.ts";
import type { Database } from "../database/database.ts";
import { findMasterKey } from "../keys/store/master_key.ts";
import { claimDataDir } from "../database/data_dir.ts";
import { openAnalytics, openDatabase } from "../database/open.ts";
import type { AdminDeps } from "../admin/commands.ts";
import { createExportService } from "../exports/wire.ts";
import type { FlushRecords } from "../records/flush_records.ts";
import { openDatabases, type OpenedDatabases } from "./open_stores.ts";
import { createOperatorStores } from "./operator_stores.ts";
import { createConfiguredRegistry, openPriceCommands } from "./vendors.ts";
import { createFairReads } from "../database/fair_reads.ts";
import { createRepricing } from "../repricing/store/repricing.ts";
import { type JournalStatus, readJournalStatus } from "../records/journal/status.ts";
import { createAnalyticsStore } from "../records/store/analytics_store.ts";

/**
 * Runs one of the operator's commands to the end of the process: prints what it
 * says, as one JSON value with `--json`, and exits 0 done, 1 failed, 2 wrong usage.
 */
export async function runAdmin(argv: readonly string[]): Promise<never> {
  const asJson = argv.includes("--json");
  try {
    const result = argv.length === 0
      ? { exitCode: 2 as const, json: { error: "no command" }, lines: [usage()] }
      : argv[0] === "health"
      ? await runHealth(readConfig(), argv.slice(1))
      : argv[0] === "export"
      ? await exportRows(readConfig(), argv.slice(1).filter((word) => word !== "--json"), asJson)
      : await run(readConfig(), argv, await inputOf(argv));
    print(result, asJson);
    Deno.exit(result.exitCode);
  } catch (thrown) {
    const message = messageOf(thrown).split("\n")[0]!;
    print({ exitCode: 1, json: { error: message }, lines: [`error: ${message}`] }, asJson);
    Deno.exit(1);
  }
}

/** An export is too large to be a command's result: it is written while it is read. */
async function exportRows(
  config: Config,
  words: readonly string[],
  asJson: boolean,
): Promise<CommandResult> {
  const terminal = {
    isWatched: Deno.stderr.isTerminal(),
    async write(bytes: Uint8Array) {
      for (let at = 0; at < bytes.length;) at += await Deno.stdout.write(bytes.subarray(at));
    },
  };
  return await runExportCommand(words, asJson, terminal, async function* (withTotal) {
    const answered = config.databaseUrl
      ? undefined
      : await callExport(config.dataDir, words, withTotal);
    if (answered) return yield* answered;
    await using stack = new AsyncDisposableStack();
    if (!config.databaseUrl) await claimHere(config, stack);
    yield* runExport(exportDepsOf(config, await openDatabases(config, stack)), words, withTotal);
  });
}

function exportDepsOf(config: Config, { database, analytics }: OpenedDatabases): ExportDeps {
  const clock = systemClock;
  const log = createLog((line) => console.error(line), clock.now);
  const { dataDir, exportBucket } = config;
  return {
    accounts: createAccounts(database),
    exports: createExportService({
      ...{ dataDir, exportBucket, database, clock, log, newId: createUuidv7(clock) },
      analyticsStore: createAnalyticsStore(analytics, database),
      // A command has nobody to take turns with.
      reads: createFairReads(analytics),
    }),
    flushRecords: nothingToFlush,
  };
}

/** Commands record no calls. */
const nothingToFlush: FlushRecords = () => Promise.resolve();

async function claimHere({ dataDir }: Config, stack: AsyncDisposableStack): Promise<void> {
  const claim = await claimDataDir(dataDir);
  stack.defer(() => claim.release());
}

/** What standard input holds, for a command that takes a secret from there. */
async function inputOf(words: readonly string[]): Promise<string> {
  if (!readsInput(words)) return "";
  if (Deno.stdin.isTerminal()) console.error("Paste the value, then press Enter and Ctrl-D.");
  return await readInput(Deno.stdin.readable);
}

/**
 * A running server that owns the embedded database takes the command; else the store is opened
 * here, PostgreSQL at its address or the embedded one in its directory.
 */
async function run(
  config: Config,
  words: readonly string[],
  input: string,
): Promise<CommandResult> {
  if (words[0] === "journal") return await runOnJournal(config, words);
  // A server tidies its journal too, whichever database it uses.
  const isServers = !config.databaseUrl || words[0] === "scrub";
  const answered = isServers ? await callControl(config.dataDir, words, input) : undefined;
  if (answered) return answered;
  await using stack = new AsyncDisposableStack();
  if (!config.databaseUrl) await claimHere(config, stack);
  const database = await openDatabase(config.databaseUrl, config.dataDir);
  stack.defer(() => database.close());
  // Opening has applied what was missing.
  if (words[0] === "migrate") {
    return { exitCode: 0, json: { migrated: true }, lines: ["The database is up to date."] };
  }
  return await runCommand(createAdminDeps(config, database), words, input);
}

/** The journal is in the data directory whatever the store is, and is seen while that is away. */
async function runOnJournal(config: Config, words: readonly string[]): Promise<CommandResult> {
  const deps = { clock: systemClock, journalStatus: () => journalStatus(config) };
  return await callControl(config.dataDir, words) ??
    await runCommandOf(journalCommands, deps, words);
}

function journalStatus(config: Config): Promise<JournalStatus> {
  return readJournalStatus(`${config.dataDir}/journal`, {
    sync: config.journalSync,
    maxBytes: config.journalMaxBytes,
  });
}

function createAdminDeps(config: Config, database: Database): AdminDeps {
  const { dataDir, tls, host, port } = config;
  const clock = systemClock;
  const masterKey = () => findMasterKey({ configured: config.masterKey, dataDir, database });
  return adminDepsOf({
    ...createOperatorStores({ database, masterKey, clock }),
    scrub: () => vacuumHere(config, database),
    registry: createConfiguredRegistry(config),
    openPrices: () => openPrices(config, database),
    flushRecords: nothingToFlush,
    // A server stores the prices that it has learned; a command has learned none.
    archivePrices: () => Promise.resolve(),
    clock,
    journalStatus: () => journalStatus(config),
    newId: createUuidv7(clock),
    dashboardBase: config.baseUrl ?? `${tls ? "https" : "http"}://${host}:${port}`,
    hasSignIn: config.oauth !== undefined,
  });
}

/** The calls may stand in a database of their own, which only these commands open. */
async function openPrices(config: Config, database: Database): Promise<PriceCommands> {
  const commands = openPriceCommands(config);
  const analytics = await openAnalytics(config, database);
  return {
    ...commands,
    repricing: createRepricing(database, createAnalyticsStore(analytics, database)),
    async close() {
      await commands.close();
      if (analytics !== database) await analytics.close();
    },
  };
}

function print(result: CommandResult, asJson: boolean): void {
  // An export on standard output stands alone there.
  if (result.json === undefined) return;
  if (asJson) console.log(JSON.stringify(result.json));
  else if (result.exitCode === 0) result.lines.forEach((line) => console.log(line));
  else result.lines.forEach((line) => console.error(line));
}
