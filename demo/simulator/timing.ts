/** The simulators' only reader of the clock and only user of timers. */

/** Returns the time in whole Unix seconds, as in the vendors' `created`. */
export function unixSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

/** Returns the time in RFC 3339. */
export function timestamp(): string {
  return new Date().toISOString();
}

/** Resolves after `milliseconds`, or at once when the signal aborts. Leaves no timer behind. */
export function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted || milliseconds <= 0) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", done, { once: true });
    function done() {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
  });
}

/** Resolves only when the signal aborts. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
