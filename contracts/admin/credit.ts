import { z } from "@hono/zod-openapi";
import { timestampSchema } from "../kernel/common.ts";
import { defineContract, ofAdministration } from "../kernel/contract.ts";
import {
  accountId,
  accountIdInBody,
  accountIdInQuery,
  adminPage,
  pageOf,
  usdAmount,
} from "./fields.ts";

const creditFields = {
  account_id: accountId,
  balance_usd: z.string().describe("Grants minus charges, in USD.")
    .openapi({ example: "25.000000000" }),
  reserved_usd: z.string().describe("Reserved for calls in flight, in USD; part of the balance.")
    .openapi({ example: "0.000000000" }),
};

const changeFields = {
  usd: usdAmount.describe(
    'Amount above 0 in USD, as a decimal string such as "25" or "2.50"; at most 1,000,000,000.',
  ),
  account_id: accountIdInBody,
  note: z.string().max(500).optional().describe(
    "What it is for, at most 500 characters; also in the audit log. Default none.",
  ),
};

const grantRow = z.strictObject({
  account_id: accountId,
  kind: z.enum(["grant", "adjust"]).describe(
    "`adjust`: a correction; negative if it reduced the balance.",
  ),
  usd: z.string().describe("Amount in USD.").openapi({ example: "25.000000000" }),
  note: z.string().nullable().describe("Note of the grant or deduction; null: none."),
  transaction_id: z.string().nullable().describe(
    "The call whose charge a correction changed; null: a grant or deduction.",
  ),
  created_at: timestampSchema.describe("When it was made."),
}).openapi("CreditGrant");

export const adminCreditContracts = {
  showCredit: defineContract({
    ...ofAdministration("get", "/api/v1/admin/credits", "showAccountCredit"),
    summary: "Get an account's credit",
    query: z.strictObject({ account_id: accountIdInQuery }),
    answer: z.strictObject(creditFields).openapi("AccountCredit"),
    errors: ["account_not_found"],
  }),
  grantCredit: defineContract({
    ...ofAdministration("post", "/api/v1/admin/credits/grants", "grantCredit"),
    summary: "Grant credit",
    description:
      "Available to the next call. A repeat with the same `X-Request-ID` grants nothing more.",
    body: z.strictObject(changeFields).openapi("NewCreditGrant"),
    answer: z.strictObject({
      ...creditFields,
      granted_usd: z.string().describe("What was granted, in USD.")
        .openapi({ example: "25.000000000" }),
    }).openapi("GrantedCredit"),
    errors: ["account_not_found", "idempotency_conflict"],
  }),
  deductCredit: defineContract({
    ...ofAdministration("post", "/api/v1/admin/credits/deductions", "deductCredit"),
    summary: "Take credit back",
    description:
      "Corrects a grant made by mistake: it is listed among the grants as `adjust`. The " +
      "balance may end below zero, if the credit has been spent; calls in flight keep what they " +
      "have reserved. A repeat with the same `X-Request-ID` deducts nothing more.",
    body: z.strictObject(changeFields).openapi("NewCreditDeduction"),
    answer: z.strictObject({
      ...creditFields,
      deducted_usd: z.string().describe("What was taken back, in USD.")
        .openapi({ example: "25.000000000" }),
    }).openapi("DeductedCredit"),
    errors: ["account_not_found", "idempotency_conflict"],
  }),
  listGrants: defineContract({
    ...ofAdministration("get", "/api/v1/admin/credits/grants", "listCreditGrants"),
    summary: "List credit grants, newest first",
    description: "Grants and corrections of an account.",
    query: z.strictObject({ account_id: accountIdInQuery, ...adminPage }),
    answer: pageOf(grantRow, "A page of grants.").openapi("CreditGrantList"),
    errors: ["account_not_found"],
  }),
};
