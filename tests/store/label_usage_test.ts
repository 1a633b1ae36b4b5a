/** Sums by user, flow and cohort are those of the rows, whatever happens to these meanwhile. */
import assert from "@std/assert";
import type { Interaction } from "../../src/shared/interaction.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { eraseCalls } from "../../src/records/store/erase.ts";
import { createLabelRows } from "../../src/records/store/label_days.ts";
import { createRecords } from "../../src/records/store/records.ts";
import { type LabelRows, LabelUsage } from "../../src/usage/label_usage.ts";
import { createLabelSumsJob } from "../../src/usage/label_sums.ts";
import { readRecord, recordBytes } from "../../src/usage/packed_step.ts";
import { createLabelSums, createLabelSumWriter } from "../../src/usage/store/label_sums.ts";
import { createUsageSums } from "../../src/usage/store/usage_sums.ts";
import type { Database } from "../../src/database/database.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import { startInTurn } from "../support/lock_queue.ts";
import { Random } from "../support/random.ts";
import { erase, request } from "./erasing.ts";
import { interaction, newAccount, untilOneWaits } from "./samples.ts";

const first = Date.UTC(2026, 8, 1);
const hour = 3_600_000;
const span = { from: new Date(first), to: new Date(first + 62 * 24 * hour) };

eachDatabase(
  "sums by label follow writes, corrections and erasures",
  (database) => followHistory(database, {}),
);

eachDatabase(
  "sums by label are whole where memory holds next to none of them",
  (database) => followHistory(database, { maxBytes: 1000 }),
);

async function followHistory(database: Database, bounds: { maxBytes?: number }) {
  const random = new Random(20261123);
  const [accountId, theirs] = [await newAccount(database), await newAccount(database, "theirs")];
  const records = createRecords(database);
  const analytics = createAnalyticsStore(database);
  let statements = 0;
  const gone = new Set<string | null>();
  const rows = createLabelRows(database);
  const counted: LabelRows = { read: (...args) => (statements++, rows.read(...args)) };
  const usage = createUsageSums(database);
  const labels = new LabelUsage({
    ...{ rows: counted, storedSteps: usage.storedSteps, labelSums: createLabelSums(database) },
    ...bounds,
  });
  let written: Interaction[] = [];
  const fields = { user: "userId", flow: "flow", cohort: "cohortId" } as const;
  const agree = async (spanName: "day" | "hour") => {
    for (const [label, field] of Object.entries(fields) as [keyof typeof fields, "flow"][]) {
      const query = { accountId, span: spanName, ...span };
      const { values, all } = await labels.values(query, label, 1000);
      const expected = recount(written, field);
      assert.deepEqual(values.map(({ value }) => value).sort(), [...expected.keys()].sort());
      assert.equal(all, expected.size);
      const found = values.map(({ value, calls, costNanos: cost, chargedNanos: charged }) =>
        [value, { calls, cost, charged }] as const
      );
      assert.deepEqual(new Map(found), expected);
      for (const { costs, costNanos } of values) {
        assert.equal([...costs.values()].reduce((sum, one) => sum + one, 0n), costNanos);
      }
      const steps = await usage.steps(query);
      const erased = (await usage.erased(query)).calls;
      const calls = (of: readonly { calls: number }[]) =>
        of.reduce((sum, one) => sum + one.calls, 0);
      assert.equal(calls(values) + erased, calls(steps));
    }
  };
  for (let step = 0; step < 8; step++) {
    const made = Array.from(
      { length: 15 },
      (_, n) => anyCall(random, accountId, `call ${step}-${n}`),
    );
    await records.insert([...made, anyCall(random, theirs, `theirs ${step}`)]);
    // Who was erased stays erased: late records of theirs are left out.
    written.push(...made.filter(({ userId }) => !gone.has(userId)));
    if (step % 3 === 2) {
      const user = `user ${random.below(5)}`;
      await erase(database, request(accountId, { userIds: [user] }));
      gone.add(user);
      written = written.filter(({ userId }) => userId !== user);
    }
    if (step % 4 === 3) {
      const one = random.pick(written);
      await analytics.clearCharge(one.transactionId);
      one.chargedNanos = 0n;
    }
    await agree("day");
    // Sums are kept of some states, which calls that come in or go leave behind.
    if (step % 3 === 0) await keepSums(database, first + 90 * 24 * hour);
  }
  await agree("hour");
  statements = 0;
  await agree("day");
  if (bounds.maxBytes === undefined) {
    assert.equal(statements, 0, "days that did not change are not read again");
  } else {
    assert.ok(statements > 0, "hardly any is held");
  }
}

