import type { Clock } from "../base/clock.ts";
import { Fault } from "../shared/fault.ts";
import { RateLease } from "./rate_lease.ts";
import {
  graceMs,
  type LeaseAnswer,
  type RateDecision,
  type RateLimits,
  type RateStore,
  unitsPerToken,
} from "./rate_limit.ts";

/** Counts the requests of accounts, exactly over all processes that share the store. */
export interface RateLimiter {
  /**
   * Takes a token. Busy accounts ask no database. Throws `store_unavailable` when the store is away
   * and this process holds no share of the account's rate.
   */
  take(account: RateLimits & { id: number }): Promise<RateDecision>;
  /** To be run every `beatMs`: reports, gives back what lies idle. Throws when the store is away. */
  tick(): Promise<void>;
  /** Gives everything back; for the end of the process. */
  close(): Promise<void>;
}

interface RateLimiterDeps {
  store: RateStore;
  clock: Clock;
  newId: () => string;
  leaseMs: number;
  pause: (ms: number) => Promise<void>;
}

/** After so long without a request tokens go back. */
const idleMs = 5_000;
/** Nobody asks an empty bucket again sooner than its next token, nor waits longer than this to. */
const maxQuietMs = 1_000;
/** How long a request waits for a token that the process makes while the store is away. */
const maxWaitMs = 3_000;
/** Requests of one account that wait so at most. */
const maxPaused = 10;
/** Answers that bring nothing, though the bucket is not empty, before a request is refused. */
const maxTries = 20;

/** One account as this process knows it. */
interface Entry {
  readonly accountId: number;
  lease: RateLease;
  /** What the bucket last answered, and when. */
  answer: LeaseAnswer | undefined;
  answeredAtMs: number;
  /** Limits as the last request knew them; others mean a change of tier. */
  seen: RateLimits;
  usedAtMs: number;
  quietUntilMs: number;
  waiting: number;
  busy: Promise<void> | undefined;
}

export function createRateLimiter(deps: RateLimiterDeps): RateLimiter {
  return new LeasingLimiter(deps);
}

class LeasingLimiter implements RateLimiter {
  readonly #deps: RateLimiterDeps;
  readonly #entries = new Map<number, Entry>();
  /** Name under which the database knows this process; another one after each silence. */
  #process: string;
  #lastAnswerMs = -Infinity;
  #isDown = false;

  constructor(deps: RateLimiterDeps) {
    this.#deps = deps;
    this.#process = deps.newId();
  }

