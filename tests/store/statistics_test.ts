import assert from "@std/assert";
import { randomBytes } from "node:crypto";
import { createCreditHistory } from "../../src/credit/store/credit_history.ts";
import { createApiKeys } from "../../src/keys/store/api_keys.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { reclaimExpired, refreshStatistics } from "../../src/database/table_statistics.ts";
import { CountedReads } from "../support/counted_reads.ts";
import { onEmbedded } from "../support/databases.ts";
import { interaction, newAccount } from "./samples.ts";

onEmbedded("the planner knows tables that have grown, and no word of anybody", async (database) => {
  const accountId = await newAccount(database);
  const known = async () => {
    const [row] = await database.query(
      "select reltuples::int as rows from pg_class where relname = 'interactions_2026_11'",
    );
    return row!.rows;
  };
  const write = (part: number) =>
    createAnalyticsStore(database).insert(
      Array.from({ length: 3000 }, (_, n) =>
        interaction(accountId, `txn_${part}_${n}`, {
          userId: "canary-user",
          sessionId: "canary-session",
          app: "canary-app",
          requestText: '{"said":"canary-word"}',
        })),
    );
  // Rows that another test of this process had deleted are pages of the table too.
  await database.query("truncate interactions cascade");
  await write(1);
  await refreshStatistics(database);
  assert.equal(await known(), 3000);
  await createAnalyticsStore(database).insert([interaction(accountId, "one more")]);
  await refreshStatistics(database);
  assert.equal(await known(), 3000, "one more is no growth");
  await write(2);
  await refreshStatistics(database);
  assert.equal(await known(), 6001);
  const samples = await database.query(
    `select stavalues1::text || coalesce(stavalues2::text, '') || coalesce(stavalues3::text, '')
       as text from pg_statistic where stavalues1 is not null`,
  );
  const text = samples.map((row) => String(row.text)).join(" ");
  assert.match(text, /gpt-4\.1/);
  assert.match(text, /key_1/);
  assert.doesNotMatch(text, /canary/);
});

onEmbedded("a page of keys or of credit reads no more than it shows", async (database) => {
  const accountId = await newAccount(database);
  await database.query(
    `insert into api_keys (id, account_id, name, prefix, hash, scopes, models, on_disconnect,
       translation_mode)
     select 'key_' || n, $1, 'one', 'p', 'hash ' || n, '{}', '{}', 'cancel', 'default'
     from generate_series(1, 10000) as n`,
    [accountId],
  );
  await database.query(
    `insert into ledger_entries (account_id, kind, amount_nanos, leased_nanos)
     select $1, 'adjust', 1, 0 from generate_series(1, 20000)`,
    [accountId],
  );
  await refreshStatistics(database);
  const counted = new CountedReads(database);
  const keys = createApiKeys(counted.database);
  assert.equal((await keys.page(accountId, { after: null, limit: 50 })).length, 50);
  assert.ok(counted.rows <= 100, `${counted.rows} keys`);
  counted.rows = 0;
  assert.equal((await createCreditHistory(counted.database).latest(accountId, 50)).length, 50);
  assert.ok(counted.rows <= 100, `${counted.rows} entries`);
});

onEmbedded(
  "answers to repeats that have expired leave their room to later ones",
  async (database) => {
    const accountId = await newAccount(database);
    const size = async () => {
      const [row] = await database.query("select pg_total_relation_size('replays') as bytes");
      return Number(row!.bytes);
    };
    const before = await size();
    const sizes: number[] = [];
    for (let hour = 0; hour < 3; hour++) {
      const bytes = randomBytes(1_000_000).toString("base64");
      await database.query(
        `insert into replays (key, account_id, fingerprint, claim_id, holder, until, body)
       values ($1, $2, 'f', 'c', 'h', clock_timestamp(), decode($3, 'base64'))`,
        [`of hour ${hour}`, accountId, bytes],
      );
      await database.query("delete from replays where key like 'of hour %'");
      sizes.push(await size());
      await reclaimExpired(database);
    }
    assert.ok(sizes[0]! > before + 1_000_000);
    assert.ok(sizes[2]! < sizes[0]! + 100_000, `${before} bytes, then ${sizes.join(", ")}`);
  },
);
