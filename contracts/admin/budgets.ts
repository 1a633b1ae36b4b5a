import { z } from "@hono/zod-openapi";
import { timestampSchema } from "../kernel/common.ts";
import { defineContract, ofAdministration } from "../kernel/contract.ts";
import {
  accountId,
  accountIdFilter,
  accountIdInBody,
  createdAt,
  longAdminPage,
  pageOf,
  usdAmount,
} from "./fields.ts";

const per = z.enum(["day", "month"]);
const id = z.string().regex(/^[0-9a-f-]{36}$/, "expected the id of a budget").describe(
  "Id of the budget.",
);
const params = z.object({ id });

const budget = z.strictObject({
  id,
  account_id: accountId,
  on: z.string().describe("What it limits: `account`, `app:NAME` or `user:ID`.")
    .openapi({ example: "app:checkout" }),
  per: per.describe("The period, in UTC."),
  limit_usd: z.string().describe("What may be spent in a period, in USD."),
  raise_until: timestampSchema.nullable().describe("Until then `raised_limit_usd` is the limit."),
  raised_limit_usd: z.string().nullable().describe("The limit until `raise_until`; null: none."),
  spent_usd: z.string().describe("Charged in the current period, in USD."),
  created_at: createdAt,
}).openapi("Budget");

const limits = {
  raise_until: timestampSchema.optional().describe(
    "Until then the limit is `raised_usd`, or `usd` without it. Default: the limit isn't raised.",
  ),
  raised_usd: usdAmount.optional().describe(
    "The limit until `raise_until`, in USD. Default: `usd`, which then leaves the usual limit as it is.",
  ),
};

/** Budgets: what accounts, their apps and their end users may spend. */
export const adminBudgetContracts = {
  listBudgets: defineContract({
    ...ofAdministration("get", "/api/v1/admin/budgets", "listBudgets"),
    summary: "List budgets and what is spent",
    description: "With what is spent in the current day or month, UTC.",
    query: z.strictObject({ account_id: accountIdFilter, ...longAdminPage }),
    answer: pageOf(budget, "A page of budgets, by account, scope and name.").openapi("BudgetList"),
    errors: ["account_not_found"],
  }),
  setBudget: defineContract({
    ...ofAdministration("post", "/api/v1/admin/budgets", "setBudget"),
    summary: "Set a budget",
    description:
      "Replaces the account's budget with the same `on` and `per`, and keeps its spend. A call whose maximum cost doesn't fit is refused with 402 `spend_cap_exceeded`.",
    body: z.strictObject({
      on: z.string().min(1).max(600).describe("What it limits: `account`, `app:NAME` or `user:ID`.")
        .openapi({ example: "app:checkout" }),
      per: per.describe("The period, in UTC."),
      usd: usdAmount.optional().describe(
        "What may be spent in a period, in USD. Default: unchanged, if the budget exists.",
      ),
      ...limits,
      account_id: accountIdInBody,
    }).openapi("NewBudget"),
    answer: budget,
    errors: ["account_not_found"],
  }),
  getBudget: defineContract({
    ...ofAdministration("get", "/api/v1/admin/budgets/{id}", "getBudget"),
    summary: "Get a budget",
    params,
    answer: budget,
    errors: ["budget_not_found"],
  }),
  updateBudget: defineContract({
    ...ofAdministration("patch", "/api/v1/admin/budgets/{id}", "updateBudget"),
    summary: "Change or raise a budget",
    description: "Sets its limit, or raises it temporarily.",
    params,
    body: z.strictObject({
      usd: usdAmount.optional().describe(
        "What may be spent in a period, in USD. Default: unchanged.",
      ),
      ...limits,
      raise_until: timestampSchema.nullable().optional().describe(
        "Until then the limit is `raised_usd`, or `usd` without it; null: no longer raised. Default: unchanged.",
      ),
    }).openapi("BudgetChange"),
    answer: budget,
    errors: ["budget_not_found"],
  }),
  deleteBudget: defineContract({
    ...ofAdministration("delete", "/api/v1/admin/budgets/{id}", "deleteBudget"),
    summary: "Delete a budget",
    description: "Its limit no longer applies.",
    params,
    answer: z.strictObject({ id, removed: z.literal(true).describe("Always true.") })
      .openapi("RemovedBudget"),
    errors: ["budget_not_found"],
  }),
};
