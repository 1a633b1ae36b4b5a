import type { ErasedPayloads, ErasedUsage, RetentionStore } from "../retention.ts";
import type { Database } from "../../database/database.ts";
import { deleteBefore, unlessBusy } from "../../database/retention_lock.ts";
import { eraseResults } from "../../evals/store/stale_results.ts";
import type { AnalyticsStore } from "../../records/analytics_store.ts";
import { unlinkOutcomes } from "./erase_outcomes.ts";
import { noteDirty } from "./vacuum.ts";

/** Builds the store: calls are in `analytics`, stored responses and evaluations in `main`. */
export function createRetention(main: Database, analytics: AnalyticsStore): RetentionStore {
  /** Only for the embedded database: a server reclaims rows itself, and its operator scrubs it. */
  const makeScrubDue = async (counts: object, relations: readonly string[]) => {
    if (main.kind !== "embedded" || Object.values(counts).every((count) => count === 0)) return;
    await noteDirty(main, relations, { atMostDaily: true });
  };
  return {
    ensurePartitions: (now) => analytics.ensurePartitions(now),
    async erasePayloads(limit) {
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
        await makeScrubDue({ ...counts, ...unreported }, erased.relations);
        return counts;
      });
    },
    async eraseUsage(limit) {
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
        await makeScrubDue(counts, erased.relations);
        return counts;
      });
    },
  };
}
