/** The longest value: clients take some 16 KiB of headers in all. */
const maxLength = 4096;

/**
 * The paths of what could not be carried as the value of `X-Translation-Loss`. Paths hold names that
 * the caller chose: what isn't visible ASCII, and what would look like another path, is
 * percent-encoded. Where they are too many the first stand, with the number of the others (`+12`)
 * behind them; the record has all.
 */
export function lossHeader(paths: readonly string[]): string {
  const entries = paths.map((path) =>
    path.toWellFormed().replace(/[^!-~]|[,%]/gu, encodeURIComponent)
  );
  const whole = entries.join(",");
  if (whole.length <= maxLength) return whole;
  // Room for the number behind them.
  let room = maxLength - 12;
  const fit = entries.findIndex((entry) => (room -= entry.length + 1) < 0);
  return [...entries.slice(0, fit), `+${entries.length - fit}`].join(",");
}
