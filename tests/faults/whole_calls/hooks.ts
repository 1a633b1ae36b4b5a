/** Webhooks in histories: their receiver, what operators do with them, and what must be there. */
import type { Database } from "../../../src/database/database.ts";
import { show } from "./call_rows.ts";
import { ask, type Exchange, expectStatus, type Operation } from "./exchange.ts";

/** A webhook, registered by one request, which is not repeated. */
export interface HookDeed {
  /** No other has its address. */
  readonly url: string;
  /** Once its registration was answered. */
  id?: string;
  /** How many test events were taken for it. */
  tests: number;
  removal?: "asked" | "answered";
}

export interface HookReceiver extends AsyncDisposable {
  readonly url: string;
  /** Ids of the events that came to each path. */
  readonly received: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Fails the first attempt at addresses that end in 3 or 7, so that another one follows. */
export function startHookReceiver(): HookReceiver {
  const received = new Map<string, Set<string>>();
  const failed = new Set<string>();
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    await request.body?.cancel();
    const { pathname } = new URL(request.url);
    if (/[37]$/.test(pathname) && !failed.has(pathname)) {
      failed.add(pathname);
      return new Response(null, { status: 503 });
    }
    const ids = received.get(pathname) ?? new Set();
    received.set(pathname, ids.add(request.headers.get("webhook-id")!));
    return new Response(null, { status: 204 });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    received,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

export const hookOperations: Readonly<Record<string, readonly [number, Operation]>> = {
  "add a webhook": [2, add],
  "test a webhook": [3, (exchange) =>
    ofOne(exchange, async (hook) => {
      const path = `/api/v1/admin/webhooks/${hook.id}/test`;
      const { status, text } = await ask(exchange, "admin", "POST", path);
      expectStatus(exchange, "test a webhook", status, text, hook.removal ? [200, 404] : [200]);
      if (status === 200) hook.tests++;
    })],
  "remove a webhook": [1, (exchange) =>
    ofOne(exchange, async (hook) => {
      hook.removal = "asked";
      const path = `/api/v1/admin/webhooks/${hook.id}`;
      const { status, text } = await ask(exchange, "admin", "DELETE", path);
      expectStatus(exchange, "remove a webhook", status, text, [200]);
      if (status === 200) hook.removal = "answered";
    })],
};

async function add(exchange: Exchange): Promise<void> {
  const { deeds: { hooks }, world } = exchange;
  const hook: HookDeed = { url: `${world.hooks.url}/${hooks.length}`, tests: 0 };
  hooks.push(hook);
  const { status, text } = await ask(exchange, "admin", "POST", "/api/v1/admin/webhooks", {
    ...{ url: hook.url, events: ["export.ready"], account_id: 1 },
  });
  expectStatus(exchange, "add a webhook", status, text, [200]);
  if (status === 200) hook.id = (JSON.parse(text) as { id: string }).id;
}

async function ofOne(
  { deeds: { hooks }, random }: Exchange,
  run: (hook: HookDeed) => Promise<void>,
): Promise<void> {
  const there = hooks.filter(({ id, removal }) => id !== undefined && !removal);
  if (there.length > 0) await run(random.pick(there));
}

/** What was answered is there, once, and what was removed is not; every event has arrived. */
export async function checkHooks(
  database: Database,
  { received }: HookReceiver,
  hooks: readonly HookDeed[],
): Promise<string[]> {
  const problems: string[] = [];
  const stored = Map.groupBy(
    await database.query("select id, url from webhooks"),
    ({ url }) => String(url),
  );
  for (const hook of hooks) {
    const found = stored.get(hook.url) ?? [];
    stored.delete(hook.url);
    const isCertain = hook.id !== undefined && hook.removal === undefined;
    const isWrong = hook.removal === "answered" ? found.length > 0 : isCertain && found.length < 1;
    if (isWrong || found.length > 1) problems.push(`${show(hook)} is ${show(found)}`);
    const came = received.get(new URL(hook.url).pathname)?.size ?? 0;
    if (isCertain && came < hook.tests) problems.push(`${came} events came of ${show(hook)}`);
  }
  for (const rows of stored.values()) problems.push(`unexplained ${show(rows)}`);
  const deliveries = await database.query(
    `select d.id, d.webhook_id, d.state, d.owner, d.claimed_until from webhook_deliveries d
     where d.state <> 'sent' or d.claimed_until is not null`,
  );
  for (const row of deliveries.slice(0, 3)) problems.push(`not sent ${show(row)}`);
  const [noted] = await database.query(
    `select (select count(*)::int from audit_log where action = 'webhook.added')
       - (select count(*)::int from audit_log where action = 'webhook.removed') as noted,
       (select count(*)::int from webhooks) as there`,
  );
  if (noted!.noted !== noted!.there) problems.push(`webhooks and their notes ${show(noted)}`);
  return problems;
}
