/** The overview's sums are at every moment those of the rows, whatever happens to these. */
import assert from "@std/assert";
import type { Interaction } from "../../src/shared/interaction.ts";
import {
  addUsage,
  noUsage,
  type UsagePart,
  type UsageQuery,
  type UsageStore,
  type UsageSums,
} from "../../src/usage/usage_sums.ts";
import type { Database } from "../../src/database/database.ts";
import { refundCharge } from "../../src/credit/store/refund_charge.ts";
import type { AnalyticsStore } from "../../src/records/analytics_store.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { createLedger } from "../../src/credit/store/ledger.ts";
import { createRecords } from "../../src/records/store/records.ts";
import { createRepricing } from "../../src/repricing/store/repricing.ts";
import { createRetention } from "../../src/erasure/store/retention.ts";
import { createUsageSums } from "../../src/usage/store/usage_sums.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import { usageColumns, usageFromRows } from "../support/recount_usage.ts";
import { Random } from "../support/random.ts";
import { asked, erase, request, storeOf } from "./erasing.ts";
import { interaction, newAccount, untilOneWaits } from "./samples.ts";

const parts = ["model", "vendor", "api_key", "app"] as const;

const now = new Date("2026-11-21T11:59:59.999Z");
const hour = 3_600_000;
const day = 24 * hour;
const ever = { from: new Date("2026-01-01T00:00:00Z"), to: new Date("2027-01-01T00:00:00Z") };

function everything(accountId: number, span: UsageQuery["span"] = "day"): UsageQuery {
  return { accountId, span, ...ever };
}

/** Values say the same by hour as by day, of whole days and of others, and add up to the steps. */
async function valuesAgree(store: UsageStore, accountId: number, part: UsagePart): Promise<void> {
  const [byDay, byHour] = await Promise.all(
    (["day", "hour"] as const).map((span) => store.values(everything(accountId, span), part, 4)),
  );
  assert.equal(byHour!.all, byDay!.all);
  assert.deepEqual(
    byHour!.values.map(({ costs: _, ...sums }) => sums),
    byDay!.values.map(({ costs: _, ...sums }) => sums),
  );
  for (const { costs, costNanos } of [...byDay!.values, ...byHour!.values]) {
    assert.equal([...costs.values()].reduce((sum, one) => sum + one, 0n), costNanos);
  }
  const some = {
    ...everything(accountId, "hour"),
    from: new Date(now.getTime() - now.getTime() % hour - 500 * hour),
    to: new Date(now.getTime() - now.getTime() % hour - 5 * hour),
  };
  const steps = await store.steps(some);
  const { values, all } = await store.values(some, part, 1000);
  assert.equal(values.length, all);
  const calls = (of: readonly { calls: number }[]) => of.reduce((sum, one) => sum + one.calls, 0);
  assert.ok(calls(steps) > 0);
  assert.equal(calls(values), calls(steps));
  // Hours that hold no beginning of a day.
  const inADay = steps.findLast(({ at }) => at.getTime() % day !== 0)!;
  const anHour = { ...some, from: inADay.at, to: new Date(inADay.at.getTime() + hour) };
  assert.equal(calls((await store.values(anHour, part, 1000)).values), inADay.calls);
  // Steps of any length are the hours that lie in them.
  const starts = [0, 1, 30, 200].map((hours) => new Date(some.from.getTime() + hours * hour));
  const inSteps = starts.map((at, nth) => ({
    ...steps.filter((one) => one.at >= at && one.at < (starts[nth + 1] ?? some.to))
      .reduce<UsageSums>(addUsage, noUsage),
    at,
  }));
  assert.deepEqual(await store.steps(some, starts), inSteps.filter((step) => step.calls > 0));
}

/** A call as any may be. */
function anyCall(random: Random, accountId: number, id: string): Interaction {
  const costNanos = random.chance(10) ? null : BigInt(random.below(1_000_000_000));
  const managed = random.chance(70);
  const tokens = () => random.chance(20) ? null : random.below(5000);
  return interaction(accountId, id, {
    createdAt: new Date(now.getTime() - random.below(60 * 24) * hour - random.below(hour)),
    userId: `user ${random.below(10)}`,
    apiKeyId: `key ${random.below(3)}`,
    app: random.pick([null, "shop", "desk", `app ${random.below(20)}`]),
    vendor: random.pick(["vendor-a", "vendor-b"]),
    model: random.pick(["gpt-x", "some/model", "m".repeat(300)]),
    mode: managed ? "managed" : "stored_key",
    status: random.pick([
      "completed",
      "completed",
      "failed",
      "truncated",
      "cancelled",
      "interrupted",
    ]),
    billingBasis: random.pick(["reported", "estimated", "none"]),
    inputTokens: tokens(),
    cacheReadTokens: tokens(),
    cacheWriteTokens: tokens(),
    outputTokens: tokens(),
    reasoningTokens: tokens(),
    costNanos,
    chargedNanos: managed ? costNanos ?? 0n : 0n,
    latencyMs: random.below(random.pick([10, 1000, 3_000_000])),
  });
}

