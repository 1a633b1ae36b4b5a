import { contracts } from "../../../contracts/mod.ts";
import {
  accountFilter,
  accountOf,
  administratorBy,
  idCursor,
  pageOf,
  wrongCursor,
} from "../../administration/administration.ts";
import { changeBudget, noBudget, setBudget } from "../../administration/budget_administration.ts";
import type { Clock } from "../../base/clock.ts";
import { budgetJson } from "../../budgets/budget.ts";
import type { BudgetService } from "../../budgets/budget_service.ts";
import type { AccountStore } from "../../keys/account.ts";
import type { Endpoints } from "../bind.ts";

export function adminBudgetRoutes(
  app: Endpoints,
  deps: {
    accounts: Pick<AccountStore, "first" | "find">;
    budgets: BudgetService;
    clock: Clock;
  },
): void {
  const { accounts, budgets } = deps;
  const { admin } = contracts;
  const by = administratorBy(deps.clock);

  app.bind(admin.listBudgets, async ({ query: { account_id, limit, cursor } }) => {
    const owner = await accountFilter(accounts, account_id);
    const last = idCursor(cursor);
    const after = last === null ? undefined : await budgets.cursorOf(last, owner?.id);
    if (last !== null && !after) throw wrongCursor();
    const rows = await budgets.list(owner?.id, { after, limit: limit + 1 });
    const { page, next_cursor } = pageOf(rows, limit, ({ id }) => id);
    return { data: page.map(budgetJson), next_cursor };
  });

  app.bind(admin.setBudget, async ({ caller, body }) => {
    const account = await accountOf(accounts, body.account_id);
    return budgetJson(await setBudget(budgets, by(caller), account, body));
  });

  app.bind(admin.getBudget, async ({ params }) => {
    const found = await budgets.find(params.id);
    if (!found) throw noBudget(params.id);
    return budgetJson(found);
  });

  app.bind(
    admin.updateBudget,
    async ({ caller, params, body }) =>
      budgetJson(await changeBudget(budgets, by(caller), params.id, body)),
  );

  app.bind(admin.deleteBudget, async ({ caller, params }) => {
    if (!await budgets.remove(params.id, by(caller).actor)) throw noBudget(params.id);
    return { id: params.id, removed: true as const };
  });
}
