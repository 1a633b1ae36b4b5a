/** What changes some rows of many finds them by an index: all writers may wait for it. */
import assert from "@std/assert";
import { Secret } from "../../src/base/secret.ts";
import type { Database, Queryable, SqlValue } from "../../src/database/database.ts";
import { createSessions } from "../../src/people/store/sessions.ts";
import { createReplays } from "../../src/idempotency/store/replays.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { createWebhookStore } from "../../src/webhooks/store/webhooks.ts";
import { onPostgres } from "../support/databases.ts";
import { erase, request } from "./erasing.ts";
import { interaction, newAccount } from "./samples.ts";

const sealer = {
  open: () => Promise.resolve(() => Promise.resolve({ sealed: "sealed", keyVersion: 1n })),
  unseal: () => Promise.resolve(new Secret("s")),
};

onPostgres("some rows of many are deleted by their keys", async (database) => {
  const accountId = await newAccount(database);
  const ids = Array.from({ length: 300 }, (_, at) => `t${at}`);
  await createAnalyticsStore(database).insert(ids.map((id) => interaction(accountId, id)));
  await database.query(
    `insert into replays
       (key, account_id, fingerprint, claim_id, holder, until, status, transaction_id)
     select md5(i::text), $1::bigint, 'f', 'c' || i, 'h', 'infinity', 200, 't' || i
     from generate_series(0, 19999) i`,
    [accountId],
  );
  // Each holds the text of three earlier calls.
  await database.query(
    `insert into kept_responses (account_id, response_id, transaction_id, created_at, input_items,
       answer, item_ids, sources)
     select $1::bigint, 'r' || i, 'o' || i, 'epoch', repeat('x', 500), repeat('y', 500), '{}',
       array['t' || i, 'u' || i, 'v' || i]
     from generate_series(0, 19999) i`,
    [accountId],
  );
  const { scanned, watched } = watchWrites(database);
  const webhooks = createWebhookStore(watched, { sealer, workerId: "one/1" });
  const hook = { accountId, url: "https://hooks.example", events: [], creditLowNanos: null };
  await webhooks.add("hook", hook, new Secret("s"));
  await database.query(
    `insert into webhook_deliveries
       (id, webhook_id, event_key, type, data, at, next_at, ends_at, state)
     select i, 'hook', i, 'export.ready', '{}', 'epoch', 'epoch',
       '2026-01-01'::timestamptz + i * interval '1 minute', 'sent'
     from generate_series(0, 19999) i`,
  );
  await database.query("analyze");
  await webhooks.sweep(new Date("2026-01-02T05:00:00Z"));
  await erase(watched, request(accountId, { transactionIds: ids }));
  await createReplays(watched, { processId: "one" }).erase(ids.map((id) => `${id}00`));
  const [left] = await database.query(
    `select (select count(*) from replays)::int as replays,
       (select count(*) from webhook_deliveries)::int as deliveries,
       (select count(*) from kept_responses)::int as responses`,
  );
  assert.ok(left!.replays as number < 19_700, `${left!.replays}`);
  assert.ok(left!.deliveries as number < 20_000, `${left!.deliveries}`);
  assert.equal(left!.responses, 19_700);
  const large = /^(replays|webhook_deliveries|kept_responses)$/;
  assert.deepEqual(scanned.filter((table) => large.test(table)), []);
}, { fresh: true });

onPostgres(
  "an erasure reads no list of rows that an index has not taken in yet",
  async (database) => {
    const accountId = await newAccount(database);
    await database.query(
      `insert into kept_responses (account_id, response_id, transaction_id, created_at, input_items,
       answer, item_ids, sources)
     values ($1, 'r', 't', 'epoch', '', '', '{}', '{u}')`,
      [accountId],
    );
    await database.query(
      `insert into replays (key, account_id, fingerprint, claim_id, holder, until, sources)
     values ('k', $1, 'f', 'c', 'h', 'epoch', '{u}')`,
      [accountId],
    );
    const [row] = await database.query(
      `select gin_clean_pending_list('kept_responses_sources')::int as responses,
       gin_clean_pending_list('replays_sources')::int as replays`,
    );
    assert.deepEqual(row, { responses: 0, replays: 0 });
  },
  { fresh: true },
);

