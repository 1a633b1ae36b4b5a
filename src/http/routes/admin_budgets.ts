import { contracts } from "../../../contracts/mod.ts";
import { accountOf, administratorOf } from "../../administration/administration.ts";
import {
  changeBudget,
  findBudget,
  removeBudget,
  setBudget,
} from "../../administration/budget_administration.ts";
import type { Clock } from "../../base/clock.ts";
import { budgetJson } from "../../budgets/budget.ts";
import type { BudgetService } from "../../budgets/budget_service.ts";
import type { AccountStore } from "../../keys/account.ts";
import type { CallContext } from "../../relay/call_context.ts";
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
  const by = (caller: CallContext) => administratorOf(caller.principal.key, deps.clock.now());

  app.bind(admin.listBudgets, async ({ query: { account_id } }) => {
    const owner = account_id === undefined ? undefined : await accountOf(accounts, account_id);
    return { data: (await budgets.list(owner?.id)).map(budgetJson) };
  });

  app.bind(admin.setBudget, async ({ caller, body }) => {
    const account = await accountOf(accounts, body.account_id);
    return budgetJson(await setBudget(budgets, by(caller), account, body));
  });

  app.bind(admin.getBudget, async ({ params }) => budgetJson(await findBudget(budgets, params.id)));

  app.bind(
    admin.updateBudget,
    async ({ caller, params, body }) =>
      budgetJson(await changeBudget(budgets, by(caller), params.id, body)),
  );

  app.bind(admin.deleteBudget, async ({ caller, params }) => {
    await removeBudget(budgets, by(caller), params.id);
    return { id: params.id, removed: true as const };
  });
}
