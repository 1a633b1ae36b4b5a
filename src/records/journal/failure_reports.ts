import type { Clock } from "../../base/clock.ts";
import type { JournalObserver } from "./journal.ts";

/** How often a failure is reported: a full disk may have room for a moment again and again. */
const quietMs = 30_000;

/** Reports that writes fail, and that they work again: at most one of each in half a minute. */
export class FailureReports {
  #isReported = false;
  #quietUntilMs = -Infinity;

  constructor(readonly clock: Pick<Clock, "monotonicMs">) {}

  failed(reason: string, observer: Pick<JournalObserver, "failing"> | undefined): void {
    const nowMs = this.clock.monotonicMs();
    if (this.#isReported || nowMs < this.#quietUntilMs) return;
    this.#isReported = true;
    this.#quietUntilMs = nowMs + quietMs;
    observer?.failing(reason);
  }

  mended(observer: Pick<JournalObserver, "mended"> | undefined): void {
    if (!this.#isReported) return;
    this.#isReported = false;
    observer?.mended();
  }
}