/** Rows of sums that the calls don't say, and the other way round. */
async function gaps(database: Database): Promise<unknown[]> {
  const kept = `select ${usageColumns} from usage_sums where not erased`;
  const counted = `select ${usageColumns} from (${usageFromRows}) as counted`;
  return await database.query(
    `(${kept} except all ${counted}) union all (${counted} except all ${kept})`,
  );
}

async function firstHourAgrees(database: Database, accountId: number): Promise<void> {
  const oldest = await createAnalyticsStore(database).oldestCall(accountId);
  const first = await createUsageSums(database).firstHour(accountId);
  assert.equal(first?.getTime(), Math.floor(oldest!.getTime() / hour) * hour);
}

eachDatabase(
  "after random writes, repeats, corrections and deletions sums are those of the rows",
  async (database) => {
    const random = new Random(20261121);
    const accounts = [await newAccount(database), await newAccount(database, "theirs")];
    const records = createRecords(database);
    const written: Interaction[] = [];
    const everWritten = new Set<string>();
    for (let step = 0; step < 60; step++) {
      const accountId = random.pick(accounts);
      const act = random.weighted(
        [[6, "write"], [2, "repeat"], [2, "reprice"], [1, "give back"], [
          2,
          "erase",
        ]] as const,
      );
      if (act === "write" || written.length === 0) {
        const rows = Array.from(
          { length: 1 + random.below(30) },
          (_, n) => anyCall(random, random.pick(accounts), `call ${step}-${n}`),
        );
        await records.insert(rows);
        for (const row of rows) {
          everWritten.add(row.transactionId);
        }
        written.push(...rows);
      } else if (act === "repeat") {
        await records.insert([random.pick(written), random.pick(written), random.pick(written)]);
      } else if (act === "reprice") {
        const store = createRepricing(database, createAnalyticsStore(database));
        for await (const calls of store.read({ accountId })) {
          await store.correct(
            accountId,
            calls.filter(() => random.chance(30)).map((call) => {
              const costNanos = BigInt(random.below(2_000_000_000));
              const chargedNanos = call.mode === "managed" ? costNanos : 0n;
              return { call, costNanos, chargedNanos, priceVersion: `version ${step}` };
            }),
          );
        }
      } else if (act === "give back") {
        const { accountId, transactionId } = random.pick(written);
        await refundCharge(
          database,
          { accountId, transactionId, note: "twice" },
          createAnalyticsStore(database),
        );
      } else {
        const selectors = random.chance(50)
          ? { userIds: [`user ${random.below(10)}`] }
          : { transactionIds: [random.pick(written).transactionId] };
        await erase(database, request(accountId, selectors, { requestedAt: new Date(asked) }));
      }
      if (step % 10 === 9) assert.deepEqual(await gaps(database), [], `after step ${step}`);
    }
    assert.deepEqual(await gaps(database), []);
    // No call was counted twice or lost on its way from the one to the other.
    const store = createUsageSums(database);
    const counted = await Promise.all(accounts.map(async (accountId) => {
      const steps = await store.steps(everything(accountId));
      const hours = await store.steps(everything(accountId, "hour"));
      const sum = (of: typeof steps) => of.reduce((all, one) => all + one.calls, 0);
      assert.equal(sum(hours), sum(steps));
      return sum(steps);
    }));
    assert.equal(counted[0]! + counted[1]!, everWritten.size);
    for (const accountId of accounts) await firstHourAgrees(database, accountId);
    for (const part of parts) await valuesAgree(store, accounts[0]!, part);
    // The ledger says the same of what was charged, but for charges given back after the erasure.
    const [rows] = await database.query("select count(*) as count from interactions");
    assert.ok(Number(rows!.count) > 50 && Number(rows!.count) < everWritten.size);
  },
);

