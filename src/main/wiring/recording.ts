import { createErasureServices, type ErasureServices } from "./erasure.ts";
import type { SelectableCall } from "../../shared/interaction.ts";
import { createExportServices, type ExportServices } from "./exports.ts";
import {
  createStoredResponseCache,
  type StoredResponseCache,
} from "../../relay/conversation/stored_response_cache.ts";
import { createMoneyServices, type MoneyOptions, type MoneyServices } from "./money.ts";
import type { FairReads } from "../../database/fair_reads.ts";
import { createStoredResponses } from "../../relay/conversation/store/stored_responses.ts";

/** What calls are paid, recorded and repeated with, what is kept of them, and what erases it. */
export interface Recording extends MoneyServices, ErasureServices, ExportServices {
  kept: StoredResponseCache;
}

/** Who writes records asks what was erased, and who erases tells those who remember. */
export function createRecording(
  options: Omit<MoneyOptions, "isErased" | "dropped"> & { reads: FairReads },
): Recording {
  const { config, database, analytics, clock } = options;
  const isErased = (call: SelectableCall) => deletion.erasures.covers(call);
  const dropped = (ids: readonly string[]) => deletion.erasures.dropped(ids);
  const money = createMoneyServices({ ...options, isErased, dropped });
  const kept = createStoredResponseCache({
    store: createStoredResponses(database),
    clock,
    isErased,
  });
  const exporting = createExportServices({ ...options, ...money });
  const deletion = createErasureServices({
    ...options,
    ...money,
    kept,
    dataDir: config.dataDir,
    databases: { main: database, records: analytics },
    exports: exporting.exports,
  });
  return { ...money, ...exporting, ...deletion, kept };
}
