import type { DialectName } from "../../contracts/calls/vendors.ts";
import { createFairQueue, type FairQueue } from "../base/fair_queue.ts";
import type { Log } from "../base/log.ts";
import type { Secret } from "../base/secret.ts";
import {
  type BackgroundClaim,
  type BackgroundKey,
  type BackgroundState,
  type BackgroundStore,
  holdMs,
} from "./background_call.ts";
import { messageOf } from "../shared/fault.ts";
import { type BackgroundAskDeps, workOn } from "./work.ts";
import type { StopReason } from "../relay/background_task.ts";
import type { Authorization } from "../relay/pipeline.ts";
import type { Dialect } from "../dialects/kernel/dialect.ts";

/** What a process holds of a call that it works on, or is about to. */
export interface ClaimedCall extends BackgroundClaim {
  /** Set aside when it was taken in here; absent for a call that was taken over. */
  authorization: Authorization | undefined;
  /** The one that came with the request. */
  vendorKey: Secret | undefined;
  /** Closes the vendor's connection, or ends the waiting. */
  stop: AbortController;
  stopped: StopReason | undefined;
  /** The vendor is asked now. */
  isAtWork: boolean;
  /** Its record is on its way, since then (monotonic ms). */
  doneMs: number | undefined;
  ended: Promise<void>;
}

export interface BackgroundRunnerDeps extends Omit<BackgroundAskDeps, "form"> {
  store: BackgroundStore;
  dialects: Readonly<Record<DialectName, Dialect>>;
  log: Log;
  /** A timer. */
  pause: (ms: number) => Promise<void>;
  /** At work at once here, and of one account. */
  atWork?: { all: number; perAccount: number };
}

/** Memory holds their requests. */
const defaultAtWork = { all: 128, perAccount: 32 };
/** Of requests that are long, of which each takes as much memory as many others. */
const largeAtWork = { atOnce: 6, atOncePerKey: 2 };
const largeUnits = 1024 * 1024;
/** How often this process renews its hold on its calls. */
const renewMs = holdMs / 3;
/** A record that is so long on its way is the next process's to make. */
const patienceMs = 10 * 60_000;
/** How long closed connections may take to be noted. */
const closeMs = 5_000;

/** Works on background calls: those that this process took in, and those that others left. */
export class BackgroundRunner {
  readonly #deps: BackgroundRunnerDeps;
  readonly #held = new Map<string, ClaimedCall>();
  readonly #queue: FairQueue;
  readonly #large = createFairQueue(largeAtWork);
  readonly #most: number;
  #renewedMs = -Infinity;
  #isClosing = false;

  constructor(deps: BackgroundRunnerDeps) {
    this.#deps = deps;
    const { all, perAccount } = deps.atWork ?? defaultAtWork;
    this.#most = all;
    this.#queue = createFairQueue({ atOnce: all, atOncePerKey: perAccount });
  }

  /** Calls that this process holds, waiting ones too. */
  get count(): number {
    return this.#held.size;
  }

  /** A call that was just stored, held by this process. */
  add(key: BackgroundClaim, has: Pick<ClaimedCall, "authorization" | "vendorKey">): void {
    const held: ClaimedCall = {
      ...key,
      ...has,
      stop: new AbortController(),
      stopped: undefined,
      isAtWork: false,
      doneMs: undefined,
      ended: Promise.resolve(),
    };
    if (this.#isClosing) stopHeld(held, "given_up");
    this.#held.set(key.responseId, held);
    held.ended = this.#run(held);
  }

  /** Ends a call that may be at work here. */
  stop({ responseId }: BackgroundKey, reason: StopReason): void {
    const held = this.#held.get(responseId);
    if (held) stopHeld(held, reason);
  }

  /** Looks for what was cancelled, erased or left behind; a job for every second. */
  async tick(): Promise<void> {
    if (this.#held.size > 0) await this.#look([...this.#held.values()]);
    const room = this.#most - this.#queue.inside - this.#queue.waiting;
    if (this.#isClosing || room <= 0) return;
    const taken = await this.#deps.store.takeOver(Math.min(room, 16), [...this.#held.keys()]);
    for (const key of taken) this.add(key, { authorization: undefined, vendorKey: undefined });
  }

  /** No more is begun here; calls under way may take so long to end. Then `close`. */
  async drain(ms: number): Promise<void> {
    this.#isClosing = true;
    const all = [...this.#held.values()];
    for (const held of all) if (!held.isAtWork) this.stop(held, "given_up");
    if (all.length === 0) return;
    await Promise.race([Promise.all(all.map(({ ended }) => ended)), this.#deps.pause(ms)]);
  }

  /** Gives back what has not ended, for others to ask again, or this one's next run. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const all = [...this.#held.values()];
    for (const held of all) this.stop(held, "given_up");
    if (all.length === 0) return;
    await Promise.race([Promise.all(all.map(({ ended }) => ended)), this.#deps.pause(closeMs)]);
  }

  /** Never throws. */
  async #run(held: ClaimedCall): Promise<void> {
    const { log } = this.#deps;
    let leave = () => {};
    try {
      leave = await this.#enter(held);
      held.isAtWork = true;
      const form = this.#deps.dialects.responses.background!;
      const outcome = await workOn({ ...this.#deps, form }, held);
      leave();
      if (outcome === "left") return this.#forget(held);
      held.doneMs = this.#deps.clock.monotonicMs();
      await this.#deps.recorder.drain();
      this.#forget(held);
    } catch (thrown) {
      // With the store away the record is in the journal; else the next look finds the call.
      log.warn("a background call waits for the store", {
        id: held.responseId,
        reason: messageOf(thrown),
      });
      if (held.doneMs === undefined) this.#forget(held);
    } finally {
      leave();
      held.authorization?.settle(0n);
    }
  }

  /** Waits for a place; who is stopped meanwhile needs none. */
  async #enter({ accountId, bodyUnits, stop: { signal } }: ClaimedCall): Promise<() => void> {
    const nothing = () => {};
    const key = String(accountId);
    const enter = (queue: FairQueue) => queue.enter(key, signal).catch(() => nothing);
    const leaveLarge = bodyUnits > largeUnits ? await enter(this.#large) : nothing;
    const leave = await enter(this.#queue);
    return () => {
      leave();
      leaveLarge();
    };
  }

  #forget(held: ClaimedCall): void {
    if (this.#held.get(held.responseId) === held) this.#held.delete(held.responseId);
  }

  async #look(all: readonly ClaimedCall[]): Promise<void> {
    const { store, clock } = this.#deps;
    const states = await store.held();
    for (const held of all) await this.#compare(held, states.get(held.responseId));
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#renewedMs < renewMs) return;
    await store.renew([...this.#held.values()]);
    this.#renewedMs = nowMs;
  }

  async #compare(held: ClaimedCall, state: BackgroundState | undefined): Promise<void> {
    const { store, clock } = this.#deps;
    if (held.doneMs !== undefined) {
      if (state === undefined || clock.monotonicMs() - held.doneMs > patienceMs) this.#forget(held);
    } else if (state === "cancelled" || state === "deleted") {
      this.stop(held, "cancelled");
    } else if (state === undefined) {
      // Erased: what was spent is charged all the same. Else another process has it now.
      const isThere = await store.find(held) !== undefined;
      this.stop(held, isThere ? "given_up" : "cancelled");
    }
  }
}

/** The first reason holds. */
function stopHeld(held: ClaimedCall, reason: StopReason): void {
  if (held.stopped !== undefined) return;
  held.stopped = reason;
  held.stop.abort();
}
