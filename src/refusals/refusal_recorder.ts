import type { Clock } from "../base/clock.ts";
import { type SetTimer, systemSetTimer, within } from "../base/deadline.ts";
import type { Log } from "../base/log.ts";
import { ownText } from "../base/own_text.ts";
import type { RefusalCount, RefusalStore, RefusedRequest } from "./refusal.ts";

interface RefusalRecorderDeps {
  store: Pick<RefusalStore, "add">;
  clock: Pick<Clock, "monotonicMs">;
  log: Log;
  setTimer?: SetTimer;
}

/**
 * Requests of one account that are listed: this many at once, then this many per second. All are
 * counted.
 */
const listed = { burst: 500, perSecond: 1 };
/** Max listed requests, and max separate counts, that wait while the store is away. */
const maxRows = 5_000;
const maxCounts = 5_000;
/**
 * Max separate counts of one account in one hour; beyond it, requests are counted without a model.
 */
const maxKindsAnHour = 100;
/** Max characters of texts that callers chose. */
const maxParam = 200;
const maxModel = 120;
/** How long a locked count may keep the process from ending. */
const longestCloseMs = 5_000;

interface Allowance {
  tokens: number;
  atMs: number;
  /** The hour (by the monotonic clock), and its separate counts. */
  hourMs: number;
  kinds: Set<string>;
}

/**
 * Records refused requests without waiting for the database: lists and counts them in memory,
 * bounded by account, and writes them in batches by a background job. A process that is killed
 * loses those of its last second.
 */
export class RefusalRecorder {
  #rows: RefusedRequest[] = [];
  #counts = new Map<string, RefusalCount>();
  #flushing: Promise<void> | undefined;
  #lost = 0;
  readonly #allowances = new Map<number, Allowance>();
  readonly #deps: RefusalRecorderDeps;

  constructor(deps: RefusalRecorderDeps) {
    this.#deps = deps;
  }

  /** Refused requests that wait to be written. */
  get waiting(): number {
    return this.#rows.length + this.#counts.size;
  }

  /** Never throws and never waits. */
  note(refusal: RefusedRequest): void {
    const bounded: RefusedRequest = {
      ...refusal,
      param: refusal.param && ownText(refusal.param, maxParam),
      model: refusal.model && ownText(refusal.model, maxModel),
    };
    const allowance = this.#allowanceOf(bounded.accountId);
    this.#count(bounded, allowance);
    if (allowance.tokens < 1) return;
    allowance.tokens--;
    if (this.#rows.length < maxRows) this.#rows.push(bounded);
  }

  /**
   * Writes what waits. Rejects if the store does; what waits then goes on waiting. One write at a
   * time; a flush that is requested meanwhile also writes what waits after it.
   */
  async flush(): Promise<void> {
    await this.#flushing;
    if (this.waiting === 0) return;
    this.#flushing ??= this.#write().finally(() => this.#flushing = undefined);
    await this.#flushing;
  }

  /** Writes what waits, within five seconds; for the end of the process. */
  async close(): Promise<void> {
    await within(
      longestCloseMs,
      this.flush().catch(() => {}),
      undefined,
      this.#deps.setTimer ?? systemSetTimer,
    );
  }

  async #write(): Promise<void> {
    const [rows, counts] = [this.#rows, [...this.#counts.values()]];
    [this.#rows, this.#counts] = [[], new Map()];
    if (this.#lost > 0) {
      this.#deps.log.warn("refused calls were not counted: the database was unavailable", {
        calls: this.#lost,
      });
      this.#lost = 0;
    }
    let left: ReadonlyMap<number, unknown>;
    try {
      left = await this.#deps.store.add(rows, counts);
    } catch (thrown) {
      this.#putBack(rows, counts);
      throw thrown;
    }
    if (left.size === 0) return;
    const isLeft = ({ accountId }: { accountId: number }) => left.has(accountId);
    this.#putBack(rows.filter(isLeft), counts.filter(isLeft));
    throw [...left.values()].at(-1);
  }

  #putBack(rows: readonly RefusedRequest[], counts: readonly RefusalCount[]): void {
    this.#rows = [...rows, ...this.#rows].slice(0, maxRows);
    for (const count of counts) this.#add(count);
  }

  #count(refusal: RefusedRequest, { kinds }: Allowance): void {
    const { accountId, isCall, code, apiKeyId } = refusal;
    const at = Math.floor(refusal.at.getTime() / 3_600_000) * 3_600_000;
    const kind = JSON.stringify([isCall, code, apiKeyId, refusal.model ?? ""]);
    const isOver = !kinds.has(kind) && kinds.size >= maxKindsAnHour;
    const model = isOver ? "" : refusal.model ?? "";
    if (!isOver) kinds.add(kind);
    this.#add({ accountId, hour: new Date(at), isCall, code, apiKeyId, model, refused: 1 });
  }

  #add(count: RefusalCount): void {
    const { accountId, hour, isCall, code, apiKeyId, model } = count;
    const key = JSON.stringify([accountId, hour.getTime(), isCall, code, apiKeyId, model]);
    const existing = this.#counts.get(key);
    if (existing) existing.refused += count.refused;
    else if (this.#counts.size < maxCounts) this.#counts.set(key, count);
    else this.#lost += count.refused;
  }

  #allowanceOf(accountId: number): Allowance {
    const nowMs = this.#deps.clock.monotonicMs();
    const hourMs = Math.floor(nowMs / 3_600_000);
    const existing = this.#allowances.get(accountId);
    if (existing) {
      const seconds = (nowMs - existing.atMs) / 1000;
      existing.tokens = Math.min(listed.burst, existing.tokens + seconds * listed.perSecond);
      existing.atMs = nowMs;
      if (existing.hourMs !== hourMs) [existing.hourMs, existing.kinds] = [hourMs, new Set()];
      return existing;
    }
    const made = { tokens: listed.burst, atMs: nowMs, hourMs, kinds: new Set<string>() };
    this.#allowances.set(accountId, made);
    return made;
  }
}
