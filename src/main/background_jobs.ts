import type { Ledger } from "../credit/ledger.ts";
import { retentionEveryMs, retentionFirstMs } from "../erasure/retention_job.ts";
import { beatMs } from "../rate_limits/rate_limit.ts";
import type { RefusalServices } from "../refusals/wire.ts";
import type { BackgroundJob } from "../shared/background_jobs.ts";
import type { MetricExport } from "../telemetry/metric_export.ts";
import type { Services } from "./application.ts";

export interface BackgroundJobDeps extends
  Pick<
    Services,
    | ("background" | "budgets" | "credit" | "erasure" | "evals" | "exports" | "idempotency")
    | ("keys" | "rateLimiter" | "responseCache" | "routing" | "webhooks")
    | ("metrics" | "archivePrices")
  > {
  ledger: Ledger;
  refusals: RefusalServices;
  /** Sends metrics to a collector; undefined if there is none. */
  metricExport: MetricExport | undefined;
  eraseOldRecords: () => Promise<void>;
  eraseOldRejected: () => Promise<void>;
  refreshStatistics: () => Promise<void>;
  reclaimExpired: () => Promise<void>;
  /** Adds up the calls of past days, for the overview. */
  keepLabelSums: () => Promise<void>;
  /** Writes to calls' rows what the ledger has already, where a correction or refund was cut. */
  finishCorrections: () => Promise<void>;
  /** Continues the backfills of migrations, which another process may have started. */
  runBackfills: () => Promise<void>;
  sweepKeyCharges: () => Promise<void>;
  sweepReplays: () => Promise<void>;
  sweepSignIns: () => Promise<void>;
  /** No other process uses the main database. */
  isEmbedded: boolean;
}

/** A revoked key is refused everywhere within a second, even if the database is slow. */
const keyPollMs = 250;

/**
 * All periodic work. A job's name is its label in `gateway_background_job_runs_total`; a job that
 * fails is logged, counted and run again at its next time.
 */
export function createBackgroundJobs(deps: BackgroundJobDeps): BackgroundJob[] {
  const { budgets, credit, erasure, exports, keys, routing } = deps;
  return [
    // Calls
    { name: "rate_leases", everyMs: beatMs, run: () => deps.rateLimiter.tick() },
    { name: "credit_leases", everyMs: 1_000, run: () => credit.reservations.tick() },
    {
      name: "expired_credit_leases",
      everyMs: 10_000,
      run: async () => void await deps.ledger.sweepExpired(),
    },
    { name: "budget_leases", everyMs: 1_000, run: () => budgets.budgetHolds.tick() },
    { name: "budget_gauges", everyMs: 10_000, run: () => budgets.budgetGauges.refresh() },
    { name: "expired_budget_leases", everyMs: 10_000, run: budgets.sweepBudgetLeases },
    { name: "cap_leases", everyMs: 1_000, run: () => credit.spendCaps.tick() },
    { name: "expired_cap_leases", everyMs: 10_000, run: credit.sweepKeyLeases },
    { name: "refused_calls", everyMs: 1_000, run: () => deps.refusals.refusalRecorder.flush() },
    { name: "idempotency_claims", everyMs: 10_000, run: () => deps.idempotency.maintain() },
    { name: "corrections", everyMs: 10_000, firstMs: 1_000, run: deps.finishCorrections },
    { name: "price_archive", everyMs: 15_000, run: deps.archivePrices },

    // Asynchronous requests
    {
      name: "background_calls",
      everyMs: 1_000,
      firstMs: 0,
      run: () => deps.background.backgroundRunner.tick(),
    },
    { name: "evals", everyMs: 1_000, run: () => deps.evals.evalRunner.tick() },
    { name: "exports", everyMs: 2_000, run: () => exports.tick() },
    { name: "deletions", everyMs: 1_000, run: () => erasure.deletions.tick() },

    { name: "webhook_events", everyMs: 2_000, run: deps.webhooks.noteEvents },
    { name: "webhooks", everyMs: 1_000, run: () => deps.webhooks.webhookSender.tick() },

    // Changes by other processes. The embedded database has no others, and its one process evicts
    // the keys that it changes.
    { name: "erasure_feed", everyMs: 1_000, run: () => erasure.erasures.refresh() },
    ...(deps.isEmbedded ? [] : [
      { name: "key_cache", everyMs: keyPollMs, run: () => keys.keyCache.refresh() },
      { name: "vendor_key_cache", everyMs: keyPollMs, run: () => keys.storedKeys.refresh() },
      { name: "budget_cache", everyMs: 1_000, run: () => budgets.budgetCache.refresh() },
      {
        name: "virtual_model_cache",
        everyMs: 1_000,
        run: () => routing.virtualModelCache.refresh(),
      },
    ]),
    ...metricExportJob(deps),
    { name: "models_file", everyMs: 2_000, run: () => routing.modelsFile.refresh() },

    ...housekeeping(deps),
  ];
}

function metricExportJob({ metrics, metricExport }: BackgroundJobDeps): BackgroundJob[] {
  if (!metricExport) return [];
  const run = async () => await metricExport.send(await metrics.snapshot());
  return [{ name: "metric_export", everyMs: metricExport.everyMs, run }];
}

function housekeeping(deps: BackgroundJobDeps): BackgroundJob[] {
  const { budgets, erasure, exports, routing } = deps;
  const { vacuum } = erasure;
  return [
    { name: "expired_replays", everyMs: 60_000, run: deps.sweepReplays },
    { name: "expired_cached_answers", everyMs: 60_000, run: () => deps.responseCache.sweep() },
    { name: "expired_key_charges", everyMs: 60_000, run: deps.sweepKeyCharges },
    { name: "expired_budgets", everyMs: 60_000, run: budgets.sweepBudgets },
    { name: "removed_virtual_models", everyMs: 60_000, run: routing.sweepVirtualModels },
    { name: "expired_webhook_events", everyMs: 60_000, run: deps.webhooks.sweepWebhooks },
    { name: "expired_refused_calls", everyMs: 60_000, run: deps.refusals.sweepRefusals },
    { name: "expired_exports", everyMs: 60_000, run: () => exports.sweep() },
    { name: "expired_sign_ins", everyMs: 15 * 60_000, firstMs: 60_000, run: deps.sweepSignIns },
    { name: "expired_erasure_feed", everyMs: 60_000, run: erasure.sweepErasureFeed },
    {
      name: "retention",
      everyMs: retentionEveryMs,
      firstMs: retentionFirstMs,
      run: deps.eraseOldRecords,
    },
    {
      name: "journal_retention",
      everyMs: retentionEveryMs,
      firstMs: retentionFirstMs,
      run: deps.eraseOldRejected,
    },
    // A vacuum locks tables: on a shared database only the operator starts one (`admin scrub`).
    deps.isEmbedded
      ? { name: "vacuum", everyMs: 5_000, run: () => vacuum.whenQuiet() }
      : { name: "vacuum_check", everyMs: 60_000, run: () => vacuum.check() },
    { name: "label_sums", everyMs: 20_000, firstMs: 1_000, run: deps.keepLabelSums },
    { name: "backfills", everyMs: 30_000, firstMs: 2_000, run: deps.runBackfills },
    // A database server reclaims rows and refreshes its statistics itself.
    ...(deps.isEmbedded
      ? [
        { name: "expired_rows", everyMs: 60 * 60_000, firstMs: 60_000, run: deps.reclaimExpired },
        { name: "table_statistics", everyMs: 5 * 60_000, run: deps.refreshStatistics },
      ]
      : []),
  ];
}
