import assert from "@std/assert";
import { createApiKeys } from "../../src/keys/store/api_keys.ts";
import {
  createFullestCaps,
  createReadSpend,
  insertKeyCharges,
  sweepKeyCharges,
} from "../../src/credit/store/spend.ts";
import { FakeClock } from "../../src/base/clock.ts";
import type { Database } from "../../src/database/database.ts";
import { earlierNow } from "../../src/database/from_now.ts";
import { eachDatabase, onPostgres, productMigrations } from "../support/databases.ts";
import { Random } from "../support/random.ts";
import { newCappedKey } from "./cap_process.ts";
import { interaction, newAccount } from "./samples.ts";

/** A database that counts the rows that its statements return. */
function counting(database: Database) {
  const counted = { most: 0, database };
  counted.database = {
    ...database,
    async query(...asked) {
      const rows = await database.query(...asked);
      counted.most = Math.max(counted.most, rows.length);
      return rows;
    },
  } as Database;
  return counted;
}

/** The charge of a call that no lease held, as processes of the version before leases write it. */
function chargeOf(
  transactionId: string,
  more: { apiKeyId: string; createdAt: Date; chargedNanos: bigint },
) {
  return { ...interaction(1, transactionId, more), leaseIds: [], fromLeaseNanos: 0n };
}

const day = new Date("2026-11-21T00:00:00Z");
const month = new Date("2026-11-01T00:00:00Z");

eachDatabase("the fullest caps come first, those of keys in use alone", async (database) => {
  const insert = async (id: string, capDayNanos: bigint | null, capMonthNanos: bigint | null) =>
    await createApiKeys(database).insert({
      ...{
        ...await newCappedKey(database, `${id} elsewhere`, 1n),
        id,
        accountId,
        hash: `hash of ${id}`,
      },
      ...{ name: `key ${id}`, capDayNanos, capMonthNanos },
    });
  const accountId = await newAccount(database, "ours");
  await insert("half", null, 100n);
  await insert("over", 10n, 1000n);
  await insert("none", null, null);
  await insert("closed", 0n, null);
  await insert("unused", 5n, null);
  await insert("revoked", 1n, null);
  await createApiKeys(database).revoke("revoked");
  const charge = (apiKeyId: string, at: string, chargedNanos: bigint) =>
    chargeOf(`${apiKeyId} ${at}`, { apiKeyId, createdAt: new Date(at), chargedNanos });
  await database.transaction((tx) =>
    insertKeyCharges(tx, [
      charge("half", "2026-11-01T00:00:00Z", 50n),
      charge("half", "2026-10-31T23:59:59.999Z", 900n),
      charge("over", "2026-11-20T23:59:59.999Z", 40n),
      charge("over", "2026-11-21T00:00:00Z", 20n),
      charge("revoked", "2026-11-21T00:00:00Z", 20n),
      charge("half elsewhere", "2026-11-21T00:00:00Z", 20n),
    ])
  );
  const read = createFullestCaps(database);
  const { caps, all } = await read({ accountId, since: month, day, limit: 4 });
  assert.equal(all, 5);
  assert.deepEqual(caps, [
    { keyId: "over", keyName: "key over", period: "day", spentNanos: 20n, capNanos: 10n },
    { keyId: "closed", keyName: "key closed", period: "day", spentNanos: 0n, capNanos: 0n },
    { keyId: "half", keyName: "key half", period: "month", spentNanos: 50n, capNanos: 100n },
    { keyId: "over", keyName: "key over", period: "month", spentNanos: 60n, capNanos: 1000n },
  ]);
});

eachDatabase("charges are summed up by day and month, each once, for capped keys alone", async (
  database,
) => {
  await newCappedKey(database, "a", 1n);
  await newCappedKey(database, "b", null, 1n);
  await newCappedKey(database, "free", null);
  const row = (apiKeyId: string, transactionId: string, at: string, chargedNanos: bigint) =>
    chargeOf(transactionId, { apiKeyId, createdAt: new Date(at), chargedNanos });
  const rows = [
    row("a", "t1", "2026-11-21T00:00:00Z", 5n),
    row("a", "t2", "2026-11-20T23:59:59.999Z", 2n ** 62n),
    row("a", "t3", "2026-11-01T00:00:00Z", 2n ** 62n),
    row("a", "t4", "2026-10-31T23:59:59.999Z", 11n),
    row("a", "t5", "2026-11-21T12:00:00Z", 0n),
    row("b", "t6", "2026-11-21T12:00:00Z", 13n),
    row("free", "t7", "2026-11-21T12:00:00Z", 17n),
  ];
  for (let time = 0; time < 2; time++) {
    await database.transaction((tx) => insertKeyCharges(tx, rows));
  }
  const readSpend = createReadSpend(database);
  const keyIds = ["a", "b", "free", "unknown"];
  assert.deepEqual(
    await readSpend(keyIds, new Date("2026-11-21T18:00:00Z")),
    new Map([
      ["a", { dayNanos: 5n, monthNanos: 2n ** 63n + 5n }],
      ["b", { dayNanos: 13n, monthNanos: 13n }],
    ]),
  );
  assert.deepEqual(
    await readSpend(["a"], new Date("2026-11-22T00:00:00Z")),
    new Map([["a", { dayNanos: 0n, monthNanos: 2n ** 63n + 5n }]]),
  );
  assert.deepEqual(await readSpend(["unknown"], day), new Map());
  assert.equal(await sweepKeyCharges(database, new Date("2026-12-15T00:00:00Z")), 1);
});

