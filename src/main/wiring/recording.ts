import { createDeletionParts, type DeletionParts } from "./erasure.ts";
import type { SelectableCall } from "../../shared/interaction.ts";
import { createExportServices, type ExportServices } from "./exports.ts";
import {
  createKeptMemory,
  type KeptMemory,
} from "../../relay/conversation/stored_response_cache.ts";
import { createMoneyParts, type MoneyNeeds, type MoneyParts } from "./money.ts";
import type { FairReads } from "../../database/fair_reads.ts";
import { createKept } from "../../relay/conversation/store/stored_responses.ts";

/** What calls are paid, recorded and repeated with, what is kept of them, and what erases it. */
export interface Recording extends MoneyParts, DeletionParts, ExportServices {
  kept: KeptMemory;
}

/** Who writes records asks what was erased, and who erases tells those who remember. */
export function createRecording(
  needs: Omit<MoneyNeeds, "isErased" | "dropped"> & { reads: FairReads },
): Recording {
  const { config, database, analytics, clock } = needs;
  const isErased = (call: SelectableCall) => deletion.erasures.covers(call);
  const dropped = (ids: readonly string[]) => deletion.erasures.dropped(ids);
  const money = createMoneyParts({ ...needs, isErased, dropped });
  const kept = createKeptMemory({ store: createKept(database), clock, isErased });
  const exporting = createExportServices({ ...needs, ...money });
  const deletion = createDeletionParts({
    ...needs,
    ...money,
    kept,
    dataDir: config.dataDir,
    databases: { main: database, records: analytics },
    exports: exporting.exports,
  });
  return { ...money, ...exporting, ...deletion, kept };
}
