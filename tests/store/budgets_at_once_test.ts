import assert from "@std/assert";
import { budgetLimits, type NewBudget } from "../../src/budgets/budget.ts";
import { type BudgetedCall, postBudgetCharges } from "../../src/budgets/store/budget_charges.ts";
import { createBudgetStore } from "../../src/budgets/store/budgets.ts";
import type { Queryable } from "../../src/database/database.ts";
import { onPostgres } from "../support/databases.ts";
import { startInTurn } from "../support/lock_queue.ts";
import { newAccount, untilOneWaits } from "./samples.ts";

const now = new Date("2026-11-21T12:00:00Z");
const startsAt = new Date("2026-11-21T00:00:00Z");

const budgetOf = (accountId: number): NewBudget => ({
  ...{ accountId, scope: { kind: "account", name: "" }, per: "day" },
  ...{ limitNanos: 100n, raised: null },
});
const options = { now, prior: () => Promise.resolve(0n) };

onPostgres("two budgets that are made at the same moment don't exceed an account's number", async (
  database,
  open,
) => {
  const accountId = await newAccount(database);
  const other = createBudgetStore(await open());
  const added = `insert into budgets (id, account_id, scope, name, per, limit_nanos)
    select 'b' || n, $1, 'app', 'app ' || n, 'day', 1 from generate_series($2::int, $3::int) n`;
  await database.query(added, [accountId, 2, budgetLimits.perAccount]);
  const making = await database.transaction(async (tx) => {
    await tx.query("select id from accounts where id = $1 for no key update", [accountId]);
    await tx.query(added, [accountId, 1, 1]);
    let isOver = false;
    const audit = () => assert.fail("nothing was made");
    const made = other.set("one too many", budgetOf(accountId), { ...options, audit })
      .finally(() => isOver = true);
    await untilOneWaits(tx, () => isOver);
    return { made };
  });
  assert.equal(await making.made, undefined);
  await other.remove("b1", {});
  assert.equal((await other.set("in its place", budgetOf(accountId), options))?.id, "in its place");
});

onPostgres(
  "a budget that is removed while it is being made was made all the same",
  async (database) => {
    const accountId = await newAccount(database);
    const store = createBudgetStore(database);
    let reads = 0;
    const prior = async () => {
      // The second read follows the transaction that makes the budget.
      if (++reads === 2) await store.remove("b", {});
      return 3n;
    };
    const made = await store.set("b", budgetOf(accountId), { ...options, prior });
    assert.deepEqual([made?.id, made?.spentNanos], ["b", 3n]);
    assert.ok(made?.createdAt instanceof Date);
    assert.deepEqual(await store.list({ accountId, now }), []);
  },
);

onPostgres("two charges of one lease at the same moment draw no more than it has", async (
  database,
  open,
) => {
  const accountId = await newAccount(database);
  const store = createBudgetStore(database);
  const { id } = (await store.set("b", budgetOf(accountId), options))!;
  await database.query(
    `insert into budget_periods (budget_id, starts_at, leased_nanos) values ($1, $2, 10)
     on conflict (budget_id, starts_at) do update set leased_nanos = 10`,
    [id, startsAt],
  );
  await database.query(
    `insert into budget_leases (id, budget_id, starts_at, process_id, amount_nanos, operation_id,
       granted_nanos, expires_at)
     values ('lease', $1, $2, 'one', 10, 'take', 10, clock_timestamp() + interval '1 hour')`,
    [id, startsAt],
  );
  const call = (transactionId: string): BudgetedCall => ({
    ...{ transactionId, accountId, app: null, userId: null, createdAt: now },
    ...{ chargedNanos: 6n, leaseIds: ["lease"], fromLeaseNanos: 6n },
  });
  const other = await open();
  const [found, posted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isOver = false;
  const charging = other.transaction((tx) => {
    // It has found its periods when the other one posts.
    const query: Queryable["query"] = async (...statement) => {
      const rows = await tx.query(...statement);
      if (!statement[0].includes("insert into budget_periods")) return rows as never;
      found.resolve();
      await posted.promise;
      return rows as never;
    };
    return postBudgetCharges({ ...tx, query }, [call("y")]);
  }).finally(() => isOver = true);
  await found.promise;
  await database.transaction(async (tx) => {
    await postBudgetCharges(tx, [call("x")]);
    posted.resolve();
    await untilOneWaits(tx, () => isOver);
  });
  await charging;
  assert.deepEqual(
    await database.query(
      `select spent_nanos, leased_nanos, (select amount_nanos from budget_leases) as left_nanos
       from budget_periods`,
    ),
    [{ spent_nanos: 12n, leased_nanos: 0n, left_nanos: 0n }],
  );
});

onPostgres(
  "of two who lease from a budget at the same moment the second finds what the first has left",
  async (database) => {
    const accountId = await newAccount(database);
    const store = createBudgetStore(database);
    const { id } = (await store.set("b", budgetOf(accountId), options))!;
    await database.query("insert into budget_periods (budget_id, starts_at) values ($1, $2)", [
      ...[id, startsAt],
    ]);
    const take = (leaseId: string) => async () => {
      const { grantedNanos, availableNanos } = await store.take({
        ...{
          operationId: leaseId,
          accountId: { budgetId: id, startsAt },
          leaseId,
          processId: "one",
        },
        ...{ atLeastNanos: 0n, wantedNanos: 60n, aheadNanos: 0n, leaseSeconds: 60 },
      }, { atMost: 100n, now });
      return [grantedNanos, availableNanos];
    };
    const held = "select from budget_periods for update";
    const taken = await startInTurn(database, held, take("one"), take("two"));
    assert.deepEqual(taken, [[60n, 40n], [40n, 0n]]);
  },
);

onPostgres("of two who remove a budget at the same moment one has removed it", async (database) => {
  const store = createBudgetStore(database);
  await store.set("b", budgetOf(await newAccount(database)), options);
  const remove = () => store.remove("b", {});
  const held = "select from budgets for update";
  const [first, second] = await startInTurn(database, held, remove, remove);
  assert.deepEqual([(first as { id: string }).id, second], ["b", undefined]);
});
