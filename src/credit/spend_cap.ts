import type { Clock } from "../base/clock.ts";
import { type SetTimer, systemSetTimer, within } from "../base/deadline.ts";
import { nanosToUsd } from "../base/money.ts";
import type { ApiKey } from "../keys/api_key.ts";
import { Fault, isStoreAway } from "../shared/fault.ts";
import { startOfDay, startOfMonth } from "../shared/time_span.ts";

/** The caps on what keys spend in a day and a month of UTC. Amounts in nano-dollars. */
export interface SpendCaps {
  /**
   * Holds the call's upper bound under the key's caps until the call is settled. Calls of this
   * process are counted exactly, those in flight with their bounds; what other processes charged is
   * known within two seconds, unless the store is slow or unreachable. Resolves at once, but for a
   * key's first call, which reads the store, and its first after a while, which waits for it for a
   * second at most. Throws `spend_cap_exceeded` naming the cap, its limit and what is spent, and
   * `store_unavailable` when nothing is known of a key's spend. An upper bound of 0, as with a vendor
   * key of the caller's own, is never refused.
   */
  reserve(call: CappedCall): Promise<SpendHold>;
  /** Reads what other processes charged; to be called every second. */
  refresh(): Promise<void>;
}

export interface CappedCall {
  key: Pick<ApiKey, "id" | "capDayNanos" | "capMonthNanos">;
  transactionId: string;
  upperBoundNanos: bigint;
  /** When the call arrived, which decides the day that its charge belongs to. */
  at: Date;
}

export interface SpendHold {
  /** Ends the hold with the call's charge, 0n for none. Only the first call counts. */
  settle(chargedNanos: bigint): void;
}

/** Sums of one key's stored charges. */
export interface Spent {
  /** Since the beginning of the day. */
  dayNanos: bigint;
  /** From the beginning of the read (`since`) to that of the day. */
  beforeNanos: bigint;
}

/** Sums up the charges of capped keys. Implemented in `src/credit/store/spend.ts`. */
export interface SpendStore {
  /**
   * Returns the sums by key since `since`, and which of these calls they include, as of one moment.
   * Keys without charges may be missing.
   */
  read(
    query: { keyIds: readonly string[]; since: Date; day: Date; transactionIds: readonly string[] },
  ): Promise<{ spent: ReadonlyMap<string, Spent>; stored: ReadonlySet<string> }>;
}

/** A cap of a key in use, and how much of it is spent. */
export interface CapUse {
  keyId: string;
  keyName: string;
  period: "day" | "month";
  spentNanos: bigint;
  capNanos: bigint;
}

/**
 * Returns up to `limit` of an account's caps, those with the greatest spent share first, and the
 * number of all. Implemented in `src/credit/store/spend.ts`.
 */
export type FullestCaps = (
  query: { accountId: number; since: Date; day: Date; limit: number },
) => Promise<{ caps: CapUse[]; all: number }>;

/** Sums older than this are read again before they are used. */
const staleMs = 2000;
/** The same for the days before today: they change only when a process writes its records late. */
const pastStaleMs = 60_000;
/** How long calls wait for a read, from its beginning, where older sums are known. */
const longestWaitMs = 1000;
/** Keys unused for this long are not refreshed. */
const idleMs = 60_000;
/**
 * Keys unused for this long are forgotten; until then their sums serve while the store is
 * unreachable.
 */
const forgetMs = 24 * 3_600_000;

interface SpendCapsDeps {
  store: SpendStore;
  clock: Clock;
  setTimer?: SetTimer;
}

export function createSpendCaps(deps: SpendCapsDeps): SpendCaps {
  return new Caps(deps);
}

interface CapLedger {
  readonly keyId: string;
  day: number;
  dayNanos: bigint;
  beforeNanos: bigint;
  readMs: number;
  beforeReadMs: number;
  usedMs: number;
  /** Upper bounds of calls in flight, by transaction. */
  readonly held: Map<string, { nanos: bigint; atMs: number }>;
  /** Charges of this process that the sums don't hold yet. */
  readonly charged: Map<string, { nanos: bigint; atMs: number }>;
  /** A read for calls that is under way. */
  reading: { done: Promise<void>; sinceMs: number } | undefined;
}

