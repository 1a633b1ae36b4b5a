import type { ExportQuery, ExportSource } from "../export_source.ts";
import type { InteractionQuery } from "../../shared/interaction.ts";
import type { AnalyticsStore } from "../../records/analytics_store.ts";
import type { Queryable } from "../../database/database.ts";
import type { FairReads } from "../../database/fair_reads.ts";
import { countEvalRows, readEvalRows } from "./export_eval_rows.ts";
import { takeSnapshot } from "../../database/snapshot.ts";

/**
 * Builds the source of exports: calls come from `analytics`, evaluations from `database`, scheduled
 * by `reads`. Each has a snapshot of its own, since the two databases may differ.
 */
export function createExportSource({ analytics, database, reads }: {
  analytics: Pick<AnalyticsStore, "snapshot" | "inBulk">;
  database: Queryable;
  reads: Pick<FairReads, "inBulk">;
}): ExportSource {
  const { readLines, count } = analytics.inBulk;
  return {
    async snapshot() {
      // Evaluations first, so that the call of each evaluation is in the export too.
      const ofEvals = await takeSnapshot(database);
      return `${await analytics.snapshot()}|${ofEvals}`;
    },
    read: (query, form) =>
      query.table === "interactions"
        ? readLines(interactionQuery(query), form)
        : readEvalRows(reads.inBulk(query.accountId), query.table, evalQuery(query)),
    count: (query) =>
      query.table === "interactions"
        ? count(interactionQuery(query))
        : countEvalRows(reads.inBulk(query.accountId), query.table, evalQuery(query)),
  };
}

function interactionQuery(query: ExportQuery): InteractionQuery {
  const filters = Object.entries(query.filters).map(([name, value]) => [name, [value].flat()]);
  return { ...query, filters: Object.fromEntries(filters), snapshot: part(query, 0) };
}

function evalQuery(query: ExportQuery): ExportQuery {
  return { ...query, snapshot: part(query, 1) };
}

/** Returns one part; jobs of earlier versions have a single one if both share a database. */
function part({ snapshot }: ExportQuery, index: number): string {
  const parts = snapshot.split("|");
  return parts[index] ?? parts[0]!;
}
