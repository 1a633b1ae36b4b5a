/** Rows that are copied in: whole or not at all, and the session continues after a refusal. */
import assert from "@std/assert";
import type { Database } from "../../src/database/database.ts";
import { copyLine } from "../../src/database/copy_text.ts";
import { codeOf } from "../../src/database/postgres/faults.ts";
import { isStoreAway } from "../../src/shared/fault.ts";
import { onBothDatabases, onPostgres } from "../support/databases.ts";

/** More than is sent at once. */
const long = "x".repeat(1000);

async function table(database: Database): Promise<void> {
  await database.query("create table copied (id bigint primary key, text text)");
}

async function copy(database: Database, ids: readonly unknown[]): Promise<void> {
  await database.transaction((tx) =>
    tx.copyIn("copied", ["id", "text"], ids.map((id) => copyLine([id, long])))
  );
}

async function count(database: Database): Promise<unknown> {
  const [row] = await database.query("select count(*) as count from copied");
  return row!.count;
}

const numbers = (from: number, length: number) => Array.from({ length }, (_, at) => from + at);

onBothDatabases("rows are copied in; a refused one refuses all, and the session goes on", async (
  database,
) => {
  await table(database);
  await copy(database, numbers(0, 2000));
  assert.equal(await count(database), 2000n);
  // The refusal comes at the end, in the middle of what is sent, and at the beginning.
  for (const at of [1999, 1000, 0]) {
    const ids: unknown[] = numbers(2000, 2000);
    ids[at] = "no number";
    await assert.rejects(copy(database, ids), (thrown: unknown) => codeOf(thrown) === "22P02");
    ids[at] = 7;
    await assert.rejects(copy(database, ids), (thrown: unknown) => codeOf(thrown) === "23505");
    assert.equal(await count(database), 2000n);
    await copy(database, numbers(10_000 + at, 1));
    await database.query("delete from copied where id >= 10000");
  }
  await assert.rejects(
    database.transaction((tx) => tx.copyIn("nowhere", ["id"], [copyLine([1])])),
    (thrown: unknown) => codeOf(thrown) === "42P01",
  );
  // What is refused fails the transaction, even if nobody minds.
  await assert.rejects(
    database.transaction(async (tx) => {
      await tx.query("insert into copied values (9999, '')");
      await tx.copyIn("copied", ["id"], [copyLine([7])]).catch(() => {});
    }),
  );
  assert.equal(await count(database), 2000n);
});

onPostgres("a session that ends while rows are copied in is a store that is away", async (
  database,
  open,
) => {
  await table(database);
  const operator = await open();
  for (const wait of [0, 1, 5]) {
    const copying = database.transaction(async (tx) => {
      const [row] = await tx.query("select pg_backend_pid() as pid");
      const copied = tx.copyIn("copied", ["id"], numbers(0, 500_000).map((id) => copyLine([id])));
      copied.catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, wait));
      await operator.query("select pg_terminate_backend($1)", [row!.pid as number]);
      await copied;
    });
    await assert.rejects(copying, isStoreAway);
    assert.equal(await count(database), 0n);
  }
});