eachDatabase("a call has one hour of the newest day read again", async (database) => {
  const accountId = await newAccount(database);
  const records = createRecords(database);
  const rows = createLabelRows(database);
  const read: string[] = [];
  const counted: LabelRows = {
    read: (query, label) => {
      const hours = (query.to.getTime() - query.from.getTime()) / hour;
      read.push(`${label} ${query.from.toISOString().slice(0, 13)} ${hours}`);
      return rows.read(query, label);
    },
  };
  const { storedSteps } = createUsageSums(database);
  const labels = new LabelUsage({
    rows: counted,
    storedSteps,
    labelSums: createLabelSums(database),
  });
  const call = (id: string, at: number) =>
    records.insert([
      interaction(accountId, id, {
        ...{ createdAt: new Date(at), userId: id, costNanos: 5n, chargedNanos: 5n },
      }),
    ]);
  for (let day = 0; day < 20; day++) {
    for (const at of [3, 9]) await call(`call ${day}-${at}`, first + (day * 24 + at) * hour);
  }
  const ask = () => labels.values({ accountId, span: "day", ...span }, "user", 100);
  assert.equal((await ask()).all, 40);
  read.length = 0;
  await call("another", first + (19 * 24 + 9) * hour + 60_000);
  const { values, all } = await ask();
  assert.equal(all, 41);
  assert.deepEqual(read, ["user 2026-09-20T09 1"]);
  const costs = values.find(({ value }) => value === "another")?.costs;
  assert.deepEqual([...costs ?? []], [[first + 19 * 24 * hour, 5n]], "under its day");
  // Of days before whole ones are held.
  read.length = 0;
  await call("late", first + (4 * 24 + 3) * hour);
  assert.equal((await ask()).all, 42);
  assert.deepEqual(read, ["user 2026-09-05T00 24"]);
});

eachDatabase("the first look after a start adds up the present hour alone", async (database) => {
  const accountId = await newAccount(database);
  const records = createRecords(database);
  const days = 20;
  for (let n = 0; n < days * 4; n++) {
    await records.insert([
      interaction(accountId, `call ${n}`, {
        ...{ createdAt: new Date(first + n * 6 * hour), userId: `user ${n % 7}`, flow: "search" },
        ...{ costNanos: BigInt(n), chargedNanos: BigInt(n) },
      }),
    ]);
  }
  // Within the hour of the last call.
  const now = first + (days - 1) * 24 * hour + 18 * hour + hour / 2;
  await keepSums(database, now);
  const read: string[] = [];
  const look = async () => {
    const rows = createLabelRows(database);
    const { storedSteps } = createUsageSums(database);
    const labels = new LabelUsage({
      ...{ storedSteps, labelSums: createLabelSums(database) },
      rows: {
        read: (query, label) => {
          read.push(query.from.toISOString().slice(0, 13));
          return rows.read(query, label);
        },
      },
    });
    return await labels.values({ accountId, span: "day", ...span }, "user", 100);
  };
  const { values, all } = await look();
  assert.equal(all, 7);
  const calls = values.reduce((sum, one) => sum + one.calls, 0);
  const cost = values.reduce((sum, one) => sum + one.costNanos, 0n);
  assert.deepEqual([calls, cost], [80, 3160n]);
  assert.deepEqual(new Set(read), new Set(["2026-09-20T18"]));
  // A call that comes late, written by whatever version: its day is read until it is kept again.
  await records.insert([
    interaction(accountId, "late", { createdAt: new Date(first + 4 * 24 * hour), userId: "late" }),
  ]);
  read.length = 0;
  assert.equal((await look()).all, 8);
  assert.ok(read.includes("2026-09-05T00"));
  await keepSums(database, now);
  read.length = 0;
  assert.equal((await look()).all, 8);
  assert.deepEqual(new Set(read), new Set(["2026-09-20T18"]));
  // Erased calls are in no stored sum.
  await erase(database, request(accountId, { userIds: ["user 3"] }));
  const names = async () => (await storedUsers(database)).flat();
  assert.ok((await names()).includes("user 2"));
  assert.ok(!(await names()).includes("user 3"));
  await keepSums(database, now);
  assert.equal((await look()).all, 7);
  assert.deepEqual(
    new Set(await names()),
    new Set(["late", "user 0", "user 1", "user 2", "user 4", "user 5", "user 6"]),
  );
});

