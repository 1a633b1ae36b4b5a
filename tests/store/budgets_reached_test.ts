import assert from "@std/assert";
import {
  type BudgetSpan,
  type ChangedLimits,
  type NewBudget,
  periodStart,
  type RaisedLimit,
} from "../../src/budgets/budget.ts";
import { type BudgetedCall, postBudgetCharges } from "../../src/budgets/store/budget_charges.ts";
import {
  claimReached,
  createBudgetStore,
  createFullestCheck,
  createReachedCheck,
} from "../../src/budgets/store/budgets.ts";
import { refreshStatistics } from "../../src/database/table_statistics.ts";
import { maxNanos } from "../../src/pricing/plausible.ts";
import type { Database } from "../../src/database/database.ts";
import { CountedReads } from "../support/counted_reads.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import { startInTurn } from "../support/lock_queue.ts";
import { newAccount } from "./samples.ts";

const noon = new Date("2026-11-30T12:00:00Z");
const midnight = new Date("2026-12-01T00:00:00Z");

/** A budget, of 100 by default, on an account of its own that has spent `nanos` at noon. */
async function spentBudget(
  database: Database,
  { nanos, limitNanos = 100n, raised = null, per = "day" }: {
    nanos: bigint;
    limitNanos?: bigint;
    raised?: RaisedLimit | null;
    per?: BudgetSpan;
  },
) {
  const accountId = await newAccount(database, crypto.randomUUID());
  const budgets = createBudgetStore(database);
  const id = crypto.randomUUID();
  await budgets.set(id, {
    ...{ accountId, scope: { kind: "account", name: "" }, per, limitNanos, raised },
  }, { now: noon, prior: () => Promise.resolve(0n) });
  const spend = (chargedNanos: bigint) => {
    const call: BudgetedCall = {
      ...{ transactionId: crypto.randomUUID(), accountId, app: null, userId: null },
      ...{ createdAt: noon, chargedNanos, leaseIds: [], fromLeaseNanos: 0n },
    };
    return database.transaction((tx) => postBudgetCharges(tx, [call]));
  };
  await spend(nanos);
  /** The percentages and limits that are claimed at a time. */
  const claim = async (at: Date) => {
    const claimed: [number, bigint][] = [];
    for (const period of await createReachedCheck(database)(at)) {
      if (period.budgetId !== id) continue;
      const reached = await database.transaction((tx) => claimReached(tx, at, period));
      for (const { percent, limitNanos } of reached) claimed.push([percent, limitNanos]);
    }
    return claimed;
  };
  return Object.assign(claim, {
    spend,
    held: `select from budget_periods where budget_id = '${id}' for update`,
    change: (limits: ChangedLimits) => budgets.change(id, limits, { now: noon }),
  });
}

const afterMidnight = (ms: number) => new Date(midnight.getTime() + ms);

eachDatabase(
  "a limit raised until a period's end is the one by which the ended period is judged",
  async (database) => {
    const raised = { nanos: 1_000n, until: midnight };
    for (const per of ["day", "month"] as const) {
      const claim = await spentBudget(database, { nanos: 120n, raised, per });
      assert.deepEqual(await claim(noon), []);
      assert.deepEqual(await claim(afterMidnight(1)), [], `12 % of the ${per} were spent`);
    }
    // Raised until within the period, it is the budget's own limit that calls are refused by now.
    const claim = await spentBudget(database, {
      nanos: 120n,
      raised: { nanos: 1_000n, until: new Date(noon.getTime() + 1) },
    });
    assert.deepEqual(await claim(noon), []);
    assert.deepEqual(await claim(midnight), [[80, 100n], [95, 100n], [100, 100n]]);
  },
);

eachDatabase(
  "a percentage is claimed from exactly there on, and until ten minutes after the period",
  async (database) => {
    assert.deepEqual(await (await spentBudget(database, { nanos: 94n }))(noon), [[80, 100n]]);
    const late = await spentBudget(database, { nanos: 95n });
    assert.deepEqual(await late(afterMidnight(600_000 - 1)), [[80, 100n], [95, 100n]]);
    assert.deepEqual(await late(afterMidnight(600_000 - 1)), [], "once");
    const tooLate = await spentBudget(database, { nanos: 95n });
    assert.deepEqual(await tooLate(afterMidnight(600_000)), []);
  },
);

eachDatabase(
  "a changed limit's percentages are claimed that the spend reaches later",
  async (database) => {
    const claim = await spentBudget(database, { nanos: 96n });
    assert.deepEqual(await claim(noon), [[80, 100n], [95, 100n]]);
    await claim.change({ limitNanos: 115n });
    assert.deepEqual(await claim(noon), [], "it was past 80 % of the new limit when that was set");
    await claim.change({ limitNanos: 1_000n, raised: { nanos: 101n, until: midnight } });
    assert.deepEqual(await claim(noon), [[95, 101n]]);
    await claim.change({ raised: null });
    assert.deepEqual(await claim(noon), []);
    await claim.change({ limitNanos: 96n });
    assert.deepEqual(await claim(noon), [[80, 96n], [95, 96n], [100, 96n]]);
  },
);

