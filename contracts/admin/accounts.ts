import { z } from "@hono/zod-openapi";
import { labelText, wholeNumber } from "../kernel/common.ts";
import { defineContract, ofAdministration } from "../kernel/contract.ts";
import { adminPage, createdAt, pageOf } from "./fields.ts";

const tier = z.enum(["free", "pro", "enterprise"]);
const rate = z.number().int().min(1).max(100_000_000);

const account = z.strictObject({
  id: z.number().int().describe("Id of the account.").openapi({ example: 2 }),
  name: z.string().describe("Name of the account."),
  tier: tier.describe("Tier, which sets its limits."),
  rpm: z.number().int().describe("Requests per minute of all its keys together."),
  burst: z.number().int().describe("Maximum requests at once."),
  created_at: createdAt,
}).openapi("Account");

const params = z.object({
  id: wholeNumber({ minimum: 1 }).describe("Id of the account."),
});

export const adminAccountContracts = {
  listAccounts: defineContract({
    ...ofAdministration("get", "/api/v1/admin/accounts", "listAccounts"),
    summary: "List accounts, oldest first",
    query: z.strictObject(adminPage),
    answer: pageOf(account, "A page of accounts.").openapi("AccountList"),
  }),
  createAccount: defineContract({
    ...ofAdministration("post", "/api/v1/admin/accounts", "createAccount"),
    summary: "Create an account",
    description: "It starts in the tier `free`, without credit and keys.",
    body: z.strictObject({
      name: labelText(200).describe(
        "Unique name: 1 to 200 characters, not only digits.",
      ),
    }).openapi("NewAccount"),
    answer: account,
    errors: ["already_exists"],
  }),
  getAccount: defineContract({
    ...ofAdministration("get", "/api/v1/admin/accounts/{id}", "getAccount"),
    summary: "Get an account",
    params,
    answer: account,
    errors: ["account_not_found"],
  }),
  updateAccount: defineContract({
    ...ofAdministration("patch", "/api/v1/admin/accounts/{id}", "updateAccount"),
    summary: "Change an account's limits",
    description:
      "New limits refill its token bucket. `free` and `pro` have fixed limits; `enterprise` needs `rpm` and `burst`, and keeps those that are absent.",
    params,
    body: z.strictObject({
      tier: tier.optional().describe("Tier, which sets its limits. Default: unchanged."),
      rpm: rate.optional().describe(
        "Requests per minute, 1 to 100,000,000; only for `enterprise`. Default: unchanged.",
      ),
      burst: rate.optional().describe(
        "Maximum requests at once, 1 to 100,000,000; only for `enterprise`. Default: unchanged.",
      ),
    }).openapi("AccountChange"),
    answer: account,
    errors: ["account_not_found"],
  }),
};
