import { createAuditLog } from "../audit/store/audit.ts";
import { callControl, callExport } from "../admin/control.ts";
import { commandFailure, type CommandResult, done, readInput } from "../admin/command.ts";
import { type ExportDeps, runExport } from "../admin/export_command.ts";
import { type ExportTerminal, runExportCommand } from "../admin/export_output.ts";
import {
  commandForms,
  helpResult,
  readsInput,
  runCommand,
  runCommandOf,
  seeHelp,
} from "../admin/commands.ts";
import { journalCommands } from "../admin/journal_command.ts";
import { adminDepsOf } from "../admin/deps.ts";
import { systemClock } from "../base/clock.ts";
import { createUuidv7 } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { visibleControls } from "../base/visible_controls.ts";
import { type Config, readConfig, readProgram } from "./config.ts";
import { chargedInScope } from "../budgets/budget.ts";
import { createBudgets } from "../budgets/wire.ts";
import { runHealth } from "./run_health.ts";
import { vacuumHere } from "../admin/vacuum_here.ts";
import { signInLinksOf } from "./sign_in_links.ts";
import { createSignIns } from "../people/store/sign_ins.ts";
import { createAccounts } from "../keys/store/accounts.ts";
import type { Database } from "../database/database.ts";
import { findMasterKey } from "../keys/store/master_key.ts";
import { addressOfOwner, claimDataDir, hasDatabase, refuseCopied } from "../database/data_dir.ts";
import { otherOwnerOf } from "../database/file_owners.ts";
import type { AdminDeps } from "../admin/commands.ts";
import { createExportService } from "../exports/wire.ts";
import type { FlushRecords } from "../records/flush_records.ts";
import { createWebhooks } from "../webhooks/wire.ts";
import type { WebhookService } from "../webhooks/webhook_service.ts";
import { openAnalyticsStore, openMain, readJournals } from "./open_stores.ts";
import { createOperatorStores } from "./operator_stores.ts";
import {
  createConfiguredPrices,
  createConfiguredRegistry,
  createConfiguredRouting,
  openPriceCommands,
} from "./vendors.ts";
import { vendorLabelOf } from "../vendors/shown_vendor.ts";
import { createFairReads } from "../database/fair_reads.ts";
import { createRepricing } from "../repricing/store/repricing.ts";

/** What a command reads and writes. */
export interface AdminConsole extends ExportTerminal {
  /** What people type before a command, such as `deno task admin`. */
  program: string;
  /** All of standard input, for a command that reads a secret from it. */
  input(): Promise<string>;
  print(line: string): void;
  printError(line: string): void;
}

/** Runs one of the operator's commands and ends the process. */
export async function runAdmin(argv: readonly string[]): Promise<never> {
  Deno.exit(
    await adminCommand(argv, readConfig, {
      program: `${readProgram()} admin`,
      isWatched: Deno.stderr.isTerminal(),
      async write(bytes) {
        for (let at = 0; at < bytes.length;) at += await Deno.stdout.write(bytes.subarray(at));
      },
      async input() {
        if (Deno.stdin.isTerminal()) console.error("Paste the value, then press Enter and Ctrl-D.");
        return await readInput(Deno.stdin.readable);
      },
      print: (line) => console.log(line),
      printError: (line) => console.error(line),
    }),
  );
}

/**
 * Runs a command and prints its result, as one JSON value with `--json`. Returns the exit code: 0
 * done, 1 failed, 2 wrong usage.
 */
export async function adminCommand(
  argv: readonly string[],
  readConfig: () => Config,
  at: AdminConsole,
): Promise<number> {
  const asJson = argv.includes("--json");
  try {
    // Help reads no settings, so that it works even if they are invalid.
    const help = helpResult(argv, at.program);
    const result = help !== undefined
      ? help
      : argv[0] === "health"
      ? await runHealth(readConfig(), argv.slice(1))
      : argv[0] === "migrate"
      ? await runMigrate(readConfig(), argv)
      : argv[0] === "database"
      ? await runCopy(readConfig(), argv, at)
      : argv[0] === "export"
      ? await exportRows(readConfig(), argv.slice(1).filter((arg) => arg !== "--json"), asJson, at)
      : await run(readConfig(), argv, readsInput(argv) ? await at.input() : "");
    const isWrongUsage = result.exitCode === 2 && help === undefined;
    const lines = [...result.lines, ...(isWrongUsage ? seeHelp(argv, at.program) : [])];
    print({ ...result, lines }, asJson, at);
    return result.exitCode;
  } catch (thrown) {
    const message = commandFailure(thrown).split("\n")[0]!;
    print({ exitCode: 1, json: { error: message }, lines: [`error: ${message}`] }, asJson, at);
    return 1;
  }
}