  async take(account: RateLimits & { id: number }): Promise<RateDecision> {
    const entry = this.#entryOf(account);
    entry.usedAtMs = this.#nowMs();
    const isNewTier = entry.seen.burst !== account.burst ||
      entry.seen.requestsPerMinute !== account.requestsPerMinute;
    if (isNewTier) await this.#changeTier(entry, account);
    if (entry.lease.spend(this.#nowMs())) {
      this.#stockUp(entry);
      return this.#decide(entry, true);
    }
    entry.waiting++;
    try {
      return this.#decide(entry, await this.#takeAsking(entry));
    } finally {
      entry.waiting--;
    }
  }

  async tick(): Promise<void> {
    if (this.#entries.size === 0) return;
    try {
      await this.#deps.store.reach();
    } catch (thrown) {
      this.#isDown = true;
      throw thrown;
    }
    await this.#beat();
    const failures: unknown[] = [];
    for (const entry of [...this.#entries.values()]) {
      await this.#tend(entry).catch((thrown) => failures.push(thrown));
    }
    if (failures.length > 0) throw failures[0];
  }

  async close(): Promise<void> {
    for (const entry of [...this.#entries.values()]) {
      // Leases that can't be given back end by themselves.
      if (!await this.#leave(entry).then(() => true, () => false)) return;
    }
  }

  #nowMs(): number {
    return this.#deps.clock.monotonicMs();
  }

  #entryOf(account: RateLimits & { id: number }): Entry {
    let entry = this.#entries.get(account.id);
    if (!entry) {
      const { requestsPerMinute, burst } = account;
      entry = {
        accountId: account.id,
        lease: new RateLease(this.#deps.newId()),
        answer: undefined,
        answeredAtMs: 0,
        seen: { requestsPerMinute, burst },
        usedAtMs: 0,
        quietUntilMs: -Infinity,
        waiting: 0,
        busy: undefined,
      };
      this.#entries.set(account.id, entry);
    }
    return entry;
  }

  /** True when a token was got from the bucket or made here. */
  async #takeAsking(entry: Entry): Promise<boolean> {
    for (let tries = 0; tries < maxTries; tries++) {
      const nowMs = this.#nowMs();
      if (this.#isDown && entry.lease.isLive(nowMs)) return await this.#takeAlone(entry);
      if (nowMs < entry.quietUntilMs) return false;
      try {
        await (entry.busy ?? this.#ask(entry, entry.waiting));
      } catch (thrown) {
        if (!entry.lease.isLive(this.#nowMs())) throw thrown;
        return await this.#takeAlone(entry);
      }
      if (entry.lease.spend(this.#nowMs())) return true;
    }
    return false;
  }

  /** The store is away: what this process makes itself is all there is. */
  async #takeAlone(entry: Entry): Promise<boolean> {
    const nowMs = this.#nowMs();
    const waitMs = entry.lease.nextTokenMs(nowMs);
    if (waitMs === Infinity) throw new Fault("store_unavailable", { retryAfterSeconds: 1 });
    // Just after the store went away nothing is made yet; callers are not refused for that.
    const isFresh = nowMs < entry.lease.makesFromMs;
    if (isFresh && waitMs <= maxWaitMs && entry.waiting <= maxPaused) {
      await this.#deps.pause(waitMs);
    }
    return entry.lease.spend(this.#nowMs());
  }

  async #changeTier(entry: Entry, { requestsPerMinute, burst }: RateLimits): Promise<void> {
    await entry.busy?.catch(() => {});
    entry.seen = { requestsPerMinute, burst };
    entry.quietUntilMs = -Infinity;
    // Without an answer the old limits hold on.
    await this.#ask(entry, 1, { keepAtMost: 0 }).catch(() => {});
  }

  /** Fetches tokens ahead of need, in the background. */
  #stockUp(entry: Entry): void {
    const { answer, lease } = entry;
    if (!answer || entry.busy || this.#isDown || this.#nowMs() < entry.quietUntilMs) return;
    const stock = Math.min(answer.stock, wantedStock(answer.limits));
    if (lease.tokens(this.#nowMs()) * 2 >= stock) return;
    // A failure shows when the tokens are gone, or at the next tick.
    this.#ask(entry, 0).catch(() => {});
  }

  /** One report and lease; never two at once for an account. */
  #ask(entry: Entry, needed: number, more: { keepAtMost?: number } = {}): Promise<void> {
    if (entry.busy) return entry.busy.catch(() => {}).then(() => this.#ask(entry, needed, more));
    const one = this.#askNow(entry, needed, more.keepAtMost ?? Infinity).finally(() => {
      entry.busy = undefined;
    });
    entry.busy = one;
    return one;
  }

  async #askNow(entry: Entry, needed: number, keepAtMost: number): Promise<void> {
    const { store, leaseMs } = this.#deps;
    const process = this.#process;
    const askedMs = this.#nowMs();
    if (entry.answer && !entry.lease.isLive(askedMs)) {
      entry.lease = new RateLease(this.#deps.newId());
    }
    const { lease } = entry;
    const has = lease.units(askedMs);
    lease.keepOnly(keepAtMost);
    lease.reportsAs(process, askedMs);
    const spent = lease.spent;
    try {
      const answer = await store.lease(entry.accountId, {
        process,
        leaseId: lease.id,
        spent,
        has,
        withheld: lease.tokens(askedMs),
        ...lease.selfIssue,
        needed,
        wanted: keepAtMost === Infinity ? wantedStock(entry.answer?.limits ?? entry.seen) : 0,
        leaseMs,
        leave: false,
      });
      const nowMs = this.#nowMs();
      lease.accept(answer, { atMs: askedMs, spent }, nowMs, leaseMs);
      entry.answer = answer;
      entry.answeredAtMs = nowMs;
      entry.quietUntilMs = answer.free < unitsPerToken && answer.tokens === 0
        ? nowMs + Math.min(maxQuietMs, refillMs(answer.limits, unitsPerToken - answer.free))
        : -Infinity;
      this.#isDown = false;
    } catch (thrown) {
      this.#isDown = true;
      throw asUnavailable(thrown);
    }
  }

  /**
   * Says that this process is in touch. After a silence it does so under another name: what was
   * leased before stays leased to a silent process until it is reported.
   */
  async #beat(): Promise<void> {
    const { store, newId } = this.#deps;
    const startMs = this.#nowMs();
    if (startMs - this.#lastAnswerMs >= graceMs) this.#process = newId();
    const current = () =>
      [...this.#entries.values()].filter(({ lease }) => lease.process === this.#process);
    for (const { lease } of current()) lease.pause(startMs);
    try {
      await store.beat(this.#process);
      this.#lastAnswerMs = this.#nowMs();
      this.#isDown = false;
    } finally {
      for (const { lease } of current()) lease.onHeartbeat(this.#nowMs());
    }
  }

  async #tend(entry: Entry): Promise<void> {
    const nowMs = this.#nowMs();
    const { lease } = entry;
    const idleForMs = nowMs - entry.usedAtMs;
    if (idleForMs >= this.#deps.leaseMs) return await this.#leave(entry);
    const isOld = nowMs - entry.answeredAtMs >= this.#deps.leaseMs / 5;
    if (idleForMs >= idleMs && (isOld || lease.tokens(nowMs) > 0 || lease.spent > lease.reported)) {
      return await this.#ask(entry, 0, { keepAtMost: 0 });
    }
    if (lease.spent > lease.reported || isOld || lease.process !== this.#process) {
      await this.#ask(entry, 0, { keepAtMost: stockOf(entry) });
    }
  }

  async #leave(entry: Entry): Promise<void> {
    await entry.busy?.catch(() => {});
    if (this.#entries.get(entry.accountId) !== entry || entry.waiting > 0) return;
    this.#entries.delete(entry.accountId);
    if (!entry.lease.isLive(this.#nowMs())) return;
    await this.#deps.store.lease(entry.accountId, {
      process: this.#process,
      leaseId: entry.lease.id,
      spent: entry.lease.spent,
      has: entry.lease.units(this.#nowMs()),
      withheld: 0,
      share: 0,
      ceiling: 0,
      needed: 0,
      wanted: 0,
      leaseMs: this.#deps.leaseMs,
      leave: true,
    });
  }

  #decide(entry: Entry, admitted: boolean): RateDecision {
    const { clock } = this.#deps;
    const nowMs = this.#nowMs();
    const limits = entry.answer?.limits ?? entry.seen;
    const burst = limits.burst * unitsPerToken;
    const sinceMs = nowMs - entry.answeredAtMs;
    const rest = (entry.answer?.rest ?? 0) + Math.floor(sinceMs * limits.requestsPerMinute);
    const units = Math.min(burst, rest + entry.lease.tokens(nowMs) * unitsPerToken);
    const level = admitted ? units : Math.min(units, unitsPerToken - 1);
    const limit = limits.requestsPerMinute;
    const missing = Math.min(limit, limits.burst) * unitsPerToken - level;
    const backMs = clock.now().getTime() + refillMs(limits, Math.max(0, missing));
    return {
      admitted,
      limit,
      remaining: Math.min(limit, Math.floor(level / unitsPerToken)),
      resetAt: Math.ceil(backMs / 1000),
      ...(admitted ? {} : {
        retryAfterSeconds: Math.max(1, Math.ceil(refillMs(limits, unitsPerToken - level) / 1000)),
      }),
    };
  }
}

/** Tokens that a process would like to hold where the bucket is full. */
function wantedStock(limits: RateLimits): number {
  return Math.max(1, Math.floor(limits.burst / 10));
}

/** Tokens that a process keeps at a report, so that few lie idle when the bucket has become empty. */
function stockOf({ answer }: Entry): number {
  return answer ? Math.min(answer.stock, wantedStock(answer.limits)) : 0;
}

function refillMs(limits: RateLimits, units: number): number {
  return Math.ceil(units / limits.requestsPerMinute);
}

function asUnavailable(thrown: unknown): unknown {
  return thrown instanceof Fault ? thrown : new Fault("store_unavailable", { cause: thrown });
}
