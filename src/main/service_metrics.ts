import type { Clock } from "../base/clock.ts";
import type { CopyRoom } from "../base/copy_room.ts";
import type { Log, LogLines } from "../base/log.ts";
import type { Config } from "./config.ts";
import { createMetrics, type Measures, type Metrics, type ReadMeasure } from "../shared/metrics.ts";
import type { MetricFamily } from "../shared/call_metrics.ts";
import type { Admission } from "../overload/admission.ts";
import { loadMeasures } from "./load.ts";
import type { Recorder } from "../records/recorder.ts";
import type { Journal } from "../records/journal/journal.ts";
import type { RecordServices } from "../records/wire.ts";
import { type JournalStatus, readAside } from "../records/journal/status.ts";

/** Creates the service's metrics, including those that are read from its subjects on request. */
export function createServiceMetrics(
  { admission, records, exports, copies, journal, clock, lines, gauges, families }: {
    admission: Admission;
    records: Pick<RecordServices, "recorder" | "storedBytes" | "settling">;
    exports: { readonly running: number };
    copies: Pick<CopyRoom, "bytes" | "dropped">;
    journal: Journal;
    clock: Clock;
    lines: Pick<LogLines, "dropped">;
    /** Metrics that subjects define themselves. */
    gauges: readonly Measures[];
    /** Metrics that hold their own values. */
    families: readonly MetricFamily[];
  },
): Metrics {
  const { recorder, storedBytes, settling } = records;
  return createMetrics({
    ...Object.assign({}, ...gauges) as Measures,
    ...loadMeasures(admission),
    gateway_exports_running: {
      help: "Exports that this process is writing",
      read: () => exports.running,
    },
    ...copyMeasures(copies),
    gateway_records_waiting: {
      help: "Records of ended calls that are not in the database yet",
      read: () => recorder.waiting,
    },
    gateway_records_rejected_total: {
      help: "Records that the database rejected; they are in DATA_DIR/journal/rejected.jsonl",
      kind: "counter",
      read: () => recorder.rejected,
    },
    gateway_payloads_cut_total: {
      help:
        "Records whose payloads were truncated: their account had reached its daily storage limit",
      kind: "counter",
      read: () => storedBytes.cut,
    },
    gateway_settling_failures_total: {
      help: "Steps of settling a call that failed and were replaced by a simpler one; see the log",
      kind: "counter",
      read: () => settling.failed,
    },
    gateway_journal_bytes: {
      help: "Size of the journal's files",
      read: () => journal.bytes,
    },
    gateway_journal_oldest_seconds: {
      help: "Age of the oldest record waiting for the database; 0 if none is waiting",
      overWorkers: "max",
      read: () => {
        const { oldest } = recorder;
        return oldest ? Math.max(0, clock.now().getTime() - oldest.getTime()) / 1000 : 0;
      },
    },
    gateway_log_lines_dropped_total: {
      help:
        "Log lines that were dropped because standard output was not read or could not be written",
      kind: "counter",
      read: () => lines.dropped ?? 0,
    },
    ...residentMeasure,
  }, families);
}

function copyMeasures(copies: Pick<CopyRoom, "bytes" | "dropped">): Measures {
  return {
    gateway_stream_copies_bytes: {
      help: "Memory of the copies of streams for repeats and the response cache",
      read: () => copies.bytes,
    },
    gateway_stream_copies_dropped_total: {
      help: "Copies of streams that were too large or had no memory: a repeat is a separate call",
      kind: "counter",
      read: () => copies.dropped,
    },
  };
}

/** Resident memory: of this process, or with workers of all of them and their parent together. */
export const residentMeasure: Readonly<Record<string, ReadMeasure>> = {
  gateway_resident_bytes: {
    help: "Resident memory of the process",
    read: () => Deno.memoryUsage().rss,
  },
};

export function watchJournal(journal: Journal, { log, metrics }: { log: Log; metrics: Metrics }) {
  journal.observe({
    synced: (seconds) => metrics.journalSyncSeconds.observe(seconds),
    failing: (reason) => log.error("the journal can't be written: no call can begin", { reason }),
    mended: () => log.info("the journal can be written again"),
    lost: (records) => log.error("waiting records in the journal can't be read back", { records }),
    unreadable({ savedAs, bytes, isTorn }) {
      const fields = { bytes, saved_as: `journal/${savedAs}` };
      if (isTorn) log.warn("the last record of a journal file is incomplete", fields);
      else log.error("a journal file is damaged: its readable records are stored", fields);
    },
  });
}

export async function journalStatusOf({ config, processDir, journal, recorder }: {
  config: Config;
  processDir: string;
  journal: Journal;
  recorder: Recorder;
}): Promise<JournalStatus> {
  return {
    running: true,
    bytes: journal.bytes,
    segments: journal.segments,
    waiting: recorder.waiting,
    oldest: recorder.oldest ?? null,
    sync: config.journalSync,
    maxBytes: config.journalMaxBytes,
    ...await readAside(`${processDir}/journal`),
  };
}