eachDatabase(
  "sums by day are those of the charges, whatever is done to these",
  async (database) => {
    const random = new Random(20261124);
    for (const id of ["a", "b", "c"]) await newCappedKey(database, id, 1n);
    const ids: string[] = [];
    const agree = async () => {
      const counted = await database.query(
        `select api_key_id, date_trunc('day', created_at, 'UTC') as day,
         sum(charged_nanos)::numeric as charged_nanos
       from key_charges group by 1, 2 having sum(charged_nanos) <> 0 order by 1, 2`,
      );
      const held = await database.query(
        `select api_key_id, day, charged_nanos from key_spend where charged_nanos <> 0 order by 1, 2`,
      );
      assert.deepEqual(held, counted);
    };
    for (let step = 0; step < 20; step++) {
      const rows = Array.from(
        { length: random.below(8) },
        (_, n) =>
          chargeOf(`t${step}-${n}`, {
            apiKeyId: random.pick(["a", "b", "c"]),
            createdAt: new Date(month.getTime() + random.below(60 * 24) * 3_600_000),
            chargedNanos: BigInt(random.below(1000)),
          }),
      );
      ids.push(...rows.map(({ transactionId }) => transactionId));
      // The second time nothing is added.
      for (let time = 0; time < 2; time++) await insertKeyCharges(database, rows);
      await database.query("delete from key_charges where transaction_id = $1", [random.pick(ids)]);
      await database.query(
        `update key_charges set charged_nanos = charged_nanos + 7 where transaction_id = any($1::text[])`,
        [[random.pick(ids), random.pick(ids)]],
      );
      await agree();
    }
    assert.ok(await sweepKeyCharges(database, new Date("2027-01-15T00:00:00Z")) > 0);
    await agree();
    const [first] = await database.query("select min(day) as day from key_spend");
    assert.ok(first!.day as Date >= new Date("2026-12-01T00:00:00Z"));
  },
);

onPostgres("old charges that another transaction is changing are left, with their sums", async (
  database,
) => {
  await newCappedKey(database, "a", 1n);
  await newCappedKey(database, "b", 1n);
  await insertKeyCharges(
    database,
    ["a", "a", "b"].map((apiKeyId, n) =>
      chargeOf(`t${n}`, { apiKeyId, createdAt: day, chargedNanos: 5n })
    ),
  );
  const now = new Date("2027-01-15T00:00:00Z");
  await database.transaction(async (tx) => {
    await tx.query("select from key_charges where transaction_id = 't0' for update");
    assert.equal(await sweepKeyCharges(database, now), 2);
  });
  const sums = "select api_key_id, charged_nanos::bigint as nanos from key_spend";
  assert.deepEqual(await database.query(sums), [{ api_key_id: "a", nanos: 5n }]);
  assert.equal(await sweepKeyCharges(database, now), 1);
  assert.deepEqual(await database.query(sums), []);
});

eachDatabase(
  "old charges are deleted in portions, unless one of two clocks has them as current",
  async (database) => {
    await newCappedKey(database, "a", 1n);
    await database.query(
      `insert into key_charges (transaction_id, api_key_id, created_at, charged_nanos)
     select n, 'a', now() - case when n < 3 then interval '0' else interval '100 days' end, 1
     from generate_series(1, 2500) as n`,
    );
    const counted = counting(database);
    const sweep = async (clock: FakeClock) =>
      await sweepKeyCharges(counted.database, await earlierNow(database, clock));
    const daysFromNow = (days: number) => new FakeClock(new Date(Date.now() + days * 86_400_000));
    assert.equal(await sweep(daysFromNow(-100)), 0);
    assert.equal(await sweep(daysFromNow(100)), 2_498);
    assert.ok(counted.most === 1_000, `${counted.most} at once`);
    const [left] = await database.query(
      `select (select count(*) from key_charges) as charges, count(*) as days,
       sum(charged_nanos)::bigint as nanos from key_spend`,
    );
    assert.deepEqual(left, { charges: 2n, days: 1n, nanos: 2n });
  },
);

onPostgres("charges of before are in the sums", async (database) => {
  await newCappedKey(database, "a", 1n);
  await insertKeyCharges(database, [
    chargeOf("t1", { apiKeyId: "a", createdAt: day, chargedNanos: 6n }),
  ]);
  const step = (await productMigrations()).find(({ name }) => name === "key_spend")!;
  await database.query(
    `drop table key_spend; drop function add_key_spend cascade; drop function take_key_spend cascade;
     drop function change_key_spend cascade;`,
  );
  await database.query(step.sql);
  const spent = await createReadSpend(database)(["a"], day);
  assert.equal(spent.get("a")?.dayNanos, 6n);
});
