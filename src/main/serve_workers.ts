import { systemClock } from "../base/clock.ts";
import { systemSetTimer } from "../base/deadline.ts";
import type { LogLines } from "../base/log.ts";
import { claimDataDir } from "../database/data_dir.ts";
import { readMeasures } from "../shared/metrics.ts";
import { mayStart, spawnWorker, workerCommand } from "../workers/spawn_worker.ts";
import { WorkerGroup } from "../workers/worker_group.ts";
import { type Config, ConfigError, workerEnvironment } from "./config.ts";
import { findSharedPorts } from "./listeners.ts";
import { createProgramLog } from "./log_events.ts";
import { supervisorOf } from "./serve.ts";
import { residentMeasure } from "./service_metrics.ts";
import { openSupervisor } from "./supervisor.ts";

export interface Workers {
  /**
   * Resolves when all answer calls. Rejects with a one-line Error if one can't be started, which has
   * printed why; the others have ended then.
   */
  ready: Promise<void>;
  /** Also possible before they are ready: those that answer calls already finish them. */
  stop(): Promise<void>;
  reload(): void;
  abort(): void;
}

/**
 * Starts `WORKERS` processes that answer on one port. This process, their parent, owns the data
 * directory, restarts workers that end, adds up their metrics, forwards questions between them and
 * notifies systemd.
 */
export async function startWorkers(config: Config, lines: LogLines): Promise<Workers> {
  await using starting = new AsyncDisposableStack();
  starting.defer(() => lines.flush());
  const directory = await claimDataDir(config.dataDir);
  starting.defer(() => directory.release());
  const log = createProgramLog((line) => lines.write(line), systemClock.now, config);
  const command = workerCommand();
  if (!mayStart(command)) {
    throw new ConfigError(
      `WORKERS=${config.workers} needs permission to start processes, which a compiled executable and --deny-run don't give: use the bundle folder or 'deno task start', or leave WORKERS out.`,
    );
  }
  const ports = await findSharedPorts(config);
  const supervisor = openSupervisor(supervisorOf(config, log));
  starting.defer(() => supervisor.close());
  const group = new WorkerGroup({
    count: config.workers,
    spawn: (index, greets, events) =>
      spawnWorker(command, workerEnvironment({ index, greets }, ports), events),
    ownMetrics: ({ running, restarts }) =>
      readMeasures({
        ...residentMeasure,
        gateway_workers: { help: "Workers that answer calls", read: () => running },
        gateway_worker_restarts_total: {
          help: "Workers that were restarted after they had ended",
          kind: "counter",
          read: () => restarts,
        },
      }),
    ...{ log, clock: systemClock, setTimer: systemSetTimer },
    beat: () => supervisor.alive(),
  });
  const running = starting.move();
  const becomeReady = async () => {
    try {
      const address = await group.start();
      await directory.describe({ address });
    } catch (thrown) {
      await group.stop();
      await running.disposeAsync();
      throw thrown;
    }
    log.info("all workers answer calls", { workers: config.workers });
    supervisor.ready();
  };
  return {
    ready: becomeReady(),
    async stop() {
      await using _ending = running;
      supervisor.stopping();
      if (!await group.stop()) throw new Error("a worker has not ended cleanly");
    },
    reload: () => group.reload(),
    abort: () => group.abort(),
  };
}
