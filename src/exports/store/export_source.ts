import type { ExportQuery, ExportSource } from "../export_source.ts";
import type { InteractionQuery } from "../../shared/interaction.ts";
import type { AnalyticsReads } from "../../records/analytics_store.ts";
import type { Queryable } from "../../database/database.ts";
import { countEvalRows, readEvalRows } from "./export_eval_rows.ts";
import { takeSnapshot } from "../../database/snapshot.ts";

/**
 * Builds the source of exports: calls come from `analytics`, evaluations from `evals`, each with a
 * snapshot of its own unless both share a database.
 */
export function createExportSource({ analytics, evals, sharesMain }: {
  analytics: Pick<AnalyticsReads, "readLines" | "count" | "snapshot">;
  evals: Queryable;
  sharesMain: boolean;
}): ExportSource {
  return {
    async snapshot() {
      const taken = await analytics.snapshot();
      return sharesMain ? taken : `${taken}|${await takeSnapshot(evals)}`;
    },
    read: (query, form) =>
      query.table === "interactions"
        ? analytics.readLines(interactionQuery(query), form)
        : readEvalRows(evals, query.table, { ...query, snapshot: part(query, 1) }),
    count: (query) =>
      query.table === "interactions"
        ? analytics.count(interactionQuery(query))
        : countEvalRows(evals, query.table, { ...query, snapshot: part(query, 1) }),
  };
}

function interactionQuery(query: ExportQuery): InteractionQuery {
  const filters = Object.entries(query.filters).map(([name, value]) => [name, [value].flat()]);
  return { ...query, filters: Object.fromEntries(filters), snapshot: part(query, 0) };
}

/** Returns the part of one database; a shared database has a single one. */
function part({ snapshot }: ExportQuery, index: number): string {
  const parts = snapshot.split("|");
  return parts[index] ?? parts[0]!;
}
