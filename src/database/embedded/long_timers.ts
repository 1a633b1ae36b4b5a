/** The longest delay of the runtime's timers; one with a longer delay fires at once. */
const longestMs = 0x7fffffff;

/**
 * Shortens longer timers of this thread to that. PostgreSQL sets a timer for a time by the wall
 * clock, and again if it fires too early: once the clock was set back by more than 24 days, that
 * was hundreds of times a second, each with two lines on standard error.
 */
export function shortenLongTimers(): void {
  const { setTimeout: start } = globalThis;
  const shortened = (...[run, ms = 0, ...rest]: Parameters<typeof setTimeout>) =>
    start(run, Math.min(ms, longestMs), ...rest);
  globalThis.setTimeout = Object.assign(shortened, start);
}
