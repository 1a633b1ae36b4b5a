import assert from "@std/assert";
import { commandLine } from "../../src/audit/audit.ts";
import { FakeClock } from "../../src/base/clock.ts";
import { readBudgetScope } from "../../src/budgets/budget.ts";
import { createBudgetStore } from "../../src/budgets/store/budgets.ts";
import type { Database } from "../../src/database/database.ts";
import { eachDatabase } from "../support/databases.ts";
import { budgetProcess, noon } from "./budget_process.ts";
import { newAccount } from "./samples.ts";

eachDatabase("a budget that is only raised has a limit that somebody sets meanwhile", async (
  database,
) => {
  const accountId = await newAccount(database);
  const other = await budgetProcess(database);
  const { id } = await other.set(accountId, "user:ann", "day", 5n);
  let meanwhile = async () => {};
  const one = await budgetProcess({
    ...database,
    async transaction(work) {
      await meanwhile();
      return await database.transaction(work);
    },
  });
  meanwhile = async () => {
    meanwhile = async () => {};
    await other.budgets.change(id, { limitNanos: 7n }, commandLine);
  };
  const raised = { nanos: 9n, until: new Date("2026-12-01T00:00:00Z") };
  const request = { accountId, scope: readBudgetScope("user:ann"), per: "day", raised } as const;
  const set = await one.budgets.set(request, commandLine);
  assert.deepEqual([set.id, set.limitNanos, set.raised], [id, 7n, raised]);
  for (const missing of [{ per: "month" }, { accountId: await newAccount(database, "other") }]) {
    const refused = one.budgets.set({ ...request, ...missing } as typeof request, commandLine);
    await assert.rejects(refused, /usd: .*there is no budget yet/);
  }
});

eachDatabase("a period with many charges is forgotten in portions", async (database) => {
  const accountId = await newAccount(database);
  const one = await budgetProcess(database);
  const [old, current] = [noon, new Date(noon.getTime() + 86_400_000)];
  const { id } = await one.set(accountId, "account", "day", 5n);
  for (const [at, charges] of [[old, 12_000], [current, 10]] as const) {
    await database.query("insert into budget_periods (budget_id, starts_at) values ($1, $2)", [
      ...[id, at],
    ]);
    await database.query(
      `insert into budget_charges (transaction_id, budget_id, starts_at, charged_nanos)
       select n, $1, $2, 1 from generate_series($3::int, $4::int) as n`,
      [id, at, charges, 2 * charges - 1],
    );
  }
  const count = async () => {
    const [row] = await database.query("select count(*)::int as count from budget_charges");
    return Number(row!.count);
  };
  const counts = [await count()];
  const counting: Database = {
    ...database,
    async transaction(work) {
      const answer = await database.transaction(work);
      counts.push(await count());
      return answer;
    },
  };
  await createBudgetStore(counting).sweep(1, current);
  assert.equal(counts.at(-1), 10);
  const most = Math.max(...counts.slice(1).map((left, at) => counts[at]! - left));
  assert.ok(most <= 5_000, `${most} at once`);
  assert.deepEqual(await database.query("select starts_at from budget_periods"), [
    { starts_at: current },
  ]);
});

for (const days of [100, -100]) {
  const how = days > 0 ? "ahead" : "behind";
  eachDatabase(
    `a period stays that is current by one of two clocks, the process's ${how}`,
    async (database) => {
      const accountId = await newAccount(database);
      const calls = new Date(Date.now() + Math.min(0, days) * 86_400_000);
      const one = await budgetProcess(database, new FakeClock(calls));
      await one.set(accountId, "account", "day", 10n);
      await one.call({ accountId, nanos: 1n });
      one.clock.advance(Math.max(0, days) * 86_400_000);
      await one.sweepBudgets();
      const periods = await database.query("select spent_nanos from budget_periods");
      assert.deepEqual(periods, [{ spent_nanos: 1n }]);
    },
  );
}
