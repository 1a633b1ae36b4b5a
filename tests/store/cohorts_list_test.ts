import assert from "@std/assert";
import { createCohorts } from "../../src/cohorts/store/cohorts.ts";
import {
  createAnalyticsReads,
  createAnalyticsStore,
} from "../../src/records/store/analytics_store.ts";
import { CountedReads } from "../support/counted_reads.ts";
import { eachDatabase } from "../support/databases.ts";
import { interaction, newAccount } from "./samples.ts";

const at = (minute: number) => new Date(Date.UTC(2026, 10, 21, 9, minute));
const noBounds = { since: null, most: 100 };

eachDatabase(
  "cohorts are listed by name, page by page, whether calls or outcomes name them, each account's own",
  async (database) => {
    const [account, other] = [await newAccount(database), await newAccount(database, "other")];
    const cohorts = createCohorts(database, createAnalyticsStore(database));
    await createAnalyticsStore(database).insert([
      interaction(account, "1", { cohortId: "b", createdAt: at(1), costNanos: 7n }),
      interaction(account, "2", { cohortId: "b", createdAt: at(2), costNanos: null }),
      interaction(account, "3", { cohortId: "d", createdAt: at(3), costNanos: 1n }),
      interaction(account, "4", { cohortId: null, createdAt: at(4) }),
      interaction(other, "5", { cohortId: "theirs", createdAt: at(5) }),
    ]);
    const post = (cohortId: string, type: string, valueNanos: bigint) =>
      cohorts.post({
        ...{ accountId: account, apiKeyId: "k", cohortId, requestId: crypto.randomUUID() },
        items: [{
          type,
          label: null,
          valueNanos,
          itemId: null,
          transactionId: null,
          sessionId: null,
        }],
      });
    await post("b", "orders", 2_000_000_000n);
    await post("b", "revenue", 9_000_000_000n);
    await post("a", "orders", 1_000_000_000n);
    const first = await cohorts.list(account, { ...noBounds, from: "", limit: 2 });
    assert.deepEqual(first, {
      lines: [
        {
          cohortId: "a",
          lastCallAt: null,
          calls: { counted: 0, priced: 0, costNanos: 0n, isCut: false },
          outcomes: { conversionNanos: 1_000_000_000n, revenueNanos: null, isCut: false },
        },
        {
          cohortId: "b",
          lastCallAt: at(2),
          calls: { counted: 2, priced: 1, costNanos: 7n, isCut: false },
          outcomes: {
            conversionNanos: 2_000_000_000n,
            revenueNanos: 9_000_000_000n,
            isCut: false,
          },
        },
      ],
      next: "d",
    });
    const second = await cohorts.list(account, { ...noBounds, from: "d", limit: 2 });
    assert.deepEqual(second.lines.map(({ cohortId }) => cohortId), ["d"]);
    assert.equal(second.next, undefined);
    const cut = await cohorts.list(account, { since: null, most: 1, from: "b", limit: 1 });
    assert.deepEqual(cut.lines[0]?.calls, { counted: 1, priced: 0, costNanos: 0n, isCut: true });
    const late = await cohorts.list(account, { since: at(3), most: 9, from: "", limit: 9 });
    assert.deepEqual(late.lines.map(({ calls }) => calls.counted), [0, 0, 1]);
  },
);

eachDatabase("one statement reads cohorts that may have 10,000 rows", async (database) => {
  const account = await newAccount(database);
  const many = Array.from({ length: 23 }, (_, n) => `e ${String.fromCharCode(97 + n)}`);
  await createAnalyticsStore(database).insert(
    many.map((cohortId, n) =>
      interaction(account, `many ${n}`, { cohortId, costNanos: BigInt(n) })
    ),
  );
  const counted = new CountedReads(database);
  const cohorts = createCohorts(counted.database, createAnalyticsReads(counted.database));
  for (const [most, statements] of [[100, 4], [1_000, 8]] as const) {
    counted.statements = 0;
    const { lines } = await cohorts.list(account, { since: null, most, from: "e", limit: 50 });
    assert.deepEqual(
      lines.map(({ cohortId, calls }) => [cohortId, calls.costNanos]),
      many.map((cohortId, n) => [cohortId, BigInt(n)]),
    );
    assert.equal(counted.statements, statements, `${most} rows of each cohort`);
  }
});

eachDatabase(
  "a cohort's latest calls are summed with the outcomes since the oldest of them",
  async (database) => {
    const account = await newAccount(database);
    const cohorts = createCohorts(database, createAnalyticsStore(database));
    const calls = [1, 2, 3, 4].map((minute) =>
      interaction(account, String(minute), {
        ...{ cohortId: "c", createdAt: at(minute), status: "completed" as const },
        ...{ costNanos: BigInt(minute), latencyMs: minute * 100 },
      })
    );
    await createAnalyticsStore(database).insert(calls);
    const items = [{
      type: "orders",
      label: null,
      valueNanos: 1_000_000_000n,
      itemId: null,
      transactionId: null,
      sessionId: null,
    }];
    await cohorts.post({
      ...{ accountId: account, apiKeyId: "k", cohortId: "c", requestId: "r", items },
    });
    await database.query("update cohort_outcomes set created_at = $1", [at(2)]);
    const latest = async (since: Date | null, most: number) => {
      const [one] = await cohorts.readLatest(account, ["c"], { since, most });
      const { sums, cutAt } = one!;
      return [sums.interactions, sums.cost.sum, sums.latencyP50, sums.outcomes.length, cutAt];
    };
    assert.deepEqual(await latest(null, 9), [4n, 10n, 250, 1, null]);
    assert.deepEqual(await latest(null, 3), [3n, 9n, 300, 1, at(2)]);
    assert.deepEqual(await latest(null, 2), [2n, 7n, 350, 0, at(3)]);
    assert.deepEqual(await latest(at(4), 9), [1n, 4n, 400, 0, null]);
    const [exact] = await cohorts.read(account, ["c"]);
    const [all] = await cohorts.readLatest(account, ["c"], { since: null, most: 9 });
    assert.deepEqual(all?.sums, exact);
    const [nobody] = await cohorts.readLatest(account, ["x"], { since: null, most: 9 });
    assert.deepEqual([nobody?.sums.interactions, nobody?.cutAt], [0n, null]);
  },
);
