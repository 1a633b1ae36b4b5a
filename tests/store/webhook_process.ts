/** A process that sends to webhooks, and their receiver. */
import assert from "@std/assert";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { commandLine } from "../../src/audit/audit.ts";
import { FakeClock } from "../../src/base/clock.ts";
import { createUuidv7 } from "../../src/base/ids.ts";
import { createLog } from "../../src/base/log.ts";
import type { Database } from "../../src/database/database.ts";
import { MasterKey } from "../../src/keys/sealing.ts";
import type { MasterKeySource } from "../../src/keys/store/master_key.ts";
import type { PublicPost } from "../../src/vendors/public_fetch.ts";
import { createWebhooks } from "../../src/webhooks/wire.ts";

export const noon = new Date("2026-11-21T12:00:00Z");
export const minute = 60_000;

interface Received {
  id: string;
  atMs: number;
  type: string;
  data: Record<string, unknown>;
}

/** A receiver that verifies each request with the package; `status` is what it answers. */
export function receiver(clock: FakeClock) {
  const received: Received[] = [];
  const state = { status: 204, attempts: 0, secrets: new Map<string, string>() };
  const post: PublicPost["post"] = (url, { headers, body }) => {
    state.attempts++;
    const text = new TextDecoder().decode(body);
    if (state.status !== 204) return Promise.resolve(state.status);
    const secret = state.secrets.get(url)!;
    // The package's own tolerance is of the real clock; the signature is what it is asked for here.
    const verified = verify(secret, text, headers) as Received & { timestamp: string };
    assert.match(verified.timestamp, /^2026-11-2\dT/);
    assert.equal(Number(headers["webhook-timestamp"]), Math.floor(clock.now().getTime() / 1000));
    const { type, data } = verified;
    received.push({ id: headers["webhook-id"]!, atMs: clock.now().getTime(), type, data });
    return Promise.resolve(204);
  };
  return { received, state, post };
}

export function verify(
  secret: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): unknown {
  const real = Date.now;
  Date.now = () => Number(headers["webhook-timestamp"]) * 1000;
  try {
    return new StandardWebhook(secret).verify(body, { ...headers });
  } finally {
    Date.now = real;
  }
}

export function masterKeys(key = MasterKey.generate()): MasterKeySource {
  let current = key;
  return {
    source: "environment",
    current: () => current,
    prepare: () => Promise.resolve(),
    adopt: (next) => Promise.resolve(void (current = next)),
    reread: () => Promise.resolve(),
  };
}

export interface ProcessOptions {
  clock?: FakeClock;
  to?: ReturnType<typeof receiver>;
  keys?: MasterKeySource;
  name?: string;
}

/** One process, which sends when the test says so, and not otherwise. */
export function processOf(database: Database, options: ProcessOptions = {}) {
  const { clock = new FakeClock(noon), keys = masterKeys(), name = "one" } = options;
  const to = options.to ?? receiver(clock);
  const down: string[] = [];
  const deps = {
    ...{ database, clock, newId: createUuidv7(clock), workerId: `${name}/1`, allowHosts: [] },
    // A command reads the claim of the key first.
    masterKey: () => database.query("select 1").then(() => keys),
    downVendors: () => down,
    log: createLog(() => {}, clock.now),
  };
  const { webhooks, noteEvents, sweepWebhooks } = createWebhooks(deps);
  return {
    ...{ webhooks, noteEvents, sweepWebhooks, ...to, clock, down, keys },
    async add(
      accountId: number,
      events: readonly string[] = [],
      creditLowNanos: bigint | null = null,
    ) {
      const url = `https://hooks.example/${to.state.secrets.size}`;
      const { webhook, secret } = await webhooks.add(
        { accountId, url, events, creditLowNanos },
        commandLine,
      );
      to.state.secrets.set(url, secret.reveal());
      return webhook;
    },
    /** Looks once for what is due. */
    look: () => sendWhile({ ...deps, post: to.post }, () => Promise.resolve(false)),
    /** Sends all that is due, with whatever other processes send meanwhile. */
    send: () => sendWhile({ ...deps, post: to.post }, () => isDue(database, clock.now())),
    types: () => to.received.map(({ type }) => type),
  };
}

/**
 * Sends with a sender of its own, which it closes: a sender looks for more when it has noted an
 * attempt, and the test sees the note first. It would send what the test enqueues next.
 */
export async function sendWhile(
  deps: Parameters<typeof createWebhooks>[0],
  isLeft: () => Promise<boolean>,
): Promise<void> {
  const { webhookSender } = createWebhooks(deps);
  do await webhookSender.tick(); while (await isLeft());
  await webhookSender.close();
}

/** Whether an event is due, or being sent by any process. */
export async function isDue(database: Database, now: Date): Promise<boolean> {
  const [row] = await database.query(
    `select count(*)::int as n from webhook_deliveries
     where state = 'waiting' and (next_at <= $1 or claimed_until is not null)`,
    [now],
  );
  return Number(row!.n) > 0;
}
