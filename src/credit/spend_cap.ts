import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { nanosToUsd } from "../base/money.ts";
import type { ApiKey } from "../keys/api_key.ts";
import { Fault, messageOf } from "../shared/fault.ts";
import { startOfDay, startOfMonth } from "../shared/time_span.ts";
import { inFlightHint, type Shortage } from "./leased_balances.ts";
import type { LeaseRequest, LeaseStore, LeaseTaken } from "./ledger.ts";
import { LimitedBalances, type LimitHold } from "./limited_balances.ts";

export type CappedKey = Pick<ApiKey, "id" | "capDayNanos" | "capMonthNanos">;

/**
 * The caps on what keys spend in a day and a month of UTC; amounts in nano-dollars. Calls are
 * admitted in memory as long as this process's leases of the caps have room.
 */
export interface SpendCaps {
  /**
   * Holds the most that a call can cost under its key's caps, in the day and month in which it
   * arrived. Throws `spend_cap_exceeded` naming the cap that has no room for it, and
   * `store_unavailable`. An upper bound of 0, as with a vendor key of the caller's own, is never
   * refused.
   */
  reserve(key: CappedKey, call: { upperBoundNanos: bigint; at: Date }): Promise<LimitHold>;
  /** Renews leases and gives back what is idle; to be called every second. */
  tick(): Promise<void>;
  close(): Promise<void>;
}

/** One day or month of a key's cap. */
export interface CapPeriod {
  readonly keyId: string;
  readonly per: "day" | "month";
  readonly startsAt: Date;
}

/** The store of what is leased of caps. Implemented in `src/credit/store/key_leases.ts`. */
export interface CapStore extends Pick<LeaseStore<CapPeriod>, "release" | "renew"> {
  /**
   * Leases part of a period, one request at a time, under the lower of `atMost` and the stored cap.
   */
  take(request: LeaseRequest<CapPeriod>, atMost: bigint): Promise<LeaseTaken>;
  /** Returns what is left of each period, in the order of `periods`. */
  available(periods: readonly CapPeriod[]): Promise<bigint[]>;
}

/** What a key was charged in the current day and month (UTC), in nano-dollars. */
export interface KeySpend {
  dayNanos: bigint;
  monthNanos: bigint;
}

export type SpendByKey = ReadonlyMap<string, KeySpend>;

/**
 * Sums up the charges of capped keys in the day and month of `now`; keys without charges may be
 * missing. Implemented in `src/credit/store/spend.ts`.
 */
export type ReadSpend = (keyIds: readonly string[], now: Date) => Promise<SpendByKey>;

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

export interface SpendCapsDeps {
  store: CapStore;
  clock: Clock;
  log: Log;
  newId: () => string;
  processId: string;
  leaseSeconds: number;
  shared: boolean;
}

export function createSpendCaps({ store, log, ...deps }: SpendCapsDeps): SpendCaps {
  const balances: LimitedBalances = new LimitedBalances({
    ...deps,
    store: leasesOf(store, (id) => balances.limitOf(id) ?? 0n),
    refusal: (id, shortage) => refusal(periodOf(id), balances.limitOf(id) ?? 0n, shortage),
    onFailure: (id, thrown) =>
      log.error("a spend cap could not be leased or returned", {
        key: periodOf(id).keyId,
        reason: messageOf(thrown),
      }),
  });
  return {
    reserve: ({ id, capDayNanos, capMonthNanos }, { upperBoundNanos, at }) => {
      const caps = [
        { per: "day", startsAt: startOfDay(at), limitNanos: capDayNanos },
        { per: "month", startsAt: startOfMonth(at), limitNanos: capMonthNanos },
      ] as const;
      const limits = caps.flatMap(({ limitNanos, ...period }) =>
        limitNanos === null ? [] : [{ id: balanceOf({ keyId: id, ...period }), limitNanos }]
      );
      return balances.reserve(limits, upperBoundNanos);
    },
    tick: () => balances.tick(),
    close: () => balances.close(),
  };
}

/** Adapts the store: each balance is a period, under the cap that this process knows. */
function leasesOf(store: CapStore, limitOf: (id: string) => bigint): LeaseStore<string> {
  const inPeriod = <Ask extends { accountId: string }>(ask: Ask) => ({
    ...ask,
    accountId: periodOf(ask.accountId),
  });
  return {
    take: (request) => store.take(inPeriod(request), limitOf(request.accountId)),
    release: (back) => store.release(inPeriod(back)),
    renew: (held, seconds) => store.renew(held.map(inPeriod), seconds),
    async available(ids) {
      const left = await store.available(ids.map(periodOf));
      return new Map(ids.map((id, at) => [id, left[at]!]));
    },
  };
}

function refusal({ per }: CapPeriod, limitNanos: bigint, shortage: Shortage): Fault {
  return new Fault("spend_cap_exceeded", {
    message: `This API key's ${per === "day" ? "daily" : "monthly"} spend cap of ${
      nanosToUsd(limitNanos)
    } USD does not cover this call, which may cost up to ${nanosToUsd(shortage.neededNanos)} USD: ${
      nanosToUsd(shortage.leftNanos)
    } USD is left.${inFlightHint(shortage)} The cap resets with the next ${per} (UTC).`,
  });
}

function balanceOf({ keyId, per, startsAt }: CapPeriod): string {
  return `${startsAt.getTime()} ${per} ${keyId}`;
}

function periodOf(balance: string): CapPeriod {
  const [startMs, per, ...keyId] = balance.split(" ") as [string, CapPeriod["per"], ...string[]];
  return { keyId: keyId.join(" "), per, startsAt: new Date(Number(startMs)) };
}
