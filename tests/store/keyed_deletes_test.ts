/** What deletes some rows of many finds them by an index: all writers may wait for it. */
import assert from "@std/assert";
import { Secret } from "../../src/base/secret.ts";
import type { Database, Queryable, SqlValue } from "../../src/database/database.ts";
import { createReplays } from "../../src/idempotency/store/replays.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { createWebhookStore } from "../../src/webhooks/store/webhooks.ts";
import { onPostgres } from "../support/databases.ts";
import { erase, request } from "./erasing.ts";
import { interaction, newAccount } from "./samples.ts";

const sealer = {
  seal: () => Promise.resolve({ sealed: "sealed", keyVersion: 1n }),
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
  const { scanned, watched } = watchDeletes(database);
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
});

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
);

/** `scanned`: the tables that deletes of `watched` read from end to end though they have the keys. */
function watchDeletes(database: Database): { scanned: string[]; watched: Database } {
  const scanned: string[] = [];
  const watch = (queryable: Queryable): Queryable["query"] => async (text, values, options) => {
    if (text.trimStart().startsWith("delete")) {
      scanned.push(...await scansOf(queryable, text, values));
    }
    return await queryable.query(text, values, options);
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

async function scansOf(
  database: Queryable,
  text: string,
  values: readonly SqlValue[] | undefined,
): Promise<string[]> {
  const [row] = await database.query(`explain (format json) ${text}`, values);
  const plan = row!["QUERY PLAN"];
  const [{ Plan }] = (typeof plan === "string" ? JSON.parse(plan) : plan) as [{ Plan: PlanNode }];
  return scansBelow(Plan);
}

function scansBelow(node: PlanNode): string[] {
  // How keys are found is another matter: of so few rows an end-to-end read may be the cheapest.
  if (node["Parent Relationship"] === "InitPlan") return [];
  const own = node["Node Type"] === "Seq Scan" ? [node["Relation Name"]!] : [];
  return [...own, ...(node.Plans ?? []).flatMap(scansBelow)];
}
