/** With two databases a deletion is stored in both: a kill in between leaves all of it, or nothing. */
import assert from "@std/assert";
import type { Database } from "../../src/database/database.ts";
import { lockForErasure } from "../../src/database/erasure_lock.ts";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { createMigrated } from "../support/databases.ts";
import { untilWaiting } from "../support/lock_queue.ts";
import { asked, flatModel, postgresSite, startPayingVendor } from "../support/money.ts";
import { startService } from "../support/process.ts";
import { startTestService } from "../support/service.ts";

postgresSite(
  "a deletion that a kill cuts off between its two databases is whole or isn't there",
  async (site) => {
    const created = await createMigrated();
    const calls = await openPostgres(created.url);
    await using vendor = await startPayingVendor();
    const env = { ...site.env, ...vendor.env, ANALYTICS_DATABASE_URL: created.url };
    try {
      await site.query(async (main) => {
        let key = "";
        for (const locked of [main, calls]) {
          const user = crypto.randomUUID();
          {
            await using service = await startService({ env });
            key ||= service.firstKey;
            const at = asked(service, key);
            const messages = [{ role: "user", content: "Hello." }];
            const body = { model: flatModel, user, messages };
            const answer = await at.post("/vendor-b/v1/chat/completions", body);
            assert.equal(answer.status, 200, await answer.text());
            assert.equal((await at.rows({ user_id: user })).length, 1);
            await locked.transaction(async (tx) => {
              await lockForErasure(tx);
              const asking = at.post("/api/v1/data", { user_id: user, reason: "leaves" });
              asking.catch(() => {});
              await untilWaiting(locked, () => 1);
              service.kill("SIGKILL");
              await service.status;
            });
          }
          await using service = await startTestService({ env });
          await untilDone(main);
          const stones = await idsIn(main, "tombstones");
          assert.deepEqual(
            await idsIn(calls, "tombstones"),
            stones,
            "both have the same deletions",
          );
          assert.deepEqual(await idsIn(main, "deletions"), stones, "and each is asked for");
          const left = (await asked(service, key).rows({ user_id: user })).length;
          assert.equal(left, stones.length > 0 ? 0 : 1, "a deletion that is there is done");
        }
      });
    } finally {
      await calls.close();
      await created.drop();
    }
  },
);

async function idsIn(database: Database, table: "tombstones" | "deletions"): Promise<string[]> {
  const rows = await database.query(`select deletion_id from ${table} order by 1`);
  return rows.map((row) => String(row.deletion_id));
}

async function untilDone(main: Database): Promise<void> {
  for (let looks = 0; looks < 600; looks++) {
    const open = await main.query("select from deletions where completed_at is null");
    if (open.length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail("a deletion isn't done after a minute");
}