eachDatabase(
  "spend stays when calls are erased; the names of their apps don't",
  async (database) => {
    const accountId = await newAccount(database);
    await createLedger(database).grant(accountId, 1_000_000_000n, {});
    const records = createRecords(database);
    const call = (id: string, more: Partial<Interaction>) =>
      interaction(accountId, id, {
        ...{ status: "completed", billingBasis: "reported", costNanos: 1000n, chargedNanos: 1000n },
        ...more,
      });
    await records.insert([
      call("a", { userId: "ada", app: "diary of ada" }),
      call("b", { userId: "eve", app: "shop" }),
    ]);
    await erase(database, request(accountId, { userIds: ["ada"] }));
    const store = createUsageSums(database);
    const query = everything(accountId);
    const [day] = await store.steps(query);
    assert.deepEqual([day!.calls, day!.costNanos, day!.latency.calls], [2, 2000n, 2]);
    assert.deepEqual(await store.erased(query), {
      calls: 1,
      costNanos: 1000n,
      chargedNanos: 1000n,
    });
    const { values: app } = await store.values(query, "app", 10);
    const { values: keys } = await store.values(query, "api_key", 10);
    assert.deepEqual(app.map(({ value, calls }) => [value, calls]), [["", 1], ["shop", 1]]);
    assert.deepEqual(keys.map(({ value, calls }) => [value, calls]), [["key_1", 2]]);
    // What is erased and what is stored lie in rows of their own; their costs are one.
    assert.deepEqual([...keys[0]!.costs], [[day!.at.getTime(), 2000n]]);
    const named = await database.query("select 1 from usage_sums where value like '%ada%'");
    assert.deepEqual(named, []);
  },
);

eachDatabase(
  "a call that was erased while under way counts once, as its charge does",
  async (database) => {
    const accountId = await newAccount(database);
    await createLedger(database).grant(accountId, 1_000_000_000n, {});
    const records = createRecords(database);
    const deletions = storeOf(database);
    const late = interaction(accountId, "late", {
      ...{ userId: "ada", app: "diary of ada", status: "completed", billingBasis: "reported" },
      ...{ costNanos: 700n, chargedNanos: 700n },
    });
    const stored = { ...late, transactionId: "stored" };
    await records.insert([stored]);
    const wanted = request(accountId, { userIds: ["ada"] });
    const tombstone = await deletions.add(wanted, "claimed");
    // The journal is written twice, one row of it before the erasure came to it.
    await records.insert([late, stored]);
    await records.insert([late, stored]);
    while (!(await deletions.eraseBatch({ tombstone, selectors: wanted.selectors })).isLast);
    await records.insert([late, stored]);
    const store = createUsageSums(database);
    assert.deepEqual(await store.erased(everything(accountId)), {
      calls: 2,
      costNanos: 1400n,
      chargedNanos: 1400n,
    });
    const { balanceNanos } = await createLedger(database).show(accountId);
    assert.equal(balanceNanos, 1_000_000_000n - 1400n);
    assert.deepEqual(await database.query("select 1 from usage_sums where value like '%ada%'"), []);
  },
);

eachDatabase(
  "what is too old leaves its sums, whether its partition goes or some rows",
  async (database) => {
    const accountId = await newAccount(database);
    const limit = new Date("2026-10-15T12:30:00.000Z");
    const ages = ["2026-08-03T01:00:00Z", "2026-09-30T23:59:59Z", "2026-10-15T12:10:00Z"];
    const young = ["2026-10-15T12:40:00Z", "2026-11-20T00:00:00Z"];
    await createAnalyticsStore(database).insert(
      [...ages, ...young].map((at, n) =>
        interaction(accountId, `call ${n}`, {
          ...{ createdAt: new Date(at), app: `app ${n}`, costNanos: 10n, chargedNanos: 10n },
          ...{ status: "completed", billingBasis: "reported" },
        })
      ),
    );
    const gone = await createRetention(database, createAnalyticsStore(database)).eraseUsage(limit);
    assert.deepEqual([gone!.partitions, gone!.interactions], [2, 1]);
    const store = createUsageSums(database);
    const query = everything(accountId);
    assert.deepEqual(
      (await store.steps(query)).map(({ calls }) => calls),
      [1, 1, 2, 1],
    );
    assert.equal((await store.erased(query)).calls, 3);
    const { values: app } = await store.values(query, "app", 10);
    assert.deepEqual(app.map(({ value, calls }) => [value, calls]), [["", 3], ["app 3", 1], [
      "app 4",
      1,
    ]]);
    assert.deepEqual(await gaps(database), []);
  },
);

