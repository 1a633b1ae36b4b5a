const firstMs = 100;
const longestMs = 30_000;
/** A worker that has run for this long has not failed at its start. */
const steadyMs = 60_000;

/** The pauses before a worker is started again, which double while it ends soon after each start. */
export class RestartPauses {
  #nextMs = firstMs;

  /** How long to wait, in milliseconds, after a worker that ran for `ranMs`. */
  after(ranMs: number): number {
    if (ranMs >= steadyMs) this.#nextMs = firstMs;
    const pause = this.#nextMs;
    this.#nextMs = Math.min(longestMs, this.#nextMs * 2);
    return pause;
  }
}
