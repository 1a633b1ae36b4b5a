import assert from "@std/assert";
import type { InteractionPageQuery } from "../../src/records/interaction_repository.ts";
import type { Interaction, ListPosition } from "../../src/shared/interaction.ts";
import type { Database } from "../../src/database/database.ts";
import { createInteractionRepository } from "../../src/records/store/interaction_repository.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { eachDatabase } from "../support/databases.ts";
import { interaction, newAccount } from "./samples.ts";

const end = Date.UTC(2026, 10, 21);
const hour = 3_600_000;

/** Ids of all pages, in their order. */
async function ids(
  database: Database,
  accountId: number,
  query: Partial<InteractionPageQuery>,
): Promise<string[]> {
  const found: string[] = [];
  let after: ListPosition | undefined;
  for (let pages = 0; pages < 200; pages++) {
    const page = await createInteractionRepository(database).page({
      ...{ accountId, order: "newest", limit: 40 },
      ...query,
      ...(after ? { after } : {}),
    });
    const limit = query.limit ?? 40;
    assert.ok(page.rows.length <= limit);
    if (page.next && !page.searchedBackTo) assert.equal(page.rows.length, limit);
    found.push(...page.rows.map(({ transactionId }) => transactionId));
    if (!page.next) return found;
    after = page.next;
  }
  throw new Error("the pages never end");
}

/** Rows over three months; each says its number, and words that repeat with different periods. */
function rowsOf(accountId: number, count: number): Interaction[] {
  return Array.from({ length: count }, (_, n) => {
    const words = [
      `number${n}`,
      "everywhere",
      ...[3, 40, 150].flatMap((period) => n % period === 0 ? [`each${period}`] : []),
      n % 90 === 0 ? 'the "late" order, née Müller' : "order late",
    ];
    return interaction(accountId, `txn_${String(n).padStart(4, "0")}`, {
      createdAt: new Date(end - 90 * 24 * hour + Math.floor(n / 3) * 12 * hour + n % 3),
      userId: `user ${n % 5}`,
      costNanos: n % 8 === 0 ? null : BigInt(n) * 1000n,
      latencyMs: n * 10,
      requestText: JSON.stringify({ content: words.join(" ") }),
      responseText: n % 2 === 0 ? null : JSON.stringify({ content: `answer${n % 4}` }),
    });
  });
}

eachDatabase(
  "a search gives exactly the rows that say the words, newest first",
  async (database) => {
    const accountId = await newAccount(database);
    const other = await newAccount(database, "other");
    const rows = rowsOf(accountId, 540);
    await createAnalyticsStore(database).insert(rows);
    await createAnalyticsStore(database).insert(
      rowsOf(other, 30).map((row) => ({ ...row, transactionId: `other_${row.transactionId}` })),
    );
    const cases: [Partial<InteractionPageQuery>, (n: number) => boolean][] = [
      [{ search: "everywhere" }, () => true],
      [{ search: "each3 EVERYWHERE" }, (n) => n % 3 === 0],
      // One more than a page, too.
      [{ search: "each40", limit: 13 }, (n) => n % 40 === 0],
      [{ search: "each150 each3" }, (n) => n % 150 === 0],
      [{ search: "number17" }, (n) => n === 17],
      [{ search: "number0" }, (n) => n === 0],
      [{ search: "answer1" }, (n) => n % 4 === 1],
      [{ search: "answer1 each3" }, (n) => n % 12 === 9],
      [{ search: '"late order"' }, () => false],
      [{ search: '"order late"' }, (n) => n % 90 !== 0],
      [{ search: '"order, née"' }, (n) => n % 90 === 0],
      [{ search: "nothing" }, () => false],
      [{ search: "—" }, () => false],
      [{ search: "each3", filters: { user_id: ["user 2"] } }, (n) => n % 3 === 0 && n % 5 === 2],
      [{ search: "each40", filters: { user_id: ["user 2"] } }, () => false],
      [{ search: "everywhere", latencyMs: { min: 100, max: 300 } }, (n) => n >= 10 && n <= 30],
      [
        { search: "each3", costNanos: { max: 99_000n } },
        (n) => n % 3 === 0 && n < 100 && n % 8 > 0,
      ],
      [
        { search: "everywhere", start: rows[30]!.createdAt, end: rows[60]!.createdAt },
        (n) => n >= 30 && n < 60,
      ],
      // Among the newest rows and in the index.
      [{ search: "each150", start: rows[300]!.createdAt }, (n) => n === 300 || n === 450],
      [
        { search: "each40", latencyMs: { min: 2_000, max: 4_800 } },
        (n) => n % 40 === 0 && n >= 200 && n <= 480,
      ],
      [
        { search: "each3", costNanos: { min: 200_000n, max: 500_000n } },
        (n) => n % 3 === 0 && n >= 200 && n <= 500 && n % 8 > 0,
      ],
    ];
    for (const [query, isMeant] of cases) {
      const expected = rows.filter((_, n) => isMeant(n)).map(({ transactionId }) => transactionId);
      const found = await ids(database, accountId, query);
      assert.deepEqual(found, expected.toReversed(), JSON.stringify(query.search));
    }
  },
);

