import { errors } from "../../contracts/kernel/errors.ts";
import { Fault, messageOf } from "../shared/fault.ts";
import type { ClaimedRun } from "./eval.ts";
import { type EvalRunDeps, workOn } from "./eval_run.ts";

/** Works on evaluations in the background. */
export interface EvalRunner {
  /** Renews its claims and takes up runs that nobody works on; a job for every second. */
  tick(): Promise<void>;
  /** A run was asked for: looks at once. */
  wake(): void;
  /** Ends the calls under way and gives the runs back. */
  close(): Promise<void>;
}

export interface EvalRunnerDeps extends EvalRunDeps {
  newId: () => string;
}

/** How long a run rests after a failure of ours. */
const retryMs = 30_000;
/** Who doesn't stop by then is left behind; the claim ends by itself. */
const closeMs = 10_000;
/** Runs at a time, of as many accounts: one account's long run holds nobody else up. */
const runsAtOnce = 8;
/** A run that has worked for so long makes room where all places are taken and others wait. */
const sliceMs = 30_000;

export function createEvalRunner(deps: EvalRunnerDeps): EvalRunner {
  return new Runner(deps);
}

interface Working {
  run: ClaimedRun;
  stop: AbortController;
  rest: AbortController;
  since: number;
  ended: Promise<void>;
}

class Runner implements EvalRunner {
  readonly #deps: EvalRunnerDeps;
  readonly #working = new Map<string, Working>();
  #looking: Promise<void> | undefined;
  #again = false;
  #closed = false;

  constructor(deps: EvalRunnerDeps) {
    this.#deps = deps;
  }

  async tick(): Promise<void> {
    await this.#renew();
    await this.#makeRoom();
    await this.#look();
  }

  wake(): void {
    // What fails here is tried again by the next tick, which says so.
    this.#look().catch(() => {});
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#looking?.catch(() => {});
    const working = [...this.#working.values()];
    for (const { stop } of working) stop.abort();
    // Calls are aborted, so this takes as long as a vendor's connection takes to close.
    let timer: ReturnType<typeof setTimeout> | undefined;
    const limit = new Promise<void>((resolve) => timer = setTimeout(resolve, closeMs));
    await Promise.race([Promise.all(working.map(({ ended }) => ended)), limit]);
    clearTimeout(timer);
    this.#deps.graders.close();
  }

  async #renew(): Promise<void> {
    const working = [...this.#working.values()];
    const held = await this.#deps.work.renew(working.map(({ run }) => run.claimId));
    // Another process has taken it, or it was erased: two would make every call twice.
    for (const { run, stop } of working) if (!held.includes(run.claimId)) stop.abort();
  }

  /** One account's long runs would else keep a place for hours. */
  async #makeRoom(): Promise<void> {
    const working = [...this.#working.values()];
    if (working.length < runsAtOnce || working.some(({ rest }) => rest.signal.aborted)) return;
    // In the order in which they were begun.
    const oldest = working[0]!;
    if (this.#deps.clock.monotonicMs() - oldest.since < sliceMs) return;
    if (await this.#deps.work.othersWait(this.#held(working))) oldest.rest.abort();
  }

  #held(working: readonly Working[]): { runs: string[]; accounts: number[] } {
    return {
      runs: working.map(({ run }) => run.evalRunId),
      accounts: working.map(({ run }) => run.accountId),
    };
  }

  /** One look at a time; one asked for meanwhile follows it. */
  async #look(): Promise<void> {
    if (this.#closed) return;
    if (this.#looking) {
      this.#again = true;
      return await this.#looking;
    }
    this.#looking = this.#takeAll();
    try {
      await this.#looking;
    } finally {
      this.#looking = undefined;
    }
  }

  async #takeAll(): Promise<void> {
    do {
      this.#again = false;
      while (!this.#closed && this.#working.size < runsAtOnce) {
        const claimed = await this.#claim();
        if (!claimed) break;
        this.#start(claimed);
      }
    } while (this.#again && !this.#closed);
  }

  async #claim(): Promise<ClaimedRun | undefined> {
    const working = [...this.#working.values()];
    return await this.#deps.work.claim({
      ...this.#held(working),
      claimId: this.#deps.newId(),
    });
  }

  #start(run: ClaimedRun): void {
    const stop = new AbortController();
    const rest = new AbortController();
    const ended = workOn(this.#deps, run, stop.signal, rest.signal).then(() => true, (thrown) => {
      return this.#interrupted(run, thrown);
    }).then((goesOn) => {
      this.#working.delete(run.evalRunId);
      // The account's next run need not wait for the next tick.
      if (goesOn) this.wake();
    });
    this.#working.set(run.evalRunId, {
      run,
      stop,
      rest,
      since: this.#deps.clock.monotonicMs(),
      ended,
    });
  }

  /** Who failed for a reason of ours tries again, but not at once: each try may cost something. */
  async #interrupted(run: ClaimedRun, thrown: unknown): Promise<false> {
    const reason = messageOf(thrown);
    this.#deps.log.warn("an evaluation was interrupted", { run: run.evalRunId, reason });
    const code = isAway(thrown) ? "store_unavailable" : "internal_error";
    // With the store away nothing can be said; then the claim ends by itself.
    const wait = {
      ms: code === "internal_error" ? retryMs : 0,
      code,
      message: errors[code].message,
    } as const;
    await this.#deps.work.pause(run, wait).catch(() => {});
    return false;
  }
}

function isAway(thrown: unknown): boolean {
  return thrown instanceof Fault && thrown.code === "store_unavailable";
}