/** Users of four days that are kept, so many of them that their records are not read at once. */
async function manyUsers(database: Database, users: number): Promise<number> {
  const accountId = await newAccount(database);
  const records = createRecords(database);
  for (let at = 0; at < 4; at++) {
    await records.insert(
      Array.from({ length: users }, (_, n) =>
        interaction(accountId, `call ${at} ${n}`, {
          ...{ createdAt: new Date(first + (at * 24 + n % 24) * hour), userId: `user ${n}` },
          ...{ costNanos: BigInt(n), chargedNanos: 1n, inputTokens: n },
          status: n === 3 ? "failed" : "completed",
        })),
    );
  }
  await keepSums(database, first + 4 * 24 * hour);
  return accountId;
}

eachDatabase("sums of many values, such as a download's, are those of few", async (database) => {
  const users = 600;
  const accountId = await manyUsers(database, users);
  const ask = async (limit: number) => {
    const labels = new LabelUsage({
      storedSteps: createUsageSums(database).storedSteps,
      labelSums: createLabelSums(database),
      rows: { read: () => Promise.reject(new Error("rows are read")) },
    });
    return (await labels.values({ accountId, span: "day", ...span }, "user", limit)).values;
  };
  const shown = (await ask(100_000)).map((value) => {
    const { calls, failed, costNanos, chargedNanos, inputTokens } = value;
    return { user: value.value, calls, failed, costNanos, chargedNanos, inputTokens };
  });
  const expected = Array.from({ length: users }, (_, n) => ({
    ...{ user: `user ${n}`, calls: 4, failed: n === 3 ? 4 : 0, costNanos: 4n * BigInt(n) },
    ...{ chargedNanos: 4n, inputTokens: 4n * BigInt(n) },
  })).reverse();
  assert.deepEqual(shown, expected);
  const few = await ask(10);
  assert.deepEqual(few.map(({ value }) => value), expected.slice(0, 10).map(({ user }) => user));
  assert.deepEqual(few.map(({ inputTokens }) => inputTokens)[0], 4n * 599n);
});

eachDatabase(
  "a look whose kept sums go while it reads them is of the calls that are left",
  async (database) => {
    const accountId = await manyUsers(database, 300);
    const stored = createLabelSums(database);
    const toErase = ["user 299", "user 298", "user 297"];
    let rowsRead = 0;
    const rows = createLabelRows(database);
    const labels = new LabelUsage({
      storedSteps: createUsageSums(database).storedSteps,
      rows: { read: (...args) => (rowsRead++, rows.read(...args)) },
      labelSums: {
        ...stored,
        async slices(...args) {
          const user = toErase.shift();
          if (user) await erase(database, request(accountId, { userIds: [user] }));
          await keepSums(database, first + 4 * 24 * hour);
          return await stored.slices(...args);
        },
      },
    });
    const ask = async () =>
      (await labels.values({ accountId, span: "day", ...span }, "user", 3)).values
        .map(({ value, calls }) => [value, calls]);
    assert.deepEqual(await ask(), [["user 297", 4], ["user 296", 4], ["user 295", 4]]);
    assert.deepEqual(toErase, ["user 297"], "twice it begins again, then it reads the calls");
    assert.ok(rowsRead > 0);
  },
);

onPostgres(
  "sums that are kept while an erasure is under way have no name of it",
  async (database) => {
    const accountId = await newAccount(database);
    const createdAt = new Date(first + hour);
    const userId = "to be erased";
    await createRecords(database).insert([
      interaction(accountId, "call", { createdAt, userId }),
      interaction(accountId, "other", { createdAt, userId: "other" }),
    ]);
    const [erased, seen] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const erasing = database.transaction(async (tx) => {
      await eraseCalls(tx, [{ transactionId: "call", createdAt }]);
      erased.resolve();
      await seen.promise;
    });
    await erased.promise;
    let isStored = false;
    const keeper = createLabelSumWriter(database, createLabelRows);
    const keeping = keeper.store({ accountId, span: "day" }, new Date(first)).then(() =>
      isStored = true
    );
    await untilOneWaits(database, () => isStored);
    seen.resolve();
    await Promise.all([erasing, keeping]);
    assert.deepEqual(await storedUsers(database), []);
    await keeper.store({ accountId, span: "day" }, new Date(first));
    assert.deepEqual(await storedUsers(database), [["other"]]);
  },
);

