import assert from "@std/assert";
import type { Budget, BudgetChange } from "./budget.ts";
import { removedMinutes } from "../shared/change_feed.ts";
import { createBudgetCache } from "./budget_cache.ts";

function budget(id: string, name: string): Budget {
  const scope = { kind: "app", name } as const;
  return { id, accountId: 1, scope, per: "day", limitNanos: 1n, raised: null };
}

Deno.test("after a long gap a budget that is not listed any more covers nothing", async () => {
  const looks: { minutes: number; since: number | null; changes: BudgetChange[] }[] = [
    { minutes: 0, since: null, changes: [budget("a", "shop"), budget("b", "shop")] },
    // Within the time that removed budgets stay in the table.
    { minutes: 1, since: -1, changes: [budget("c", "shop")] },
    // After it the row of `a` may be gone, so all are read.
    { minutes: 1 + removedMinutes, since: 0, changes: [] },
    { minutes: 1 + removedMinutes, since: null, changes: [budget("b", "shop")] },
  ];
  const cache = createBudgetCache({
    changedSince(since) {
      const { minutes, since: expected, changes } = looks.shift()!;
      assert.equal(since === null ? null : since.getTime() / 60_000, expected);
      return Promise.resolve({ now: new Date(minutes * 60_000), changes });
    },
  });
  const covering = () =>
    cache.covering({ accountId: 1, app: "shop", userId: null }).map(({ id }) => id).sort();
  assert.throws(covering, /database cannot be reached/);
  await cache.refresh();
  assert.deepEqual(covering(), ["a", "b"]);
  await cache.refresh();
  assert.deepEqual(covering(), ["a", "b", "c"]);
  await cache.refresh();
  assert.deepEqual([covering(), cache.size, looks.length], [["b"], 1, 0]);
});
