import { webhookEvents } from "../../contracts/admin/webhooks.ts";
import type { Audited, AuditNote } from "../audit/audit.ts";
import type { Clock } from "../base/clock.ts";
import { defined } from "../base/defined.ts";
import type { Secret } from "../base/secret.ts";
import { OptionError } from "../shared/fault.ts";
import type { Permit } from "../vendors/public_target.ts";
import {
  createWebhookSecret,
  type NewWebhook,
  type Webhook,
  type WebhookEventType,
  webhookLimits,
  type WebhookStore,
} from "./webhook.ts";
import type { AccountPage } from "../shared/account_page.ts";

/** Manages webhooks, for operators and for an account's people. */
export interface WebhookService {
  /** Returns a URL that a webhook may have. Throws `OptionError`. */
  readUrl(url: string): string;
  /** Shows the secret, this once. Throws `OptionError`. */
  add(hook: {
    accountId: number;
    url: string;
    events: readonly string[];
    creditLowNanos: bigint | null;
  }, actor: AuditNote["actor"]): Promise<{ webhook: Webhook; secret: Secret }>;
  /**
   * Changes the fields that are there; the secret stays. Undefined where there is none of this id.
   * Throws `OptionError`.
   */
  change(
    id: string,
    change: { url?: string; events?: readonly string[]; creditLowNanos?: bigint | null },
    actor: AuditNote["actor"],
  ): Promise<Webhook | undefined>;
  /** Removes a webhook; false if none, or none of `accountId`, has this id. */
  remove(id: string, actor: AuditNote["actor"], accountId?: number): Promise<boolean>;
  list(accountId?: number, page?: AccountPage): Promise<Webhook[]>;
  find(id: string, accountId?: number): Promise<Webhook | undefined>;
  /** Sends `webhook.test` as any event is sent. False where there is none of this id. */
  test(id: string, accountId?: number): Promise<boolean>;
}

export interface WebhookServiceDeps {
  store: Audited<WebhookStore>;
  clock: Pick<Clock, "now">;
  newId: () => string;
  /** Whether an address is allowed, judged by its text alone. */
  permit: Permit;
  /** Which private hosts `permit` allows, for a refusal. */
  allowedHosts: string;
  /** Is called when an event waits. */
  wake: () => void;
}

export function createWebhookService(
  { store, clock, newId, permit, allowedHosts, wake }: WebhookServiceDeps,
): WebhookService {
  const note = (
    action: string,
    { accountId, url }: Pick<Webhook, "accountId" | "url">,
    actor: AuditNote["actor"],
  ): AuditNote => ({
    ...{ accountId, actor, at: clock.now(), action },
    // Only the host: the rest of the address may hold a secret of the receiver.
    subject: URL.parse(url)?.host ?? "",
    detail: "",
  });
  const find = async (id: string, accountId?: number) => {
    return await store.find(id, accountId);
  };
  const readUrl = (url: string) => checkUrl(url, permit, allowedHosts);
  return {
    readUrl,
    async add({ events, ...hook }, actor) {
      const checked: NewWebhook = {
        ...hook,
        url: readUrl(hook.url),
        events: readWebhookEvents(events),
      };
      const secret = createWebhookSecret();
      const webhook = await store.add(newId(), checked, secret, note("webhook.added", hook, actor));
      if (!webhook) {
        throw new OptionError(
          "url",
          `the account has ${webhookLimits.perAccount} webhooks already`,
        );
      }
      return { webhook, secret };
    },
    async change(id, { url, events, ...change }, actor) {
      const checked = {
        ...change,
        ...(url === undefined ? {} : { url: readUrl(url) }),
        ...(events === undefined ? {} : { events: readWebhookEvents(events) }),
      };
      const changed = await store.update(
        id,
        checked,
        (hook) => note("webhook.changed", hook, actor),
      );
      if (changed) wake();
      return changed;
    },
    async remove(id, actor, accountId) {
      const removed = await store.remove(id, {
        ...defined({ accountId }),
        audit: (hook) => note("webhook.removed", hook, actor),
      });
      return removed !== undefined;
    },
    list: (...asked) => store.list(...asked),
    find,
    async test(id, accountId) {
      const hook = await find(id, accountId);
      if (!hook) return false;
      await store.enqueue({
        ...{ accountId: hook.accountId, key: `test ${newId()}`, type: "webhook.test" },
        ...{ data: { webhook_id: id }, at: clock.now() },
      }, id);
      wake();
      return true;
    },
  };
}

function checkUrl(url: string, permit: Permit, allowedHosts: string): string {
  if (url.length > webhookLimits.urlLength) {
    throw new OptionError("url", `expected at most ${webhookLimits.urlLength} characters`);
  }
  if (permit(url)) return url;
  throw new OptionError(
    "url",
    `expected a public https URL on port 443, without credentials, or a host ${allowedHosts}`,
  );
}

/** Returns the types that a webhook is to be sent. Throws `OptionError`. */
export function readWebhookEvents(events: readonly string[]): WebhookEventType[] {
  const types = new Set<string>(webhookEvents);
  const unknown = events.find((event) => !types.has(event));
  if (unknown === undefined) return [...new Set(events)] as WebhookEventType[];
  throw new OptionError(
    "events",
    `'${unknown.slice(0, 100)}' is not an event type; expected one of ${webhookEvents.join(", ")}`,
  );
}
