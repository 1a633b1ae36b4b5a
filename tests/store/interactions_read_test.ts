import assert from "@std/assert";
import { Fault } from "../../src/shared/fault.ts";
import type { Interaction, InteractionQuery } from "../../src/shared/interaction.ts";
import type { Database } from "../../src/database/database.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { eachDatabase } from "../support/databases.ts";
import { collect, interaction, newAccount, observed } from "./samples.ts";

const at = (second: number) => new Date(Date.UTC(2026, 10, 21, 10, 0, second));

async function ids(database: Database, query: InteractionQuery): Promise<string[]> {
  const rows = await collect(createAnalyticsStore(database).read(query));
  return rows.map(({ transactionId }) => transactionId);
}

eachDatabase("pages lose and repeat nothing where many rows have one time", async (database) => {
  const accountId = await newAccount(database);
  // Three times with rows across the borders of pages of 500.
  const rows = Array.from({ length: 1300 }, (_, n) => {
    const createdAt = at(n < 490 ? 1 : n < 1250 ? 2 : 3);
    return interaction(accountId, `txn_${String(n).padStart(4, "0")}`, { createdAt });
  });
  const shuffled = rows.toSorted((a, b) => order(a.transactionId) - order(b.transactionId));
  for (let from = 0; from < shuffled.length; from += 500) {
    await createAnalyticsStore(database).insert(shuffled.slice(from, from + 500));
  }
  const read = await ids(database, { accountId });
  assert.equal(read.length, rows.length);
  assert.deepEqual(read, rows.map(({ transactionId }) => transactionId));
});

eachDatabase("exactly one full page ends", async (database) => {
  const accountId = await newAccount(database);
  await createAnalyticsStore(database).insert(
    Array.from({ length: 500 }, (_, n) => interaction(accountId, `txn_${n}`)),
  );
  assert.equal((await ids(database, { accountId })).length, 500);
});

eachDatabase("times are half-open, and either end may be missing", async (database) => {
  const accountId = await newAccount(database);
  await createAnalyticsStore(database).insert(
    [1, 2, 3].map((second) => interaction(accountId, `txn_${second}`, { createdAt: at(second) })),
  );
  const read = (query: Partial<InteractionQuery>) => ids(database, { accountId, ...query });
  assert.deepEqual(await read({ start: at(2) }), ["txn_2", "txn_3"]);
  assert.deepEqual(await read({ end: at(2) }), ["txn_1"]);
  assert.deepEqual(await read({ start: at(1), end: at(3) }), ["txn_1", "txn_2"]);
  assert.deepEqual(await read({ start: at(2), end: at(2) }), []);
});

eachDatabase(
  "filters narrow each other, and any of a filter's values matches",
  async (database) => {
    const accountId = await newAccount(database);
    const row = (id: string, more: Partial<Interaction>) => interaction(accountId, id, more);
    await createAnalyticsStore(database).insert([
      row("txn_1", { stream: true, httpStatus: 200, app: "a", status: "completed" }),
      row("txn_2", { stream: false, httpStatus: 404, app: "b", errorCode: "model_not_found" }),
      row("txn_3", { stream: true, httpStatus: 500, app: "A" }),
      row("txn_4", { stream: false }),
    ]);
    const read = (filters: NonNullable<InteractionQuery["filters"]>) =>
      ids(database, { accountId, filters });
    assert.deepEqual(await read({ stream: [true] }), ["txn_1", "txn_3"]);
    assert.deepEqual(await read({ stream: ["false"] }), ["txn_2", "txn_4"]);
    assert.deepEqual(await read({ http_status: [200, 500] }), ["txn_1", "txn_3"]);
    assert.deepEqual(await read({ http_status: ["404"] }), ["txn_2"]);
    assert.deepEqual(await read({ app: ["a"] }), ["txn_1"]);
    assert.deepEqual(await read({ stream: [true], http_status: [500, 404] }), ["txn_3"]);
    assert.deepEqual(await read({ error_code: ["model_not_found"], status: ["failed"] }), [
      "txn_2",
    ]);
    assert.deepEqual(await read({ app: ["' or true --", "%"] }), []);
    assert.deepEqual(await read({ app: [] }), []);
    assert.deepEqual(await read({}), ["txn_1", "txn_2", "txn_3", "txn_4"]);
  },
);