const noHold: SpendHold = { settle() {} };

class Caps implements SpendCaps {
  readonly #store: SpendStore;
  readonly #clock: Clock;
  readonly #setTimer: SetTimer;
  readonly #ledgers = new Map<string, CapLedger>();
  /** Reads run one after the other: an older sum never takes the place of a newer one. */
  #lastRead: Promise<void> = Promise.resolve();

  constructor({ store, clock, setTimer = systemSetTimer }: SpendCapsDeps) {
    this.#store = store;
    this.#clock = clock;
    this.#setTimer = setTimer;
  }

  async reserve(call: CappedCall): Promise<SpendHold> {
    const { key, transactionId, upperBoundNanos } = call;
    if (key.capDayNanos === null && key.capMonthNanos === null) return noHold;
    const ledger = this.#ledgerOf(key.id);
    if (this.#isStale(ledger)) await this.#readForCall(ledger);
    // No await from here to the hold, so that no other call comes in between. A read that was not
    // waited for, or failed, or began before midnight, leaves the sums of the day before.
    rollDay(ledger, startOfDay(call.at));
    if (upperBoundNanos > 0n) permit(call, spendOf(ledger));
    ledger.held.set(transactionId, { nanos: upperBoundNanos, atMs: call.at.getTime() });
    return {
      settle(chargedNanos) {
        const hold = ledger.held.get(transactionId);
        if (!hold) return;
        ledger.held.delete(transactionId);
        if (chargedNanos === 0n) return;
        ledger.charged.set(transactionId, { nanos: chargedNanos, atMs: hold.atMs });
      },
    };
  }

  async refresh(): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    for (const [keyId, { usedMs, held, charged }] of this.#ledgers) {
      const isSettled = held.size === 0 && charged.size === 0;
      if (isSettled && nowMs - usedMs >= forgetMs) this.#ledgers.delete(keyId);
    }
    const ledgers = [...this.#ledgers.values()].filter((ledger) =>
      nowMs - ledger.usedMs < idleMs || ledger.charged.size > 0
    );
    await this.#inTurn(ledgers);
  }

  #inTurn(ledgers: readonly CapLedger[]): Promise<void> {
    const read = this.#lastRead.then(() => this.#read(ledgers));
    this.#lastRead = read.catch(() => {});
    return read;
  }

  #ledgerOf(keyId: string): CapLedger {
    const ledger = this.#ledgers.getOrInsertComputed(keyId, () => ({
      keyId,
      day: -1,
      dayNanos: 0n,
      beforeNanos: 0n,
      readMs: -Infinity,
      beforeReadMs: -Infinity,
      usedMs: 0,
      held: new Map(),
      charged: new Map(),
      reading: undefined,
    }));
    ledger.usedMs = this.#clock.monotonicMs();
    return ledger;
  }

  #isStale(ledger: CapLedger): boolean {
    return this.#clock.monotonicMs() - ledger.readMs > staleMs;
  }

  /**
   * While the store is slow or unreachable, a process relies on what it knows, if it knows anything.
   */
  async #readForCall(ledger: CapLedger): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    const { done, sinceMs } = ledger.reading ??= {
      done: this.#inTurn([ledger]).finally(() => ledger.reading = undefined),
      sinceMs: nowMs,
    };
    if (ledger.day === -1) return await done;
    const leftMs = Math.max(0, sinceMs + longestWaitMs - nowMs);
    await within(leftMs, done, undefined, this.#setTimer).catch((thrown) => {
      if (!isStoreAway(thrown)) throw thrown;
    });
  }

  /** Past days are summed up only once a minute, since that may take long. */
  async #read(ledgers: readonly CapLedger[]): Promise<void> {
    const day = startOfDay(this.#clock.now());
    const nowMs = this.#clock.monotonicMs();
    const exceeds = (ledger: CapLedger) =>
      ledger.day !== day.getTime() || nowMs - ledger.beforeReadMs > pastStaleMs ||
      // Once such a charge is stored, the sum of earlier days changes.
      [...ledger.held.values(), ...ledger.charged.values()].some(({ atMs }) =>
        atMs < day.getTime()
      );
    const whole = ledgers.filter(exceeds);
    const today = ledgers.filter((ledger) => !whole.includes(ledger));
    await this.#readSince(whole, startOfMonth(day), day, nowMs);
    await this.#readSince(today, day, day, nowMs);
  }

  async #readSince(
    ledgers: readonly CapLedger[],
    since: Date,
    day: Date,
    nowMs: number,
  ): Promise<void> {
    if (ledgers.length === 0) return;
    // Calls in flight too: they may be stored by the time the sums are taken.
    const transactionIds = ledgers.flatMap(({ held, charged }) => [
      ...held.keys(),
      ...charged.keys(),
    ]);
    const keyIds = ledgers.map(({ keyId }) => keyId);
    const { spent, stored } = await this.#store.read({ keyIds, since, day, transactionIds });
    const hasPast = since < day || day.getUTCDate() === 1;
    for (const ledger of ledgers) {
      // A call that didn't wait for this read has begun a new day, and moved these sums to the past.
      if (!hasPast && ledger.day !== day.getTime()) continue;
      const sums = spent.get(ledger.keyId);
      ledger.day = day.getTime();
      ledger.dayNanos = sums?.dayNanos ?? 0n;
      if (hasPast) ledger.beforeNanos = sums?.beforeNanos ?? 0n;
      if (hasPast) ledger.beforeReadMs = nowMs;
      ledger.readMs = nowMs;
      dropStored(ledger, stored, startOfMonth(day).getTime());
    }
  }
}

