import type { DialectName } from "../../contracts/calls/vendors.ts";
import { createFairQueue, type FairQueue } from "../base/fair_queue.ts";
import type { Log } from "../base/log.ts";
import type { Secret } from "../base/secret.ts";
import type { Dialect } from "../dialects/kernel/dialect.ts";
import type { Authorization } from "../relay/pipeline.ts";
import type { StopReason } from "../relay/background_task.ts";
import { messageOf } from "../shared/fault.ts";
import { WorkQueue } from "../work_queue/work_queue.ts";
import type { BackgroundClaim, BackgroundKey, BackgroundStore } from "./background_call.ts";
import { type BackgroundAskDeps, workOn } from "./work.ts";

/** What came with the request; neither is there for a call that another process took in. */
interface FromRequest {
  /** Held since the call was taken in. */
  authorization: Authorization | undefined;
  vendorKey: Secret | undefined;
}

/** A call that this process works on, or is about to. */
export interface ClaimedCall extends BackgroundClaim, FromRequest {
  /** The first reason holds. */
  stopped: StopReason | undefined;
  /** The vendor is asked now. */
  isAtWork: boolean;
  /** Since when its record is on its way to the store (monotonic ms). */
  recordedMs: number | undefined;
  /** Resolved when the record is written, or nobody waits for that any more. */
  written: PromiseWithResolvers<void>;
}

export interface BackgroundRunnerDeps extends Omit<BackgroundAskDeps, "form"> {
  store: BackgroundStore;
  dialects: Readonly<Record<DialectName, Dialect>>;
  log: Log;
}

/** At work at once here, and of one account: memory holds their requests. */
const callsAtOnce = 128;
const callsAtOncePerAccount = 32;
/** Of long requests, each of which takes as much memory as many others. */
const largeAtOnce = { atOnce: 6, atOncePerKey: 2 };
const largeUnits = 1024 * 1024;
/** Calls of other processes that are claimed in one go. */
const mostClaims = 16;
/** A record that takes longer to be written is the next process's to make. */
const recordingMs = 10 * 60_000;
/** How long closed connections may take to be noted. */
const closeMs = 5_000;

/** Works on background calls: those that this process took in, and those that others left. */
export class BackgroundRunner {
  readonly #deps: BackgroundRunnerDeps;
  readonly #queue: WorkQueue<ClaimedCall>;
  readonly #turns = createFairQueue({
    ...{ atOnce: callsAtOnce, atOncePerKey: callsAtOncePerAccount },
  });
  readonly #largeTurns = createFairQueue(largeAtOnce);

  constructor(deps: BackgroundRunnerDeps) {
    this.#deps = deps;
    this.#queue = new WorkQueue({
      idOf: ({ responseId }) => responseId,
      room: (working) =>
        callsAtOnce - working.filter(({ recordedMs }) => recordedMs === undefined).length,
      claim: async (most, working) => {
        const ids = working.map(({ responseId }) => responseId);
        const claims = await deps.store.claim(Math.min(most, mostClaims), ids);
        return claims.map((key) => claimedCall(key));
      },
      renew: (working) => this.#renew(working),
      work: (call, stop) => this.#run(call, stop),
      claimsAfterEach: false,
    });
  }

  /** Calls that this process has claimed, waiting ones too. */
  get count(): number {
    return this.#queue.size;
  }

  /** Works on a call that this process has just stored. */
  add(key: BackgroundClaim, fromRequest: FromRequest): void {
    void this.#queue.add(claimedCall(key, fromRequest));
  }

  /** Ends a call that may be at work here. */
  stop({ responseId }: BackgroundKey, reason: StopReason): void {
    const call = this.#queue.find(responseId);
    if (call) call.stopped ??= reason;
    this.#queue.stop(responseId);
  }

  /** Stops what was cancelled or erased, and claims what was left behind; a job for every second. */
  tick(): Promise<void> {
    return this.#queue.tick();
  }

  /** Starts no more calls and waits for those under way, for so long at most. Then `close`. */
  async drain(ms: number): Promise<void> {
    const drained = this.#queue.drain(ms);
    for (const call of this.#queue.working) {
      call.written.resolve();
      if (!call.isAtWork) this.stop(call, "given_up");
    }
    await drained;
  }

  /** Gives back what has not ended, for other processes or this one's next run. */
  async close(): Promise<void> {
    for (const { written } of this.#queue.working) written.resolve();
    await this.#queue.close(closeMs);
  }

  /** Never throws. */
  async #run(call: ClaimedCall, stop: AbortController): Promise<void> {
    const { log } = this.#deps;
    const giveUp = () => call.stopped ??= "given_up";
    if (stop.signal.aborted) giveUp();
    else stop.signal.addEventListener("abort", giveUp, { once: true });
    try {
      await this.#makeAndRecord(call, stop);
    } catch (thrown) {
      log.warn("a background call waits for the store", {
        id: call.responseId,
        reason: messageOf(thrown),
      });
      // The record is in the journal; without one the call is claimed again.
      if (call.recordedMs !== undefined) await call.written.promise;
    }
  }

  async #makeAndRecord(call: ClaimedCall, stop: AbortController): Promise<void> {
    const { dialects, recorder, clock } = this.#deps;
    let leave = () => {};
    try {
      leave = await this.#enter(call, stop.signal);
      call.isAtWork = true;
      const form = dialects.responses.background!;
      if (await workOn({ ...this.#deps, form }, call, stop) === "left") return;
      leave();
      call.recordedMs = clock.monotonicMs();
      await recorder.drain();
    } finally {
      leave();
      call.authorization?.settle(0n);
    }
  }

  /** Waits for its turn; a call that is stopped meanwhile needs none. */
  async #enter({ accountId, bodyUnits }: ClaimedCall, signal: AbortSignal): Promise<() => void> {
    const nothing = () => {};
    const enter = (turns: FairQueue) => turns.enter(String(accountId), signal).catch(() => nothing);
    const leaveLarge = bodyUnits > largeUnits ? await enter(this.#largeTurns) : nothing;
    const leave = await enter(this.#turns);
    return () => {
      leave();
      leaveLarge();
    };
  }

  /** Gives the ids of the calls to go on with; the others are stopped. */
  async #renew(working: readonly ClaimedCall[]): Promise<ReadonlySet<string>> {
    const { store, clock } = this.#deps;
    const states = await store.renew(working);
    const ours = new Set<string>();
    for (const call of working) {
      const state = states.get(call.responseId);
      if (call.recordedMs !== undefined) {
        const isLate = clock.monotonicMs() - call.recordedMs > recordingMs;
        if (state === undefined || isLate) call.written.resolve();
      } else if (state === undefined) {
        // Erased: what was spent is charged all the same. Else another process has claimed it.
        call.stopped ??= await store.find(call) ? "given_up" : "cancelled";
      } else if (state === "cancelled" || state === "deleted") {
        call.stopped ??= "cancelled";
      } else {
        ours.add(call.responseId);
      }
    }
    return ours;
  }
}

function claimedCall(
  key: BackgroundClaim,
  { authorization, vendorKey }: Partial<FromRequest> = {},
): ClaimedCall {
  return {
    ...key,
    authorization,
    vendorKey,
    stopped: undefined,
    isAtWork: false,
    recordedMs: undefined,
    written: Promise.withResolvers(),
  };
}
