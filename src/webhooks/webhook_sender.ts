import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { Fault, messageOf } from "../shared/fault.ts";
import type { Measures } from "../shared/metrics.ts";
import type { PublicPost } from "../vendors/public_fetch.ts";
import { WorkQueue } from "../work_queue/work_queue.ts";
import { nextAttempt, signWebhook, type WebhookDelivery, type WebhookStore } from "./webhook.ts";

/** Sends waiting events; all processes share the work. */
export interface WebhookSender {
  /** Claims and sends events that are due. To be called by a background job. */
  tick(): Promise<void>;
  wake(): void;
  close(): Promise<void>;
  readonly measures: Measures;
}

export interface WebhookSenderDeps {
  store: Pick<WebhookStore, "claim" | "renew" | "finish" | "release">;
  post: PublicPost["post"];
  clock: Clock;
  log: Pick<Log, "warn">;
}

/** The time limit of one attempt. */
const timeoutMs = 15_000;
/** The most receivers that one process sends to at the same time. */
const atOnce = 8;
const closeMs = 5_000;

export function createWebhookSender(deps: WebhookSenderDeps): WebhookSender {
  const { store, clock } = deps;
  const counts = { sent: 0, failed: 0, lost: 0 };
  const queue = new WorkQueue<WebhookDelivery>({
    idOf: ({ id }) => id,
    room: (working) => atOnce - working.length,
    async claim(_most, working) {
      const claimed = await store.claim(clock.now(), working.map(({ id }) => id));
      return claimed ? [claimed] : [];
    },
    renew: (working) => store.renew(working),
    async work(delivery, stop) {
      const outcome = await deliver(deps, delivery, stop.signal);
      if (outcome) counts[outcome]++;
    },
    claimsAfterEach: true,
  });
  return {
    tick: () => queue.tick(),
    wake: () => queue.wake(),
    close: () => queue.close(closeMs),
    measures: {
      gateway_webhook_attempts_total: {
        help: "Attempts to send an event to a webhook, by outcome; lost: given up after a day",
        kind: "counter",
        labels: ["outcome"],
        readAll: () =>
          Object.entries(counts).map(([outcome, value]) => ({ labels: { outcome }, value })),
      },
    },
  };
}

/** Makes an attempt; undefined if the process is shutting down, and another one is to make it. */
async function deliver(
  { store, post, clock, log }: WebhookSenderDeps,
  delivery: WebhookDelivery,
  signal: AbortSignal,
): Promise<"sent" | "failed" | "lost" | undefined> {
  const reason = await failureOf(post, clock, delivery, signal);
  if (signal.aborted) {
    await store.release(delivery);
    return undefined;
  }
  const at = clock.now();
  if (reason === undefined) {
    await store.finish(delivery, { kind: "sent", at });
    return "sent";
  }
  const nextAt = nextAttempt(delivery, at);
  const state = await store.finish(delivery, { kind: "failed", at, reason, nextAt });
  if (state !== "lost") return "failed";
  log.warn("an event could not be delivered to its webhook for a day and is dropped", {
    ...{ webhook: delivery.webhookId, event: delivery.type, reason },
  });
  return "lost";
}

async function failureOf(
  post: PublicPost["post"],
  clock: Clock,
  { id, accountId, url, secret, type, data, at }: WebhookDelivery,
  signal: AbortSignal,
): Promise<string | undefined> {
  const body = JSON.stringify({ type, timestamp: at.toISOString(), data });
  const seconds = Math.floor(clock.now().getTime() / 1000);
  try {
    const status = await post(url, {
      ...{ key: String(accountId), signal, timeoutMs, body: new TextEncoder().encode(body) },
      headers: {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": String(seconds),
        "webhook-signature": signWebhook(secret, { id, seconds, body }),
      },
    });
    return status >= 200 && status < 300 ? undefined : `the URL answered with status ${status}`;
  } catch (thrown) {
    return thrown instanceof Fault ? thrown.message : messageOf(thrown).slice(0, 200);
  }
}
