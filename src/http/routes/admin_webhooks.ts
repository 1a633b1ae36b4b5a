import { contracts } from "../../../contracts/mod.ts";
import { accountOf, administratorOf } from "../../administration/administration.ts";
import {
  addWebhook,
  changeWebhook,
  findWebhook,
  removeWebhook,
  testWebhook,
} from "../../administration/webhook_administration.ts";
import type { Clock } from "../../base/clock.ts";
import type { AccountStore } from "../../keys/account.ts";
import type { CallContext } from "../../relay/call_context.ts";
import { webhookJson } from "../../webhooks/webhook.ts";
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
  const by = (caller: CallContext) => administratorOf(caller.principal.key, deps.clock.now());

  app.bind(admin.listWebhooks, async ({ query: { account_id } }) => {
    const owner = account_id === undefined ? undefined : await accountOf(accounts, account_id);
    return { data: (await webhooks.list(owner?.id)).map(webhookJson) };
  });

  app.bind(admin.addWebhook, async ({ caller, body }) => {
    const account = await accountOf(accounts, body.account_id);
    const { webhook, secret } = await addWebhook(webhooks, by(caller), account, body);
    return { id: webhook.id, secret: secret.reveal() };
  });

  app.bind(
    admin.getWebhook,
    async ({ params }) => webhookJson(await findWebhook(webhooks, params.id)),
  );

  app.bind(admin.updateWebhook, async ({ caller, params, body }) => {
    return webhookJson(await changeWebhook(webhooks, by(caller), params.id, body));
  });

  app.bind(admin.deleteWebhook, async ({ caller, params }) => {
    await removeWebhook(webhooks, by(caller), params.id);
    return { id: params.id, removed: true as const };
  });

  app.bind(admin.testWebhook, async ({ params }) => {
    await testWebhook(webhooks, params.id);
    return { id: params.id, queued: true as const };
  });
}
