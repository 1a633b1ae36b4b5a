import assert from "@std/assert";
import { commandLine } from "../../src/audit/audit.ts";
import { FakeClock } from "../../src/base/clock.ts";
import { periodStart, readBudgetScope } from "../../src/budgets/budget.ts";
import { correctBudgetCharges } from "../../src/budgets/store/budget_charges.ts";
import { createBudgetLeases, lockPeriods } from "../../src/budgets/store/budget_leases.ts";
import { createBudgetStore } from "../../src/budgets/store/budgets.ts";
import type { Database } from "../../src/database/database.ts";
import { Fault } from "../../src/shared/fault.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import { erase, request } from "./erasing.ts";
import { budgetProcess, burstOf, isOverBudget, noon } from "./budget_process.ts";
import { newAccount, untilOneWaits } from "./samples.ts";

eachDatabase(
  "budgets cover their account, app and end user, and name what is full",
  async (database) => {
    const accountId = await newAccount(database);
    const other = await newAccount(database, "other");
    const one = await budgetProcess(database);
    await one.set(accountId, "app:shop", "day", 10n);
    await one.set(accountId, "user:ann", "month", 7n);
    await one.set(accountId, "account", "day", 100n);
    await one.call({ accountId, app: "shop", nanos: 6n });
    await assert.rejects(
      one.begin({ accountId, app: "shop", nanos: 5n }),
      isOverBudget(
        /^The budget on app:shop per day of 0\.000000010 USD does not cover this call, which may cost up to 0\.000000005 USD: 0\.000000004 USD is left\. The budget resets with the next day \(UTC\)\.$/,
      ),
    );
    await one.call({ accountId, app: "shop", userId: "ann", nanos: 4n });
    await assert.rejects(
      one.begin({ accountId, userId: "ann", nanos: 4n }),
      isOverBudget(/on user:ann per month/),
    );
    await one.call({ accountId, nanos: 90n });
    await assert.rejects(one.begin({ accountId, nanos: 1n }), isOverBudget(/on account per day/));
    // Nothing is held for what costs nothing, and another account's calls are not under these.
    await one.call({ accountId, nanos: 0n });
    await one.call({ accountId: other, app: "shop", userId: "ann", nanos: 1000n });
    await one.set(other, "app:shop", "month", 5000n);
    await one.call({ accountId: other, app: "shop", userId: "ann", nanos: 1000n });
    assert.deepEqual(await one.spent(), [100n, 10n, 4n, 2000n]);
  },
);

eachDatabase(
  "what goes back to a budget goes back once, though its answer is lost while a call waits",
  async (database) => {
    const accountId = await newAccount(database);
    const call = { accountId, nanos: 200_000n };
    let untilLost = Infinity;
    let waiting: Promise<unknown> | undefined;
    const one = await budgetProcess({
      ...database,
      async transaction(work) {
        const answer = await database.transaction(work);
        if (--untilLost > 0) return answer;
        untilLost = Infinity;
        waiting = one.begin(call);
        throw new Fault("store_unavailable");
      },
    });
    await one.set(accountId, "account", "day", 1_000_000n);
    await one.begin(call);
    assert.deepEqual(await one.held(), [250_000n]);
    // The second transaction gives back what was leased ahead under the higher limit.
    untilLost = 2;
    await one.set(accountId, "account", "day", 900_000n);
    await one.budgetHolds.tick();
    await waiting;
    await one.budgetHolds.close();
    assert.deepEqual(await one.held(), [400_000n]);
  },
);

onPostgres(
  "of 200 calls at once over two processes exactly those that fit are let through",
  async (database, open) => {
    const accountId = await newAccount(database);
    const clock = new FakeClock(noon);
    const one = await budgetProcess(database, clock, "one");
    await one.set(accountId, "account", "day", 37_000n);
    const two = await budgetProcess(await open(), clock, "two");
    const call = { accountId, nanos: 1_000n };
    const begun = await burstOf([one, two], call);
    assert.ok(begun.length <= 37, `${begun.length} of 37`);
    // What the other holds unused is there after five seconds of its idleness.
    const ended = await Promise.all(begun.map(({ hold, by }) => by.end(call, hold, 1_000n, 2)));
    let answered = ended.length;
    for (let times = 0; times < 40 && answered < 37; times++) {
      clock.advance(5_001);
      await Promise.all([one.budgetHolds.tick(), two.budgetHolds.tick()]);
      const again = await burstOf([one, two], call);
      answered += again.length;
      assert.ok(answered <= 37, `${answered} of 37`);
      for (const { hold, by } of again) await by.end(call, hold);
    }
    assert.equal(answered, 37);
    assert.deepEqual(await one.spent(), [37_000n]);
    await one.budgetHolds.close();
    await two.budgetHolds.close();
    assert.deepEqual(await one.held(), [0n]);
  },
);

