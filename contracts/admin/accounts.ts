import { z } from "@hono/zod-openapi";
import { labelText } from "../kernel/common.ts";
import { defineContract, ofAdministration } from "../kernel/contract.ts";
import { adminPage, createdAt, pageOf } from "./fields.ts";

const tier = z.enum(["free", "pro", "enterprise"]);
const rate = z.number().int().min(1).max(100_000_000);

const account = z.strictObject({
  id: z.number().int().describe("Id of the account.").openapi({ example: 2 }),
  name: z.string().describe("Name of the account."),
  tier: tier.describe("Which limits it has."),
  rpm: z.number().int().describe("Requests a minute of all its keys together."),
  burst: z.number().int().describe("Requests at once, after a pause."),
  created_at: createdAt,
}).openapi("Account");

const params = z.object({
  id: z.coerce.number().pipe(z.number().int().min(1).max(Number.MAX_SAFE_INTEGER)).describe(
    "Id of the account.",
  ).openapi({ type: "integer" }),
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
    description: "It starts as `free`, without credit and without keys.",
    body: z.strictObject({
      name: labelText(200).describe(
        "What it is called: 1 to 200 characters, not digits alone; no other account has the name.",
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
      "New limits fill its rate bucket. `free` and `pro` have fixed numbers; `enterprise` needs both of its own, and keeps those that are absent.",
    params,
    body: z.strictObject({
      tier: tier.optional().describe("Which limits it has. Default: as it is."),
      rpm: rate.optional().describe(
        "Requests a minute, 1 to 100,000,000; for `enterprise` alone. Default: as it is.",
      ),
      burst: rate.optional().describe(
        "Requests at once, 1 to 100,000,000; for `enterprise` alone. Default: as it is.",
      ),
    }).openapi("AccountChange"),
    answer: account,
    errors: ["account_not_found"],
  }),
};
