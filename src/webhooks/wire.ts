// A separate file, because only the composition root builds a subject with its store.
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Database } from "../database/database.ts";
import { createSealer } from "../keys/store/master_key_claim.ts";
import type { MasterKeySource } from "../keys/store/master_key.ts";
import type { PublicPost } from "../vendors/public_fetch.ts";
import { createPermit } from "../vendors/public_target.ts";
import { createWebhookStore } from "./store/webhooks.ts";
import { createWebhookSender } from "./webhook_sender.ts";
import { createWebhookService } from "./webhook_service.ts";

export function createWebhooks(
  { database, masterKey, workerId, allowHosts, post, downVendors, clock, log, newId }: {
    database: Database;
    masterKey: () => Promise<MasterKeySource>;
    /** Identifies this start of the process in claims. */
    workerId: string;
    /** Hosts that are allowed even if they are private (`FETCH_ALLOW_HOSTS`). */
    allowHosts: readonly string[];
    /** Absent in a command, which only stores events: servers send them. */
    post?: PublicPost["post"];
    /** Labels of the vendors that this process sees down. */
    downVendors: () => readonly string[];
    clock: Clock;
    log: Log;
    newId: () => string;
  },
) {
  const store = createWebhookStore(database, { sealer: createSealer(masterKey), workerId });
  const webhookSender = createWebhookSender({
    ...{ store, clock, log },
    post: post ?? (() => Promise.reject(new Error("this process sends nothing"))),
  });
  return {
    webhooks: createWebhookService({
      ...{ store, clock, newId, permit: createPermit(allowHosts) },
      allowedHosts: post
        ? "that the operator allows (FETCH_ALLOW_HOSTS)"
        : "in FETCH_ALLOW_HOSTS, which a command reads from its own environment: set it as for the service",
      wake: () => post && webhookSender.wake(),
    }),
    webhookSender,
    /** Notes what budgets, balances and vendors have come to, for the webhooks that want it. */
    noteEvents: async () => {
      await store.note(clock.now(), downVendors());
    },
    sweepWebhooks: () => store.sweep(clock.now()),
  };
}

/** Events and where they are sent to. */
export type WebhookServices = ReturnType<typeof createWebhooks>;
