import type { DialectName } from "../../contracts/calls/vendors.ts";
import { createFairQueue, type FairQueue } from "../base/fair_queue.ts";
import type { Log } from "../base/log.ts";
import type { Secret } from "../base/secret.ts";
import type { Dialect } from "../dialects/kernel/dialect.ts";
import type { Authorization } from "../relay/pipeline.ts";
import type { StopReason } from "../relay/background_task.ts";
import { reasonOf } from "../shared/fault.ts";
import { WorkQueue } from "../work_queue/work_queue.ts";
import type { BackgroundClaim, BackgroundKey, BackgroundStore } from "./background_call.ts";
import { type BackgroundAskDeps, workOn } from "./work.ts";

/** What came with the request; both are undefined for a call that another process accepted. */
interface FromRequest {
  /** Held since the call was accepted. */
  authorization: Authorization | undefined;
  vendorKey: Secret | undefined;
}

/** A call that this process works on, or is about to. */
export interface ClaimedCall extends BackgroundClaim, FromRequest {
  /** Why the call is stopped; the first reason counts. */
  stopped: StopReason | undefined;
  /** Whether the vendor is being asked. */
  isAtWork: boolean;
  /** Since when its record is on its way to the store (monotonic ms). */
  recordedMs: number | undefined;
  /** Resolves when the record is written, or nobody waits for that any more. */
  written: PromiseWithResolvers<void>;
}

export interface BackgroundRunnerDeps extends Omit<BackgroundAskDeps, "form"> {
  store: BackgroundStore;
  dialects: Readonly<Record<DialectName, Dialect>>;
  log: Log;
}

/**
 * Max calls that this process works on at once, in total and per account: their requests are in
 * memory.
 */
const callsAtOnce = 128;
const callsAtOncePerAccount = 32;
/** Of these, max calls with long requests, each of which takes as much memory as many others. */
const largeAtOnce = { atOnce: 6, atOncePerKey: 2 };
const largeUnits = 1024 * 1024;
/** Calls of other processes that are claimed in one go. */
const maxClaims = 16;
/** If a record takes longer to be written, the call is left to the next process. */
const recordingMs = 10 * 60_000;
/** How long `close` waits for calls to notice that they were stopped. */
const closeMs = 5_000;

/**
 * Works on background calls: those that this process accepted, and those that others left behind.
 */
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
        const claims = await deps.store.claim(Math.min(most, maxClaims), ids);
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

  /** Stops a call if this process works on it. */
  stop({ responseId }: BackgroundKey, reason: StopReason): void {
    const call = this.#queue.find(responseId);
    if (call) call.stopped ??= reason;
    this.#queue.stop(responseId);
  }

  /**
   * Stops calls that were cancelled or erased, and claims those left behind; to be run every
   * second.
   */
  tick(): Promise<void> {
    return this.#queue.tick();
  }

  /** Starts no more calls and waits for those under way, at most `ms`. Call `close` afterwards. */
  async drain(ms: number): Promise<void> {
    const drained = this.#queue.drain(ms);
    for (const call of this.#queue.working) {
      call.written.resolve();
      if (!call.isAtWork) this.stop(call, "given_up");
    }
    await drained;
  }

  /** Gives back calls that have not ended, for other processes or this one's next run. */
  async close(): Promise<void> {
    for (const { written } of this.#queue.working) written.resolve();
    await this.#queue.close(closeMs);
  }

  /** Never throws. */
  async #run(call: ClaimedCall, stop: AbortController): Promise<void> {
    const { log } = this.#deps;
    const stopCall = () => call.stopped ??= "given_up";
    if (stop.signal.aborted) stopCall();
    else stop.signal.addEventListener("abort", stopCall, { once: true });
    try {
      await this.#makeAndRecord(call, stop);
    } catch (thrown) {
      log.warn("a background call waits for the database", {
        id: call.responseId,
        reason: reasonOf(thrown),
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
      await recorder.drain(call.accountId);
    } finally {
      leave();
      call.authorization?.settle(0n);
    }
  }

  /** Waits for the call's turn; a call that is stopped meanwhile goes on without one. */
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

  /** Returns the ids of the calls to continue; the others are stopped. */
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
        // Either another process has claimed it, or it was erased: then what was spent is still
        // charged.
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
