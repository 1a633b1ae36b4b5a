import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { SettledCall } from "../shared/interaction.ts";
import { capPayload } from "./payload.ts";

/** Of each payload that is stored although its account has no room left. */
const leastBytes = 4 * 1024;
/** Of the request of a call that its vendor's door turned away: whoever asks costs us nothing else. */
const refusedBytes = 64 * 1024;

/** Calls with a key that the vendor doesn't take cost their caller nothing. */
const refusals: ReadonlySet<SettledCall["errorCode"]> = new Set<SettledCall["errorCode"]>([
  ...["invalid_vendor_api_key", "upstream_authentication_failed", "upstream_forbidden"] as const,
]);

/**
 * What is stored of calls that failed before there was an answer: their media isn't, nor the most
 * of a request that was refused.
 */
export function worthStoring(row: SettledCall): SettledCall {
  if (row.status !== "failed" || row.responseText !== null) return row;
  const maxBytes = refusals.has(row.errorCode) ? refusedBytes : Infinity;
  return withoutMedia(row, maxBytes);
}

/** The row with at most so much of each payload, and no media; it says so where something went. */
function withoutMedia({ media, ...row }: SettledCall, maxBytes: number): SettledCall {
  const cap = (text: string | null) =>
    text === null || maxBytes === Infinity
      ? { text, truncated: false }
      : capPayload(text, maxBytes);
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
  /** Bytes of payloads and media that are stored of an account a day. */
  perDay: number;
  clock: Pick<Clock, "now">;
  log: Log;
}

/**
 * Counts what this process stores of each account in a day (UTC). Beyond the limit rows are stored
 * as ever, with their charge, and with the beginning of their payloads alone.
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

  /** Rows so far whose payloads found no room. */
  get cut(): number {
    return this.#cut;
  }

  /** The rows as there is room for them; `stored` counts them once they are. */
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
      return withoutMedia(row, leastBytes);
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

function sizeOf({ requestText, responseText, media = [] }: SettledCall): number {
  const texts = (requestText?.length ?? 0) + (responseText?.length ?? 0);
  return media.reduce((sum, { content }) => sum + content.length, texts);
}
