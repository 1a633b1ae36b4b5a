/** A search among very many calls of a few hours, as a batch job or a load test makes them. */
import assert from "@std/assert";
import type { Database } from "../../src/database/database.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { createInteractionRepository } from "../../src/records/store/interaction_repository.ts";
import { spanOf, termKeys } from "../../src/records/search_tokens.ts";
import { CountedReads } from "../support/counted_reads.ts";
import { eachDatabase } from "../support/databases.ts";
import { writeManyRows } from "../support/many_rows.ts";
import { interaction, newAccount } from "./samples.ts";

const calls = 6_000;
/** So many of the oldest say `early`: too many to sort, and too long ago to check call by call. */
const early = 2_100;

/** Writes the busy hour, and quieter calls of two days later. */
async function writeBusyHour(database: Database, accountId: number): Promise<void> {
  await writeManyRows(database, accountId, calls);
  const span = spanOf(new Date("2026-01-01T00:00:00Z"));
  const [batch, even, first] = ["batch", "even", "early"].map((word) =>
    termKeys(accountId, [span], word)[0]!
  );
  await database.query(
    `update interaction_payloads set words = array[$1::bigint]
       || case when substr(transaction_id, 5)::int % 2 = 0 then $2::bigint end
       || case when substr(transaction_id, 5)::int < $4::int then $3::bigint end`,
    [batch!, even!, first!, early],
  );
  const later = Array.from({ length: 120 }, (_, n) =>
    interaction(accountId, `later ${n}`, {
      createdAt: new Date(Date.UTC(2026, 0, 3) + n * 1000),
      requestText: JSON.stringify({ content: "something else" }),
    }));
  await createAnalyticsStore(database).insert(later);
  await database.query("analyze interactions, interaction_payloads");
}

function idsFrom(newest: number, step: number, count: number): string[] {
  return Array.from(
    { length: count },
    (_, at) => `txn-${String(newest - at * step).padStart(9, "0")}`,
  );
}

eachDatabase("a word in thousands of calls of an hour is found without all of them", async (
  database,
) => {
  const accountId = await newAccount(database);
  await writeBusyHour(database, accountId);
  const counted = new CountedReads(database);
  const found = async (search: string, limit = 50, after?: string) => {
    counted.rows = 0;
    const n = Number(after?.slice(4));
    const position = after &&
      { createdAt: new Date(Date.UTC(2026, 0, 1) + n * 300), transactionId: after };
    const { rows } = await createInteractionRepository(counted.database).page({
      ...{ accountId, order: "newest", limit, search },
      ...(position ? { after: position } : {}),
    });
    return rows.map(({ transactionId }) => transactionId);
  };
  assert.deepEqual(await found("batch"), idsFrom(calls - 1, 1, 50));
  assert.ok(counted.rows < 4_000, `${counted.rows} rows`);
  assert.deepEqual(await found("batch even", 600), idsFrom(calls - 2, 2, 600));
  const second = idsFrom(calls - 1, 1, 50).at(-1)!;
  assert.deepEqual(await found("batch", 50, second), idsFrom(calls - 51, 1, 50));
  assert.deepEqual(await found("early"), idsFrom(early - 1, 1, 50));
  assert.deepEqual(await found("early even", 1000), idsFrom(early - 2, 2, 1000));
  // Fewer than a page are left.
  assert.deepEqual(await found("batch", 50, idsFrom(20, 1, 1)[0]), idsFrom(19, 1, 20));
});
