import { sha256Hex } from "../base/hash.ts";
import { nanosToUsd } from "../base/money.ts";
import type { CallTiming } from "../shared/interaction.ts";
import type { CallTrace } from "./call_context.ts";

/** An answer before it becomes a response of the web framework. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: string | Uint8Array | ReadableStream<Uint8Array> | null;
  /**
   * Keeps the room that the body's bytes take until the result is called: for whoever reads the
   * body ahead of the caller.
   */
  hold?: () => () => void;
}

/** The reply to a caller who has left: nobody receives it, but log and metrics show it. */
export const callerLeftReply: Reply = { status: 499, headers: {}, body: null };

/** Marks the answer to a repeated request: it was made before, and nothing was charged again. */
export const replayHeader: Readonly<Record<string, string>> = { "x-idempotent-replay": "true" };

/**
 * Returns the headers that describe the settled call of a whole answer: cost (unless no price is
 * known) and charge as the record has them, and where its time went. Empty before the call is
 * settled.
 */
export function settledHeaders(trace: Pick<CallTrace, "settled" | "timing">) {
  const headers: Record<string, string> = {};
  addSettledHeaders(headers, trace);
  return headers;
}

/** Adds the headers of `settledHeaders` to an answer's headers. */
export function addSettledHeaders(
  headers: Record<string, string>,
  { settled, timing }: Pick<CallTrace, "settled" | "timing">,
): void {
  if (!settled) return;
  const { costNanos, chargedNanos } = settled;
  if (costNanos !== null) headers["x-cost-usd"] = nanosToUsd(costNanos);
  headers["x-charged-usd"] = nanosToUsd(chargedNanos);
  if (timing) headers["server-timing"] = serverTiming(timing);
}

/**
 * Returns the value of `Server-Timing`, in milliseconds; see https://www.w3.org/TR/server-timing/.
 */
export function serverTiming(
  { overheadMs, vendorMs }: Pick<CallTiming, "overheadMs" | "vendorMs">,
): string {
  return `gateway;dur=${overheadMs.toFixed(1)}, vendor;dur=${vendorMs.toFixed(1)}`;
}

/**
 * Returns the value of `X-Model`: `<vendor>/<model>`. Names may come from callers, so anything but
 * visible ASCII is percent-encoded.
 */
export function modelHeader(id: string): string {
  if (/^[!-~]{1,300}$/.test(id)) return id;
  return id.toWellFormed().replace(/[^!-~]/gu, encodeURIComponent).slice(0, 300);
}

/** The longest value: clients accept about 16 KiB of headers in all. */
const maxLength = 4096;

/**
 * Returns the value of `X-Translation-Loss`: the paths of fields that could not be carried. Paths
 * hold names that the caller chose, so anything but visible ASCII, and commas, are percent-encoded.
 * If there are too many, the first paths are followed by the number of the others (`+12`); the
 * record has all of them.
 */
export function lossHeader(paths: readonly string[]): string {
  const entries = paths.map((path) =>
    path.toWellFormed().replace(/[^!-~]|[,%]/gu, encodeURIComponent)
  );
  const whole = entries.join(",");
  if (whole.length <= maxLength) return whole;
  // Leaves room for the number.
  let room = maxLength - 12;
  const fit = entries.findIndex((entry) => (room -= entry.length + 1) < 0);
  return [...entries.slice(0, fit), `+${entries.length - fit}`].join(",");
}

/**
 * Returns a generator of ids inside one answer, derived from the call's id. The same sequence of
 * prefixes gives the same ids, so that the folded answer in the record has the ids of the caller's
 * stream.
 */
export function answerIds(transactionId: string): (prefix: string) => string {
  const counts = new Map<string, number>();
  return (prefix) => {
    const count = counts.get(prefix) ?? 0;
    counts.set(prefix, count + 1);
    return prefix + sha256Hex(`${transactionId}/${prefix}/${count}`).slice(0, 32);
  };
}