eachDatabase(
  "a day ends at midnight UTC, and a call belongs to the day in which it arrived",
  async (database) => {
    const accountId = await newAccount(database);
    const clock = new FakeClock(new Date("2026-11-30T23:59:59.990Z"));
    const one = await budgetProcess(database, clock);
    await one.set(accountId, "account", "day", 10n);
    await one.set(accountId, "account", "month", 15n);
    const late = { accountId, nanos: 9n, at: clock.now() };
    const hold = await one.begin(late);
    await assert.rejects(one.begin({ accountId, nanos: 2n }), isOverBudget(/per day/));
    clock.advance(10);
    // The first of December: a new day and a new month.
    await one.call({ accountId, nanos: 10n });
    await assert.rejects(one.begin({ accountId, nanos: 1n }), isOverBudget(/on account per day/));
    await one.end(late, hold);
    assert.deepEqual(await one.spent(), [10n, 10n]);
    clock.advance(24 * 60 * 60_000);
    await assert.rejects(one.begin({ accountId, nanos: 6n }), isOverBudget(/on account per month/));
    await one.call({ accountId, nanos: 5n });
    assert.deepEqual(await one.spent(), [5n, 15n]);
    const sums = await database.query(
      "select starts_at, spent_nanos from budget_periods order by starts_at, spent_nanos",
      [],
    );
    assert.deepEqual(
      sums.map((row) => [(row.starts_at as Date).toISOString().slice(0, 10), row.spent_nanos]),
      [["2026-11-01", 9n], ["2026-11-30", 9n], ["2026-12-01", 10n], ["2026-12-01", 15n], [
        "2026-12-02",
        5n,
      ]],
    );
  },
);

eachDatabase("until a time the limit is the raised one, and never beyond it", async (database) => {
  const accountId = await newAccount(database);
  const clock = new FakeClock(noon);
  const one = await budgetProcess(database, clock);
  const until = new Date(noon.getTime() + 60_000);
  const scope = readBudgetScope("account");
  const base = { accountId, scope, per: "day" } as const;
  await assert.rejects(
    one.budgets.set({ ...base, raised: { nanos: 30_000n, until } }, commandLine),
    { field: "usd", code: "missing_required_field" },
  );
  await one.set(accountId, "account", "day", 10_000n);
  const raised = await one.budgets.set(
    { ...base, raised: { nanos: 100_000n, until } },
    commandLine,
  );
  assert.deepEqual([raised.limitNanos, raised.raised], [10_000n, { nanos: 100_000n, until }]);
  for (let calls = 0; calls < 5; calls++) await one.call({ accountId, nanos: 1_000n });
  // The process has leased ahead by the raised limit; at its end that goes back before anything else.
  clock.advance(60_000);
  for (let calls = 0; calls < 5; calls++) await one.call({ accountId, nanos: 1_000n });
  await assert.rejects(one.begin({ accountId, nanos: 1n }), isOverBudget(/of 0\.000010000 USD/));
  assert.deepEqual(await one.spent(), [10_000n]);
  await assert.rejects(
    one.budgets.set({ ...base, raised: { nanos: 1n, until } }, commandLine),
    /^Fault: raise_until: expected a time in the future/,
  );
});

/** 0.01 USD. Leases are tenths of a dollar, so of a limit of dollars a process holds ten calls' worth. */
const cent = 10_000_000n;

