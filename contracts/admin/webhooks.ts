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

/** The types of events; `webhook.test` is sent to any webhook that is tested. */
export const webhookEvents = [
  ...["budget.reached", "credit.low", "vendor.down", "vendor.up", "model.unpriced"] as const,
  ...["charge.disputed", "export.ready", "deletion.done", "webhook.test"] as const,
];

const event = z.enum(webhookEvents);
const id = z.string().regex(/^[0-9a-f-]{36}$/, "expected the id of a webhook").describe(
  "Id of the webhook.",
);
const params = z.object({ id });

const webhook = z.strictObject({
  id,
  account_id: accountId,
  url: z.string().describe("URL that events are sent to.")
    .openapi({ example: "https://hooks.example.com/gateway" }),
  events: z.array(event).describe("Empty: all."),
  credit_low_usd: z.string().nullable().describe(
    "`credit.low` is sent below this balance, in USD; null: below a tenth of the last grant.",
  ),
  created_at: createdAt,
  last_sent_at: timestampSchema.nullable().describe("When an event last arrived; null: never."),
  last_failed_at: timestampSchema.nullable().describe("When an attempt last failed; null: never."),
  last_error: z.string().nullable().describe("Why that attempt failed; null: none failed."),
  waiting: z.number().int().describe("Events waiting to be sent."),
  lost: z.number().int().describe("Events that were given up."),
}).openapi("Webhook");

const url = z.string().min(1).max(2000).describe(
  "URL that events are sent to: public, https on port 443, without credentials, or a host of `FETCH_ALLOW_HOSTS`.",
).openapi({ example: "https://hooks.example.com/gateway" });

/** Webhooks: addresses to which accounts' events are sent. */
export const adminWebhookContracts = {
  listWebhooks: defineContract({
    ...ofAdministration("get", "/api/v1/admin/webhooks", "listWebhooks"),
    summary: "List webhooks",
    description: "With the number of events waiting for each, but never their secrets.",
    query: z.strictObject({ account_id: accountIdFilter, ...longAdminPage }),
    answer: pageOf(webhook, "A page of webhooks, by account and age.").openapi("WebhookList"),
    errors: ["account_not_found"],
  }),
  addWebhook: defineContract({
    ...ofAdministration("post", "/api/v1/admin/webhooks", "addWebhook"),
    summary: "Create a webhook",
    description:
      "Events are sent to its URL from now on. The secret that signs them is shown only once; so a repeat with the same `X-Request-ID` creates another webhook. An account can have at most 50.",
    body: z.strictObject({
      url,
      events: z.array(event).max(100).optional().describe("Events to send. Default: all."),
      credit_low_usd: usdAmount.optional().describe(
        "`credit.low` is sent below this balance, in USD. Default: below a tenth of the last grant.",
      ),
      account_id: accountIdInBody,
    }).openapi("NewWebhook"),
    answer: z.strictObject({
      id,
      secret: z.string().describe("Secret that signs the events, shown only once."),
    }).openapi("AddedWebhook"),
    errors: ["account_not_found"],
  }),
  getWebhook: defineContract({
    ...ofAdministration("get", "/api/v1/admin/webhooks/{id}", "getWebhook"),
    summary: "Get a webhook",
    params,
    answer: webhook,
    errors: ["webhook_not_found"],
  }),
  updateWebhook: defineContract({
    ...ofAdministration("patch", "/api/v1/admin/webhooks/{id}", "updateWebhook"),
    summary: "Change a webhook's URL or events",
    description:
      "Waiting events are sent to the new URL, signed with the same secret. To get a new secret, create another webhook.",
    params,
    body: z.strictObject({
      url: url.optional(),
      events: z.array(event).max(100).optional().describe(
        "Events to send; empty: all. Default: unchanged.",
      ),
      credit_low_usd: usdAmount.nullable().optional().describe(
        "`credit.low` is sent below this balance, in USD; null: below a tenth of the last grant. Default: unchanged.",
      ),
    }).openapi("WebhookChange"),
    answer: webhook,
    errors: ["webhook_not_found"],
  }),
  deleteWebhook: defineContract({
    ...ofAdministration("delete", "/api/v1/admin/webhooks/{id}", "deleteWebhook"),
    summary: "Delete a webhook",
    description: "Events waiting for it are discarded.",
    params,
    answer: z.strictObject({ id, removed: z.literal(true).describe("Always true.") })
      .openapi("RemovedWebhook"),
    errors: ["webhook_not_found"],
  }),
  testWebhook: defineContract({
    ...ofAdministration("post", "/api/v1/admin/webhooks/{id}/test", "testWebhook"),
    summary: "Test a webhook",
    description:
      "Sends `webhook.test`, whatever events the webhook takes; see `last_sent_at` and `last_error` for the result.",
    params,
    answer: z.strictObject({ id, queued: z.literal(true).describe("Always true.") })
      .openapi("QueuedWebhookTest"),
    errors: ["webhook_not_found"],
  }),
};