eachDatabase(
  "a phrase of a script without spaces is found in its order, whole",
  async (database) => {
    const accountId = await newAccount(database);
    const begin = "注文した商品の配送が遅れています";
    const texts = {
      txn_1: `${begin}ので返金`,
      txn_2: `${begin}から交換`,
      txn_3: "東京都",
      txn_4: "京都と東京",
    };
    await createAnalyticsStore(database).insert(
      Object.entries(texts).map(([id, content], n) =>
        interaction(accountId, id, {
          createdAt: new Date(end - n * hour),
          requestText: JSON.stringify({ content }),
          responseText: null,
        })
      ),
    );
    const found = (search: string) =>
      ids(database, accountId, { accountId, order: "newest", limit: 40, search });
    assert.deepEqual(await found(`"${texts.txn_1}"`), ["txn_1"]);
    assert.deepEqual(await found(`"${texts.txn_2}"`), ["txn_2"]);
    assert.deepEqual(await found("東京都"), ["txn_3", "txn_4"]);
    assert.deepEqual(await found('"東京都"'), ["txn_3"]);
  },
);

eachDatabase("a page searches a year and says so; the next one goes on", async (database) => {
  const accountId = await newAccount(database);
  const ages = [...Array.from({ length: 100 }, (_, n) => n), 500 * 24, 1000 * 24];
  await createAnalyticsStore(database).insert(
    ages.map((hours) =>
      interaction(accountId, `txn_${hours}`, {
        createdAt: new Date(end - hours * hour),
        requestText: JSON.stringify({ content: hours > 100 ? "zeppelin" : "balloon" }),
        responseText: null,
      })
    ),
  );
  const query = { accountId, order: "newest", limit: 40, search: "zeppelin" } as const;
  const first = await createInteractionRepository(database).page(query);
  assert.deepEqual(first.rows, []);
  const days = (end - first.searchedBackTo!.getTime()) / hour / 24;
  assert.ok(days > 365 && days < 400, `${days} days`);
  assert.deepEqual(await ids(database, accountId, query), ["txn_12000", "txn_24000"]);
});

eachDatabase(
  "a page looks for phrases in so many bytes; the next one goes on",
  async (database) => {
    const accountId = await newAccount(database);
    const rows = Array.from(
      { length: 130 },
      (_, n) =>
        interaction(accountId, `txn_${String(n).padStart(3, "0")}`, {
          createdAt: new Date(end - n * 60_000),
          requestText: JSON.stringify({
            content: `${n % 50 === 40 ? "b, A!" : "b a"} ${" ".repeat(n > 5 ? 400_000 : 4)}`,
          }),
          responseText: null,
        }),
    );
    for (let from = 0; from < rows.length; from += 10) {
      await createAnalyticsStore(database).insert(rows.slice(from, from + 10));
    }
    const look = async (search: string, position?: ListPosition) =>
      await createInteractionRepository(database).page({
        ...{ accountId, order: "newest", limit: 40, search },
        ...(position ? { after: position } : {}),
      });
    const short = await look('"b, a"');
    // 16 MiB by 16 characters: a row of 400 kB is looked at even where no bytes are left.
    assert.deepEqual(
      short.rows.map(({ transactionId }) => transactionId),
      ["txn_040"],
    );
    assert.equal(short.next?.transactionId, "txn_048");
    const long = await look(`"b, a${"!".repeat(400)}"`);
    assert.equal(long.next?.transactionId, "txn_008");
    const query = { search: '"b, a"' };
    assert.deepEqual(await ids(database, accountId, query), ["txn_040", "txn_090"]);
  },
);

eachDatabase("limits of cost and time narrow a list in its order", async (database) => {
  const accountId = await newAccount(database);
  const rows = rowsOf(accountId, 120);
  await createAnalyticsStore(database).insert(rows);
  const expect = async (query: Partial<InteractionPageQuery>, isMeant: (n: number) => boolean) => {
    const meant = rows.filter((_, n) => isMeant(n)).map(({ transactionId }) => transactionId);
    assert.deepEqual(await ids(database, accountId, { ...query, order: "oldest" }), meant);
    assert.deepEqual(await ids(database, accountId, query), meant.toReversed());
  };
  await expect({ costNanos: { min: 100_000n } }, (n) => n >= 100 && n % 8 > 0);
  await expect({ costNanos: { min: 5_000n, max: 9_000n } }, (n) => n >= 5 && n <= 9 && n % 8 > 0);
  await expect({ latencyMs: { max: 50 }, filters: { user_id: ["user 1"] } }, (n) => n === 1);
  await expect({ latencyMs: { min: 99_999 } }, () => false);
});

eachDatabase(
  "one call is found whole, cut where it is large, and by its account",
  async (database) => {
    const accountId = await newAccount(database);
    const row = interaction(accountId, "txn_1", {
      requestText: JSON.stringify("ü".repeat(100)),
      responseText: null,
      pricedUsageText: '{"input":1}',
    });
    await createAnalyticsStore(database).insert([row]);
    const interactions = createInteractionRepository(database);
    const found = await interactions.find(accountId, "txn_1", 50);
    assert.equal(found?.summary.transactionId, "txn_1");
    assert.equal(found?.pricedUsageText, '{"input":1}');
    assert.deepEqual(found?.request, {
      text: '"' + "ü".repeat(49),
      bytes: 202,
      isWhole: false,
    });
    assert.equal(found?.response, null);
    assert.equal((await interactions.find(accountId, "txn_1", 1000))?.request?.isWhole, true);
    assert.equal(await interactions.find(accountId + 1, "txn_1", 50), undefined);
    assert.equal(await interactions.find(accountId, "txn_2", 50), undefined);
  },
);