onPostgres("claims are renewed, and ended sessions found, by an index", async (database) => {
  const accountId = await newAccount(database);
  const { scanned, watched } = watchWrites(database, { alsoForKeys: true });
  const replays = createReplays(watched, { processId: "one" });
  const claims = Array.from({ length: 20 }, (_, at) => ({
    ...{ accountId, key: `k${at}`, claimId: `c${at}`, fingerprint: "f" },
  }));
  for (const claim of claims) await replays.claim(claim);
  await database.query(
    `insert into replays (key, account_id, fingerprint, claim_id, holder, until, status)
     select md5(i::text), $1::bigint, 'f', 'c' || i, 'h', 'infinity', 200
     from generate_series(0, 19999) i`,
    [accountId],
  );
  await database.query(
    `insert into people (id, issuer, subject, name, created_at, signed_in_at)
     values ('ann', 'i', 's', 'Ann', 'epoch', 'epoch')`,
  );
  const now = new Date("2026-11-28T12:00:00Z");
  await database.query(
    `insert into dashboard_sessions
       (token_hash, person_id, account_id, created_at, seen_at, expires_at)
     select 't' || i, 'ann', $1::bigint, $2, $2, $2::timestamptz + i * interval '1 minute'
     from generate_series(-9, 19990) i`,
    [accountId, now],
  );
  await database.query("update replays set until = 'epoch' where status is null");
  await database.query("analyze");
  await replays.renew(claims);
  await createSessions(watched).start(
    { tokenHash: "new", personId: "ann", accountId, now },
    undefined,
  );
  const [row] = await database.query(
    `select (select count(*) from replays where status is null and until > now())::int as renewed,
       (select count(*) from dashboard_sessions)::int as sessions`,
  );
  assert.deepEqual(row, { renewed: 20, sessions: 19_991 });
  assert.deepEqual(scanned, []);
}, { fresh: true });

/**
 * `scanned`: the tables that deletes and updates of `watched` read from end to end though they have
 * the keys; and those that they read so to find keys, where that is asked for.
 */
function watchWrites(
  database: Database,
  options: { alsoForKeys?: boolean } = {},
): { scanned: string[]; watched: Database } {
  const scanned: string[] = [];
  const watch =
    (queryable: Queryable): Queryable["query"] => async (text, values, queryOptions) => {
      if (/^\s*(delete|update)/.test(text)) {
        scanned.push(...scansBelow(await planOf(queryable, text, values), options));
      }
      return await queryable.query(text, values, queryOptions);
    };
  const watched = {
    ...database,
    query: watch(database),
    transaction: <T>(work: Parameters<typeof database.transaction<T>>[0]) =>
      database.transaction((tx) => work({ ...tx, query: watch(tx) })),
  };
  return { scanned, watched };
}

interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Parent Relationship"?: string;
  Plans?: readonly PlanNode[];
}

async function planOf(
  database: Queryable,
  text: string,
  values: readonly SqlValue[] | undefined,
): Promise<PlanNode> {
  const [row] = await database.query(`explain (format json) ${text}`, values);
  const plan = row!["QUERY PLAN"];
  const [{ Plan }] = (typeof plan === "string" ? JSON.parse(plan) : plan) as [{ Plan: PlanNode }];
  return Plan;
}

function scansBelow(node: PlanNode, options: { alsoForKeys?: boolean }): string[] {
  // How keys are found is another matter: of so few rows an end-to-end read may be the cheapest.
  if (node["Parent Relationship"] === "InitPlan" && !options.alsoForKeys) return [];
  const own = node["Node Type"] === "Seq Scan" ? [node["Relation Name"]!] : [];
  return [...own, ...(node.Plans ?? []).flatMap((plan) => scansBelow(plan, options))];
}
