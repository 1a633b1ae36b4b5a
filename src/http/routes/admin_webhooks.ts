import { contracts } from "../../../contracts/mod.ts";
import {
  accountCursor,
  accountFilter,
  accountOf,
  administratorBy,
  pageOf,
  readAccountCursor,
} from "../../administration/administration.ts";
import {
  addWebhook,
  changeWebhook,
  noWebhook,
} from "../../administration/webhook_administration.ts";
import type { Clock } from "../../base/clock.ts";
import type { AccountStore } from "../../keys/account.ts";
import { type Webhook, webhookJson } from "../../webhooks/webhook.ts";
import type { WebhookService } from "../../webhooks/webhook_service.ts";
import type { Endpoints } from "../bind.ts";

export function adminWebhookRoutes(
  app: Endpoints,
  deps: {
    accounts: Pick<AccountStore, "first" | "find">;
    webhooks: WebhookService;
    clock: Clock;
  },
): void {
  const { accounts, webhooks } = deps;
  const { admin } = contracts;
  const by = administratorBy(deps.clock);

  app.bind(admin.listWebhooks, async ({ query: { account_id, limit, cursor } }) => {
    const owner = await accountFilter(accounts, account_id);
    const after = readAccountCursor(cursor);
    const rows = await webhooks.list(owner?.id, { after, limit: limit + 1 });
    const placeOf = ({ accountId, id }: Webhook) => accountCursor({ accountId, name: id });
    const { page, next_cursor } = pageOf(rows, limit, placeOf);
    return { data: page.map(webhookJson), next_cursor };
  });

  app.bind(admin.addWebhook, async ({ caller, body }) => {
    const account = await accountOf(accounts, body.account_id);
    const { webhook, secret } = await addWebhook(webhooks, by(caller), account, body);
    return { id: webhook.id, secret: secret.reveal() };
  });

  app.bind(admin.getWebhook, async ({ params }) => {
    const found = await webhooks.find(params.id);
    if (!found) throw noWebhook(params.id);
    return webhookJson(found);
  });

  app.bind(admin.updateWebhook, async ({ caller, params, body }) => {
    return webhookJson(await changeWebhook(webhooks, by(caller), params.id, body));
  });

  app.bind(admin.deleteWebhook, async ({ caller, params }) => {
    if (!await webhooks.remove(params.id, by(caller).actor)) throw noWebhook(params.id);
    return { id: params.id, removed: true as const };
  });

  app.bind(admin.testWebhook, async ({ params }) => {
    if (!await webhooks.test(params.id)) throw noWebhook(params.id);
    return { id: params.id, queued: true as const };
  });
}
