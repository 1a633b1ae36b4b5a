import { createHmac, randomBytes } from "node:crypto";
import { Buffer } from "node:buffer";
import type { webhookEvents } from "../../contracts/admin/webhooks.ts";
import type { AuditNote } from "../audit/audit.ts";
import { nanosToUsd } from "../base/money.ts";
import { Secret } from "../base/secret.ts";
import type { AccountPage } from "../shared/account_page.ts";

export type WebhookEventType = typeof webhookEvents[number];

export const webhookLimits = { perAccount: 50, urlLength: 2_000, waiting: 10_000 } as const;

/** An address to which an account's events are sent. */
export interface Webhook {
  id: string;
  accountId: number;
  url: string;
  /** Empty: all. */
  events: readonly WebhookEventType[];
  /** `credit.low` is sent below this, in nano-dollars; null: below a tenth of the last grant. */
  creditLowNanos: bigint | null;
  createdAt: Date;
  lastSentAt: Date | null;
  lastFailedAt: Date | null;
  /** The reason of the last failed attempt; null if none has failed. */
  lastError: string | null;
  /** Number of events that wait to be sent (`waiting`) and that were given up (`lost`). */
  waiting: number;
  lost: bigint;
}

/** The fields of a webhook that can change; absent ones stay as they are. */
export type WebhookChange = Partial<Pick<Webhook, "url" | "events" | "creditLowNanos">>;

export type NewWebhook = Pick<Webhook, "accountId" | "url" | "events" | "creditLowNanos">;

/** Something that happened; its `key` is the same in every process that notices it. */
export interface WebhookEvent {
  /** The account whose webhooks get it; `"first"`: the first account, which is the operator's. */
  accountId: number | "first";
  key: string;
  type: WebhookEventType;
  data: Readonly<Record<string, unknown>>;
  at: Date;
}

/** An event to be sent to one webhook. */
export interface WebhookDelivery {
  /** The header `webhook-id`, the same at each attempt. */
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

/** The result of an attempt; `nextAt` null: it was the last one. */
export type DeliveryOutcome =
  | { kind: "sent"; at: Date }
  | { kind: "failed"; at: Date; reason: string; nextAt: Date | null };

/** Stores webhooks and waiting events. Implemented in `src/webhooks/store/`. */
export interface WebhookStore {
  /** Adds a webhook; undefined if the account has `webhookLimits.perAccount` already. */
  add(
    id: string,
    hook: NewWebhook,
    secret: Secret,
    audit?: AuditNote,
  ): Promise<Webhook | undefined>;
  /** Changes a webhook; undefined if none has this id. Waiting events go to a new address at once. */
  update(
    id: string,
    change: WebhookChange,
    audit: (changed: Webhook) => AuditNote,
  ): Promise<Webhook | undefined>;
  remove(
    id: string,
    options: { accountId?: number; audit?: (removed: Webhook) => AuditNote },
  ): Promise<Webhook | undefined>;
  find(id: string, accountId?: number): Promise<Webhook | undefined>;
  /** Lists webhooks by account and id, which is their age. */
  list(accountId?: number, page?: AccountPage): Promise<Webhook[]>;
  /**
   * Stores an event for the webhooks that subscribe to it, or for this one; see `enqueueEvents`.
   */
  enqueue(event: WebhookEvent, webhookId?: string): Promise<void>;
  /** Claims an event that is due at `now`, only one per webhook at a time. */
  claim(now: Date, except: readonly string[]): Promise<WebhookDelivery | undefined>;
  renew(deliveries: readonly WebhookDelivery[]): Promise<ReadonlySet<string>>;
  /**
   * Stores an attempt of this process, and resolves to the event's new state; does nothing if
   * another process has claimed the event. The last attempt loses none whose webhook has another
   * URL by now.
   */
  finish(
    delivery: WebhookDelivery,
    attempted: DeliveryOutcome,
  ): Promise<"sent" | "waiting" | "lost" | undefined>;
  /** Releases a claim without an attempt. */
  release(delivery: WebhookDelivery): Promise<void>;
  /**
   * Stores events for what changed in budgets, balances and vendors since the last call, each event
   * only once over all processes. `down`: labels of the vendors that this process sees down.
   */
  note(now: Date, down: readonly string[]): Promise<void>;
  /** Deletes old events that were sent or lost. */
  sweep(now: Date): Promise<void>;
}

/** 32 random bytes in the form of the Standard Webhooks specification. */
export function createWebhookSecret(): Secret {
  return new Secret(`whsec_${randomBytes(32).toString("base64")}`);
}

/**
 * Returns the header `webhook-signature` of the Standard Webhooks specification; `seconds` is the
 * time since 1970.
 */
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

/**
 * Pauses after failed attempts; the last one is repeated until an event is a day old. None is longer
 * than half of the 8 hours in `deliveries.ts`.
 */
const retryMs: readonly number[] = [
  ...[5 * second, 30 * second, 2 * minute, 10 * minute, 30 * minute],
  ...[hour, 2 * hour, 4 * hour],
];

export const giveUpMs = 24 * hour;

/** Returns when to retry a delivery that failed at `now`; null: never. */
export function nextAttempt(
  { attempts, endsAt }: Pick<WebhookDelivery, "attempts" | "endsAt">,
  now: Date,
): Date | null {
  const next = new Date(now.getTime() + retryMs[Math.min(attempts, retryMs.length - 1)]!);
  return next < endsAt ? next : null;
}

/** Returns a webhook as command line and admin API show it, never with its secret. */
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
