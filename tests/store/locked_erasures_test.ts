/** What a forgotten session has locked holds up no erasure for good, and nobody behind one. */
import assert from "@std/assert";
import { within } from "../../src/base/deadline.ts";
import type { Database } from "../../src/database/database.ts";
import { deleteBefore } from "../../src/database/retention_lock.ts";
import { dataTables } from "../../src/erasure/deletion.ts";
import { createDeletions } from "../../src/erasure/store/deletions.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { onPostgres } from "../support/databases.ts";
import { interaction, newAccount } from "./samples.ts";

/** Runs `work` while another session has the rows that this statement locks. */
async function whileLocked(
  database: Database,
  lock: string,
  work: () => Promise<void>,
): Promise<void> {
  await database.transaction(async (tx) => {
    await tx.query(lock);
    await work();
  });
}

onPostgres(
  "an erasure waits a second for a locked row, and others' records that long",
  async (database) => {
    const account = await newAccount(database, "locked");
    const other = await newAccount(database, "other");
    const analytics = createAnalyticsStore(database);
    const call = interaction(account, "call", { userId: "person" });
    await analytics.insert([call]);
    const store = createDeletions({ main: database, analytics }, {
      ...{ newSalt: () => "salt", workerId: "a/1" },
    });
    const selectors = { userIds: ["person"] };
    const tombstone = await store.add({
      ...{ deletionId: "d", accountId: account, tables: dataTables, selectors, reason: null },
      requestedAt: new Date(call.createdAt.getTime() + 1000),
    }, "claimed");
    await whileLocked(database, "select from interactions for update", async () => {
      const erased = store.eraseBatch({ tombstone, selectors }).then(
        () => "erased",
        () => "failed",
      );
      await new Promise((resolve) => setTimeout(resolve, 300));
      const stored = analytics.insert([interaction(other, "other call")]);
      assert.notEqual(await within(60_000, stored, "late"), "late", "nobody's records are stored");
      assert.equal(await erased, "failed", "it is tried again later");
    });
    while (!(await store.eraseBatch({ tombstone, selectors })).isLast);
    assert.equal((await database.query("select from interactions")).length, 1);
  },
);

onPostgres("what is deleted for its age leaves locked rows to the next time", async (database) => {
  await database.query(
    `create table old_rows as select n, timestamptz '2026-01-01' as created_at
     from generate_series(1, 1200) n`,
  );
  const remove = () => deleteBefore(database, "old_rows", new Date("2026-02-01"));
  await whileLocked(database, "select from old_rows where n in (1, 700) for update", async () => {
    assert.equal(await within(60_000, remove(), "late"), 1198);
  });
  assert.equal(await remove(), 2);
});
