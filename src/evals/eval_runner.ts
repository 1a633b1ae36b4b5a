import { errors } from "../../contracts/kernel/errors.ts";
import { isStoreAway, messageOf } from "../shared/fault.ts";
import { WorkQueue } from "../work_queue/work_queue.ts";
import type { ClaimedRun } from "./eval.ts";
import { type EvalRunDeps, workOn } from "./eval_run.ts";

/** How long a run rests after a failure of ours. */
const retryMs = 30_000;
/** A run that hasn't stopped by then is left behind; its claim expires. */
const closeMs = 10_000;
/** Runs at a time, of as many accounts: one account's long run holds nobody else up. */
const runsAtOnce = 8;
/** A run that has worked for so long makes room where there is none and others wait. */
const sliceMs = 30_000;

interface Working {
  run: ClaimedRun;
  /** Ends the run's turn once the calls under way have ended. */
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

  /** Renews claims and claims runs that nobody works on; a job for every second. */
  async tick(): Promise<void> {
    await this.#makeRoom();
    await this.#queue.tick();
  }

  /** A run was created: claims it at once. */
  wake(): void {
    this.#queue.wake();
  }

  /** Ends the calls under way and gives the runs back. */
  async close(): Promise<void> {
    // Calls are aborted, so this takes as long as a vendor's connection takes to close.
    await this.#queue.close(closeMs);
    this.#deps.graders.close();
  }

  /** One account's long runs would else keep a place for hours. */
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

  /** A failure of ours is tried again, but not at once: each try may cost something. */
  async #interrupted(run: ClaimedRun, thrown: unknown): Promise<never> {
    const reason = messageOf(thrown);
    this.#deps.log.warn("an evaluation was interrupted", { run: run.evalRunId, reason });
    const isAway = isStoreAway(thrown);
    const code = isAway ? "store_unavailable" : "internal_error";
    const wait = { ms: isAway ? 0 : retryMs, code, message: errors[code].message } as const;
    // With the store away nothing can be noted; then the claim expires.
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
