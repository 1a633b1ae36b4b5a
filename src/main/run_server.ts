import { type LogLines, sharedBatchUnits, stdoutLines } from "../base/log.ts";
import type { Config } from "./config.ts";
import { Fault, messageOf } from "../shared/fault.ts";
import { openParentLink } from "../workers/parent_link.ts";
import { type OnFirstStart, startServer, type Worker } from "./serve.ts";
import { startWorkers } from "./serve_workers.ts";
import { createPrint } from "./log_events.ts";
import { systemClock } from "../base/clock.ts";
import { argumentsRefusal } from "./usage.ts";

/**
 * A signal this soon after the first is the same one: systemd and terminals tell every process of a
 * group, and `deno task` and npm's launcher pass on what they are told.
 */
const passedOnMs = 2_000;

/** What runs until it is told to stop. */
interface Running {
  stop(): Promise<void>;
  /** Reads `MODELS_FILE` again. */
  reload(): void | Promise<void>;
  /** Ends at once what would outlive this process. */
  abort?(): void;
}

/**
 * Runs the service as a process, with `WORKERS` as the parent of those that serve: starts it, and
 * stops it gracefully on SIGTERM or SIGINT; SIGHUP has it read `MODELS_FILE` again where there is
 * one. A failed start prints one line on standard error and exits with 1.
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
    // A start that isn't over is left where it is.
    if (running === undefined) Deno.exit(1);
    running.stop().then(() => Deno.exit(0), (thrown) => {
      console.error(`error: the stop was not clean: ${messageOf(firstError(thrown))}`);
      Deno.exit(1);
    });
  };
  let flush: LogLines["flush"] = () => {};
  try {
    config = readConfig();
    const isParent = config.workers > 1 && config.worker === undefined;
    // Only the parent of workers starts programs, and it serves no caller.
    if (!isParent) Deno.permissions.revokeSync({ name: "run" });
    const shared = config.workers > 1 ? { batchUnits: sharedBatchUnits } : {};
    const lines = stdoutLines({ lingerMs: 20, ...shared });
    flush = () => lines.flush();
    const worker = workerOf(config, { stop, reload: () => void running?.reload() });
    const print = createPrint((line) => lines.print(line), systemClock.now, config.logFormat);
    running = isParent
      ? await startWorkers(config, lines)
      : await startServer(config, print, { lines, worker, onFirstStart });
  } catch (thrown) {
    await flush();
    console.error(failedStart(thrown));
    Deno.exit(1);
  }
  let firstMs: number | undefined;
  const stopBySignal = () => {
    const nowMs = systemClock.monotonicMs();
    firstMs ??= nowMs;
    // The second signal stops at once. A worker may be told by its parent too.
    if (nowMs - firstMs >= passedOnMs) {
      running.abort?.();
      Deno.exit(1);
    }
    stop();
  };
  Deno.addSignalListener("SIGTERM", stopBySignal);
  Deno.addSignalListener("SIGINT", stopBySignal);
  // Without the file it keeps its usual meaning: the terminal is gone.
  if (config.modelsFile !== undefined) {
    Deno.addSignalListener("SIGHUP", () => void running.reload());
  }
}

/** The worker that this process is, if a parent has started it. */
function workerOf(
  { worker, workers }: Config,
  orders: Parameters<typeof openParentLink>[0],
): Worker | undefined {
  if (worker === undefined) return undefined;
  const { index, greets } = worker;
  return { seat: { index, count: workers }, parent: openParentLink(orders, process), greets };
}

/** Ends the process where a start is given arguments that it doesn't take. */
export function refuseArguments(...start: Parameters<typeof argumentsRefusal>): void {
  const refusal = argumentsRefusal(...start);
  if (refusal === undefined) return;
  console.error(refusal);
  Deno.exit(2);
}

/** The line that a failed start ends with. */
export function failedStart(thrown: unknown): string {
  const first = firstError(thrown);
  // The operator reads it, whom the words for callers tell too little.
  const note = first instanceof Fault && first.note ? ` (${first.note})` : "";
  return `error: ${`${messageOf(first)}${note}`.split("\n")[0]}`;
}

/** The original error, if cleanup has failed after it. */
function firstError(thrown: unknown): unknown {
  let first = thrown;
  while (first instanceof SuppressedError) first = first.suppressed;
  return first;
}
