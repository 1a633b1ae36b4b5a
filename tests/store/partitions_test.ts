import assert from "@std/assert";
import type { Database } from "../../src/database/database.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { createRetention } from "../../src/erasure/store/retention.ts";
import { onBothDatabases, onPostgres } from "../support/databases.ts";
import { collect, interaction, newAccount, observed } from "./samples.ts";

async function partitions(database: Database, table = "interactions"): Promise<string[]> {
  const rows = await database.query(
    `select relname as name from pg_class join pg_inherits on inhrelid = oid
     where inhparent = $1::text::regclass order by 1`,
    [table],
  );
  return rows.map(({ name }) => String(name));
}

onBothDatabases("this month and the next two are there before a row comes", async (database) => {
  const retention = createRetention(database, createAnalyticsStore(database));
  await retention.ensurePartitions(new Date("2031-11-30T23:59:59.999Z"));
  await retention.ensurePartitions(new Date("2031-11-30T23:59:59.999Z"));
  for (const table of ["interactions", "interaction_payloads"]) {
    const found = (await partitions(database, table)).filter((name) => /_203/.test(name));
    assert.deepEqual(found, ["2031_11", "2031_12", "2032_01"].map((one) => `${table}_${one}`));
  }
});

onBothDatabases(
  "rows of any month are taken, each by the partition of its month",
  async (database) => {
    const accountId = await newAccount(database);
    const times = [
      "1999-12-31T23:59:59.999Z",
      "2000-01-01T00:00:00.000Z",
      "2024-02-29T12:00:00.000Z",
      "2077-07-31T23:59:59.999Z",
      "2077-08-01T00:00:00.000Z",
    ];
    const rows = times.map((at, n) =>
      interaction(accountId, `txn_${n}`, { createdAt: new Date(at), requestText: at })
    );
    await createAnalyticsStore(database).insert(rows);
    assert.deepEqual(await collect(createAnalyticsStore(database).read({ accountId })), rows);
    const stand = await database.query(
      "select tableoid::regclass::text as name from interaction_payloads order by created_at",
    );
    assert.deepEqual(
      stand.map(({ name }) => name),
      ["1999_12", "2000_01", "2024_02", "2077_07", "2077_08"]
        .map((month) => `interaction_payloads_${month}`),
    );
  },
);

onPostgres("whether calls are coming in is read from no month that is over", async (database) => {
  const accountId = await newAccount(database);
  const store = createAnalyticsStore(database);
  await store.insert([interaction(accountId, "old", { createdAt: new Date("2020-05-05") })]);
  let plan = "";
  const watched: Database = {
    ...database,
    async query(text, values, options) {
      const lines = await database.query(`explain ${text}`, values);
      plan += lines.map((line) => String(line["QUERY PLAN"])).join("\n");
      return await database.query(text, values, options);
    },
  };
  assert.equal(await createAnalyticsStore(watched).isBusy(), false);
  assert.match(plan, /on interactions_\d{4}_\d{2}|Subplans Removed/);
  assert.doesNotMatch(plan, /interactions_2020_05/);
  await store.insert([interaction(accountId, "new", { createdAt: new Date() })]);
  assert.equal(await store.isBusy(), true);
}, { fresh: true });

onBothDatabases("a row that comes when its partition was dropped is taken", async (database) => {
  const accountId = await newAccount(database);
  const createdAt = new Date("2020-05-05T05:05:05.005Z");
  const interactions = createAnalyticsStore(database);
  await interactions.insert([interaction(accountId, "txn_1", { createdAt })]);
  await database.query("drop table interactions_2020_05; drop table interaction_payloads_2020_05");
  const late = interaction(accountId, "txn_2", { createdAt, requestText: "late" });
  await interactions.insert([late]);
  assert.deepEqual(await collect(interactions.read({ accountId })), [late]);
});

onBothDatabases("a month is asked for once, not with each batch", async (database) => {
  const accountId = await newAccount(database);
  let asked = 0;
  const interactions = createAnalyticsStore(observed(database, (_, text) => {
    if (text.includes("open_month")) asked++;
  }));
  for (let n = 0; n < 5; n++) await interactions.insert([interaction(accountId, `txn_${n}`)]);
  assert.equal(asked, 1);
});

onPostgres("processes that open a month at once all write to it", async (database, open) => {
  const accountId = await newAccount(database);
  const others = await Promise.all(Array.from({ length: 5 }, open));
  const createdAt = new Date("2040-02-02T00:00:00Z");
  await Promise.all(others.map((other, process) =>
    createAnalyticsStore(other).insert(
      Array.from(
        { length: 20 },
        (_, n) => interaction(accountId, `${process}-${n}`, { createdAt }),
      ),
    )
  ));
  assert.equal((await collect(createAnalyticsStore(database).read({ accountId }))).length, 100);
});

onPostgres("opening a month waits for no reader", async (database, open) => {
  const other = await open();
  await database.transaction(async (tx) => {
    await tx.query("select count(*) from interactions");
    await tx.query("select count(*) from interaction_payloads");
    await other.query("set lock_timeout = 2000; select open_month('2041-01-01T00:00:00Z')");
  });
  assert.ok((await partitions(database)).includes("interactions_2041_01"));
});

onBothDatabases("payloads of every month are stored in the same manner", async (database) => {
  await createAnalyticsStore(database).insert([
    interaction(await newAccount(database), "txn_late", { createdAt: new Date("2025-01-05") }),
  ]);
  const rows = await database.query(
    `select p.inhrelid::regclass::text as name,
       (select string_agg(distinct attcompression::text, '') from pg_attribute
         where attrelid = p.inhrelid and attname in ('request', 'response')) as compression,
       (select string_agg(c.reloptions::text, '') from pg_index i
         join pg_class c on c.oid = i.indexrelid and c.reloptions::text like '%gin%'
         where i.indrelid = p.inhrelid) as index_settings
     from pg_inherits p where inhparent = 'interaction_payloads'::regclass order by 1`,
    [],
  );
  assert.ok(rows.length >= 4 && rows[0]!.name === "interaction_payloads_2025_01");
  for (const { name, compression, index_settings } of rows) {
    assert.equal(index_settings, "{gin_pending_list_limit=4096}", String(name));
    // Servers are built with lz4 or without it; a month is like the others.
    assert.equal(compression, rows[0]!.compression, String(name));
  }
});
