import { z } from "@hono/zod-openapi";
import { timestampSchema } from "../kernel/common.ts";
import { defineContract, ofAdministration } from "../kernel/contract.ts";
import { accountId, accountIdFilter, adminPage, pageOf } from "./fields.ts";

const entry = z.strictObject({
  at: timestampSchema.describe("When it happened."),
  actor: z.string().describe("Who did it: a user, `command line`, or the name of an API key."),
  action: z.string().describe("What was done, such as `api_key.created`."),
  subject: z.string().describe("What it was done to: a key's name, an address, an amount."),
  detail: z.string().describe("Details; may be empty. Never a secret."),
  account_id: accountId,
}).openapi("AuditEntry");

/** The audit log: who changed what. */
export const adminAuditContracts = {
  listAudit: defineContract({
    ...ofAdministration("get", "/api/v1/admin/audit", "listAuditEntries"),
    summary: "List the audit log, newest first",
    query: z.strictObject({ account_id: accountIdFilter, ...adminPage }),
    answer: pageOf(entry, "A page of entries.").openapi("AuditEntryList"),
    errors: ["account_not_found"],
  }),
};
