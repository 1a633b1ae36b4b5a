import type { Clock } from "../base/clock.ts";
import { type SetTimer, within } from "../base/deadline.ts";
import { leaseIdleMs, LeaseQueue, LeaseQueues, renewAfterMs } from "../base/lease_queue.ts";
import { Fault, isStoreAway } from "../shared/fault.ts";
import { RateLease } from "./rate_lease.ts";
import {
  beatMs,
  graceMs,
  type LeaseAnswer,
  type LeaseRequest,
  leaving,
  type RateDecision,
  type RateLimits,
  type RateStore,
  unitsPerToken,
} from "./rate_limit.ts";

interface RateLimiterDeps {
  store: RateStore;
  clock: Clock;
  newId: () => string;
  leaseMs: number;
  /** The same over restarts: the next run ends the leases that a killed one held. */
  processId: string;
  pause: (ms: number) => Promise<void>;
  setTimer?: SetTimer;
}

/** An empty bucket is asked again when its next token is there, or after this long. */
const maxQuietMs = 1_000;
/** How long reports may hold up the next heartbeat. */
const longestReportsMs = beatMs;
/** How long a locked bucket may keep the process from ending. */
const longestCloseMs = 5_000;
/** How long a request waits for a token that the process issues while the store is away. */
const maxWaitMs = 3_000;
/** Max requests of one account that wait for such a token. */
const maxPaused = 10;

/** This process's contact to the database, shared by its accounts. */
interface Contact {
  /** The prefix of all names of this process, those of earlier runs included. */
  readonly ownNames: string;
  /** Name under which the database knows this process; another one after each silence. */
  process: string;
  isDown: boolean;
}

/** Counts the requests of accounts, exactly, across all processes that share the store. */
export class RateLimiter {
  readonly #deps: RateLimiterDeps;
  readonly #contact: Contact;
  readonly #accounts = new LeaseQueues<number, TokenQueue>();
  #lastAnswerMs = -Infinity;
  #tending: Promise<void> | undefined;

  constructor(deps: RateLimiterDeps) {
    this.#deps = deps;
    const ownNames = `${deps.processId} `;
    this.#contact = { ownNames, process: ownNames + deps.newId(), isDown: false };
  }

