import assert from "@std/assert";
import type { Database, Queryable } from "../../src/database/database.ts";
import { type DatabaseTest, onBothDatabases } from "../support/databases.ts";

/** With a table whose reference is checked at commit only. */
function withTable(test: DatabaseTest): DatabaseTest {
  return async (database, open) => {
    await database.query(`create table things (x int primary key);
      create table other (x int references things deferrable initially deferred)`);
    await test(database, open);
  };
}

async function contents(database: Queryable): Promise<unknown[]> {
  return (await database.query("select x from things order by x", [])).map(({ x }) => x);
}

const insert = (tx: Queryable, x: number) => tx.query("insert into things values ($1)", [x]);
const failure = new Error("of the work");

onBothDatabases(
  "a transaction commits what its work did and gives its result",
  withTable(async (database) => {
    const result = await database.transaction(async (tx) => {
      await insert(tx, 1);
      await insert(tx, 2);
      return (await contents(tx)).length;
    });
    assert.equal(result, 2);
    assert.deepEqual(await contents(database), [1, 2]);
  }),
);

onBothDatabases(
  "a transaction whose work throws leaves nothing and passes the error on",
  withTable(async (database) => {
    const work = async (tx: Queryable) => {
      await insert(tx, 1);
      throw failure;
    };
    await assert.rejects(database.transaction(work), failure);
    assert.deepEqual(await contents(database), []);
  }),
);

onBothDatabases(
  "an error of a query undoes the whole and is passed on, even where the work caught it",
  withTable(async (database) => {
    const isDuplicate = (thrown: unknown) => (thrown as { code?: string }).code === "23505";
    await assert.rejects(
      database.transaction(async (tx) => {
        await insert(tx, 1);
        await insert(tx, 1);
      }),
      isDuplicate,
    );
    const caught = database.transaction(async (tx) => {
      await insert(tx, 1);
      await insert(tx, 1).catch(() => {});
      return "done";
    });
    await assert.rejects(caught, isDuplicate);
    assert.deepEqual(await contents(database), []);
    await insert(database, 5);
    assert.deepEqual(await contents(database), [5], "it works afterwards");
  }),
);

onBothDatabases(
  "a commit that the database refuses is an error, and nothing stays",
  withTable(async (database) => {
    const refused = database.transaction(async (tx) => {
      await insert(tx, 1);
      await tx.query("insert into other values (99)", []);
      return "done";
    });
    await assert.rejects(
      refused,
      (thrown: unknown) => (thrown as { code?: string }).code === "23503",
    );
    assert.deepEqual(await contents(database), []);
    await database.transaction((tx) => insert(tx, 2));
    assert.deepEqual(await contents(database), [2]);
  }),
);

onBothDatabases(
  "queries of others never run inside a transaction",
  withTable(async (database) => {
    const inside = Promise.withResolvers<void>();
    const rolledBack = database.transaction(async (tx) => {
      await insert(tx, 1);
      inside.resolve();
      for (let times = 0; times < 20; times++) await contents(tx);
      throw failure;
    });
    rolledBack.catch(() => {});
    await inside.promise;
    const others = [2, 3, 4].map((x) => insert(database, x));
    const alsoOthers = [5, 6].map((x) => database.transaction((tx) => insert(tx, x)));
    await assert.rejects(rolledBack, failure);
    await Promise.all([...others, ...alsoOthers]);
    assert.deepEqual(await contents(database), [2, 3, 4, 5, 6]);
  }),
);

onBothDatabases(
  "transactions that run at once keep apart, more of them than there are connections",
  withTable(async (database) => {
    const sums = await Promise.all(
      Array.from({ length: 30 }, (_, x) =>
        database.transaction(async (tx) => {
          await insert(tx, x);
          if (x % 2 === 1) throw failure;
          return x;
        }).catch(() => -1)),
    );
    assert.equal(sums.filter((x) => x >= 0).length, 15);
    assert.deepEqual(await contents(database), Array.from({ length: 15 }, (_, at) => at * 2));
  }),
);

onBothDatabases(
  "queries that a transaction starts at once run in the order they were started",
  withTable(async (database) => {
    await database.transaction(async (tx) => {
      await Promise.all([1, 2, 3].map((x) => insert(tx, x)));
    });
    // Nobody awaits this one, but it was asked for before the end.
    await database.transaction((tx) => {
      insert(tx, 4).catch(() => {});
      return Promise.resolve();
    });
    assert.deepEqual(await contents(database), [1, 2, 3, 4]);
  }),
);

onBothDatabases(
  "a query of a transaction that has ended is refused",
  withTable(async (database: Database) => {
    let kept: Queryable | undefined;
    await database.transaction((tx) => {
      kept = tx;
      return Promise.resolve();
    });
    await assert.rejects(insert(kept!, 1), /ended/);
    assert.deepEqual(await contents(database), []);
  }),
);
