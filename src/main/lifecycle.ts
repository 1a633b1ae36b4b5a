import { type SetTimer, within } from "../base/deadline.ts";
import type { BudgetServices } from "../budgets/wire.ts";
import type { Ledger } from "../credit/ledger.ts";
import type { CreditServices } from "../credit/wire.ts";
import { endRateLeases } from "../rate_limits/store/rate_buckets.ts";
import type { WriteReplayed } from "../records/journal/recovery.ts";
import { storeLastRecords } from "../records/last_records.ts";
import { createReplayedWriter } from "../records/replayed_calls.ts";
import type { JobRunner } from "../shared/background_jobs.ts";
import type { Services } from "./application.ts";
import type { Config } from "./config.ts";
import { type OpenedStores, readJournals } from "./open_stores.ts";
import type { OperatorStores } from "./operator_stores.ts";
import { watchJournal } from "./service_metrics.ts";
import { closeTelemetry, type Telemetry } from "./telemetry.ts";
import { takeOverWorkers } from "./worker_services.ts";

/** Where earlier runs have left calls and leases. */
type Recovered = OpenedStores & Pick<Services, "config" | "log">;

/** Recovers the journal and leases of an earlier run, then starts the background jobs. */
export async function startServices(
  { recover, evals, keys, routing, budgets, archivePrices }: Pick<
    Services,
    "recover" | "evals" | "keys" | "routing" | "budgets" | "archivePrices"
  >,
  jobs: JobRunner,
): Promise<void> {
  await recover();
  // Before anything calls a model.
  await routing.virtualModelCache.refresh();
  await budgets.budgetCache.refresh();
  evals.evalRunner.wake();
  jobs.start();
  await keys.storedKeys.refresh();
  // Prices are stored before the first record names their version.
  await archivePrices();
}

/** Recovers the journals and leases of this process and of former workers. */
export async function recoverAll(
  core: Recovered,
  { stores, records, erasure, budgets, credit, metrics }: Pick<
    Services,
    "stores" | "records" | "erasure" | "budgets" | "credit" | "metrics"
  >,
): Promise<void> {
  const { recorder } = records;
  const write = createReplayedWriter({ recorder, journal: core.journal });
  const found = { write, ledger: stores.ledger, budgets, credit };
  await checkJournal(core.config, stores.accounts);
  // Before the calls, so that the journal doesn't restore erased ones.
  await erasure.restoreTombstones(core.leftDirs);
  await recover(core, found);
  await takeOverWorkers(core.leftDirs, {
    processDir: core.processDir,
    log: core.log,
    observe: (journal) => watchJournal(journal, { log: core.log, metrics }),
    recover: (journal, processId) => recover({ ...core, journal, processId }, found),
  });
}

/**
 * Recovers a journal and its process's leases. Charges are posted before leases are returned, except
 * those of accounts that stay locked: what a lease still holds by then is unused.
 */
async function recover(
  { database, journal, processId, log }: Pick<
    Recovered,
    "database" | "journal" | "processId" | "log"
  >,
  { write, ledger, budgets, credit }: {
    write: WriteReplayed;
    ledger: Ledger;
    budgets: Pick<BudgetServices, "takeBackBudgets">;
    credit: Pick<CreditServices, "takeBackCaps">;
  },
): Promise<void> {
  const found = await journal.replay(write);
  await credit.takeBackCaps(processId);
  await budgets.takeBackBudgets(processId);
  const { leases } = await ledger.takeBack(processId);
  await endRateLeases(database, processId);
  if (found.ended + found.interrupted + leases === 0) return;
  log.info("recovered the journal and leases of the last run", { ...found, leases });
}

/**
 * Throws if a journal, of this process or of other workers, has calls although this database has no
 * account. They belong to another database, which would never get them: recovery removes them from
 * the journal. Must run before anything is written, so that the database stays empty and can be
 * copied to.
 */
async function checkJournal(
  config: Config,
  accounts: OperatorStores["accounts"],
): Promise<void> {
  if (await accounts.first() !== undefined) return;
  const { waiting } = await readJournals(config);
  if (waiting === 0) return;
  throw new Error(
    `The journal has ${waiting} calls, but the database has no account: start with the database that they belong to, or copy it here first ('admin database copy'). If it is lost, move the folders journal and workers out of ${config.dataDir}.`,
  );
}

/** Runs last line first: stops jobs, then work, then drains records, then returns leases. */
export function closeInOrder(
  stack: AsyncDisposableStack,
  services: Services & { telemetry: Telemetry },
  jobs: JobRunner,
): void {
  const { recorder } = services.records;
  stack.defer(() => services.vendors.upstream.close());
  stack.defer(() => closeTelemetry(services.telemetry, services.metrics));
  stack.defer(() => recorder.close());
  stack.defer(() => storeLast(services));
  stack.defer(() => allEnded([services.idempotency.drain(), services.responseCache.drain()]));
  stack.defer(() => endWork(services));
  stack.defer(() => services.loopWatch.stop());
  stack.defer(() => jobs.stop());
}

/** All at once, so that a store that hangs is waited for once. */
async function endWork(
  { exports, erasure, evals, background, webhooks, refusalRecorder }: Services,
): Promise<void> {
  await allEnded([
    ...[exports.close(), erasure.deletions.close(), evals.evalRunner.close()],
    ...[background.backgroundRunner.close(), webhooks.webhookSender.close()],
    refusalRecorder.close(),
  ]);
}

/** How long a store may take to answer before leases are returned to it. */
const answerMs = 2_000;

/**
 * Stores the last records, then returns leases of all kinds at once, so that one that hangs, as at a
 * locked account, is waited for once. A store that doesn't answer meanwhile would take none: they
 * expire there.
 */
export async function storeLast(
  { database, records, rateLimiter, credit, budgets, log }: Pick<
    Services,
    "database" | "records" | "rateLimiter" | "credit" | "budgets" | "log"
  >,
  setTimer?: SetTimer,
): Promise<void> {
  let hasAnswered = false;
  const answer = database.ping().then(() => void (hasAnswered = true), () => {});
  const waited = within(answerMs, answer, undefined, setTimer);
  await storeLastRecords(records.recorder, log, setTimer);
  await waited;
  if (!hasAnswered) return;
  await allEnded([
    ...[rateLimiter.close(), credit.reservations.close()],
    ...[budgets.budgetHolds.close(), credit.spendCaps.close()],
  ]);
}

/** Waits for all, also if one of them fails. */
async function allEnded(ends: readonly (Promise<void> | void)[]): Promise<void> {
  const results = await Promise.allSettled(ends);
  for (const result of results) if (result.status === "rejected") throw result.reason;
}
