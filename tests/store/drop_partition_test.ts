import assert from "@std/assert";
import { migrate } from "../../src/database/migrate.ts";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { createRetention } from "../../src/erasure/store/retention.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { productMigrations } from "../support/databases.ts";
import { postgresAvailability, startPostgres } from "../support/postgres.ts";
import { interaction, newAccount } from "./samples.ts";

const needsPostgres = { ignore: !postgresAvailability().available };

Deno.test(
  "a month that autovacuum is working on is dropped, not emptied row by row",
  needsPostgres,
  async () => {
    const server = await startPostgres({
      private: true,
      settings: { autovacuum: "on", autovacuum_naptime: "1s" },
    });
    const created = await server.createDatabase();
    const database = await openPostgres(created.url);
    try {
      await migrate(database, await productMigrations());
      const store = createAnalyticsStore(database);
      const account = await newAccount(database);
      const createdAt = new Date("2025-01-15T00:00:00Z");
      await store.insert(
        Array.from({ length: 300 }, (_, n) => interaction(account, `${n}`, { createdAt })),
      );
      /** Resolves while an autovacuum is at work, which takes seconds for each page. */
      const vacuumed = async (partition: string) => {
        await database.query(`alter table ${partition} set (autovacuum_vacuum_threshold = 0,
        autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 100,
        autovacuum_vacuum_cost_limit = 1)`);
        await database.query(`delete from ${partition} where transaction_id like '%7'`);
        const working =
          `select 1 from pg_stat_progress_vacuum where relid = '${partition}'::regclass`;
        while ((await database.query(working)).length === 0);
      };
      const retention = createRetention(database, store);
      const limit = new Date("2026-01-01");
      await vacuumed("interaction_payloads_2025_01");
      const payloads = await retention.erasePayloads(limit);
      assert.deepEqual([payloads?.partitions, payloads?.payloads], [1, 0]);
      await vacuumed("interactions_2025_01");
      const usage = await retention.eraseUsage(limit);
      assert.deepEqual([usage?.partitions, usage?.interactions], [1, 0]);
    } finally {
      await database.close();
      await server.stop("immediate");
    }
  },
);