/** Two processes that hold much more of a limit of 10 USD, for the next two seconds, than 6 cents. */
async function raisedBudget(database: Database, open: () => Promise<Database>) {
  const accountId = await newAccount(database);
  const clock = new FakeClock(noon);
  const one = await budgetProcess(database, clock, "one");
  const budget = { accountId, scope: readBudgetScope("account"), per: "day" } as const;
  const until = new Date(noon.getTime() + 2_000);
  await one.budgets.set(
    { ...budget, limitNanos: 6n * cent, raised: { nanos: 1_000n * cent, until } },
    commandLine,
  );
  const two = await budgetProcess(await open(), clock, "two");
  const call = { accountId, nanos: cent };
  for (const by of [one, two, one, two]) await by.call(call);
  const [held] = await one.held();
  assert.ok((held as bigint) >= 10n * cent, `${held} are held`);
  return { accountId, clock, one, two, call };
}

onPostgres(
  "a raise that ends: what two processes leased by it goes back, and exactly the rest is let through",
  async (database, open) => {
    const { clock, one, two, call } = await raisedBudget(database, open);
    // Sooner than what is idle goes back.
    clock.advance(2_000);
    await two.budgetHolds.tick();
    const begun = await burstOf([one], call);
    assert.equal(begun.length, 2, "4 of 6 cents are spent");
    assert.deepEqual(await burstOf([two, one], call), []);
    for (const { hold, by } of begun) await by.end(call, hold);
    assert.deepEqual(await one.spent(), [6n * cent]);
    await one.budgetHolds.close();
    await two.budgetHolds.close();
    assert.deepEqual(await one.held(), [0n]);
  },
);

onPostgres(
  "a raise that ends: a process that has not looked since lets nothing through by what it holds",
  async (database, open) => {
    const { clock, one, two, call } = await raisedBudget(database, open);
    clock.advance(2_000);
    // Each may see the other's lease as held still, but none its own.
    const begun = await burstOf([one, two], call);
    assert.ok(begun.length <= 2, `${begun.length} of 2`);
    const more = await burstOf([one, two], call);
    assert.equal(begun.length + more.length, 2);
  },
);

