/** The feed of erasures after a failover to a standby that lacked the last of them. */
import assert from "@std/assert";
import type { Database } from "../../src/database/database.ts";
import { createErasureFeed } from "../../src/erasure/store/erasure_feed.ts";
import { noteErased } from "../../src/erasure/store/tombstones.ts";
import { onPostgres } from "../support/databases.ts";
import { request, storeOf } from "./erasing.ts";
import { newAccount } from "./samples.ts";

/** Adds a deletion and an erased call of this number. */
async function eraseOne(database: Database, accountId: number, number: number): Promise<void> {
  const deletionId = `deletion ${number}`;
  await storeOf(database).add(request(accountId, { userIds: ["u"] }, { deletionId }));
  await noteErased(database, [`call ${number}`]);
}

/** Undoes the deletions and erased calls from this number on. */
async function loseFrom(database: Database, number: number): Promise<void> {
  for (const table of ["tombstones", "erased_calls"]) {
    await database.query(`delete from ${table} where seq >= $1`, [number]);
    await database.query(`alter table ${table} alter column seq restart with ${number}`, []);
  }
}

async function numbersOf(feed: ReturnType<typeof createErasureFeed>) {
  const { tombstones, transactionIds } = await feed.next();
  const numberOf = (id: string) => Number(id.split(" ")[1]);
  return [tombstones.map(({ deletionId }) => numberOf(deletionId)), transactionIds.map(numberOf)];
}

onPostgres(
  "erasures that reuse the numbers of those that a failover has lost are not skipped",
  async (database) => {
    const accountId = await newAccount(database);
    await eraseOne(database, accountId, 1);
    const feed = createErasureFeed(database);
    assert.deepEqual(await numbersOf(feed), [[1], []], "calls erased before are nowhere in memory");
    for (const number of [2, 3, 4]) await eraseOne(database, accountId, number);
    assert.deepEqual(await numbersOf(feed), [[2, 3, 4], [2, 3, 4]]);
    await loseFrom(database, 3);
    await eraseOne(database, accountId, 13);
    assert.deepEqual(await numbersOf(feed), [[1, 2, 13], [1, 2, 13]]);
    assert.deepEqual(await numbersOf(feed), [[], []]);
    // As many as were lost: the last number is the one that was read, of another erasure.
    await loseFrom(database, 3);
    await eraseOne(database, accountId, 23);
    assert.deepEqual(await numbersOf(feed), [[1, 2, 23], [1, 2, 23]]);
    // All lost, or forgotten after seven days.
    await loseFrom(database, 1);
    assert.deepEqual(await numbersOf(feed), [[], []]);
    await eraseOne(database, accountId, 31);
    assert.deepEqual(await numbersOf(feed), [[31], [31]]);
  },
);
