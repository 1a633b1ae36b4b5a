import assert from "@std/assert";
import type { Budget, BudgetChange } from "./budget.ts";
import { removedMinutes } from "../shared/change_feed.ts";
import { BudgetCache } from "./budget_cache.ts";

function budget(id: string, name: string, more: Partial<Budget> = {}): Budget {
  const scope = { kind: "app", name } as const;
  return { id, accountId: 1, scope, per: "day", limitNanos: 1n, raised: null, ...more };
}

Deno.test("a budget covers the calls of its scope, from the change that sets it to the one that removes it", async () => {
  const user = (name: string) => ({ scope: { kind: "user", name } }) as const;
  const looks: BudgetChange[][] = [
    [
      budget("all", "", { scope: { kind: "account", name: "" } }),
      budget("shop", "shop"),
      budget("of month", "shop", { per: "month" }),
      budget("ann", "", user("ann")),
      // Calls without an app or a user are not of these.
      budget("null app", "null"),
      budget("null user", "", user("null")),
      budget("theirs", "shop", { accountId: 2 }),
    ],
    [{ id: "shop", accountId: 1 }, budget("ann", "", { ...user("ann"), limitNanos: 2n })],
    [{ id: "theirs", accountId: 2 }],
  ];
  const cache = new BudgetCache({
    changedSince: () => Promise.resolve({ now: new Date(0), changes: looks.shift()! }),
  });
  const covering = (app: string | null, userId: string | null, accountId = 1) =>
    cache.covering({ accountId, app, userId }).map(({ id }) => id);
  await cache.refresh();
  assert.deepEqual(covering(null, null), ["all"]);
  assert.deepEqual(covering("shop", "ann"), ["all", "shop", "of month", "ann"]);
  assert.deepEqual(covering("null", "null"), ["all", "null app", "null user"]);
  assert.deepEqual(covering("shop", "ann", 2), ["theirs"]);
  await cache.refresh();
  assert.deepEqual(covering("shop", "ann"), ["all", "of month", "ann"]);
  assert.deepEqual([cache.find("ann")?.limitNanos, cache.find("shop")], [2n, undefined]);
  assert.equal(cache.size, 6);
  await cache.refresh();
  assert.deepEqual(covering("shop", "ann", 2), []);
});

Deno.test("after a long gap a budget that is not listed any more covers nothing", async () => {
  const looks: { minutes: number; since: number | null; changes: BudgetChange[] }[] = [
    { minutes: 0, since: null, changes: [budget("a", "shop"), budget("b", "shop")] },
    // Within the time that removed budgets stay in the table.
    { minutes: 1, since: -1, changes: [budget("c", "shop")] },
    // After it the row of `a` may be gone, so all are read.
    { minutes: 1 + removedMinutes, since: 0, changes: [] },
    { minutes: 1 + removedMinutes, since: null, changes: [budget("b", "shop")] },
  ];
  const cache = new BudgetCache({
    changedSince(since) {
      const { minutes, since: expected, changes } = looks.shift()!;
      assert.equal(since === null ? null : since.getTime() / 60_000, expected);
      return Promise.resolve({ now: new Date(minutes * 60_000), changes });
    },
  });
  const covering = () =>
    cache.covering({ accountId: 1, app: "shop", userId: null }).map(({ id }) => id).sort();
  assert.throws(covering, /database does not answer/);
  await cache.refresh();
  assert.deepEqual(covering(), ["a", "b"]);
  await cache.refresh();
  assert.deepEqual(covering(), ["a", "b", "c"]);
  await cache.refresh();
  assert.deepEqual([covering(), cache.size, looks.length], [["b"], 1, 0]);
});
