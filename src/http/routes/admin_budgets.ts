import type { Hono } from "hono";
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
import { bind, type BindDeps } from "../bind.ts";
import type { Env } from "../request_context.ts";

export function adminBudgetRoutes(
  app: Hono<Env>,
  deps: BindDeps & {
    accounts: Pick<AccountStore, "first" | "find">;
    budgets: BudgetService;
    clock: Clock;
  },
): void {
  const { accounts, budgets } = deps;
  const { admin } = contracts;
  const by = (caller: CallContext) => administratorOf(caller.principal.key, deps.clock.now());

  bind(app, admin.listBudgets, deps, async ({ query: { account_id } }) => {
    const owner = account_id === undefined ? undefined : await accountOf(accounts, account_id);
    return { data: (await budgets.list(owner?.id)).map(budgetJson) };
  });

  bind(app, admin.setBudget, deps, async ({ caller, body }) => {
    const account = await accountOf(accounts, body.account_id);
    return budgetJson(await setBudget(budgets, by(caller), account, body));
  });

  bind(
    app,
    admin.getBudget,
    deps,
    async ({ params }) => budgetJson(await findBudget(budgets, params.id)),
  );

  bind(
    app,
    admin.updateBudget,
    deps,
    async ({ caller, params, body }) =>
      budgetJson(await changeBudget(budgets, by(caller), params.id, body)),
  );

  bind(app, admin.deleteBudget, deps, async ({ caller, params }) => {
    await removeBudget(budgets, by(caller), params.id);
    return { id: params.id, removed: true as const };
  });
}
