import { createHmac, randomBytes } from "node:crypto";
import { Buffer } from "node:buffer";
import type { webhookEvents } from "../../contracts/admin/webhooks.ts";
import type { AuditNote } from "../audit/audit.ts";
import { nanosToUsd } from "../base/money.ts";
import { Secret } from "../base/secret.ts";

export type WebhookEventType = typeof webhookEvents[number];

export const webhookLimits = { perAccount: 50, urlLength: 2_000, waiting: 10_000 } as const;

/** Where an account's events are sent to. */
export interface Webhook {
  id: string;
  accountId: number;
  url: string;
  /** Empty: all. */
  events: readonly WebhookEventType[];
  /** `credit.low` comes under this; null: under a tenth of the last grant. Nano-dollars. */
  creditLowNanos: bigint | null;
  createdAt: Date;
  lastSentAt: Date | null;
  lastFailedAt: Date | null;
  /** Why the last attempt failed that did; null where none has. */
  lastError: string | null;
  /** Events that wait to be sent, and those that never were. */
  waiting: number;
  lost: bigint;
}

/** What of a webhook may change; what is absent stays. */
export type WebhookChange = Partial<Pick<Webhook, "url" | "events" | "creditLowNanos">>;

export type NewWebhook = Pick<Webhook, "accountId" | "url" | "events" | "creditLowNanos">;

/** Something that happened, once; `key` is the same in every process that notices it. */
export interface WebhookEvent {
  /** Whose hooks are sent it; `"first"`: those of the first account, the operator's. */
  accountId: number | "first";
  key: string;
  type: WebhookEventType;
  data: Readonly<Record<string, unknown>>;
  at: Date;
}

/** An event on its way to one webhook. */
export interface WebhookDelivery {
  /** `webhook-id`, the same at each attempt. */
  id: string;
  webhookId: string;
  accountId: number;
  url: string;
  secret: Secret;
  type: WebhookEventType;
  data: Readonly<Record<string, unknown>>;
  at: Date;
  attempts: number;
  endsAt: Date;
}

/** How an attempt ended; `nextAt` null: it was the last. */
export type DeliveryOutcome =
  | { kind: "sent"; at: Date }
  | { kind: "failed"; at: Date; reason: string; nextAt: Date | null };

/** Where webhooks and waiting events live. Implemented in `src/webhooks/store/`. */
export interface WebhookStore {
  /** Undefined where the account has `webhookLimits.perAccount`. */
  add(
    id: string,
    hook: NewWebhook,
    secret: Secret,
    audit?: AuditNote,
  ): Promise<Webhook | undefined>;
  /** Undefined where there is none of this id. What waits goes to the new address. */
  update(
    id: string,
    change: WebhookChange,
    audit: (changed: Webhook) => AuditNote,
  ): Promise<Webhook | undefined>;
  remove(
    id: string,
    options: { accountId?: number; audit?: (removed: Webhook) => AuditNote },
  ): Promise<Webhook | undefined>;
  list(query: { accountId?: number; id?: string }): Promise<Webhook[]>;
  /** Keeps an event for the hooks that want it, or for this one; each key once for each hook. */
  enqueue(event: WebhookEvent, webhookId?: string): Promise<void>;
  /** Claims what is due at `now`: one event of a hook at a time. */
  claim(now: Date, except: readonly string[]): Promise<WebhookDelivery | undefined>;
  renew(deliveries: readonly WebhookDelivery[]): Promise<ReadonlySet<string>>;
  /** Ends an attempt of this process; nothing where another has taken the event over. */
  finish(delivery: WebhookDelivery, attempted: DeliveryOutcome): Promise<void>;
  /** Gives claims back without an attempt. */
  release(delivery: WebhookDelivery): Promise<void>;
  /**
   * Notes what budgets, balances and vendors have come to since the last look, each event once over
   * all processes. `down`: labels of the vendors that this process sees down.
   */
  note(now: Date, down: readonly string[]): Promise<void>;
  /** Forgets what was sent or lost. */
  sweep(now: Date): Promise<void>;
}

/** 32 random bytes in the form of the Standard Webhooks specification. */
export function createWebhookSecret(): Secret {
  return new Secret(`whsec_${randomBytes(32).toString("base64")}`);
}

/** `webhook-signature` by the Standard Webhooks specification; `seconds` since 1970. */
export function signWebhook(
  secret: Secret,
  { id, seconds, body }: { id: string; seconds: number; body: string },
): string {
  const key = Buffer.from(secret.reveal().slice("whsec_".length), "base64");
  const signed = createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64");
  return `v1,${signed}`;
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** Pauses after failed attempts; the last goes on until an event is a day old. */
const retryMs: readonly number[] = [
  ...[5 * second, 30 * second, 2 * minute, 10 * minute, 30 * minute],
  ...[hour, 2 * hour, 4 * hour],
];

export const giveUpMs = 24 * hour;

/** When a delivery is tried again that failed at `now`; null: never. */
export function nextAttempt(
  { attempts, endsAt }: Pick<WebhookDelivery, "attempts" | "endsAt">,
  now: Date,
): Date | null {
  const next = new Date(now.getTime() + retryMs[Math.min(attempts, retryMs.length - 1)]!);
  return next < endsAt ? next : null;
}

/** As listed for operators and shown in answers of the admin API; never with the secret. */
export function webhookJson(hook: Webhook) {
  return {
    id: hook.id,
    account_id: hook.accountId,
    url: hook.url,
    events: [...hook.events],
    credit_low_usd: hook.creditLowNanos === null ? null : nanosToUsd(hook.creditLowNanos),
    created_at: hook.createdAt.toISOString(),
    last_sent_at: hook.lastSentAt?.toISOString() ?? null,
    last_failed_at: hook.lastFailedAt?.toISOString() ?? null,
    last_error: hook.lastError,
    waiting: hook.waiting,
    lost: Number(hook.lost),
  };
}
