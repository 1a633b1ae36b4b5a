// A separate file, since only the composition root builds a subject with its store.
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Database } from "../database/database.ts";
import { removedMinutes } from "../shared/change_feed.ts";
import { type BudgetScope, oldestPeriod } from "./budget.ts";
import { type BudgetCache, createBudgetCache } from "./budget_cache.ts";
import { type BudgetGauges, createBudgetGauges } from "./budget_gauges.ts";
import { type BudgetHolds, createBudgetHolds } from "./budget_holds.ts";
import { type BudgetService, createBudgetService } from "./budget_service.ts";
import { createBudgetStore } from "./store/budgets.ts";

/** The limits on what accounts, apps and end users spend. */
export interface BudgetServices {
  budgets: BudgetService;
  budgetCache: BudgetCache;
  budgetHolds: BudgetHolds;
  budgetGauges: BudgetGauges;
  /** Gives back what a process held before it was restarted. */
  takeBackBudgets: (processId: string) => Promise<void>;
  /** Gives back what dead processes held. */
  sweepBudgetLeases: () => Promise<void>;
  /** Deletes removed budgets, and periods that are long over. */
  sweepBudgets: () => Promise<void>;
}

export function createBudgets(
  { database, processId, leaseSeconds, clock, log, newId, chargedSince }: {
    database: Database;
    processId: string;
    leaseSeconds: number;
    clock: Clock;
    log: Log;
    newId: () => string;
    chargedSince: (accountId: number, scope: BudgetScope, since: Date) => Promise<bigint>;
  },
): BudgetServices {
  const store = createBudgetStore(database);
  const budgetCache = createBudgetCache(store);
  const budgetHolds = createBudgetHolds({
    ...{ store, cache: budgetCache, clock, log, newId, processId, leaseSeconds },
    shared: database.kind === "postgres",
  });
  return {
    budgets: createBudgetService({
      ...{ store, clock, newId, chargedSince },
      changed: async () => {
        await budgetCache.refresh();
        await budgetHolds.tick();
      },
    }),
    ...{ budgetCache, budgetHolds, budgetGauges: createBudgetGauges({ store, clock }) },
    takeBackBudgets: async (id) => void await store.takeBack(id),
    sweepBudgetLeases: async () => void await store.sweepExpired(),
    sweepBudgets: () => store.sweep(removedMinutes, oldestPeriod(clock.now())),
  };
}
