import assert from "@std/assert";
import { rowsFrom, type ShownRows } from "../../src/dashboard/pages/interactions/shown_rows.ts";
import type { InteractionPageQuery } from "../../src/records/interaction_repository.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { listInteractions } from "../../src/records/store/interactions_list.ts";
import { interaction, newAccount } from "../store/samples.ts";
import { eachDatabase } from "../support/databases.ts";

const rowsOfAll = 200;
const none = { before: undefined, after: undefined };
const first = Date.UTC(2026, 8, 29);

eachDatabase("pages that end early lead to all calls, back and forward", async (database) => {
  const accountId = await newAccount(database);
  // Few of many, some of them of one moment, with a gap that takes several pages.
  const isWanted = (n: number) => n % 17 === 3 && (n < 40 || n > 150) || n === 4;
  const rows = Array.from(
    { length: rowsOfAll },
    (_, n) =>
      interaction(accountId, `txn_${String(n).padStart(3, "0")}`, {
        createdAt: new Date(first + Math.floor(n / 2) * 60_000),
        errorCode: isWanted(n) ? "invalid_value" : null,
      }),
  );
  await createAnalyticsStore(database).insert(rows);
  const filters = { error_code: ["invalid_value"] };
  const read: Parameters<typeof rowsFrom>[0] = (after, order) => {
    const query: InteractionPageQuery = { accountId, filters, order, limit: 3 };
    return listInteractions(database, { ...query, ...(after && { after }) }, [10, 10]);
  };
  const walk = async (link: "older" | "newer", from?: ShownRows["older"]) => {
    const pages: ShownRows[] = [];
    for (let at = from; pages.length < 100; at = pages.at(-1)![link]) {
      if (pages.length > 0 && !at) return pages;
      const position = link === "older" ? { before: at } : { after: at };
      pages.push(await rowsFrom(read, { ...none, ...position }));
    }
    throw new Error(`${link}: no end`);
  };
  const idsOf = (pages: ShownRows[]) =>
    pages.flatMap((page) => page.rows.map((row) => row.transactionId));
  const wanted = rows.map((row) => row.transactionId).filter((_, n) => isWanted(n)).toReversed();
  const back = await walk("older");
  assert.deepEqual(idsOf(back), wanted);
  assert.ok(back.some((page) => page.rows.length === 0), "no page is empty");
  // Forward from the end, and from a page without rows: what leads there is found again.
  for (const start of [back.length - 1, back.findIndex((page) => page.rows.length === 0)]) {
    const forward = await walk("newer", back[start]!.newer);
    const seen = idsOf(forward);
    assert.deepEqual(idsOf(back.slice(0, start)).filter((id) => !seen.includes(id)), []);
    assert.ok(forward.at(-1)!.isFirst);
    for (const page of forward) {
      const [last] = idsOf([page]).slice(-1);
      if (last === undefined || !page.older) continue;
      const { rows: older, searched } = await rowsFrom(read, { ...none, before: page.older });
      const below = wanted.slice(wanted.indexOf(last) + 1);
      assert.deepEqual(older.map((row) => row.transactionId), below.slice(0, older.length));
      assert.ok(older.length > 0 || searched || below.length === 0);
    }
  }
});
