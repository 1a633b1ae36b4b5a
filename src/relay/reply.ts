import { sha256Hex } from "../base/hash.ts";

/** An answer on its way to the caller, before it becomes a response of the web framework. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: string | Uint8Array | ReadableStream<Uint8Array> | null;
}

/** On the answer to a repeat: the call was made before, and nothing was charged again. */
export const replayHeader: Readonly<Record<string, string>> = { "x-idempotent-replay": "true" };

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

/**
 * Ids inside one answer, derived from the call's own id: asked for in the same order they come out
 * the same, so that the folded answer in the record names what the caller's stream named.
 */
export function answerIds(transactionId: string): (prefix: string) => string {
  const counts = new Map<string, number>();
  return (prefix) => {
    const count = counts.get(prefix) ?? 0;
    counts.set(prefix, count + 1);
    return prefix + sha256Hex(`${transactionId}/${prefix}/${count}`).slice(0, 32);
  };
}
