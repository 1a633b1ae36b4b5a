/** Corrections and refunds that are cut between the ledger and calls in a database of their own. */
import assert from "@std/assert";
import { refundCharge } from "../../src/credit/store/refund_charge.ts";
import { createLedger } from "../../src/credit/store/ledger.ts";
import type { Database, Queryable } from "../../src/database/database.ts";
import { lockForWriting } from "../../src/database/erasure_lock.ts";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { noteErased } from "../../src/erasure/store/tombstones.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { createRepricing } from "../../src/repricing/store/repricing.ts";
import { createMigrated, onPostgres } from "../support/databases.ts";
import { startInTurn, untilWaiting } from "../support/lock_queue.ts";
import { interaction, newAccount } from "./samples.ts";

const usd = 1_000_000_000n;
const ids = ["a", "b"];

/** Calls with a charge of 1,000 each, as they were read for a repricing. */
async function opened(main: Database, records: Database) {
  const accountId = await newAccount(main);
  assert.equal(await newAccount(records), accountId, "rows refer to it");
  const analytics = createAnalyticsStore(records, main);
  const ledger = createLedger(main);
  await ledger.grant(accountId, usd);
  const called = ids.map((id) =>
    interaction(accountId, id, {
      ...{ status: "completed", billingBasis: "reported", priceVersion: "old" },
      ...{ costNanos: 1000n, chargedNanos: 1000n },
    })
  );
  await analytics.insert(called);
  await ledger.post(ids.map((interactionId) => (
    { interactionId, accountId, leaseId: null, chargedNanos: 1000n }
  )));
  const correct = async (nanos: bigint, written = analytics) => {
    const calls = await Array.fromAsync(createRepricing(main, analytics).read({ accountId }));
    return await createRepricing(main, written).correct(
      accountId,
      calls.flat().map((call) => (
        { call, costNanos: nanos, chargedNanos: nanos, priceVersion: `${nanos}` }
      )),
    );
  };
  return { accountId, analytics, ledger, called, correct };
}

/** The same store, which can't be reached. */
function away(records: Database, main: Database) {
  const fail = () => Promise.reject(new Error("away"));
  return createAnalyticsStore({ ...records, query: fail, transaction: fail }, main);
}

interface Books {
  rows: unknown[];
  sums: bigint;
  ledger: bigint;
  notes: number;
}

async function books(main: Database, records: Database): Promise<Books> {
  const rows = await records.query(
    "select charged_nanos, price_version from interactions order by transaction_id",
  );
  const [sums] = await records.query(
    `select coalesce(sum(charged_nanos), 0)::bigint as sum from usage_sums
     where span = 'day' and part = 'all'`,
  );
  const [entries] = await main.query(
    `select -sum(amount_nanos)::bigint as sum from ledger_entries where interaction_id is not null`,
  );
  const notes = await main.query("select from unfinished_corrections");
  return {
    rows: rows.map(({ charged_nanos, price_version }) => [charged_nanos, price_version]),
    sums: sums!.sum as bigint,
    ledger: entries!.sum as bigint,
    notes: notes.length,
  };
}

function apart(
  name: string,
  test: (main: Database, records: Database, url: string) => Promise<void>,
) {
  onPostgres(name, async (main) => {
    const created = await createMigrated();
    const records = await openPostgres(created.url);
    try {
      await test(main, records, created.url);
    } finally {
      await records.close();
      await created.drop();
    }
  });
}

const both = (nanos: bigint) => ({
  rows: [[nanos, `${nanos}`], [nanos, `${nanos}`]],
  ...{ sums: 2n * nanos, ledger: 2n * nanos, notes: 0 },
});

