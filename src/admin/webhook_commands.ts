import { commandLine } from "../audit/audit.ts";
import type { AccountStore } from "../keys/account.ts";
import { OptionError, rethrowing } from "../shared/fault.ts";
import { type Webhook, webhookJson } from "../webhooks/webhook.ts";
import type { WebhookService } from "../webhooks/webhook_service.ts";
import {
  chosenAccount,
  type Command,
  type CommandResult,
  done,
  listedAccount,
  listedAccountOption,
  listedInPages,
  notFound,
  optional,
  textOption,
  UsageError,
  usdOption,
  type Values,
} from "./command.ts";

export interface WebhookCommandDeps {
  accounts: Pick<AccountStore, "first" | "find">;
  webhooks: WebhookService;
}

/** `webhook …`: the addresses that an account's events are sent to. */
export const webhookCommands: Readonly<Record<string, Command<WebhookCommandDeps>>> = {
  "webhook add": {
    summary: "Sends events to a URL; prints the secret that signs them, which is not shown again.",
    example: "webhook add --url https://hooks.example.com/gateway --event budget.reached",
    usage: "webhook add --url U [--event E]… [--credit-low-usd X] [--account A]",
    options: {
      ...{ account: textOption, url: textOption, "credit-low-usd": textOption },
      event: { type: "string", multiple: true },
    },
    run: addWebhook,
  },
  "webhook list": {
    summary: "Lists webhooks, and how many events are queued for each.",
    example: "webhook list",
    usage: "webhook list [--account A]",
    options: listedAccountOption,
    run: listWebhooks,
  },
  "webhook remove": {
    summary: "Removes a webhook and its queued events.",
    example: "webhook remove 01998c5e-7d1e-7000-8000-000000000000",
    usage: "webhook remove ID",
    positionals: ["ID"],
    run: removeWebhook,
  },
  "webhook test": {
    summary: "Sends the event webhook.test to a webhook, also if it doesn't subscribe to it.",
    example: "webhook test 01998c5e-7d1e-7000-8000-000000000000",
    usage: "webhook test ID",
    positionals: ["ID"],
    run: testWebhook,
  },
};

async function addWebhook(deps: WebhookCommandDeps, values: Values): Promise<CommandResult> {
  const url = optional(values, "url");
  if (url === undefined) throw new UsageError("--url is missing");
  const events = [values.event ?? []].flat().map(String);
  const creditLowNanos = usdOption(values, "credit-low-usd");
  const owner = await chosenAccount(deps.accounts, values);
  const added = { accountId: owner.id, url, events, creditLowNanos };
  const { webhook, secret } = await rethrowing(
    OptionError,
    ({ field, problem }) => new UsageError(`--${field === "events" ? "event" : field}: ${problem}`),
    () => deps.webhooks.add(added, commandLine),
  );
  const value = secret.reveal();
  return done({ id: webhook.id, secret: value }, [
    value,
    `Webhook ${webhook.id} of account '${owner.name}'. Its secret is shown only once.`,
  ]);
}

async function listWebhooks(deps: WebhookCommandDeps, values: Values): Promise<CommandResult> {
  const account = await listedAccount(deps.accounts, values);
  const read = (last: Webhook | undefined, limit: number) => {
    const after = last && { accountId: last.accountId, name: last.id };
    return deps.webhooks.list(account, { after, limit });
  };
  return await listedInPages(read, webhookJson, shown, "No webhooks.");
}

function shown({ id, accountId, url, events, waiting, lost, lastError }: Webhook): string {
  return [
    ...[id, `account ${accountId}`, url, events.length === 0 ? "all events" : events.join(", ")],
    `${waiting} waiting`,
    ...(lost > 0n ? [`${lost} lost`] : []),
    ...(lastError === null ? [] : [`last failure: ${lastError}`]),
  ].join("  ");
}

async function removeWebhook(
  deps: WebhookCommandDeps,
  _values: Values,
  [id]: readonly string[],
): Promise<CommandResult> {
  const removed = await deps.webhooks.remove(id!, commandLine);
  return removed
    ? done({ id, removed }, [`Webhook ${id} removed.`])
    : missing(id!, { id, removed });
}

async function testWebhook(
  deps: WebhookCommandDeps,
  _values: Values,
  [id]: readonly string[],
): Promise<CommandResult> {
  const queued = await deps.webhooks.test(id!);
  return queued
    ? done({ id, queued }, [
      `webhook.test is sent within seconds; 'webhook list' shows whether it arrived.`,
    ])
    : missing(id!, { id, queued });
}

function missing(id: string, json: unknown): CommandResult {
  return notFound(json, `No webhook has the id ${id.slice(0, 100)}.`);
}
