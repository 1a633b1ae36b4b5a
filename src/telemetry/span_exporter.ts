import { type SetTimer, within } from "../base/deadline.ts";
import type { Log } from "../base/log.ts";
import type { Measures } from "../shared/metrics.ts";
import { contentMaxUnits, type Span } from "./call_spans.ts";
import type { Sent } from "./collector.ts";

export interface SpanExporterOptions {
  /** Sends a batch; never rejects, and ends within the export's time limit. */
  send: (spans: readonly Span[]) => Promise<Sent>;
  log: Pick<Log, "warn" | "info">;
  setTimer: SetTimer;
}

/** Cap on waiting spans; later ones are dropped. */
const maxWaiting = 2048;
/** Cap on the spans of one request. */
const maxBatch = 256;
/** Cap on the captured content that waits, in UTF-16 units. */
const maxContentUnits = 16 * 1024 * 1024;
/** How long spans wait for others. */
const delayMs = 1000;

/** The longest pause between two tries while the collector is unreachable. */
const longestPauseMs = 30_000;

/**
 * Cap on the captured content of one request, in UTF-16 units: collectors accept that much, and it
 * is written quickly.
 */
const batchContentUnits = 4 * contentMaxUnits;

/** How long a stop waits for a collector that hangs. */
const longestCloseMs = 2_000;

/**
 * Sends spans in batches, in the background. While the collector is unreachable or hangs, spans
 * wait, up to a bound beyond which new ones are dropped and counted: calls never wait for it.
 */
export class SpanExporter {
  readonly #options: SpanExporterOptions;
  #waiting: Span[] = [];
  #contentUnits = 0;
  #dropped = 0;
  #isAway = false;
  #pauseMs = delayMs;
  #sending: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #isClosed = false;

  constructor(options: SpanExporterOptions) {
    this.#options = options;
  }

  /** Spans queued for the collector. */
  get waiting(): number {
    return this.#waiting.length;
  }

  get dropped(): number {
    return this.#dropped;
  }

  get measures(): Measures {
    return {
      gateway_spans_waiting: {
        help: "Spans queued for the collector",
        read: () => this.waiting,
      },
      gateway_spans_dropped_total: {
        help:
          "Spans dropped because the collector could not be reached, refused them, or was too slow",
        kind: "counter",
        read: () => this.dropped,
      },
    };
  }

  /** Takes a call's spans; all or none of them. */
  add(spans: readonly Span[]): void {
    const units = contentUnits(spans);
    const isFull = this.#waiting.length + spans.length > maxWaiting ||
      units > 0 && this.#contentUnits + units > maxContentUnits;
    if (this.#isClosed || isFull) {
      this.#dropped += spans.length;
      return;
    }
    for (const span of spans) this.#waiting.push(span);
    this.#contentUnits += units;
    this.#wake(this.#waiting.length >= maxBatch && !this.#isAway ? 0 : this.#pauseMs);
  }

  /** Tries once more to send what waits, for two seconds at most; the rest is dropped. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelTimer?.();
    await within(longestCloseMs, this.#sendRest(), undefined, this.#options.setTimer);
    this.#dropped += this.#waiting.length;
    this.#waiting = [];
  }

  async #sendRest(): Promise<void> {
    await this.#sending;
    while (this.#waiting.length > 0 && await this.#sendBatch());
  }

  #wake(ms: number): void {
    if (this.#sending) return;
    if (ms === 0) this.#cancelTimer?.();
    else if (this.#cancelTimer) return;
    this.#cancelTimer = this.#options.setTimer(ms, () => {
      this.#cancelTimer = undefined;
      this.#sending = this.#run().finally(() => {
        this.#sending = undefined;
        if (this.#waiting.length > 0 && !this.#isClosed) this.#wake(this.#pauseMs);
      });
    });
  }

  /** Sends full requests; what fills none waits for more. */
  async #run(): Promise<void> {
    while (await this.#sendBatch() && !this.#isClosed && this.#fillsRequest);
  }

  get #fillsRequest(): boolean {
    return this.#waiting.length >= maxBatch || this.#contentUnits >= batchContentUnits;
  }

  /** The oldest spans, as many as one request takes; at least one. */
  #nextBatch(): Span[] {
    let [end, units] = [0, 0];
    while (end < Math.min(this.#waiting.length, maxBatch)) {
      units += contentUnits([this.#waiting[end]!]);
      if (end > 0 && units > batchContentUnits) break;
      end++;
    }
    return this.#waiting.slice(0, end);
  }

  /** Sends the next batch. False while the collector is unreachable. */
  async #sendBatch(): Promise<boolean> {
    const { send, log } = this.#options;
    const batch = this.#nextBatch();
    const sent = await send(batch);
    if (sent === "away") {
      if (!this.#isAway) log.warn("the collector of traces can't be reached: spans are queued");
      this.#isAway = true;
      this.#pauseMs = Math.min(longestPauseMs, this.#pauseMs * 2);
      return false;
    }
    this.#waiting.splice(0, batch.length);
    this.#contentUnits -= contentUnits(batch);
    this.#pauseMs = delayMs;
    if (this.#isAway) log.info("the collector of traces accepts spans again");
    this.#isAway = false;
    if (sent === "refused") {
      this.#dropped += batch.length;
      log.warn("the collector of traces refused spans", { spans: batch.length });
    }
    return true;
  }
}

function contentUnits(spans: readonly Span[]): number {
  return spans.reduce(
    (sum, { content }) => sum + (content?.request?.length ?? 0) + (content?.response?.length ?? 0),
    0,
  );
}