onPostgres("a call that comes while its month is dropped counts where it is", async (db, open) => {
  const accountId = await newAccount(db);
  const old = (id: string) =>
    interaction(accountId, id, { createdAt: new Date("2026-08-03T01:00:00Z"), app: id });
  await createAnalyticsStore(db).insert([old("earlier")]);
  const [other, watching] = [await open(), await open()];
  const [written, dropping] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow: Database = {
    ...other,
    transaction: (work) =>
      other.transaction(async (tx) => {
        const result = await work(tx);
        written.resolve();
        await dropping.promise;
        return result;
      }),
  };
  const writing = createAnalyticsStore(slow).insert([old("late")]);
  await written.promise;
  const erasing = createRetention(db, createAnalyticsStore(db)).eraseUsage(now);
  await untilOneWaits(watching);
  dropping.resolve();
  await Promise.all([writing, erasing]);
  assert.deepEqual(await gaps(db), []);
});

/** A process that is killed now and then, before or after a transaction's commit. */
function mortal(database: Database, random: Random): Database {
  return {
    ...database,
    async transaction(work) {
      const [before, after] = [random.chance(20), random.chance(20)];
      const result = await database.transaction(async (tx) => {
        const done = await work(tx);
        if (before) throw new Error("killed");
        return done;
      });
      if (after) throw new Error("killed");
      return result;
    },
  };
}

onPostgres(
  "replicas that write, are killed, replay, correct and erase at once keep the sums exact",
  async (database, open) => {
    const accounts = [await newAccount(database), await newAccount(database, "theirs")];
    const replicas = await Promise.all([open(), open(), open()]);
    const written: Interaction[] = [];
    let deaths = 0;
    const live = async (replica: Database, index: number) => {
      const random = new Random(77 + index);
      const records = createRecords(mortal(replica, random));
      const replay = async (rows: readonly Interaction[]) => {
        for (let left = true; left;) {
          left = await records.insert(rows).then(() => false, (thrown) => {
            assert.match(String(thrown), /killed/);
            deaths++;
            return true;
          });
        }
      };
      for (let step = 0; step < 25; step++) {
        const accountId = random.pick(accounts);
        const rows = Array.from(
          { length: 1 + random.below(12) },
          (_, n) => anyCall(random, random.pick(accounts), `call ${index}-${step}-${n}`),
        );
        written.push(...rows);
        // Part of what another replica writes at this moment, too, as after a takeover.
        await replay([...rows, random.pick(written)]);
        if (random.chance(30)) {
          const store = createRepricing(replica, createAnalyticsStore(replica));
          for await (const calls of store.read({ accountId })) {
            await store.correct(
              accountId,
              calls.filter(() => random.chance(20)).map((call) => {
                const costNanos = BigInt(random.below(2_000_000_000));
                return { call, costNanos, chargedNanos: costNanos, priceVersion: `${step}` };
              }),
            );
          }
        }
        if (random.chance(30)) {
          const { accountId, transactionId } = random.pick(written);
          await refundCharge(
            replica,
            { accountId, transactionId, note: "twice" },
            createAnalyticsStore(replica),
          );
        }
        if (random.chance(20)) {
          const selectors = { userIds: [`user ${random.below(10)}`] };
          await erase(replica, request(accountId, selectors, { requestedAt: new Date(asked) }));
        }
        if (random.chance(10)) {
          const days = 20 + random.below(40);
          const limit = new Date(now.getTime() - days * 24 * hour);
          await createRetention(replica, createAnalyticsStore(replica)).eraseUsage(limit);
        }
      }
    };
    await Promise.all(replicas.map(live));
    assert.deepEqual(await gaps(database), []);
    assert.ok(deaths > 10, `${deaths}`);
    const [left] = await database.query("select count(*) as count from interactions");
    assert.ok(Number(left!.count) > 20, `${left!.count}`);
    await createRetention(database, createAnalyticsStore(database)).eraseUsage(
      new Date(now.getTime() + hour),
    );
    const [rest] = await database.query(
      "select count(*) as count from usage_sums where not erased",
    );
    assert.equal(Number(rest!.count), 0);
  },
);