onPostgres(
  "a limit that is changed meanwhile is the one whose percentages are claimed",
  async (database) => {
    const claim = await spentBudget(database, { nanos: 81n });
    assert.deepEqual(await claim(noon), [[80, 100n]]);
    await claim.spend(15n);
    const [, claimed] = await startInTurn(
      database,
      claim.held,
      () => claim.change({ limitNanos: 110n }),
      () => claim(noon),
    );
    assert.deepEqual(claimed, []);
    await claim.spend(9n);
    assert.deepEqual(await claim(noon), [[95, 110n]]);
  },
);

eachDatabase("percentages are claimed of the highest limit", async (database) => {
  const claim = await spentBudget(database, { nanos: maxNanos * 8n / 10n, limitNanos: maxNanos });
  assert.deepEqual(await claim(noon), [[80, maxNanos]]);
  await claim.change({ limitNanos: maxNanos - 1n });
  await claim.spend(maxNanos / 10n);
  assert.deepEqual(await claim(noon), []);
});

eachDatabase(
  "a budget is made with what was charged before it, or not at all",
  async (database) => {
    const accountId = await newAccount(database, crypto.randomUUID());
    const budgets = createBudgetStore(database);
    const budget: NewBudget = {
      ...{ accountId, scope: { kind: "account", name: "" }, per: "day" },
      ...{ limitNanos: 100n, raised: null },
    };
    const set = (prior: () => Promise<bigint>) =>
      budgets.set(crypto.randomUUID(), budget, { now: noon, prior });
    await assert.rejects(set(() => Promise.reject(new Error("away"))), /away/);
    // The second sum has what was charged meanwhile.
    const sums = [60n, 65n].values();
    assert.equal((await set(() => Promise.resolve(sums.next().value!)))?.spentNanos, 65n);
    const replaced = await set(() => Promise.reject(new Error("away")));
    assert.equal(replaced?.spentNanos, 65n, "a replaced one needs no sum");
    const first = [Promise.resolve(60n)].values();
    const cut = budgets.set("cut", { ...budget, per: "month" }, {
      ...{ now: noon, prior: () => first.next().value ?? Promise.reject(new Error("away")) },
    });
    await assert.rejects(cut, /away/);
    const [left] = await budgets.list({ id: "cut", now: noon });
    assert.equal(left?.spentNanos, 60n, "what was known is written with the budget");
  },
);

eachDatabase("so many budgets are checked at once, and each of them in turn", async (database) => {
  const accountId = await newAccount(database, crypto.randomUUID());
  await fillSpent(database, accountId, 9);
  const check = createReachedCheck(database, 4);
  const found: string[] = [];
  // Nine budgets are three portions, then it begins again.
  for (let look = 0; look < 6; look++) {
    for (const { budgetId } of await check(noon)) found.push(budgetId);
  }
  const { size } = new Set(found);
  assert.deepEqual([found.length, size], [18, 9]);
});

eachDatabase("a look for reached budgets doesn't read all budgets", async (database) => {
  const accountId = await newAccount(database, crypto.randomUUID());
  await fillSpent(database, accountId, 5_000);
  const counted = new CountedReads(database);
  const check = createReachedCheck(counted.database, 100);
  assert.equal((await check(noon)).length, 100);
  // Each once for the end of the portion, once to be read, and once for its period.
  assert.ok(counted.rows > 0 && counted.rows <= 320, `${counted.rows} rows`);
}, { fresh: true });

eachDatabase("the fullest budgets are found without reading all budgets", async (database) => {
  const accountId = await newAccount(database, crypto.randomUUID());
  await fillSpent(database, accountId, 10_000);
  if (database.kind === "embedded") await refreshStatistics(database);
  else await database.query("analyze");
  const ids = (await database.query("select id from budgets order by id", [])).map(({ id }) => id);
  const spend = (place: number, nanos: bigint) =>
    database.query("update budget_periods set spent_nanos = $2 where budget_id = $1", [
      ...[String(ids[place]), nanos],
    ]);
  const counted = new CountedReads(database);
  const check = createFullestCheck(counted.database, 1_000);
  const highest = async () => {
    counted.rows = 0;
    const found = await check(noon, 5);
    // Each once for the end of the portion, once to be read, and once for its period.
    assert.ok(counted.rows > 0 && counted.rows <= 3 * 1_010, `${counted.rows} rows`);
    assert.equal(found.length, 5);
    return found[0]!.spentNanos;
  };
  const round = async () => {
    const found = [];
    // Ten portions, and one in which the end is noticed.
    for (let look = 0; look < 11; look++) found.push(await highest());
    return found;
  };
  await spend(9_900, 300n);
  assert.deepEqual(await round(), [...Array(9).fill(10n), 300n, 300n]);
  await spend(9_900, 400n);
  assert.equal(await highest(), 400n, "one that is listed is read each time");
  await spend(100, 500n);
  assert.equal((await round()).at(-1), 500n);
}, { fresh: true });

/** Budgets of users, all of which are spent. */
async function fillSpent(database: Database, accountId: number, count: number): Promise<void> {
  await database.query(
    `with made as (
       insert into budgets (id, account_id, scope, name, per, limit_nanos)
       select md5($1::bigint || ' ' || n), $1, 'user', n, 'day', 10
       from generate_series(1, $2::int) as n returning id
     ) insert into budget_periods (budget_id, starts_at, spent_nanos) select id, $3, 10 from made`,
    [accountId, count, periodStart("day", noon)],
  );
}