apart("a correction that is cut is finished once, by any process", async (main, records) => {
  const { analytics, correct, ledger } = await opened(main, records);
  await assert.rejects(correct(3000n, away(records, main)), /away/);
  assert.deepEqual(await books(main, records), {
    ...{ rows: [[1000n, "old"], [1000n, "old"]], sums: 2000n, ledger: 6000n, notes: 2 },
  });
  // A process that is killed before it has removed the notes.
  const killed: Database = {
    ...main,
    query: (text, values) =>
      text.startsWith("delete") ? Promise.reject(new Error("killed")) : main.query(text, values),
  };
  await assert.rejects(createAnalyticsStore(records, killed).finishCorrections(), /killed/);
  assert.deepEqual(await books(main, records), { ...both(3000n), notes: 2 });
  for (let time = 0; time < 2; time++) {
    await analytics.finishCorrections();
    assert.deepEqual(await books(main, records), both(3000n));
  }
  assert.deepEqual(await ledger.check(), []);
});

apart("two processes finish a correction at once", async (main, records) => {
  const { analytics, correct } = await opened(main, records);
  await assert.rejects(correct(3000n, away(records, main)), /away/);
  const finish = () => analytics.finishCorrections();
  await startInTurn(records, "select from interactions for update", finish, finish);
  assert.deepEqual(await books(main, records), both(3000n));
});

apart(
  "a newer correction wins over an older one that is still under way",
  async (main, records) => {
    const { analytics, correct, ledger } = await opened(main, records);
    await assert.rejects(correct(3000n, away(records, main)), /away/);
    // The second has changed the ledger when the first gets the rows.
    await startInTurn(
      records,
      "select from interactions for update",
      () => analytics.finishCorrections(),
      () => correct(1000n),
    );
    assert.deepEqual(await books(main, records), both(1000n));
    await assert.rejects(correct(3000n, away(records, main)), /away/);
    // The first waits until the second has done everything.
    const slow: Database = {
      ...records,
      transaction: (work) =>
        records.transaction((tx) =>
          work({
            ...tx,
            async query(text, values) {
              if (text.endsWith("for update")) await correct(5000n);
              return await tx.query(text, values);
            },
          })
        ),
    };
    await createAnalyticsStore(slow, main).finishCorrections();
    assert.deepEqual(await books(main, records), both(5000n));
    assert.deepEqual(await ledger.check(), []);
  },
);

apart("a note of another correction stays when an older one is finished", async (main, records) => {
  const { correct } = await opened(main, records);
  await assert.rejects(correct(3000n, away(records, main)), /away/);
  const overtaken: Database = {
    ...main,
    async query(text, values) {
      if (text.startsWith("delete")) {
        await assert.rejects(correct(7000n, away(records, main)), /away/);
      }
      return await main.query(text, values);
    },
  };
  await createAnalyticsStore(records, overtaken).finishCorrections();
  assert.deepEqual(await books(main, records), { ...both(3000n), ledger: 14_000n, notes: 2 });
  await createAnalyticsStore(records, main).finishCorrections();
  assert.deepEqual(await books(main, records), both(7000n));
});

apart("a refund that is cut is finished, also after a correction", async (main, records) => {
  const { accountId, analytics, correct, ledger } = await opened(main, records);
  await assert.rejects(correct(3000n, away(records, main)), /away/);
  const refund = { accountId, transactionId: "a", note: "twice" };
  await assert.rejects(refundCharge(main, refund, away(records, main)), /away/);
  await analytics.finishCorrections();
  const expected = {
    rows: [[0n, "3000"], [3000n, "3000"]],
    ...{ sums: 3000n, ledger: 3000n, notes: 0 },
  };
  assert.deepEqual(await books(main, records), expected);
  await refundCharge(main, refund, analytics);
  await analytics.finishCorrections();
  assert.deepEqual(await books(main, records), expected);
  assert.deepEqual(await ledger.check(), []);
});

