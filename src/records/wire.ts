import type { Clock } from "../base/clock.ts";
import { createGcHint } from "../base/gc_hint.ts";
import type { Log } from "../base/log.ts";
import type { Database } from "../database/database.ts";
import type { MasterKeySource } from "../keys/store/master_key.ts";
import type { AnalyticsStore, FairAnalytics } from "./analytics_store.ts";
import type { RecordedForm } from "../relay/recorded_request.ts";
import { SettlingSteps } from "../relay/settling_steps.ts";
import { payloadRulesOf, storePayloads } from "../relay/truncate_payloads.ts";
import type { InteractionStore } from "../shared/interaction.ts";
import { type VendorLabel, withRecordedNames } from "./filter_conditions.ts";
import { createFlushRecords } from "./flush_records.ts";
import type { Journal } from "./journal/journal.ts";
import { Recorder } from "./recorder.ts";
import { createMediaSigner } from "./signed_media.ts";
import { withOwnSessions } from "./store/write_thread.ts";
import { createRecords } from "./store/records.ts";
import { StoredBytes } from "./stored_bytes.ts";

/** Records calls, and reads the records. */
export type RecordServices = ReturnType<typeof createRecordServices>;

export interface RecordOptions {
  database: Database;
  analyticsStore: AnalyticsStore;
  /** Writes records in another thread; absent: they are written in this one. */
  insert?: InteractionStore["insert"] | undefined;
  journal: Journal;
  masterKey: MasterKeySource;
  /** Dialects and operations: how records name them, and where their payloads hold media. */
  recordedForms: readonly RecordedForm[];
  payloadMaxBytes: number;
  mediaInlineBytes: number;
  storedBytesPerDay: number;
  clock: Clock;
  log: Log;
  pause: (ms: number) => Promise<void>;
  /** Makes the other processes of this program store what they have answered. */
  flushOthers?: Parameters<typeof createFlushRecords>[0]["flushOthers"];
  vendorLabel: VendorLabel;
}

/**
 * Waits for more records: one that is written alone costs three times as much as one in a batch.
 */
const lingerMs = 250;
/** Suggest a minor GC after this many bytes of written payloads. */
const gcHintEveryBytes = 8 * 1024 * 1024;

export function createRecordServices(options: RecordOptions) {
  const { database, analyticsStore, journal, masterKey, clock, log, pause, flushOthers } = options;
  const records = createRecords(database, analyticsStore);
  const { insert: byThread } = options;
  const insert = byThread ? withOwnSessions(byThread, records.insert) : records.insert;
  const interactions = { ...records, insert };
  const storedBytes = new StoredBytes({ perDay: options.storedBytesPerDay, clock, log });
  const settling = new SettlingSteps({ log });
  const recorder = new Recorder({
    store: storePayloads(interactions, payloadRulesOf(options, options.recordedForms), {
      gcHint: createGcHint(gcHintEveryBytes),
      room: storedBytes,
      settling,
    }),
    log,
    clock,
    pause,
    lingerMs,
    stored: (ids) => journal.stored(ids),
    spillSpace: journal,
    reject: (interaction, reason) => journal.reject(interaction, reason),
  });
  return {
    interactions,
    recorder,
    flushRecords: createFlushRecords({ recorder, flushOthers }),
    storedBytes,
    /** Counts failed steps of settling. */
    settling,
    /** Reads of interactions, scheduled so that no account makes the others wait. */
    fairAnalytics: namingVendors(analyticsStore.fair, options.vendorLabel),
    media: analyticsStore.media,
    mediaSigner: createMediaSigner({
      mac: (text) => masterKey.current().signAddress(text),
      now: clock.now,
    }),
  };
}

/** Translates vendors' names in queries: callers use any of them, records only one. */
function namingVendors(fair: FairAnalytics, vendorLabel: VendorLabel): FairAnalytics {
  return {
    ...fair,
    page: (query) => fair.page(withRecordedNames(query, vendorLabel)),
    totals: (query) => fair.totals(withRecordedNames(query, vendorLabel)),
    sample: (query) => fair.sample(withRecordedNames(query, vendorLabel)),
  };
}
