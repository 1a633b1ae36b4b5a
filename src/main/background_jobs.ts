import type { BackgroundServices } from "../background/wire.ts";
import type { Ledger } from "../credit/ledger.ts";
import type { CreditServices } from "../credit/wire.ts";
import { retentionEveryMs, retentionFirstMs } from "../erasure/retention_job.ts";
import type { ErasureServices } from "../erasure/wire.ts";
import type { EvalServices } from "../evals/wire.ts";
import type { Exports } from "../exports/exports.ts";
import type { Idempotency } from "../idempotency/idempotency.ts";
import type { KeyCaches } from "../keys/wire.ts";
import { beatMs } from "../rate_limits/rate_limit.ts";
import type { RateLimiter } from "../rate_limits/rate_limiter.ts";
import type { BackgroundJob } from "../shared/background_jobs.ts";

export interface BackgroundJobDeps {
  background: Pick<BackgroundServices, "backgroundRunner">;
  credit: CreditServices;
  erasure: Pick<ErasureServices, "deletions" | "erasures" | "vacuum" | "sweepErasureFeed">;
  evals: Pick<EvalServices, "evalRunner">;
  exports: Pick<Exports, "tick" | "sweep">;
  idempotency: Pick<Idempotency, "maintain">;
  keys: KeyCaches;
  ledger: Pick<Ledger, "sweepExpired">;
  rateLimiter: Pick<RateLimiter, "tick">;
  archivePrices: () => Promise<void>;
  eraseOldRecords: () => Promise<void>;
  refreshStatistics: () => Promise<void>;
  /** Goes on with backfills of migrations, which another process may have begun. */
  runBackfills: () => Promise<void>;
  sweepKeyCharges: () => Promise<void>;
  sweepReplays: () => Promise<void>;
  /** This process alone uses the database of accounts. */
  isEmbedded: boolean;
  /** This process alone uses the database of interactions. */
  isAnalyticsEmbedded: boolean;
}

/** A revocation is refused everywhere within a second; this leaves room for a slow database. */
const keyWatchMs = 250;

/** Everything that the service does periodically. A failing job is logged, counted and run again. */
export function createBackgroundJobs(on: BackgroundJobDeps): BackgroundJob[] {
  const { credit, erasure, exports, keys } = on;
  const { vacuum } = erasure;
  return [
    // Calls
    { name: "rate leases", everyMs: beatMs, run: () => on.rateLimiter.tick() },
    { name: "credit leases", everyMs: 1_000, run: () => credit.reservations.tick() },
    {
      name: "expired leases",
      everyMs: 10_000,
      run: async () => void await on.ledger.sweepExpired(),
    },
    { name: "spend caps", everyMs: 1_000, run: () => credit.spendCaps.refresh() },
    { name: "keep claims", everyMs: 10_000, run: () => on.idempotency.maintain() },
    { name: "keep prices", everyMs: 15_000, run: on.archivePrices },

    // Work for callers who don't wait
    {
      name: "background calls",
      everyMs: 1_000,
      firstMs: 0,
      run: () => on.background.backgroundRunner.tick(),
    },
    { name: "evaluations", everyMs: 1_000, run: () => on.evals.evalRunner.tick() },
    { name: "exports", everyMs: 2_000, run: () => exports.tick() },
    { name: "deletions", everyMs: 1_000, run: () => erasure.deletions.tick() },

    // What other processes have changed; the embedded database has one process only, and whoever
    // changes a key there tells the caches.
    { name: "hear of erasures", everyMs: 1_000, run: () => erasure.erasures.refresh() },
    ...(on.isEmbedded ? [] : [
      { name: "watch keys", everyMs: keyWatchMs, run: () => keys.keyCache.refresh() },
      { name: "watch vendor keys", everyMs: keyWatchMs, run: () => keys.storedKeys.refresh() },
    ]),

    // Housekeeping
    { name: "sweep replays", everyMs: 60_000, run: on.sweepReplays },
    { name: "sweep key charges", everyMs: 60_000, run: on.sweepKeyCharges },
    { name: "sweep exports", everyMs: 60_000, run: () => exports.sweep() },
    { name: "sweep news of erasures", everyMs: 60_000, run: erasure.sweepErasureFeed },
    {
      name: "retention",
      everyMs: retentionEveryMs,
      firstMs: retentionFirstMs,
      run: on.eraseOldRecords,
    },
    // Where others use the database too, tables are locked only when its operator asks for it.
    on.isEmbedded
      ? { name: "scrub", everyMs: 5_000, run: () => vacuum.whenQuiet() }
      : { name: "look whether to scrub", everyMs: 60_000, run: () => vacuum.look() },
    { name: "backfills", everyMs: 30_000, firstMs: 2_000, run: on.runBackfills },
    // A database server refreshes them by itself.
    ...(on.isAnalyticsEmbedded
      ? [{ name: "statistics", everyMs: 5 * 60_000, run: on.refreshStatistics }]
      : []),
  ];
}
