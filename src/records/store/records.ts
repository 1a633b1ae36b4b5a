import type { Database } from "../../database/database.ts";
import type { InteractionStore } from "../../shared/interaction.ts";
import type { AnalyticsStore } from "../analytics_store.ts";
import { createAnalyticsStore } from "./analytics_store.ts";
import { createRecordInsert } from "./record_insert.ts";

/**
 * Creates an interaction store that also charges what it inserts (`createRecordInsert`).
 * `analytics` holds the rows, `database` the ledger and stored responses.
 */
export function createRecords(
  database: Database,
  analytics: AnalyticsStore = createAnalyticsStore(database),
): InteractionStore {
  return {
    read: (query) => analytics.read(query),
    list: (query) => analytics.list(query),
    insert: createRecordInsert(database, analytics),
  };
}