  /**
   * Takes a token; for busy accounts without asking the database. Throws `store_unavailable` when
   * the store is away and this process holds no share of the account's rate.
   */
  take(account: RateLimits & { id: number }): Promise<RateDecision> {
    const create = () => new TokenQueue(account, this.#deps, this.#contact);
    return this.#accounts.of(account.id, create).take(account);
  }

  /** Reports and gives back idle tokens; to be run every `beatMs`. Throws when the store is away. */
  async tick(): Promise<void> {
    if (this.#accounts.size === 0) return;
    try {
      await this.#deps.store.reach();
    } catch (thrown) {
      this.#contact.isDown = true;
      throw thrown;
    }
    await this.#beat();
    this.#tending ??= this.#tend().finally(() => this.#tending = undefined);
    await within(longestReportsMs, this.#tending, undefined, this.#deps.setTimer);
    this.#accounts.forgetUnused();
  }

  /** One account after the other, so that calls find free connections. */
  async #tend(): Promise<void> {
    const failures: unknown[] = [];
    for (const account of [...this.#accounts.values()]) {
      await account.tend().catch((thrown) => failures.push(thrown));
    }
    if (failures.length > 0) throw failures[0];
  }

  /**
   * Gives everything back, within five seconds; for the end of the process. Leases that can't be
   * given back end by themselves.
   */
  async close(): Promise<void> {
    await within(longestCloseMs, this.#returnAll(), undefined, this.#deps.setTimer);
  }

  async #returnAll(): Promise<void> {
    for (const account of this.#accounts.values()) {
      await account.close();
      if (this.#contact.isDown) return;
    }
    await this.#deps.store.leave(this.#contact.ownNames).catch(() => {});
  }

  /** Whether another process may have answered a call of the account within the last hour. */
  isShared(accountId: number): Promise<boolean> {
    return this.#deps.store.isShared(accountId, this.#contact.ownNames);
  }

  /**
   * Sends a heartbeat; after a silence under a new name, so that earlier leases count as those of a
   * silent process until they are reported.
   */
  async #beat(): Promise<void> {
    const { store, clock, newId } = this.#deps;
    const contact = this.#contact;
    const startMs = clock.monotonicMs();
    if (startMs - this.#lastAnswerMs >= graceMs) contact.process = contact.ownNames + newId();
    const current = () =>
      [...this.#accounts.values()].filter(({ lease }) => lease.process === contact.process);
    for (const { lease } of current()) lease.pause(startMs);
    try {
      await store.beat(contact.process);
      this.#lastAnswerMs = clock.monotonicMs();
      contact.isDown = false;
    } finally {
      for (const { lease } of current()) lease.onHeartbeat(clock.monotonicMs());
    }
  }
}

/** One account's requests and the tokens that this process holds for them. */
class TokenQueue extends LeaseQueue<void, RateDecision> {
  lease: RateLease;
  readonly #accountId: number;
  readonly #deps: RateLimiterDeps;
  readonly #contact: Contact;
  /** What the bucket last answered, and when. */
  #answer: LeaseAnswer | undefined;
  #answeredAtMs = 0;
  /** The limits of the last request; different ones mean a change of tier. */
  #limits: RateLimits;
  /** The bucket was not asked yet since the tier changed. */
  #isNewTier = false;
  /** A request has come since `next` was last called. */
  #isUsed = false;
  /** A report may be due. */
  #isTended = false;
  #usedAtMs = 0;
  #quietUntilMs = -Infinity;
  /** Requests that wait for a token that this process issues. */
  #paused = 0;

  constructor(
    { id, requestsPerMinute, burst }: RateLimits & { id: number },
    deps: RateLimiterDeps,
    contact: Contact,
  ) {
    super(deps.clock, deps.setTimer);
    this.#accountId = id;
    this.#limits = { requestsPerMinute, burst };
    this.#deps = deps;
    this.#contact = contact;
    this.lease = new RateLease(deps.newId());
  }

  take({ requestsPerMinute, burst }: RateLimits): Promise<RateDecision> {
    const before = this.#limits;
    this.#usedAtMs = this.nowMs;
    this.#isUsed = true;
    if (before.burst !== burst || before.requestsPerMinute !== requestsPerMinute) {
      this.#limits = { requestsPerMinute, burst };
      this.#isNewTier = true;
      this.#quietUntilMs = -Infinity;
    }
    return this.request();
  }

  /** Reports and gives back idle tokens, if that is due. */
  async tend(): Promise<void> {
    this.failure = undefined;
    this.#isTended = true;
    await this.work();
    if (this.failure) throw this.failure;
  }

  protected serve(): RateDecision | Promise<RateDecision> | undefined {
    // Asks the bucket; until it answers, the old limits hold.
    if (this.#isNewTier) return undefined;
    const { nowMs } = this;
    if (this.lease.spend(nowMs)) return this.#decide(true);
    if (this.#contact.isDown && this.lease.isLive(nowMs)) return this.#takeAlone();
    return nowMs < this.#quietUntilMs ? this.#decide(false) : undefined;
  }

  protected next(): (() => Promise<void>) | undefined {
    const { nowMs } = this;
    const needed = this.waiting.length;
    if (this.#isNewTier) return () => this.#report({ needed, keepAtMost: 0 });
    if (needed > 0) return () => this.#report({ needed });
    const isTended = this.#isTended;
    const isUsed = this.#isUsed;
    this.#isTended = false;
    this.#isUsed = false;
    const idleForMs = nowMs - this.#usedAtMs;
    if (this.isClosing || (isTended && idleForMs >= this.#deps.leaseMs)) {
      return this.lease.isLive(nowMs) ? () => this.#leave() : undefined;
    }
    if (isTended && this.#isReportDue(nowMs, idleForMs)) {
      const keepAtMost = idleForMs >= leaseIdleMs ? 0 : stockOf(this.#answer);
      return () => this.#report({ needed: 0, keepAtMost });
    }
    return isUsed && this.#isLow(nowMs) ? () => this.#report({ needed: 0 }) : undefined;
  }

  protected overdue(): Fault {
    return new Fault("store_unavailable", { note: "a lease's request is not answered" });
  }

  protected get isUnused(): boolean {
    const { nowMs } = this;
    return nowMs - this.#usedAtMs >= this.#deps.leaseMs && !this.lease.isLive(nowMs);
  }

  get #knownLimits(): RateLimits {
    return this.#answer?.limits ?? this.#limits;
  }

  /** Takes a token while the store is away: only of those that this process issues itself. */
  async #takeAlone(): Promise<RateDecision> {
    const { nowMs } = this;
    const waitMs = this.lease.nextTokenMs(nowMs);
    if (waitMs === Infinity) throw new Fault("store_unavailable", { retryAfterSeconds: 1 });
    // Just after the store went away nothing is issued yet; callers are not refused for that.
    const isFresh = nowMs < this.lease.issuesFromMs;
    if (isFresh && waitMs <= maxWaitMs && this.#paused < maxPaused) {
      this.#paused++;
      await this.#deps.pause(waitMs).finally(() => this.#paused--);
      // The store is back: tokens are there, and none are issued here.
      if (!this.#contact.isDown) return await this.request();
    }
    return this.#decide(this.lease.spend(this.nowMs));
  }

  #isReportDue(nowMs: number, idleForMs: number): boolean {
    const { lease } = this;
    const isOld = nowMs - this.#answeredAtMs >= renewAfterMs(this.#deps.leaseMs);
    const liesIdle = idleForMs >= leaseIdleMs && lease.tokens(nowMs) > 0;
    const isRenamed = lease.process !== this.#contact.process;
    return lease.spent > lease.reported || isOld || liesIdle || isRenamed;
  }

  /** Whether to fetch tokens ahead of need. A failure shows when they are gone, or at the next tick. */
  #isLow(nowMs: number): boolean {
    if (!this.#answer || this.#contact.isDown) return false;
    return nowMs >= this.#quietUntilMs && this.lease.tokens(nowMs) * 2 < stockOf(this.#answer);
  }

  /** Reports and leases; without `keepAtMost` also a stock for later requests. */
  async #report({ needed, keepAtMost }: { needed: number; keepAtMost?: number }): Promise<void> {
    const { leaseMs, newId } = this.#deps;
    // After a change of tier a second report takes a stock and gives up the old share.
    this.#isUsed = this.#isNewTier;
    this.#isNewTier = false;
    const askedMs = this.nowMs;
    if (this.#answer && !this.lease.isLive(askedMs)) this.lease = new RateLease(newId());
    const { lease } = this;
    const has = lease.units(askedMs);
    lease.keepOnly(keepAtMost ?? Infinity);
    lease.reportsAs(this.#contact.process, askedMs);
    const { spent } = lease;
    const wanted = keepAtMost === undefined ? wantedStock(this.#knownLimits) : 0;
    const withheld = lease.tokens(askedMs);
    const answer = await this.#lease(lease, {
      ...{ has, withheld, ...lease.selfIssue },
      ...{ needed, wanted, leave: false },
    });
    const { nowMs } = this;
    lease.accept(answer, { atMs: askedMs, spent }, nowMs, leaseMs);
    this.#answer = answer;
    this.#answeredAtMs = nowMs;
    this.#quietUntilMs = nowMs + quietMs(answer, keepAtMost === undefined ? needed : 0);
  }

  async #leave(): Promise<void> {
    const { lease } = this;
    const has = lease.units(this.nowMs);
    this.lease = new RateLease(this.#deps.newId());
    this.#answer = undefined;
    await this.#lease(lease, { has, ...leaving });
  }

  async #lease(
    { id: leaseId, spent }: RateLease,
    request: Omit<LeaseRequest, "process" | "leaseId" | "spent" | "leaseMs">,
  ): Promise<LeaseAnswer> {
    const { store, leaseMs } = this.#deps;
    const contact = this.#contact;
    const owner = { process: contact.process, leaseId, spent, leaseMs };
    try {
      const answer = await store.lease(this.#accountId, { ...owner, ...request });
      contact.isDown = false;
      return answer;
    } catch (thrown) {
      const fault = thrown instanceof Fault
        ? thrown
        : new Fault("store_unavailable", { cause: thrown });
      contact.isDown = isStoreAway(fault);
      throw fault;
    }
  }

  #decide(admitted: boolean): RateDecision {
    const { clock } = this.#deps;
    const { nowMs } = this;
    const limits = this.#knownLimits;
    const burst = limits.burst * unitsPerToken;
    const sinceMs = nowMs - this.#answeredAtMs;
    const rest = (this.#answer?.rest ?? 0) + Math.floor(sinceMs * limits.requestsPerMinute);
    const units = Math.min(burst, rest + this.lease.tokens(nowMs) * unitsPerToken);
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
function stockOf(answer: LeaseAnswer | undefined): number {
  return answer ? Math.min(answer.stock, wantedStock(answer.limits)) : 0;
}

/** For how long the bucket need not be asked again, by its answer to a request for `needed` tokens. */
function quietMs({ tokens, free, limits }: LeaseAnswer, needed: number): number {
  if (tokens > 0 || (needed === 0 && free >= unitsPerToken)) return 0;
  // At least 1 ms: free tokens that are reserved for others can't be had either.
  return Math.min(maxQuietMs, Math.max(1, refillMs(limits, unitsPerToken - free)));
}

function refillMs(limits: RateLimits, units: number): number {
  return Math.ceil(units / limits.requestsPerMinute);
}
