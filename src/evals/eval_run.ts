import { type ErrorCode, errors } from "../../contracts/kernel/errors.ts";
import type { ApiKeyStore, Principal } from "../keys/api_key.ts";
import type { ClaimedRun, EvalItem, EvalWork } from "./eval.ts";
import { usable } from "../keys/key_cache.ts";
import { type EvalItemDeps, type ItemEnd, runItem } from "./eval_item.ts";

export interface EvalRunDeps extends Omit<EvalItemDeps, "onLowRate" | "work"> {
  work: EvalWork;
  apiKeys: Pick<ApiKeyStore, "findById">;
}

/** Concurrent calls of one run. */
const callsAtOnce = 4;
const pageItems = 100;
/** After this many failures in a row, single requests are no longer the likely cause. */
const maxErrorsInARow = 20;
/** A pause that leaves the account's rate to its live calls. */
const pauseMs = 1000;

/** Why a run stops before its items are done. */
type StopSignal =
  | { kind: "pause"; ms: number; code: ErrorCode; message: string }
  | { kind: "end"; state: "failed" | "cancelled"; code: ErrorCode; message: string }
  /** Claimed by another process, erased, cancelled, or this process is shutting down. */
  | { kind: "leave" };

/**
 * Works on a claimed run until it is done, has to wait or is ended, and stores that state. When
 * `rest` aborts, it finishes the calls under way and releases the run. Throws when the store is
 * unavailable; the claim then expires.
 */
export async function workOn(
  deps: EvalRunDeps,
  run: ClaimedRun,
  signal: AbortSignal,
  rest?: AbortSignal,
): Promise<void> {
  const progress = new Progress();
  rest?.addEventListener("abort", () => progress.stop({ kind: "leave" }), { once: true });
  const itemDeps = { ...deps, onLowRate: () => progress.rest() };
  const queue = itemsOf(deps.work, run);
  const work = async () => {
    while (progress.mayContinue(signal)) {
      const next = await queue.next();
      if (next.done || !progress.mayContinue(signal)) return;
      const principal = await checkRun(deps, run, progress);
      if (!principal) return;
      const end = await runItem(itemDeps, { run, item: next.value, principal, signal });
      await ingest(deps, run, next.value, end, progress);
    }
  };
  const workers = Array.from({ length: callsAtOnce }, () => work());
  const failed = (await Promise.allSettled(workers)).find((one) => one.status === "rejected");
  if (failed) throw failed.reason;
  await conclude(deps.work, run, progress.signal, signal);
}

/** The state of a run, shared by its workers. */
class Progress {
  signal: StopSignal | undefined;
  #errorsInARow = 0;

  mayContinue(signal: AbortSignal): boolean {
    return this.signal === undefined && !signal.aborted;
  }

  /** Keeps the first signal, except that a later one replaces a pause. */
  stop(signal: StopSignal): void {
    if (this.signal === undefined || this.signal.kind === "pause") this.signal = signal;
  }

  rest(): void {
    if (this.signal) return;
    const code = "rate_limit_exceeded";
    this.stop({ kind: "pause", ms: pauseMs, code, message: errors[code].message });
  }

  count(isError: boolean, code: string | null): void {
    this.#errorsInARow = isError ? this.#errorsInARow + 1 : 0;
    if (this.#errorsInARow < maxErrorsInARow) return;
    const errorCode = code !== null && code in errors ? code as ErrorCode : "upstream_error";
    const message = `${maxErrorsInARow} interactions in a row had no answer to judge; the last: ${
      errors[errorCode].message
    }`;
    this.stop({ kind: "end", state: "failed", code: errorCode, message });
  }
}

async function* itemsOf(work: EvalWork, run: ClaimedRun): AsyncGenerator<EvalItem, undefined> {
  for (let after = -1;;) {
    const page = await work.items(run, after, pageItems);
    yield* page;
    const last = page.at(-1);
    if (!last) return;
    after = last.position;
  }
}

/**
 * Returns the principal of the run's API key. When the run may make no more calls, stops it and
 * returns undefined.
 */
async function checkRun(
  { work, apiKeys, clock }: EvalRunDeps,
  run: ClaimedRun,
  progress: Progress,
): Promise<Principal | undefined> {
  if (await work.stateOf(run) !== "running") {
    progress.stop({ kind: "leave" });
    return undefined;
  }
  const principal = await apiKeys.findById(run.apiKeyId);
  if (principal && usable(principal, clock.now())) return principal;
  const message = "The API key that asked for this evaluation is revoked or has expired.";
  progress.stop({ kind: "end", state: "cancelled", code: "invalid_api_key", message });
  return undefined;
}

async function ingest(
  { work, clock }: Pick<EvalRunDeps, "work" | "clock">,
  run: ClaimedRun,
  item: EvalItem,
  end: ItemEnd,
  progress: Progress,
): Promise<void> {
  if (end.kind === "stopped") return progress.stop({ kind: "leave" });
  if (end.kind === "wait") return progress.stop({ ...end, kind: "pause" });
  if (end.kind === "unrecoverable") return progress.stop({ ...end, kind: "end", state: "failed" });
  const isOurs = await work.finish(run, item, { ...end.done, finishedAt: clock.now() });
  if (!isOurs) return progress.stop({ kind: "leave" });
  progress.count(end.done.outcome === "error", end.done.reason);
}

async function conclude(
  work: EvalWork,
  run: ClaimedRun,
  stop: StopSignal | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (stop?.kind === "pause") return await work.pause(run, stop);
  if (stop?.kind === "end") {
    return await work.end(run, stop.state, { code: stop.code, message: stop.message });
  }
  if (stop?.kind === "leave" || signal.aborted) return await work.release(run);
  await work.end(run, "done");
}