/** An export is written while it is read: it is too large to be a command's result. */
async function exportRows(
  config: Config,
  args: readonly string[],
  asJson: boolean,
  terminal: ExportTerminal,
): Promise<CommandResult> {
  return await runExportCommand(args, asJson, terminal, async function* (withTotal) {
    const answered = config.databaseUrl
      ? undefined
      : await callExport(config.dataDir, args, withTotal);
    if (answered) return yield* answered;
    await using stack = new AsyncDisposableStack();
    if (!config.databaseUrl) await claimHere(config, stack);
    yield* runExport(await openExportDeps(config, stack), args, withTotal);
  });
}

async function openExportDeps(config: Config, stack: AsyncDisposableStack): Promise<ExportDeps> {
  const database = await openMain(config, stack);
  const reads = createFairReads(database);
  const analytics = await openAnalyticsStore(config, database, stack);
  const analyticsStore = analytics.create({ mainReads: reads });
  const clock = systemClock;
  const log = createLog((line) => console.error(line), clock.now);
  const newId = createUuidv7(clock);
  const { dataDir, exportBucket } = config;
  return {
    accounts: createAccounts(database),
    audit: createAuditLog(database, clock.now),
    exports: createExportService({
      ...{ dataDir, exportBucket, database, analyticsStore, reads, clock, log },
      ...{ newId, workerId: newId() },
      vendorLabel: vendorLabelOf(createConfiguredRegistry(config)),
    }),
    flushRecords: nothingToFlush,
  };
}

/** Commands record no calls. */
const nothingToFlush: FlushRecords = () => Promise.resolve();

/**
 * Claims the data directory. Throws if it has no database: a new one in the wrong folder would look
 * like the real one, but empty. Throws if it belongs to another user: root could write there, but
 * that user couldn't read the new files.
 */
async function claimHere(
  { dataDir, databaseUrl }: Config,
  stack: AsyncDisposableStack,
  wayOut?: string,
): Promise<void> {
  if (!await hasDatabase(dataDir)) throw new Error(await nothingIn(dataDir));
  const owner = await otherOwnerOf(dataDir);
  if (owner !== undefined) throw new Error(belongsTo(dataDir, owner));
  const claim = await claimDataDir(dataDir, wayOut);
  stack.defer(() => claim.release());
  // `database copy`, which has the URL, can be repeated.
  if (!databaseUrl) await refuseCopied(dataDir);
}

function belongsTo(dataDir: string, owner: number): string {
  return `The data in ${dataDir} belongs to user ${owner}, who couldn't read the files that this command writes: ` +
    `start the service and repeat the command, or run it as that user (sudo -u '#${owner}' …).`;
}

async function nothingIn(dataDir: string): Promise<string> {
  const server = await addressOfOwner(dataDir);
  if (server !== undefined) {
    return `The server at ${server} has no database in ${dataDir}: set DATABASE_URL here if it is set there; if the server is just starting for the first time, repeat this in a moment.`;
  }
  const none = `There is no data in ${dataDir} and no server at it`;
  const demo = `${dataDir}/demo`;
  return await hasDatabase(demo).catch(() => false)
    ? `${none}: set DATA_DIR to the service's data directory (the demo's is ${demo}).`
    : `${none}: set DATA_DIR to the service's data directory, or DATABASE_URL, or start the service once.`;
}

const repeatLater = "a server takes commands once it has started, so repeat this one in a moment";

/**
 * Runs a command in the server that holds the embedded database, if there is one; else it opens the
 * database itself.
 */
async function run(config: Config, args: readonly string[], input: string): Promise<CommandResult> {
  if (args[0] === "journal") return await runOnJournal(config, args);
  // `scrub` includes the journal of a running server, whichever database it uses.
  const isServers = !config.databaseUrl || args[0] === "scrub";
  const answered = isServers ? await callControl(config.dataDir, args, input) : undefined;
  if (answered) return answered;
  await using stack = new AsyncDisposableStack();
  if (!config.databaseUrl) await claimHere(config, stack, repeatLater);
  const database = await openMain(config, stack);
  return await runCommand(createAdminDeps(config, database, stack), args, input);
}