onPostgres("sums are not kept of a day to which a call comes meanwhile", async (database) => {
  const accountId = await newAccount(database);
  const records = createRecords(database);
  const add = (userId: string) =>
    records.insert([
      interaction(accountId, userId, { createdAt: new Date(first + hour), userId }),
    ]);
  await add("one");
  let comes = true;
  const keeper = createLabelSumWriter(database, (tx) => ({
    read: async (...args) => {
      const steps = await createLabelRows(tx).read(...args);
      if (comes) await add("two");
      comes = false;
      return steps;
    },
  }));
  await keeper.store({ accountId, span: "day" }, new Date(first));
  assert.deepEqual(await storedUsers(database), []);
  await keeper.store({ accountId, span: "day" }, new Date(first));
  const [names] = await storedUsers(database);
  assert.deepEqual(names!.sort(), ["one", "two"]);
});

onPostgres("sums are kept while calls of their day are erased", async (database) => {
  const accountId = await newAccount(database);
  const records = createRecords(database);
  const add = (userId: string) =>
    records.insert([
      interaction(accountId, userId, { createdAt: new Date(first + hour), userId }),
    ]);
  // The sums of erased calls lie before the others, and have their key behind them.
  await add("gone");
  await erase(database, request(accountId, { userIds: ["gone"] }));
  await add("one");
  await add("two");
  // So that rows are read as they lie in the table.
  await database.query("analyze usage_sums");
  const keeper = createLabelSumWriter(database, createLabelRows);
  await startInTurn(
    database,
    "select from usage_sums where part = 'all' and span = 'day' and erased for update",
    () => keeper.store({ accountId, span: "day" }, new Date(first)),
    () => erase(database, request(accountId, { userIds: ["one"] })),
  );
  const [sums] = await database.query(
    "select calls from usage_sums where part = 'all' and span = 'day' and erased",
  );
  assert.equal(Number(sums!.calls), 2);
}, { fresh: true });

/** The users whose sums are stored, by hour or day. */
async function storedUsers(database: Database): Promise<string[][]> {
  const rows = await database.query(
    "select layout, records, names from label_steps where label = 'user' order by span, at",
  );
  return rows.map((row) => {
    const [layout, records] = [row.layout as Uint8Array, row.records as Uint8Array];
    const names = row.names as Uint8Array;
    const length = recordBytes(layout);
    return Array.from({ length: length === 0 ? 0 : records.length / length }, (_, at) => {
      const { name } = readRecord(layout, records, at * length);
      return new TextDecoder().decode(names.subarray(name.from, name.from + name.length));
    });
  });
}

/** A run of the job at this time. */
async function keepSums(database: Database, nowMs: number): Promise<void> {
  const keeper = createLabelSumWriter(database, createLabelRows);
  await createLabelSumsJob({ keeper, now: () => new Date(nowMs) })();
}

/** Calls, cost and charge by value, as the rows say. */
function recount(rows: readonly Interaction[], field: "userId" | "flow" | "cohortId") {
  const expected = new Map<string, { calls: number; cost: bigint; charged: bigint }>();
  for (const row of rows) {
    const sums = expected.get(row[field] ?? "") ?? { calls: 0, cost: 0n, charged: 0n };
    sums.calls++;
    sums.cost += row.costNanos ?? 0n;
    sums.charged += row.chargedNanos;
    expected.set(row[field] ?? "", sums);
  }
  return expected;
}

function anyCall(random: Random, accountId: number, id: string): Interaction {
  const costNanos = random.chance(10) ? null : BigInt(random.below(1_000_000_000));
  return interaction(accountId, id, {
    createdAt: new Date(first + random.below(60 * 24) * hour + random.below(hour)),
    userId: random.pick([null, `user ${random.below(9)}`]),
    flow: random.pick([null, "search", "buy"]),
    cohortId: random.pick([null, "a", "b"]),
    costNanos,
    chargedNanos: costNanos ?? 0n,
  });
}