/** Drops charges that the sums hold now, and those of an earlier month. */
function dropStored(ledger: CapLedger, stored: ReadonlySet<string>, monthMs: number): void {
  for (const [transactionId, { atMs }] of ledger.charged) {
    if (stored.has(transactionId) || atMs < monthMs) ledger.charged.delete(transactionId);
  }
}

/** A new day that hasn't been read yet: only this process's charges count towards it. */
function rollDay(ledger: CapLedger, day: Date): void {
  if (ledger.day >= day.getTime()) return;
  const isNewMonth = startOfMonth(new Date(ledger.day)) < startOfMonth(day);
  ledger.beforeNanos = isNewMonth ? 0n : ledger.beforeNanos + ledger.dayNanos;
  ledger.dayNanos = 0n;
  ledger.day = day.getTime();
  // The next read has all days: it knows what others charged as the last one ended.
  ledger.beforeReadMs = -Infinity;
}

interface Spend {
  dayNanos: bigint;
  monthNanos: bigint;
  heldNanos: bigint;
}

function spendOf(ledger: CapLedger): Spend {
  let dayNanos = ledger.dayNanos;
  let monthNanos = ledger.dayNanos + ledger.beforeNanos;
  const monthMs = startOfMonth(new Date(ledger.day)).getTime();
  for (const { nanos, atMs } of ledger.charged.values()) {
    if (atMs >= ledger.day) dayNanos += nanos;
    if (atMs >= monthMs) monthNanos += nanos;
  }
  const heldNanos = [...ledger.held.values()].reduce((sum, { nanos }) => sum + nanos, 0n);
  return { dayNanos, monthNanos, heldNanos };
}

function permit({ key, upperBoundNanos }: CappedCall, spend: Spend): void {
  const caps = [
    { name: "daily", limit: key.capDayNanos, spent: spend.dayNanos, next: "the next day" },
    { name: "monthly", limit: key.capMonthNanos, spent: spend.monthNanos, next: "the next month" },
  ];
  for (const { name, limit, spent, next } of caps) {
    if (limit === null || spent + spend.heldNanos + upperBoundNanos <= limit) continue;
    throw new Fault("spend_cap_exceeded", {
      message: `This API key's ${name} spend cap of ${usd(limit)} does not cover this call, ` +
        `which may cost up to ${usd(upperBoundNanos)}: ${usd(spent)} is spent and ` +
        `${usd(spend.heldNanos)} reserved for calls in flight. The cap resets with ${next} (UTC).`,
    });
  }
}

function usd(nanos: bigint): string {
  return `${nanosToUsd(nanos)} USD`;
}
