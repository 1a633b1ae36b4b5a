import { type LogLines, sharedBatchUnits, stdoutLines } from "../base/log.ts";
import type { Config } from "./config.ts";
import { isNoSpace } from "../database/full_disk.ts";
import { Fault, messageOf } from "../shared/fault.ts";
import { openParentLink } from "../workers/parent_link.ts";
import { type OnFirstStart, startServer, type Worker } from "./serve.ts";
import { startWorkers } from "./serve_workers.ts";
import { createPrint } from "./log_events.ts";
import { systemClock } from "../base/clock.ts";
import { argumentsHelp, argumentsRefusal } from "./usage.ts";

/**
 * A signal that follows the first within this time is taken for the same one: systemd and terminals
 * signal every process of a group, and `deno task` and npm's launcher forward signals as well.
 */
const passedOnMs = 2_000;

/** A running service: a server, or the parent of workers. */
interface Running {
  stop(): Promise<void>;
  /** Reads `MODELS_FILE` again. */
  reload(): void | Promise<void>;
  /** Kills the processes that would outlive this one. */
  abort?(): void;
}

/**
 * Runs the service in this process, or with `WORKERS` the parent of the processes that serve. Stops
 * it gracefully on SIGTERM or SIGINT, and reloads `MODELS_FILE`, if set, on SIGHUP. A failed start
 * prints one line on standard error and exits with 1.
 */
export async function runServer(
  readConfig: () => Config,
  onFirstStart?: OnFirstStart,
): Promise<void> {
  let running: Running | undefined;
  let config: Config | undefined;
  let isStopping = false;
  const stop = () => {
    if (isStopping) return;
    isStopping = true;
    // A start that isn't complete is abandoned; the next one recovers what it left.
    if (running === undefined) Deno.exit(0);
    running.stop().then(() => Deno.exit(0), (thrown) => {
      console.error(`error: the stop was not clean: ${messageOf(firstError(thrown))}`);
      Deno.exit(1);
    });
  };
  let firstMs: number | undefined;
  const stopBySignal = () => {
    const nowMs = systemClock.monotonicMs();
    firstMs ??= nowMs;
    // The second signal ends the process at once. A stop that a worker's parent asks for isn't one.
    if (nowMs - firstMs >= passedOnMs) {
      running?.abort?.();
      Deno.exit(1);
    }
    stop();
  };
  // Before the start: the first process of a container ignores signals that it has no listener for.
  Deno.addSignalListener("SIGTERM", stopBySignal);
  Deno.addSignalListener("SIGINT", stopBySignal);
  let flush: LogLines["flush"] = () => {};
  try {
    config = readConfig();
    // Without the file SIGHUP keeps its usual meaning: the terminal is gone. A start that has read
    // the file already reads it again within seconds.
    if (config.modelsFile !== undefined) {
      Deno.addSignalListener("SIGHUP", () => void running?.reload());
    }
    // A launcher that was killed can forward no signal, and the next start would find this process.
    if (config.worker === undefined) process.once("disconnect", stop);
    const isParent = config.workers > 1 && config.worker === undefined;
    // Only the parent of workers starts programs, and it serves no caller.
    if (!isParent) Deno.permissions.revokeSync({ name: "run" });
    const shared = config.workers > 1 ? { batchUnits: sharedBatchUnits } : {};
    const lines = stdoutLines({ lingerMs: 20, ...shared });
    flush = () => lines.flush();
    const worker = workerOf(config, { stop, reload: () => void running?.reload() });
    const print = createPrint((line) => lines.print(line), systemClock.now, config.logFormat);
    if (isParent) {
      const workers = await startWorkers(config, lines);
      running = workers;
      await workers.ready;
    } else {
      running = await startServer(config, print, { lines, worker, onFirstStart });
    }
  } catch (thrown) {
    // The stop ends the process.
    if (isStopping) return;
    await flush();
    console.error(failedStart(thrown));
    Deno.exit(1);
  }
}

/** Opens the channel to the parent if this process is a worker; otherwise returns undefined. */
function workerOf(
  { worker, workers }: Config,
  orders: Parameters<typeof openParentLink>[0],
): Worker | undefined {
  if (worker === undefined) return undefined;
  const { index, greets } = worker;
  return { seat: { index, count: workers }, parent: openParentLink(orders, process), greets };
}

/** Ends the process with help if its arguments ask for it, or with why the start refuses them. */
export function refuseArguments(...start: Parameters<typeof argumentsRefusal>): void {
  const help = argumentsHelp(start[0]);
  if (help !== undefined) {
    console.log(help);
    Deno.exit(0);
  }
  const refusal = argumentsRefusal(...start);
  if (refusal === undefined) return;
  console.error(refusal);
  Deno.exit(2);
}

/** Returns the line that a failed start prints. */
export function failedStart(thrown: unknown): string {
  const first = firstError(thrown);
  // The operator needs the internal note: the message is worded for callers.
  const note = first instanceof Fault && first.note ? ` (${first.note})` : "";
  return `error: ${`${messageOf(first)}${note}`.split("\n")[0]}${fileAdvice(first)}`;
}

/** What to do about a file that can't be read or written, as its error is the system's. */
function fileAdvice(thrown: unknown): string {
  if (isNoSpace(thrown)) return ": the disk of DATA_DIR is full, make room there and start again.";
  return thrown instanceof Deno.errors.PermissionDenied
    ? ": let this user read and write all of DATA_DIR."
    : "";
}

/** Returns the original error, even if cleanup has failed after it. */
function firstError(thrown: unknown): unknown {
  let first = thrown;
  while (first instanceof SuppressedError) first = first.suppressed;
  return first;
}
