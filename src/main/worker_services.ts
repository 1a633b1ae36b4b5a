import type { Log } from "../base/log.ts";
import { claimProcessDir, readProcessId } from "../database/data_dir.ts";
import type { ErasureServices } from "../erasure/wire.ts";
import { createFlushRecords } from "../records/flush_records.ts";
import { segmentNames } from "../records/journal/files.ts";
import { type Journal, openJournal } from "../records/journal/journal.ts";
import { moveAside } from "../records/journal/rejected.ts";
import { journalStatusFromJson, sumOfJournals } from "../records/journal/status.ts";
import type { Recorder } from "../records/recorder.ts";
import { messageOf } from "../shared/fault.ts";
import type { Metrics } from "../shared/metrics.ts";
import type { Question, QuestionTerms } from "../workers/channel.ts";
import type { Siblings, WorkerSeat } from "../workers/parent_link.ts";
import type { Config } from "./config.ts";
import { journalStatusOf } from "./service_metrics.ts";

/** The role of a process among the workers of its program. */
export interface WorkerRole {
  seat: WorkerSeat;
  siblings: Siblings;
}

/**
 * Returns the configuration of one of `count` workers: the limits on connections, memory and disk
 * are divided, so that all workers together keep to them.
 */
export function shareOf(config: Config, { count }: WorkerSeat): Config {
  if (count === 1) return config;
  const share = (all: number) => Math.ceil(all / count);
  return {
    ...config,
    connectionsMax: share(config.connectionsMax),
    connectionsPerPeerMax: share(config.connectionsPerPeerMax),
    callsInFlightMax: share(config.callsInFlightMax),
    bodiesInFlightBytes: share(config.bodiesInFlightBytes),
    journalMaxBytes: share(config.journalMaxBytes),
  };
}

/** Creates the services by which this process answers the other workers and asks them. */
export function createWorkerServices(
  deps: Parameters<typeof journalStatusOf>[0] & {
    recorder: Pick<Recorder, "drain">;
    erasure: Pick<ErasureServices, "leaveNoErasedText">;
    metrics: Pick<Metrics, "snapshot">;
    siblings: Siblings;
  },
) {
  const { recorder, erasure, metrics, siblings } = deps;
  const flushOwn = createFlushRecords({ recorder });
  const answers: Readonly<Record<Question, (terms: QuestionTerms) => Promise<unknown>>> = {
    flush: (terms) => flushOwn({ timeoutMs: Infinity, ...terms }),
    compact: () => erasure.leaveNoErasedText(),
    journal: () => journalStatusOf(deps),
    metrics: () => metrics.snapshot(),
  };
  return {
    siblings,
    answerWorkers: async (question: Question, terms: QuestionTerms): Promise<unknown> =>
      await answers[question](terms) ?? null,
    async journalStatus() {
      const others = await siblings.ask("journal");
      return sumOfJournals([await journalStatusOf(deps), ...others.map(journalStatusFromJson)]);
    },
  };
}

/** How long the start waits for a former worker to release its directory. */
const waitMs = 40_000;

/**
 * Takes over the directories of former workers, which are no longer started since `WORKERS` was
 * lowered: their calls are stored, their leases returned, and what could not be stored is moved to
 * this process's directory. A directory that can't be taken over is logged, and stays for the next
 * start with the calls that are still to be stored.
 */
export async function takeOverWorkers(directories: readonly string[], deps: {
  processDir: string;
  log: Log;
  observe(journal: Journal): void;
  recover(journal: Journal, processId: string): Promise<void>;
}): Promise<void> {
  for (const directory of directories) {
    try {
      using _claim = await claimProcessDir(directory, waitMs);
      const journal = await openJournal(`${directory}/journal`, { sync: "always" });
      try {
        deps.observe(journal);
        await deps.recover(journal, await readProcessId(directory, () => crypto.randomUUID()));
      } finally {
        await journal.close();
        // Even if the directory stays: deletions and retention reach this process's files only.
        await moveAside(`${directory}/journal`, `${deps.processDir}/journal`);
      }
      if ((await segmentNames(`${directory}/journal`)).length > 0) {
        throw new Error("its journal has records that neither the store nor a file takes");
      }
      await Deno.remove(directory, { recursive: true });
    } catch (thrown) {
      deps.log.error("a worker's directory can't be taken over", {
        ...{ directory, reason: messageOf(thrown) },
      });
    }
  }
}
