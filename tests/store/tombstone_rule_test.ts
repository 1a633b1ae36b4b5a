import assert from "@std/assert";
import { dataTables, type Selectors } from "../../src/erasure/deletion.ts";
import type { Interaction } from "../../src/shared/interaction.ts";
import { covers, tombstoneOf } from "../../src/erasure/tombstone.ts";
import { createDeletions } from "../../src/erasure/store/deletions.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { eachDatabase } from "../support/databases.ts";
import { interaction, newAccount } from "./samples.ts";

const hour = Date.UTC(2026, 10, 21, 9);
/** Further apart than the clocks of replicas may be. */
const at = (tick: number) => new Date(hour + tick * 600_000);

/** Every choice of a few values, so that each rule meets each other. */
function selectorsOf(pick: (count: number) => number): Selectors {
  const ids = (name: string) => [[`${name}1`], [`${name}1`, `${name}2`], [`${name}9`]][pick(3)]!;
  const selectors: Selectors = {
    ...(pick(3) === 0 ? { start: at(pick(4)) } : {}),
    ...(pick(3) === 0 ? { end: at(pick(4)) } : {}),
    ...(pick(4) === 0 ? { transactionIds: ["t0", "t5", "t10", "t15"] } : {}),
    ...(pick(3) === 0 ? { sessionIds: ids("é-s") } : {}),
    ...(pick(3) === 0 ? { userIds: ids("u") } : {}),
  };
  return Object.keys(selectors).length === 0 ? { end: at(9) } : selectors;
}

eachDatabase(
  "memory, the check of writers, a run and a run after a restore mean the same calls",
  async (database) => {
    const [account, other] = [await newAccount(database), await newAccount(database, "other")];
    let seed = 7;
    const pick = (count: number) => {
      seed = (seed * 48271) % 2147483647;
      return seed % count;
    };
    const store = createDeletions({ main: database, analytics: createAnalyticsStore(database) }, {
      newSalt: () => "salt",
      workerId: "a/1",
    });
    const rows = createAnalyticsStore(database);
    const known = async () =>
      (await database.query("select transaction_id from interactions order by 1", []))
        .map((row) => String(row.transaction_id));
    for (let round = 0; round < 40; round++) {
      const calls: Interaction[] = Array.from(
        { length: 20 },
        (_, index) =>
          interaction(pick(5) === 0 ? other : account, `t${index}`, {
            createdAt: at(pick(5)),
            sessionId: [null, "é-s1", "é-s2"][pick(3)]!,
            userId: [null, "u1", "u2"][pick(3)]!,
          }),
      );
      const clear = "delete from deletions; delete from tombstones; delete from erased_calls; " +
        "delete from interactions; delete from interaction_payloads";
      await database.query(clear);
      const selectors = selectorsOf(pick);
      const tables = pick(6) === 0 ? ["eval_results"] as const : dataTables;
      const deletionId = `d${round}`;
      const request = { deletionId, accountId: account, tables, selectors, requestedAt: at(3) };
      const tombstone = tombstoneOf(request, "salt");
      const expected = calls.filter((call) => !covers(tombstone, call))
        .map((call) => call.transactionId).sort();
      const what = JSON.stringify({ selectors, tables });

      await rows.insert(calls);
      const counted = await store.count({ ...request, reason: null });
      assert.equal(counted.interactions, calls.length - expected.length, `counted: ${what}`);
      await store.add({ ...request, reason: null });
      for (const given of [selectors, null]) {
        await database.query("delete from interactions; delete from erased_calls");
        await database.query("create table aside as select * from tombstones");
        await database.query("delete from tombstones");
        await rows.insert(calls);
        await database.query("insert into tombstones overriding system value select * from aside");
        await database.query("drop table aside");
        while (!(await store.eraseBatch({ tombstone, selectors: given })).isLast);
        assert.deepEqual(await known(), expected, `erased: ${what}`);
      }
      await database.query("delete from interactions; delete from erased_calls");
      // Some by themselves: a batch looks for tombstones by its oldest call.
      const batches = round < 3 ? calls.map((call) => [call]) : [calls];
      for (const batch of batches) await rows.insert(batch);
      assert.deepEqual(await known(), expected, `written: ${what}`);
    }
  },
);
