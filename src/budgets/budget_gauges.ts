import type { Clock } from "../base/clock.ts";
import type { Measures } from "../shared/metrics.ts";
import { type BudgetStore, limitAt, type StoredBudget } from "./budget.ts";

/** Metrics of the budgets with the highest share of their limits spent. */
export interface BudgetGauges {
  readonly measures: Measures;
  /** Reads the budgets; run as a background job. */
  refresh(): Promise<void>;
}

/** Cap on the budgets that have lines of metrics. */
const maxLines = 200;

/** Metrics name budgets by id, since a scope may name an end user. */
export function createBudgetGauges(
  { store, clock }: { store: Pick<BudgetStore, "fullest">; clock: Pick<Clock, "now"> },
): BudgetGauges {
  let budgets: readonly StoredBudget[] = [];
  const read = (value: (budget: StoredBudget) => bigint) => () =>
    budgets.map((budget) => ({
      labels: { budget: budget.id, account: String(budget.accountId), per: budget.per },
      value: Number(value(budget)) / 1e9,
    }));
  const labels = ["budget", "account", "per"];
  return {
    measures: {
      gateway_budget_spent_usd: {
        overWorkers: "max",
        help: "Charged in the current period of a budget; only the 200 fullest budgets",
        labels,
        readAll: read(({ spentNanos }) => spentNanos),
      },
      gateway_budget_limit_usd: {
        overWorkers: "max",
        help: "Current limit of a budget; only the 200 fullest budgets",
        labels,
        readAll: read((budget) => limitAt(budget, clock.now())),
      },
    },
    async refresh() {
      budgets = await store.fullest(clock.now(), maxLines);
    },
  };
}
