import { errors } from "../../contracts/kernel/errors.ts";
import { isStoreAway, messageOf } from "../shared/fault.ts";
import { WorkQueue } from "../work_queue/work_queue.ts";
import type { ClaimedRun } from "./eval.ts";
import { type EvalRunDeps, workOn } from "./eval_run.ts";

/** How long a run pauses after an internal error. */
const retryMs = 30_000;
/** On shutdown, a run that hasn't stopped by then is abandoned; its claim expires. */
const closeMs = 10_000;
/**
 * Concurrent runs, each of another account, so that one account's long run doesn't block the rest.
 */
const runsAtOnce = 8;
/** When all slots are taken and others wait, a run is released after working for this long. */
const sliceMs = 30_000;

interface Working {
  run: ClaimedRun;
  /** Releases the run once the calls under way have ended. */
  rest: AbortController;
  sinceMs: number;
}

export class EvalRunner {
  readonly #deps: EvalRunDeps;
  readonly #queue: WorkQueue<Working>;

  constructor(deps: EvalRunDeps) {
    this.#deps = deps;
    this.#queue = new WorkQueue({
      idOf: ({ run }) => run.evalRunId,
      room: (working) => runsAtOnce - working.length,
      claim: (_most, working) => this.#claim(working),
      renew: (working) => deps.work.renew(working.map(({ run }) => run.evalRunId)),
      work: ({ run, rest }, { signal }) =>
        workOn(deps, run, signal, rest.signal).catch((thrown) => this.#interrupted(run, thrown)),
      claimsAfterEach: true,
    });
  }

  /** Renews claims, and claims runs that nobody works on. To be called every second. */
  async tick(): Promise<void> {
    await this.#makeRoom();
    await this.#queue.tick();
  }

  /** Claims a newly created run at once. */
  wake(): void {
    this.#queue.wake();
  }

  /** Aborts the calls under way and releases the runs. */
  async close(): Promise<void> {
    // The calls are aborted, so this only waits for vendors' connections to close.
    await this.#queue.close(closeMs);
    this.#deps.graders.close();
  }

  /** Releases the oldest run if others wait: a long run would otherwise keep its slot for hours. */
  async #makeRoom(): Promise<void> {
    const working = this.#queue.working;
    const [oldest] = working;
    if (working.length < runsAtOnce || working.some(({ rest }) => rest.signal.aborted)) return;
    if (this.#deps.clock.monotonicMs() - oldest!.sinceMs < sliceMs) return;
    if (await this.#deps.work.othersWait(exceptOf(working))) oldest!.rest.abort();
  }

  async #claim(working: readonly Working[]): Promise<Working[]> {
    const { work, clock } = this.#deps;
    const run = await work.claim(exceptOf(working));
    return run ? [{ run, rest: new AbortController(), sinceMs: clock.monotonicMs() }] : [];
  }

  /** Retries after an internal error, but not at once: each try may cost money. */
  async #interrupted(run: ClaimedRun, thrown: unknown): Promise<never> {
    const reason = messageOf(thrown);
    this.#deps.log.warn("an evaluation was interrupted", { run: run.evalRunId, reason });
    const isAway = isStoreAway(thrown);
    const code = isAway ? "store_unavailable" : "internal_error";
    const wait = { ms: isAway ? 0 : retryMs, code, message: errors[code].message } as const;
    // With the store unavailable the pause can't be stored either; then the claim expires.
    await this.#deps.work.pause(run, wait).catch(() => {});
    throw thrown;
  }
}

function exceptOf(working: readonly Working[]): { runs: string[]; accounts: number[] } {
  return {
    runs: working.map(({ run }) => run.evalRunId),
    accounts: working.map(({ run }) => run.accountId),
  };
}
