import { defined } from "../base/defined.ts";
import { parseUsd } from "../base/money.ts";
import type { Secret } from "../base/secret.ts";
import type { Account } from "../keys/account.ts";
import { Fault } from "../shared/fault.ts";
import type { Webhook } from "../webhooks/webhook.ts";
import type { WebhookService } from "../webhooks/webhook_service.ts";
import type { Administrator } from "./administration.ts";

/** The options of a webhook, with their names in the API; the amount is a decimal string in USD. */
export interface NewWebhookOptions {
  url: string;
  events?: readonly string[] | undefined;
  credit_low_usd?: string | undefined;
}

/** The change of a webhook; absent: no change, null: back to the default. */
export interface WebhookChangeOptions {
  url?: string | undefined;
  events?: readonly string[] | undefined;
  credit_low_usd?: string | null | undefined;
}

/**
 * Adds a webhook, which sends an account's events to an address. Only here is its secret available.
 * Throws `OptionError`.
 */
export async function addWebhook(
  webhooks: Pick<WebhookService, "add">,
  { actor }: Administrator,
  account: Account,
  { url, events = [], credit_low_usd }: NewWebhookOptions,
): Promise<{ webhook: Webhook; secret: Secret }> {
  const creditLowNanos = credit_low_usd === undefined ? null : parseUsd(credit_low_usd, 9);
  return await webhooks.add({ accountId: account.id, url, events, creditLowNanos }, actor);
}

/** Changes the fields that are set. Throws `OptionError` and `Fault("webhook_not_found")`. */
export async function changeWebhook(
  webhooks: Pick<WebhookService, "change">,
  { actor }: Administrator,
  id: string,
  { url, events, credit_low_usd: low }: WebhookChangeOptions,
): Promise<Webhook> {
  const creditLowNanos = typeof low === "string" ? parseUsd(low, 9) : low;
  const change = defined({ url, events, creditLowNanos });
  const changed = await webhooks.change(id, change, actor);
  if (!changed) throw noWebhook(id);
  return changed;
}

export function noWebhook(id: string): Fault {
  return new Fault("webhook_not_found", { message: `No webhook has the id ${id}.` });
}
