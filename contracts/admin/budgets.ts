import { z } from "@hono/zod-openapi";
import { timestampSchema } from "../kernel/common.ts";
import { defineContract, ofAdministration } from "../kernel/contract.ts";
import { accountId, accountIdFilter, accountIdInBody, createdAt, usdAmount } from "./fields.ts";

const per = z.enum(["day", "month"]);
const id = z.string().regex(/^[0-9a-f-]{36}$/, "expected the id of a budget").describe(
  "Id of the budget.",
);
const params = z.object({ id });

const budget = z.strictObject({
  id,
  account_id: accountId,
  on: z.string().describe("What it is on: `account`, `app:NAME` or `user:ID`.")
    .openapi({ example: "app:checkout" }),
  per: per.describe("The period, of UTC."),
  limit_usd: z.string().describe("What may be spent in a period, in USD."),
  raise_until: timestampSchema.nullable().describe("Until then `raised_limit_usd` is the limit."),
  raised_limit_usd: z.string().nullable().describe("The limit until `raise_until`; null: none."),
  spent_usd: z.string().describe("Charged in the present period, in USD."),
  created_at: createdAt,
}).openapi("Budget");

const limits = {
  raise_until: timestampSchema.optional().describe(
    "Until then the limit is `raised_usd`. Default: the limit isn't raised.",
  ),
  raised_usd: usdAmount.optional().describe(
    "The limit until `raise_until`, in USD; one isn't given without the other. Default: none.",
  ),
};

/** Budgets: what accounts, their apps and their end users may spend. */
export const adminBudgetContracts = {
  listBudgets: defineContract({
    ...ofAdministration("get", "/api/v1/admin/budgets", "listBudgets"),
    summary: "List budgets and what is spent",
    description: "With what is spent of each in its present day or month, UTC.",
    query: z.strictObject({ account_id: accountIdFilter }),
    answer: z.strictObject({ data: z.array(budget).describe("By account, scope and name.") })
      .openapi("BudgetList"),
    errors: ["account_not_found"],
  }),
  setBudget: defineContract({
    ...ofAdministration("post", "/api/v1/admin/budgets", "setBudget"),
    summary: "Set a budget",
    description:
      "Takes the place of the account's budget with the same `on` and `per`, whose spend stays. A call whose highest possible cost doesn't fit is 402 `spend_cap_exceeded`.",
    body: z.strictObject({
      on: z.string().min(1).max(600).describe("What it is on: `account`, `app:NAME` or `user:ID`.")
        .openapi({ example: "app:checkout" }),
      per: per.describe("The period, of UTC."),
      usd: usdAmount.optional().describe(
        "What may be spent in a period, in USD. Default: as it is, where a budget is raised that is there.",
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
    description: "Sets its limit, or raises it until a time.",
    params,
    body: z.strictObject({
      usd: usdAmount.optional().describe(
        "What may be spent in a period, in USD. Default: as it is.",
      ),
      ...limits,
      raise_until: timestampSchema.nullable().optional().describe(
        "Until then the limit is `raised_usd`; null: it isn't raised any more. Default: as it is.",
      ),
    }).openapi("BudgetChange"),
    answer: budget,
    errors: ["budget_not_found"],
  }),
  deleteBudget: defineContract({
    ...ofAdministration("delete", "/api/v1/admin/budgets/{id}", "deleteBudget"),
    summary: "Delete a budget",
    description: "Calls go on without its limit.",
    params,
    answer: z.strictObject({ id, removed: z.literal(true).describe("Always true.") })
      .openapi("RemovedBudget"),
    errors: ["budget_not_found"],
  }),
};