onPostgres(
  "with interactions in a database of their own each change goes with its sums or not at all",
  async (database, open) => {
    const accountId = await newAccount(database);
    // Another connection represents another database: no transaction is shared.
    const apart = await open();
    const random = new Random(5);
    const rows = Array.from({ length: 60 }, (_, at) => anyCall(random, accountId, `call ${at}`));
    const charged = rows.findIndex(({ chargedNanos }) => chargedNanos > 0n);
    const work = (analytics: AnalyticsStore) => {
      const repricing = createRepricing(database, analytics);
      const transactionId = rows[charged]!.transactionId;
      return [
        () => createRecords(database, analytics).insert(rows),
        async () => {
          for await (const calls of repricing.read({ accountId })) {
            const changes = calls.slice(0, 20).map((call) => ({
              ...{ call, costNanos: 7n, chargedNanos: 7n, priceVersion: "v" },
            }));
            assert.equal((await repricing.correct(accountId, changes)).size, changes.length);
          }
        },
        () => refundCharge(database, { accountId, transactionId, note: "twice" }, analytics),
        () => erase(database, request(accountId, { userIds: ["user 1"] }), analytics),
        () => createRetention(database, analytics).eraseUsage(new Date(now.getTime() - 9 * day)),
      ] as const;
    };
    const whole = work(createAnalyticsStore(apart, database));
    const cut = work(createAnalyticsStore(withoutSums(apart), database));
    for (const [at, change] of whole.entries()) {
      await assert.rejects(async () => void await cut[at]!(), /no sums/, `${at}`);
      assert.deepEqual(await gaps(database), [], `${at}, cut`);
      await change();
      assert.deepEqual(await gaps(database), [], `${at}`);
    }
    const [left] = await database.query("select count(*) as count from interactions");
    assert.ok(Number(left!.count) > 0 && Number(left!.count) < 60, `${left!.count}`);
  },
);

onPostgres(
  "with interactions in a database of their own an erased call's refund leaves the sums once, wherever it was cut",
  async (database, open) => {
    const accountId = await newAccount(database);
    // Another connection represents another database: no transaction is shared.
    const apart = await open();
    const analytics = createAnalyticsStore(apart, database);
    const settled = interaction(accountId, "erased", {
      ...{ userId: "ada", status: "completed", billingBasis: "reported" },
      ...{ costNanos: 700n, chargedNanos: 700n },
    });
    const ids = ["erased", "erased later", "beside", "priced again"];
    const calls = ids.map((transactionId) => ({ ...settled, transactionId }));
    await createRecords(database, analytics).insert(calls);
    const eraseCalls = (...transactionIds: string[]) =>
      erase(database, request(accountId, { transactionIds }), analytics);
    await eraseCalls("erased", "beside");
    const refundVia = (apart: Database, transactionId: string) =>
      refundCharge(
        database,
        { accountId, transactionId, note: "twice", settled: { ...settled, transactionId } },
        createAnalyticsStore(apart, database),
      );
    const sums = createUsageSums(database);
    const erasedNanos = async () => (await sums.erased(everything(accountId))).chargedNanos;

    const away = () => Promise.reject(new Error("away"));
    const dead: Database = { ...apart, transaction: away };
    const unheard: Database = {
      ...apart,
      transaction: (work) => apart.transaction(work).then(away),
    };
    await assert.rejects(refundVia(dead, "erased"), /away/);
    assert.equal(await erasedNanos(), 1400n);
    await assert.rejects(refundVia(unheard, "erased"), /away/);
    await refundVia(apart, "erased");
    assert.equal(await erasedNanos(), 700n);
    await assert.rejects(refundVia(unheard, "erased later"), /away/);
    await eraseCalls("erased later");
    await refundVia(apart, "erased later");
    assert.equal(await erasedNanos(), 700n);
    // A correction of the call's price finishes the refund, too.
    await assert.rejects(refundVia(dead, "priced again"), /away/);
    const repricing = createRepricing(database, analytics);
    const priced = (await Array.fromAsync(repricing.read({ accountId }))).flat();
    await repricing.correct(
      accountId,
      priced.map((call) => ({ call, costNanos: 900n, chargedNanos: 900n, priceVersion: "v" })),
    );
    await eraseCalls("priced again");
    await refundVia(apart, "priced again");
    assert.equal(await erasedNanos(), 700n);
    const ledger = createLedger(database);
    assert.equal((await ledger.show(accountId)).balanceNanos, -700n);
    assert.deepEqual(await ledger.check(), []);
  },
);

/** A database in whose transactions no statement reaches the sums. */
function withoutSums(database: Database): Database {
  return {
    ...database,
    transaction: (work) =>
      database.transaction((tx) =>
        work({
          ...tx,
          query: (text, ...more) =>
            text.includes("usage_sums")
              ? Promise.reject(new Error("no sums"))
              : tx.query(text, ...more),
        })
      ),
  };
}
