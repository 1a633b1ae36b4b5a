// A separate file, since only the composition root builds a subject with its store.
import type { Database } from "../database/database.ts";
import { earlierNow } from "../database/from_now.ts";
import { removedMinutes } from "../shared/change_feed.ts";
import { type BudgetScope, oldestPeriod } from "./budget.ts";
import { BudgetCache } from "./budget_cache.ts";
import { createBudgetGauges } from "./budget_gauges.ts";
import { BudgetHolds, type BudgetHoldsDeps } from "./budget_holds.ts";
import { createBudgetService } from "./budget_service.ts";
import { createBudgetStore } from "./store/budgets.ts";

export function createBudgets(
  { database, chargedSince, ...deps }: Omit<BudgetHoldsDeps, "store" | "cache" | "shared"> & {
    database: Database;
    chargedSince: (accountId: number, scope: BudgetScope, since: Date) => Promise<bigint>;
  },
) {
  const { clock, newId } = deps;
  const store = createBudgetStore(database);
  const budgetCache = new BudgetCache(store);
  const budgetHolds = new BudgetHolds({
    ...{ ...deps, store, cache: budgetCache },
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
    /** Gives back what a process held before it was restarted. */
    takeBackBudgets: async (id: string) => void await store.takeBack(id),
    /** Gives back what dead processes held. */
    sweepBudgetLeases: async () => void await store.sweepExpired(),
    /** Deletes removed budgets, and periods that are long over. */
    sweepBudgets: async () =>
      await store.sweep(removedMinutes, oldestPeriod(await earlierNow(database, clock))),
  };
}

/** The limits on what accounts, apps and end users spend. */
export type BudgetServices = ReturnType<typeof createBudgets>;
