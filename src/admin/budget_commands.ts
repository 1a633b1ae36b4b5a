import { commandLine } from "../audit/audit.ts";
import { nanosToUsd } from "../base/money.ts";
import {
  budgetJson,
  budgetScopeText,
  limitAt,
  readBudgetScope,
  readBudgetSpan,
  type StoredBudget,
} from "../budgets/budget.ts";
import type { BudgetService } from "../budgets/budget_service.ts";
import type { Clock } from "../base/clock.ts";
import type { AccountStore } from "../keys/account.ts";
import {
  chosenAccount,
  type Command,
  type CommandResult,
  done,
  listedAccount,
  listedAccountOption,
  listedInPages,
  notFound,
  optional,
  readUsd,
  required,
  textOption,
  timeOption,
  UsageError,
  type Values,
} from "./command.ts";

export interface BudgetCommandDeps {
  accounts: Pick<AccountStore, "first" | "find">;
  budgets: BudgetService;
  clock: Pick<Clock, "now">;
}

/** `budget …`: what an account, its apps and its end users may spend. */
export const budgetCommands: Readonly<Record<string, Command<BudgetCommandDeps>>> = {
  "budget set": {
    summary: "Limits what an account, one of its apps or one of its end users may spend.",
    example: "budget set --on app:shop --per day --usd 20",
    usage:
      "budget set --on account|app:NAME|user:ID [--account A] --per day|month --usd X [--raise-until T --usd Y]   (without X an existing budget is raised)",
    options: {
      ...{ account: textOption, on: textOption, per: textOption, "raise-until": textOption },
      usd: { type: "string", multiple: true },
    },
    run: setBudget,
  },
  "budget list": {
    summary: "Lists budgets, and what is spent of each in the current day or month.",
    example: "budget list",
    usage: "budget list [--account A]",
    options: listedAccountOption,
    run: listBudgets,
  },
  "budget remove": {
    summary: "Removes a budget; its limit no longer applies.",
    example: "budget remove 01998c5e-7d1e-7000-8000-000000000000",
    usage: "budget remove ID",
    positionals: ["ID"],
    run: removeBudget,
  },
};

async function setBudget(deps: BudgetCommandDeps, values: Values): Promise<CommandResult> {
  const on = optional(values, "on");
  if (on === undefined) throw new UsageError("--on is missing");
  const per = required(values, "per");
  const limits = limitsOf(amounts(values), timeOption(values, "raise-until", "end"));
  const owner = await chosenAccount(deps.accounts, values);
  const budget = { accountId: owner.id, scope: readBudgetScope(on), per: readBudgetSpan(per) };
  const stored = await deps.budgets.set({ ...budget, ...limits }, commandLine);
  return done(budgetJson(stored), [shown(stored, deps.clock.now())]);
}

function amounts(values: Values): bigint[] {
  return [values.usd ?? []].flat().map((value) => readUsd("usd", String(value)));
}

/** With `--raise-until` the last amount is the raised limit, and one before it the usual limit. */
function limitsOf(amounts: readonly bigint[], until: Date | undefined) {
  const most = until === undefined ? 1 : 2;
  if (amounts.length === 0) throw new UsageError("--usd is missing");
  if (amounts.length > most) {
    throw new UsageError(`--usd: expected ${most === 1 ? "one amount" : "two amounts at most"}`);
  }
  if (until === undefined) return { limitNanos: amounts[0]!, raised: null };
  const raised = { nanos: amounts.at(-1)!, until };
  return amounts.length === 2 ? { limitNanos: amounts[0]!, raised } : { raised };
}

async function listBudgets(deps: BudgetCommandDeps, values: Values): Promise<CommandResult> {
  const account = await listedAccount(deps.accounts, values);
  const now = deps.clock.now();
  return await listedInPages(
    (after: StoredBudget | undefined, limit) => deps.budgets.list(account, { after, limit }),
    budgetJson,
    (one) => shown(one, now),
    "No budgets.",
  );
}

async function removeBudget(
  deps: BudgetCommandDeps,
  _values: Values,
  [id]: readonly string[],
): Promise<CommandResult> {
  const removed = await deps.budgets.remove(id!, commandLine);
  if (removed) return done({ id, removed }, [`Budget ${id} removed.`]);
  return notFound({ id, removed }, `No budget has the id ${id!.slice(0, 100)}.`);
}

function shown(budget: StoredBudget, now: Date): string {
  const { id, accountId, scope, per, spentNanos, raised } = budget;
  return [
    ...[id, `account ${accountId}`, budgetScopeText(scope)],
    `${nanosToUsd(spentNanos)} of ${nanosToUsd(limitAt(budget, now))} USD per ${per}`,
    ...(raised && now < raised.until ? [`until ${raised.until.toISOString()}`] : []),
  ].join("  ");
}