apart("a call is erased with its corrected charge, or isn't corrected", async (main, records) => {
  const { analytics, called, correct, ledger } = await opened(main, records);
  const erase = async (id: string) => {
    await main.transaction(async (tx) => void await noteErased(tx, [id]));
    const { createdAt } = called[0]!;
    await analytics.erase([{ transactionId: id, createdAt }]);
  };
  await assert.rejects(correct(3000n, away(records, main)), /away/);
  await erase("a");
  const after = { rows: [[1000n, "old"]], sums: 4000n, ledger: 6000n, notes: 1 };
  assert.deepEqual(await books(main, records), after);
  await analytics.finishCorrections();
  const expected = { rows: [[3000n, "3000"]], sums: 6000n, ledger: 6000n, notes: 0 };
  assert.deepEqual(await books(main, records), expected);
  // Noted as erased, but its row is still there.
  await main.transaction(async (tx) => {
    await lockForWriting(tx);
    await noteErased(tx, ["b"]);
  });
  assert.deepEqual([...await correct(7000n)], []);
  assert.deepEqual(await books(main, records), expected);
  await erase("b");
  assert.deepEqual(await books(main, records), { ...expected, rows: [] });
  assert.deepEqual(await ledger.check(), []);
});

apart("retention removes a call with its corrected charge", async (main, records) => {
  const { analytics, called, correct, ledger } = await opened(main, records);
  await assert.rejects(correct(3000n, away(records, main)), /away/);
  await analytics.eraseRowsBefore(new Date(called[0]!.createdAt.getTime() + 1));
  assert.deepEqual(await books(main, records), {
    ...{ rows: [], sums: 6000n, ledger: 6000n, notes: 0 },
  });
  assert.deepEqual(await ledger.check(), []);
});

apart("a refund that is finished elsewhere leaves the sums once", async (main, records) => {
  const { accountId, analytics, called, correct, ledger } = await opened(main, records);
  const [settled] = called;
  const refund = { accountId, transactionId: "a", note: "twice", settled };
  await assert.rejects(refundCharge(main, refund, away(records, main)), /away/);
  await analytics.finishCorrections();
  await main.transaction(async (tx) => void await noteErased(tx, ["a"]));
  await analytics.erase([{ transactionId: "a", createdAt: settled!.createdAt }]);
  // The process that was cut off tries again, now that the row is gone.
  await refundCharge(main, refund, analytics);
  const expected = { rows: [[1000n, "old"]], sums: 1000n, ledger: 1000n, notes: 0 };
  assert.deepEqual(await books(main, records), expected);
  await correct(3000n);
  assert.deepEqual(await books(main, records), {
    ...{ ...expected, rows: [[3000n, "3000"]] },
    ...{ sums: 3000n, ledger: 3000n },
  });
  assert.deepEqual(await ledger.check(), []);
});

apart("a note is no match for what a version without notes did", async (main, records) => {
  const { accountId, analytics, correct, ledger } = await opened(main, records);
  await assert.rejects(correct(3000n, away(records, main)), /away/);
  const [before] = await main.query(
    "select json_agg(u)::text as notes from unfinished_corrections u",
  );
  await correct(5000n);
  await refundCharge(main, { accountId, transactionId: "a", note: "twice" }, analytics);
  await analytics.finishCorrections();
  // Such a version leaves them.
  await main.query(
    `insert into unfinished_corrections
     select * from json_populate_recordset(null::unfinished_corrections, $1::text::json)`,
    [before!.notes as string],
  );
  await analytics.finishCorrections();
  assert.deepEqual(await books(main, records), {
    rows: [[0n, "5000"], [5000n, "5000"]],
    ...{ sums: 5000n, ledger: 5000n, notes: 0 },
  });
  assert.deepEqual(await ledger.check(), []);
});

apart("notes go while another correction writes the same ones", async (main, records) => {
  const { accountId, analytics } = await opened(main, records);
  const note = async (tx: Queryable, ...ids: string[]) =>
    void await analytics.noteCorrections(
      tx,
      accountId,
      ids.map((transactionId) => ({ transactionId, chargedNanos: 1000n })),
    );
  // In the table they are the other way round.
  for (const id of ids.toReversed()) await main.transaction((tx) => note(tx, id));
  let finished: Promise<void> | undefined;
  await main.transaction(async (tx) => {
    await note(tx, "a");
    finished = analytics.finishCorrections();
    await untilWaiting(main, () => 1);
    await note(tx, "b");
  });
  await finished;
  assert.equal((await books(main, records)).notes, 2, "they were written again");
  await analytics.finishCorrections();
  assert.equal((await books(main, records)).notes, 0);
});
