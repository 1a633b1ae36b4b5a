import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { SettledCall } from "../shared/interaction.ts";
import { mediaBytes } from "../shared/media.ts";
import { capPayload } from "./payload.ts";

/** Bytes of each payload that are stored even when the account has reached its limit. */
const minBytes = 4 * 1024;
/**
 * Bytes that are stored of a request whose key the vendor rejected: storage is all that such a call
 * costs us.
 */
const refusedBytes = 64 * 1024;

/** Calls with a key that the vendor rejects cost their caller nothing. */
const refusals: ReadonlySet<SettledCall["errorCode"]> = new Set<SettledCall["errorCode"]>([
  ...["invalid_vendor_api_key", "upstream_authentication_failed", "upstream_forbidden"] as const,
]);

/**
 * Returns the part of a call that is worth storing: calls that failed without an answer are stored
 * without media, and of a request whose key the vendor rejected only the beginning is stored.
 */
export function storablePart(row: SettledCall): SettledCall {
  if (row.status !== "failed" || row.responseText !== null) return row;
  const maxBytes = refusals.has(row.errorCode) ? refusedBytes : Infinity;
  return withoutMedia(row, maxBytes);
}

/**
 * Returns the row with at most `maxBytes` of each payload and no media, marked if anything was cut.
 */
function withoutMedia({ media, ...row }: SettledCall, maxBytes: number): SettledCall {
  const cap = (text: string | null) =>
    text === null ? { text, truncated: false } : capPayload(text, maxBytes);
  const [request, response] = [cap(row.requestText), cap(row.responseText)];
  const isLess = media !== undefined || request.truncated || response.truncated;
  return {
    ...row,
    requestText: request.text,
    responseText: response.text,
    payloadTruncated: row.payloadTruncated || isLess,
  };
}

export interface StoredBytesDeps {
  /** Daily limit per account: bytes of payloads and media. */
  perDay: number;
  clock: Pick<Clock, "now">;
  log: Log;
}

/**
 * Counts the bytes that this process stores for each account per day (UTC). Beyond the limit, rows
 * and charges are stored as usual, but only the beginning of the payloads.
 */
export class StoredBytes {
  readonly #deps: StoredBytesDeps;
  readonly #used = new Map<number, number>();
  readonly #warned = new Set<number>();
  #day = "";
  #cut = 0;

  constructor(deps: StoredBytesDeps) {
    this.#deps = deps;
  }

  get cut(): number {
    return this.#cut;
  }

  /** Returns the rows, cut to the limit. Call `stored` once they are stored, to count them. */
  fit(rows: readonly SettledCall[]): { rows: SettledCall[]; stored(): void } {
    this.#turnDay();
    const taken = new Map<number, number>();
    const over: SettledCall[] = [];
    const fitting = rows.map((row) => {
      const { accountId } = row;
      const before = taken.get(accountId) ?? 0;
      const bytes = sizeOf(row);
      if ((this.#used.get(accountId) ?? 0) + before + bytes <= this.#deps.perDay) {
        taken.set(accountId, before + bytes);
        return row;
      }
      over.push(row);
      return withoutMedia(row, minBytes);
    });
    return {
      rows: fitting,
      stored: () => {
        for (const [id, bytes] of taken) this.#used.set(id, (this.#used.get(id) ?? 0) + bytes);
        this.#cut += over.length;
        for (const { accountId } of over) this.#warn(accountId);
      },
    };
  }

  #turnDay(): void {
    const day = this.#deps.clock.now().toISOString().slice(0, 10);
    if (day === this.#day) return;
    this.#day = day;
    this.#used.clear();
    this.#warned.clear();
  }

  #warn(account: number): void {
    if (this.#warned.has(account)) return;
    this.#warned.add(account);
    this.#deps.log.warn("an account has reached its daily storage limit: payloads are truncated", {
      account,
      bytes: this.#deps.perDay,
    });
  }
}

function sizeOf({ requestText, responseText, media }: SettledCall): number {
  return (requestText?.length ?? 0) + (responseText?.length ?? 0) + mediaBytes(media);
}
