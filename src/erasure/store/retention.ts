import type { ErasedPayloads, ErasedUsage, RetentionStore } from "../retention.ts";
import type { Database } from "../../database/database.ts";
import { databaseNow } from "../../database/from_now.ts";
import { deleteBefore, unlessBusy } from "../../database/retention_lock.ts";
import { eraseResults } from "../../evals/store/stale_results.ts";
import type { AnalyticsStore } from "../../records/analytics_store.ts";
import { unlinkOutcomes } from "./erase_outcomes.ts";
import { notingDirty } from "./vacuum.ts";

/** Builds the store: calls are in `analytics`, stored responses and evaluations in `main`. */
export function createRetention(main: Database, analytics: AnalyticsStore): RetentionStore {
  /** A server reclaims rows itself, and only its operator scrubs it. */
  const scrubbing = async <Counts extends object>(
    limit: Date,
    erase: () => Promise<Erased<Counts> | undefined>,
  ) => {
    if (main.kind !== "embedded") return (await erase())?.counts;
    let erased: Erased<Counts> | undefined;
    await notingDirty(main, await analytics.relationsBefore(limit), async () => {
      erased = await erase();
      return erased && sumOf(erased) > 0 ? erased.relations : undefined;
    });
    return erased?.counts;
  };
  return {
    now: () => databaseNow(main),
    ensurePartitions: (now) => analytics.ensurePartitions(now),
    erasePayloads: (limit) =>
      scrubbing(limit, async () => {
        const erased = await analytics.erasePayloadsBefore(limit);
        return erased && await unlessBusy(async () => {
          const unreported = {
            backgroundCalls: await deleteBefore(main, "background_calls", limit),
            cachedAnswers: await deleteBefore(main, "cached_answers", limit),
          };
          const counts: ErasedPayloads = {
            partitions: erased.partitions,
            payloads: erased.rows,
            mediaRefs: erased.mediaRefs,
            storedResponses: await deleteBefore(main, "kept_responses", limit),
            storedReasoning: await deleteBefore(main, "kept_reasoning", limit),
            evalDetails: await eraseResults({ main, analytics }, limit, "details"),
          };
          return { counts, unreported, relations: erased.relations };
        });
      }),
    eraseUsage: (limit) =>
      scrubbing(limit, async () => {
        const erased = await analytics.eraseRowsBefore(limit);
        return erased && await unlessBusy(async () => {
          await unlinkOutcomes(main, limit);
          const counts: ErasedUsage = {
            partitions: erased.partitions,
            interactions: erased.rows,
            evalRuns: await deleteBefore(main, "eval_runs", limit),
            evalResults: await deleteBefore(main, "eval_results", limit) +
              await eraseResults({ main, analytics }, limit, "rows"),
          };
          return { counts, unreported: {}, relations: erased.relations };
        });
      }),
  };
}

interface Erased<Counts> {
  counts: Counts;
  /** Rows that no log line counts. */
  unreported: Readonly<Record<string, number>>;
  relations: readonly string[];
}

function sumOf({ counts, unreported }: Erased<object>): number {
  const all: number[] = [...Object.values(counts), ...Object.values(unreported)];
  return all.reduce((sum, count) => sum + count, 0);
}