eachDatabase("a filter by what is no column names the field", async (database) => {
  const accountId = await newAccount(database);
  for (const column of ["nonsense", "account_id", "app; drop table interactions", "constructor"]) {
    const refused = ids(database, { accountId, filters: { [column]: ["x"] } });
    await assert.rejects(refused, (thrown: unknown) => {
      const { code, param } = thrown as Fault;
      assert.deepEqual({ code, param }, { code: "invalid_value", param: `filters.${column}` });
      return thrown instanceof Fault;
    });
  }
});

eachDatabase("rows of other accounts are never read", async (database) => {
  const ours = await newAccount(database);
  const theirs = await newAccount(database, "theirs");
  await createAnalyticsStore(database).insert([
    interaction(ours, "txn_1", { sessionId: "s", requestText: "ours" }),
    interaction(theirs, "txn_2", { sessionId: "s", requestText: "theirs" }),
  ]);
  const rows = await collect(
    createAnalyticsStore(database).read({ accountId: ours, filters: { session_id: ["s"] } }),
  );
  assert.deepEqual(rows.map(({ requestText }) => requestText), ["ours"]);
  assert.deepEqual(
    await ids(database, { accountId: ours, filters: { transaction_id: ["txn_2"] } }),
    [],
  );
});

eachDatabase("at most 4 MiB of payloads, or one row's, are held at a time", async (database) => {
  const accountId = await newAccount(database);
  const mebibyte = 1024 * 1024;
  // 40 rows of 0.75 to 1.5 MiB, one of 6, and small ones between.
  const rows = Array.from({ length: 60 }, (_, n) => {
    const length = n === 30 ? 6 * mebibyte : n % 3 === 0 ? 10 : (0.75 + n % 2 * 0.75) * mebibyte;
    const text = String(n % 10).repeat(length / 2);
    return interaction(accountId, `txn_${n}`, {
      createdAt: at(n),
      requestText: text,
      responseText: text,
    });
  });
  await createAnalyticsStore(database).insert(rows);
  const answers: number[] = [];
  const watched = observed(database, (found) => {
    const lengths = found.map((row) => `${row.request ?? ""}${row.response ?? ""}`.length);
    answers.push(lengths.length > 1 ? lengths.reduce((a, b) => a + b) : 0);
  });
  let read = 0;
  for await (const row of createAnalyticsStore(watched).read({ accountId })) {
    const expected = rows[read++]!;
    assert.equal(row.transactionId, expected.transactionId);
    assert.ok(
      row.requestText === expected.requestText && row.responseText === expected.responseText,
    );
  }
  assert.equal(read, rows.length);
  assert.ok(Math.max(...answers) <= 4 * mebibyte, `${Math.max(...answers)} bytes in one answer`);
  assert.ok(answers.length <= 25, `${answers.length} queries`);
});

eachDatabase("a reader that stops early asks for no more", async (database) => {
  const accountId = await newAccount(database);
  const text = "x".repeat(3 * 1024 * 1024);
  await createAnalyticsStore(database).insert(
    Array.from({ length: 10 }, (_, n) => interaction(accountId, `txn_${n}`, { requestText: text })),
  );
  let queries = 0;
  for await (
    const row of createAnalyticsStore(observed(database, () => queries++)).read({ accountId })
  ) {
    assert.ok(row.requestText);
    break;
  }
  assert.equal(queries, 2, "one page, and one portion of payloads");
});

/** An order that has nothing to do with the ids. */
function order(id: string): number {
  return Number([...id.slice(-4)].toReversed().join(""));
}
