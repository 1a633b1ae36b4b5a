/** Writers of records and deletions take turns. */
import assert from "@std/assert";
import { lockForWriting } from "../../src/database/erasure_lock.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { onPostgres } from "../support/databases.ts";
import { untilWaiting } from "../support/lock_queue.ts";
import { within } from "../support/within.ts";
import { fullCall, left, request, storeOf } from "./erasing.ts";
import { newAccount } from "./samples.ts";

onPostgres("records are written while a deletion waits for a long writer", async (database) => {
  const account = await newAccount(database);
  const write = (id: string) =>
    createAnalyticsStore(database).insert([fullCall(account, id, { userId: "ann" })]);
  const written = Promise.withResolvers<void>();
  const longWriter = database.transaction(async (tx) => {
    await lockForWriting(tx);
    await written.promise;
  });
  let isAdded = false;
  const adding = storeOf(database).add(request(account, { userIds: ["ann"] }))
    .then(() => isAdded = true);
  try {
    await untilWaiting(database, () => 1);
    await within(30_000, write("before"));
    assert.equal(isAdded, false);
  } finally {
    written.resolve();
    await Promise.all([longWriter, adding]);
  }
  await write("after");
  assert.deepEqual(
    (await left(database)).interactions,
    ["before"],
    "the deletion covers the other",
  );
});

onPostgres("a deletion has its turn though there is always a writer", async (database) => {
  const account = await newAccount(database);
  let isAdded = false;
  const writers = [0, 1, 2].map(async (at) => {
    await database.query(`select pg_sleep(${at} * 0.1)`);
    while (!isAdded) {
      await database.transaction(async (tx) => {
        await lockForWriting(tx);
        await tx.query("select pg_sleep(0.3)");
      });
    }
  });
  const adding = storeOf(database).add(request(account, { userIds: ["ann"] }));
  try {
    await within(30_000, adding);
  } finally {
    isAdded = true;
    await Promise.all(writers);
  }
});
