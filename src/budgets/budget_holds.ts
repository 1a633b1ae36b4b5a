import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { nanosToUsd } from "../base/money.ts";
import { inFlightHint, type Shortage } from "../credit/leased_balances.ts";
import type { LeaseStore } from "../credit/ledger.ts";
import { LimitedBalances, type LimitHold } from "../credit/limited_balances.ts";
import { Fault, messageOf } from "../shared/fault.ts";
import {
  type Budget,
  type BudgetPeriod,
  budgetScopeText,
  type BudgetStore,
  limitAt,
  periodStart,
} from "./budget.ts";
import type { BudgetCache, BudgetedCaller } from "./budget_cache.ts";

export interface BudgetHoldsDeps {
  store: Pick<BudgetStore, "take" | "release" | "renew" | "available">;
  cache: Pick<BudgetCache, "covering" | "find">;
  clock: Clock;
  log: Log;
  newId: () => string;
  processId: string;
  leaseSeconds: number;
  shared: boolean;
}

/** Admits calls against the budgets that cover them, in memory as long as leases have room. */
export class BudgetHolds {
  readonly #deps: BudgetHoldsDeps;
  /** By budget and period (`balanceOf`). */
  readonly #balances: LimitedBalances;

  constructor(deps: BudgetHoldsDeps) {
    this.#deps = deps;
    this.#balances = new LimitedBalances({
      ...{ ...deps, store: this.#leases() },
      refusal: (id, shortage) => this.#refusal(id, shortage),
      onFailure: (id, thrown) =>
        deps.log.error("a budget could not be leased or returned", {
          budget: periodOf(id).budgetId,
          reason: messageOf(thrown),
        }),
    });
  }

  /**
   * Holds the most that a call can cost under each budget that covers it, in the period in which it
   * arrived. Throws `spend_cap_exceeded` naming the budget that has no room for it, and
   * `store_unavailable`.
   */
  async reserve(
    caller: BudgetedCaller,
    { upperBoundNanos, at }: { upperBoundNanos: bigint; at: Date },
  ): Promise<LimitHold> {
    // In an async function, so that a fault of the cache is thrown like all others.
    const now = this.#deps.clock.now();
    const limits = this.#deps.cache.covering(caller).map((budget) => ({
      id: balanceOf(budget, at),
      limitNanos: limitAt(budget, now),
    }));
    return await this.#balances.reserve(limits, upperBoundNanos);
  }

  /**
   * Renews leases, and gives back what is idle or exceeds a lowered limit; to be called every
   * second.
   */
  async tick(): Promise<void> {
    const now = this.#deps.clock.now();
    for (const { id } of this.#balances.limits()) {
      const budget = this.#deps.cache.find(periodOf(id).budgetId);
      if (budget) this.#balances.note({ id, limitNanos: limitAt(budget, now) });
    }
    await this.#balances.tick();
  }

  close(): Promise<void> {
    return this.#balances.close();
  }

  /**
   * Adapts the store: each balance is a period, under the limit that this process knows, by its
   * clock.
   */
  #leases(): LeaseStore<string> {
    const { store, cache, clock } = this.#deps;
    return {
      take: (request) => {
        const period = periodOf(request.accountId);
        const budget = cache.find(period.budgetId);
        const now = clock.now();
        const atMost = budget ? limitAt(budget, now) : unlimitedNanos;
        return store.take({ ...request, accountId: period }, { atMost, now });
      },
      release: (back) =>
        store.release({ ...back, accountId: periodOf(back.accountId) }, clock.now()),
      renew: (held, seconds) =>
        store.renew(held.map((one) => ({ ...one, accountId: periodOf(one.accountId) })), seconds),
      async available(ids) {
        const left = await store.available(ids.map(periodOf), clock.now());
        return new Map(ids.map((id, at) => [id, left[at]!]));
      },
    };
  }

  #refusal(id: string, shortage: Shortage): Fault {
    const budget = this.#deps.cache.find(periodOf(id).budgetId);
    const which = budget
      ? `on ${budgetScopeText(budget.scope)} per ${budget.per} of ${
        nanosToUsd(limitAt(budget, this.#deps.clock.now()))
      } USD`
      : "of this account";
    return new Fault("spend_cap_exceeded", {
      message: `The budget ${which} does not cover this call, which may cost up to ${
        nanosToUsd(shortage.neededNanos)
      } USD: ${nanosToUsd(shortage.leftNanos)} USD is left.${
        inFlightHint(shortage)
      } The budget resets with the next ${budget?.per ?? "period"} (UTC).`,
    });
  }
}

const unlimitedNanos = 1n << 62n;

function balanceOf({ id, per }: Budget, at: Date): string {
  return `${periodStart(per, at).getTime()} ${id}`;
}

function periodOf(balance: string): BudgetPeriod {
  const space = balance.indexOf(" ");
  return {
    budgetId: balance.slice(space + 1),
    startsAt: new Date(Number(balance.slice(0, space))),
  };
}