/** Never in a running server: at its start it has migrated the database for its own version. */
async function runMigrate(config: Config, args: readonly string[]): Promise<CommandResult> {
  const run = async () => {
    await using stack = new AsyncDisposableStack();
    if (!config.databaseUrl) await claimHere(config, stack);
    await openMain(config, stack);
    return done({ migrated: true }, ["The database is up to date."]);
  };
  return await runCommandOf({ migrate: { ...commandForms.migrate!, run } }, {}, args);
}

/** Never in a running server: no call may be recorded meanwhile. */
async function runCopy(
  config: Config,
  args: readonly string[],
  at: AdminConsole,
): Promise<CommandResult> {
  const run = async () => {
    await using stack = new AsyncDisposableStack();
    await claimHere(config, stack, "stop it, and repeat this command");
    // It loads the whole service, which would slow down the start of all other commands.
    const { copyToPostgres } = await import("./copy_to_postgres.ts");
    return await copyToPostgres(config, at);
  };
  const copy = { ...commandForms["database copy"]!, run };
  return await runCommandOf({ "database copy": copy }, {}, args);
}

/** Reads the data directory alone, so that the journal can be seen while the database is down. */
async function runOnJournal(config: Config, args: readonly string[]): Promise<CommandResult> {
  const deps = { clock: systemClock, journalStatus: () => readJournals(config) };
  return await callControl(config.dataDir, args) ??
    await runCommandOf(journalCommands, deps, args);
}

function createAdminDeps(
  config: Config,
  database: Database,
  stack: AsyncDisposableStack,
): AdminDeps {
  const { dataDir, tls, host, port } = config;
  const clock = systemClock;
  const dashboardBase = config.baseUrl ?? `${tls ? "https" : "http"}://${host}:${port}`;
  const registry = createConfiguredRegistry(config);
  const log = createLog((line) => console.error(line), clock.now);
  const masterKey = () => findMasterKey({ configured: config.masterKey, dataDir, database });
  // Only the commands that read or change calls open their store.
  const openRows = async () => (await openAnalyticsStore(config, database, stack)).create({});
  const openRouting = () => {
    const prices = createConfiguredPrices(config, registry);
    return createConfiguredRouting(config, { database, registry, prices, log });
  };
  return adminDepsOf({
    ...createOperatorStores({ database, masterKey, clock }),
    scrub: async () => await vacuumHere(dataDir, database, await openRows()),
    registry,
    budgets: createBudgets({
      ...{ database, processId: "admin", leaseSeconds: config.leaseSeconds, clock, log },
      newId: createUuidv7(clock),
      chargedSince: async (...args) => {
        return await chargedInScope(await openRows())(...args);
      },
    }).budgets,
    webhooks: openWebhooks(config, { database, masterKey, clock, log }),
    openVirtualModels: () => openRouting().virtualModels,
    isModel: async (accountId, name) => {
      const { routes, virtualModelCache } = openRouting();
      await virtualModelCache.refresh();
      return routes.lookUp(accountId, name) !== undefined;
    },
    openPrices: async () => ({
      ...openPriceCommands(config),
      repricing: createRepricing(database, await openRows()),
    }),
    flushRecords: nothingToFlush,
    // A server archives the prices that it has learned; a command has learned none.
    archivePrices: () => Promise.resolve(),
    clock,
    journalStatus: () => readJournals(config),
    newId: createUuidv7(clock),
    dashboardBase,
    signIns: createSignIns(database),
    signInLinks: signInLinksOf(config, dashboardBase),
    hasSignIn: config.oauth !== undefined,
  });
}

/** Opens the webhooks for a command, which only stores events: a server sends them. */
function openWebhooks(
  { fetchAllowHosts: allowHosts }: Config,
  deps: Pick<Parameters<typeof createWebhooks>[0], "database" | "masterKey" | "clock" | "log">,
): WebhookService {
  const { webhooks } = createWebhooks({
    ...{ ...deps, allowHosts, workerId: "admin", newId: createUuidv7(deps.clock) },
    downVendors: () => [],
  });
  return webhooks;
}

function print(result: CommandResult, asJson: boolean, at: AdminConsole): void {
  // Standard output holds an export: nothing may be added to it.
  if (result.json === undefined) return;
  if (asJson) return at.print(visibleControls(JSON.stringify(result.json)));
  const put = result.exitCode === 0 ? at.print : at.printError;
  // Callers, an account's members and vendors have named much of what is printed.
  for (const line of result.lines) put(visibleControls(line));
}
