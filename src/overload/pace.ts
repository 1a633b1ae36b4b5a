import type { Clock } from "../base/clock.ts";

/** What happened this long ago counts about a third of what happens now. */
const memoryMs = 3_000;
/** The pace assumed before any call has waited; it weighs as much as an observation of `forMs`. */
const believed = { perSecond: 100, forMs: 100 };

/**
 * Estimates how many calls get their turn per second, over the last few seconds in which calls
 * waited: while none waits, few calls say nothing about how many there could be. If none has waited
 * lately, it's the rate at which calls ended, or `believed` if that is higher.
 */
export class Pace {
  readonly #clock: Pick<Clock, "monotonicMs">;
  #turns = 0;
  #ended = 0;
  #waitedMs = 0;
  #isWaitedFor = false;
  #seenMs: number;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
    this.#seenMs = clock.monotonicMs();
  }

  /** Calls wait from now on, or none does any more. */
  waits(isWaitedFor: boolean): void {
    if (isWaitedFor === this.#isWaitedFor) return;
    this.#catchUp();
    this.#isWaitedFor = isWaitedFor;
  }

  /** A call that waited has its turn. */
  turn(): void {
    this.#catchUp();
    this.#turns++;
  }

  /** A call has ended, whether it had waited or not. */
  ended(): void {
    this.#catchUp();
    this.#ended++;
  }

  /** Never 0. */
  get perSecond(): number {
    this.#catchUp();
    const perSecond = Math.max(believed.perSecond, this.#ended / memoryMs * 1000);
    const turns = this.#turns + perSecond * believed.forMs / 1000;
    return turns / (this.#waitedMs + believed.forMs) * 1000;
  }

  #catchUp(): void {
    const nowMs = this.#clock.monotonicMs();
    const sinceMs = nowMs - this.#seenMs;
    if (sinceMs <= 0) return;
    this.#seenMs = nowMs;
    const retainedShare = Math.exp(-sinceMs / memoryMs);
    this.#turns *= retainedShare;
    this.#ended *= retainedShare;
    this.#waitedMs *= retainedShare;
    if (this.#isWaitedFor) this.#waitedMs += memoryMs * (1 - retainedShare);
  }
}