onPostgres(
  "a raise that ends while a lease is under way: what it brings goes back but for its call",
  async (database, open) => {
    const { clock, one, two, call } = await raisedBudget(database, open);
    for (const by of [one, two]) await by.budgetHolds.close();
    const three = await budgetProcess(await open(), clock, "three");
    const other = await open();
    const [locked, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holding = other.transaction(async (tx) => {
      await tx.query("select 1 from budget_periods for update", []);
      locked.resolve();
      await free.promise;
    });
    await locked.promise;
    // It is asked for by the higher limit, and waits.
    const beginning = three.begin(call);
    clock.advance(2_000);
    const ticking = three.budgetHolds.tick();
    free.resolve();
    await holding;
    await Promise.all([beginning, ticking]);
    await three.budgetHolds.tick();
    const leases = await database.query(
      "select amount_nanos as n from budget_leases where process_id = 'three'",
      [],
    );
    assert.deepEqual(leases.map(({ n }) => n), [cent]);
  },
);

onPostgres(
  "a budget that is lowered, then raised: two processes go by it, to the cent",
  async (database, open) => {
    const accountId = await newAccount(database);
    const clock = new FakeClock(noon);
    const one = await budgetProcess(database, clock, "one");
    await one.set(accountId, "account", "day", 1_000n * cent);
    const two = await budgetProcess(await open(), clock, "two");
    const call = { accountId, nanos: cent };
    for (const by of [one, two, one, two]) await by.call(call);
    assert.ok((await one.held())[0] as bigint >= 10n * cent);
    await one.set(accountId, "account", "day", 6n * cent);
    // The second as its jobs do, each second.
    const look = async () => {
      await two.budgetCache.refresh();
      await two.budgetHolds.tick();
    };
    await look();
    assert.deepEqual(await one.held(), [0n], "all is back");
    const lowered = await burstOf([one, two], call);
    assert.equal(lowered.length, 2);
    await one.set(accountId, "account", "day", 9n * cent);
    await look();
    const raised = await burstOf([one, two], call);
    assert.equal(raised.length, 3);
    for (const { hold, by } of [...lowered, ...raised]) await by.end(call, hold);
    assert.deepEqual(await one.spent(), [9n * cent]);
  },
);

onPostgres(
  "changed while calls run: lowered at once here, within a look elsewhere, and removed",
  async (database, open) => {
    const accountId = await newAccount(database);
    const clock = new FakeClock(noon);
    const one = await budgetProcess(database, clock, "one");
    const first = await one.set(accountId, "account", "day", 1_000_000n);
    const two = await budgetProcess(await open(), clock, "two");
    const call = { accountId, nanos: 1_000n };
    const running = await Promise.all(
      Array.from({ length: 10 }, (_, at) => (at % 2 ? one : two).begin(call)),
    );
    const second = await one.set(accountId, "account", "day", 12_000n);
    assert.equal(second.id, first.id, "it takes the place of the first");
    await two.budgetCache.refresh();
    // Ten run: two more fit.
    const begun = await burstOf([one, two], call);
    assert.ok(begun.length <= 2, `${begun.length} of 2`);
    for (const { hold, by } of begun) await by.end(call, hold);
    await Promise.all(running.map((hold, at) => (at % 2 ? one : two).end(call, hold)));
    const [spent] = await one.spent();
    assert.equal(spent, 10_000n + BigInt(begun.length) * 1_000n);
    const last = await one.begin({ accountId, nanos: 0n });
    assert.equal(await one.budgets.remove(first.id, commandLine, accountId + 1), false);
    assert.equal(await one.budgets.remove(first.id, commandLine), true);
    assert.equal(await one.budgets.remove(first.id, commandLine), false);
    // Here at once; the other lets everything through too, since the store knows no limit.
    await one.end(call, await one.begin({ accountId, nanos: 99_000_000n }), 5n);
    await two.end(call, await two.begin({ accountId, nanos: 99_000_000n }), 5n);
    last.settle(0n);
    await two.budgetCache.refresh();
    assert.equal((await two.begin(call)).leaseIds.length, 0);
    const audit = await database.query(
      "select action, subject, detail from audit_log order by id",
      [],
    );
    assert.deepEqual(audit.map((row) => [row.action, row.subject === first.id, row.detail]), [
      ["budget.set", true, "account per day: 0.001000000 USD"],
      ["budget.set", true, "account per day: 0.000012000 USD"],
      ["budget.removed", true, "account per day: 0.000012000 USD"],
    ]);
  },
);

onPostgres(
  "what a dead process held is there again once it has restarted, or its lease is over",
  async (database, open) => {
    const accountId = await newAccount(database);
    const one = await budgetProcess(database, new FakeClock(noon), "one");
    await one.set(accountId, "account", "day", 10_000n);
    const two = await budgetProcess(await open(), new FakeClock(noon), "two");
    // It dies with a call under way, whose charge its journal holds.
    const call = { accountId, nanos: 8_000n };
    const hold = await one.begin(call);
    await assert.rejects(two.begin({ accountId, nanos: 3_000n }), isOverBudget(/USD is left/));
    const again = await budgetProcess(await open(), new FakeClock(noon), "one");
    await again.end(call, { leaseIds: hold.leaseIds, settle() {} }, 2_000n);
    await again.takeBackBudgets("one");
    assert.deepEqual([await again.spent(), await again.held()], [[2_000n], [0n]]);
    await two.call({ accountId, nanos: 8_000n });
    assert.deepEqual(await again.spent(), [10_000n]);
    // The other one goes for good; a lease whose own row is locked is taken back later.
    await database.query("update budget_leases set expires_at = clock_timestamp()", []);
    await (await open()).transaction(async (tx) => {
      await tx.query("select from budget_leases for update");
      await again.sweepBudgetLeases();
    });
    const leases = "select from budget_leases";
    assert.equal((await database.query(leases, [])).length, 1);
    await again.sweepBudgetLeases();
    assert.deepEqual([await database.query(leases, []), await again.held()], [[], [0n]]);
  },
);

eachDatabase(
  "a new budget counts what its period was charged before; a correction and a refund count",
  async (database) => {
    const accountId = await newAccount(database);
    const one = await budgetProcess(database);
    await one.call({ accountId, app: "shop", userId: "ann", nanos: 5n });
    await one.call({ accountId, app: "shop", nanos: 6n, at: new Date("2026-11-20T12:00:00Z") });
    await one.call({ accountId, app: "blog", nanos: 7n });
    const set = async (on: string, per: "day" | "month") =>
      (await one.set(accountId, on, per, 100n)).spentNanos;
    assert.deepEqual(
      [await set("account", "day"), await set("account", "month"), await set("app:shop", "month")],
      [12n, 18n, 11n],
    );
    assert.deepEqual([await set("user:ann", "day"), await set("user:bob", "day")], [5n, 0n]);
    const row = await one.call({ accountId, app: "shop", userId: "bob", nanos: 9n });
    assert.deepEqual(await one.spent(), [21n, 27n, 20n, 5n, 9n]);
    const correct = (chargedNanos: bigint) =>
      database.transaction((tx) =>
        correctBudgetCharges(tx, [{ transactionId: row.transactionId, chargedNanos }])
      );
    await correct(3n);
    await correct(3n);
    assert.deepEqual(await one.spent(), [15n, 21n, 14n, 5n, 3n]);
    await correct(0n);
    assert.deepEqual(await one.spent(), [12n, 18n, 11n, 5n, 0n]);
    await correct(3n);
    assert.deepEqual(await one.spent(), [15n, 21n, 14n, 5n, 3n]);
  },
);

eachDatabase(
  "an end user whose data is erased is named by no budget and by no entry of the log",
  async (database) => {
    const accountId = await newAccount(database);
    const one = await budgetProcess(database);
    await one.set(accountId, "user:ann@example.org", "day", 10n);
    await one.set(accountId, "user:bob", "day", 10n);
    await one.call({ accountId, userId: "ann@example.org", nanos: 5n });
    // What is erased in part, or of another account, leaves its user's budget.
    const userIds = ["ann@example.org"];
    const other = await newAccount(database, "other");
    for (
      const partly of [
        request(accountId, { userIds, start: noon }),
        request(accountId, { userIds, end: noon }),
        request(accountId, { userIds, sessionIds: ["s"] }),
        request(accountId, { userIds, transactionIds: ["t"] }),
        request(accountId, { userIds }, { tables: ["eval_results"] }),
        request(other, { userIds }),
      ]
    ) await erase(database, partly);
    // By the store, since the log names apps.
    const store = createBudgetStore(database);
    const scope = readBudgetScope("app:ann@example.org");
    const asApp = { accountId, scope, per: "day", limitNanos: 10n, raised: null } as const;
    await store.set("app", asApp, { now: noon, prior: () => Promise.resolve(0n) });
    assert.equal((await one.budgets.list()).length, 3);
    await erase(database, request(accountId, { userIds }));
    assert.deepEqual((await one.budgets.list()).map(({ id }) => id === "app"), [true, false]);
    await store.remove("app", {});
    for (const table of ["budgets", "budget_charges", "budget_periods", "audit_log"]) {
      const rows = await database.query(`select row_to_json(t)::text as row from ${table} t`, []);
      assert.ok(rows.length > 0, table);
      assert.ok(!rows.some(({ row }) => String(row).includes("ann@")), table);
    }
    await one.budgetCache.refresh();
    const { leaseIds } = await one.begin({ accountId, userId: "ann@example.org", nanos: 99n });
    assert.equal(leaseIds.length, 0);
    const { spentNanos } = await one.set(accountId, "account", "month", 10n);
    assert.equal(spentNanos, 5n, "what the erased call was charged counts in a new budget");
  },
);

eachDatabase(
  "what is leased of a budget comes back once, and what is overspent is leased to nobody",
  async (database) => {
    const accountId = await newAccount(database);
    const one = await budgetProcess(database);
    const { id } = await one.set(accountId, "account", "day", 100n);
    const period = { budgetId: id, startsAt: periodStart("day", noon) };
    const leases = createBudgetLeases(database);
    const take = (operationId: string, atLeastNanos: bigint) =>
      leases.take({
        ...{ operationId, accountId: period, leaseId: "lease", processId: "two" },
        ...{ atLeastNanos, wantedNanos: atLeastNanos, aheadNanos: 0n, leaseSeconds: 60 },
      }, { atMost: 100n, now: noon });
    // Each the second time as after an answer that was lost.
    for (let n = 0; n < 2; n++) assert.equal((await take("take", 40n)).grantedNanos, 40n);
    const back = { operationId: "back", accountId: period, leaseId: "lease", amountNanos: 15n };
    for (let n = 0; n < 2; n++) assert.equal(await leases.release(back, noon), 75n);
    assert.deepEqual(await one.held(), [25n]);
    await one.budgets.change(id, { limitNanos: 10n }, commandLine);
    assert.equal((await take("ahead", 0n)).availableNanos, -15n);
  },
);

eachDatabase(
  "gauges show the fullest budgets by their ids, and name no end user",
  async (database) => {
    const accountId = await newAccount(database);
    const one = await budgetProcess(database);
    const { id } = await one.set(accountId, "user:ann", "day", 2_000_000_000n);
    await one.set(accountId, "account", "month", 8_000_000_000n);
    await one.call({ accountId, userId: "ann", nanos: 1_500_000_000n });
    await one.budgetGauges.refresh();
    const { measures } = one.budgetGauges;
    const read = (name: string) => (measures[name] as { readAll(): readonly unknown[] }).readAll();
    const spent = read("gateway_budget_spent_usd");
    const account = String(accountId);
    assert.deepEqual(spent[0], { labels: { budget: id, account, per: "day" }, value: 1.5 });
    assert.deepEqual(
      read("gateway_budget_limit_usd").map((line) => (line as { value: number }).value),
      [2, 8],
    );
    assert.ok(!JSON.stringify(spent).includes("ann"));
  },
);

eachDatabase("changes of one budget at the same time all hold, and none brings it back", async (
  database,
) => {
  const accountId = await newAccount(database);
  const one = await budgetProcess(database);
  const { id } = await one.set(accountId, "account", "day", 5n);
  const raised = { nanos: 9n, until: new Date("2026-12-01T00:00:00Z") };
  for (let limitNanos = 10n; limitNanos < 20n; limitNanos++) {
    await one.budgets.change(id, { raised: null }, commandLine);
    await Promise.all([
      one.budgets.change(id, { limitNanos }, commandLine),
      one.budgets.change(id, { raised }, commandLine),
    ]);
    const found = await one.budgets.find(id);
    assert.deepEqual([found?.limitNanos, found?.raised], [limitNanos, raised]);
  }
  await assert.rejects(
    one.budgets.change(id, { raised: { nanos: 1n, until: noon } }, commandLine),
    /raise_until: expected a time in the future/,
  );
  await one.budgets.remove(id, commandLine);
  assert.equal(await one.budgets.change(id, { limitNanos: 1n }, commandLine), undefined);
  assert.deepEqual(await one.budgets.list(), []);
  // Only what was removed is swept.
  const left = await one.set(accountId, "app:shop", "day", 5n);
  await database.query("update budgets set changed_at = changed_at - interval '2 minutes'", []);
  await createBudgetStore(database).sweep(1, noon);
  assert.deepEqual(await database.query("select id from budgets", []), [{ id: left.id }]);
});

onPostgres(
  "expired leases are taken back without a deadlock with charges",
  async (database, open) => {
    const accountId = await newAccount(database);
    const one = await budgetProcess(database);
    await one.set(accountId, "account", "day", 1_000n);
    await one.set(accountId, "account", "month", 1_000n);
    await one.begin({ accountId, nanos: 10n });
    const [charging, third] = [await open(), await open()];
    const expire = (period: { budgetId: string; startsAt: Date }) =>
      third.query(
        "update budget_leases set expires_at = 'epoch' where budget_id = $1 and starts_at = $2",
        [period.budgetId, period.startsAt],
      );
    const [expired, later] =
      (await database.query("select budget_id, starts_at from budget_periods"))
        .map((row) => ({ budgetId: String(row.budget_id), startsAt: row.starts_at as Date }));
    await expire(expired!);
    // The other lease runs out once the sweep has chosen and locked its periods.
    const sweeping: Database = {
      ...database,
      transaction: (work) =>
        database.transaction((tx) =>
          work({
            ...tx,
            async query(...statement) {
              const rows = await tx.query(...statement);
              if (statement[0].includes("for update")) await expire(later!);
              return rows as never;
            },
          })
        ),
    };
    const taken = await charging.transaction(async (tx) => {
      await lockPeriods(tx, [later!]);
      let isSwept = false;
      const swept = createBudgetLeases(sweeping).sweepExpired().finally(() => isSwept = true);
      await untilOneWaits(third, () => isSwept);
      assert.ok(isSwept, "it waits for no period that it hasn't chosen");
      // As a charge does, which holds the period and draws on its lease.
      await tx.query("update budget_leases set amount_nanos = 1 where budget_id = $1", [
        later!.budgetId,
      ]);
      return swept;
    });
    assert.equal(taken.leases, 1);
  },
);
