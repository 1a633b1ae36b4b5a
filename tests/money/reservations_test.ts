import assert from "@std/assert";
import { systemClock } from "../../src/base/clock.ts";
import { createLog } from "../../src/base/log.ts";
import { Fault } from "../../src/shared/fault.ts";
import type { SettledCall } from "../../src/shared/interaction.ts";
import type { Ledger } from "../../src/credit/ledger.ts";
import { createReservations, type Reservations } from "../../src/credit/reservations.ts";
import type { Database } from "../../src/database/database.ts";
import { openJournal } from "../../src/records/journal/journal.ts";
import { createLedger } from "../../src/credit/store/ledger.ts";
import { createRecords } from "../../src/records/store/records.ts";
import { withFolder } from "../store/children.ts";
import { interaction, newAccount } from "../store/samples.ts";
import { eachDatabase, onBothDatabases, onPostgres } from "../support/databases.ts";

const cent = 10_000_000n;

function escrowOn(database: Database, processId = "process-1"): Reservations {
  return createReservations({
    ledger: createLedger(database),
    clock: systemClock,
    log: createLog((line) => assert.fail(line), systemClock.now),
    newId: () => crypto.randomUUID(),
    processId,
    leaseSeconds: 150,
    shared: database.kind === "postgres",
  });
}

/** Makes calls that cost their bound; gives the rows of those that were admitted. */
async function call(
  reservations: Reservations,
  accountId: number,
  calls: number,
): Promise<SettledCall[]> {
  const rows = await Promise.all(Array.from({ length: calls }, async () => {
    try {
      const reservation = await reservations.reserve(accountId, cent);
      reservation.settle(cent);
      return [charged(accountId, reservation.leaseId!)];
    } catch (thrown) {
      assert.ok(thrown instanceof Fault && thrown.code === "insufficient_credits");
      return [];
    }
  }));
  return rows.flat();
}

function charged(accountId: number, leaseId: string): SettledCall {
  const id = crypto.randomUUID();
  return interaction(accountId, id, { status: "completed", chargedNanos: cent, leaseId });
}

async function assertSpent(ledger: Ledger, accountId: number): Promise<void> {
  assert.deepEqual(await ledger.check(), []);
  assert.deepEqual(await ledger.show(accountId), { balanceNanos: 0n, reservedNanos: 0n });
}

eachDatabase(
  "of 200 calls at once 37 are admitted and 163 refused, and the sum is right",
  async (database) => {
    const accountId = await newAccount(database);
    const ledger = createLedger(database);
    await ledger.grant(accountId, 37n * cent);
    const rows = await call(escrowOn(database), accountId, 200);
    assert.equal(rows.length, 37);
    const records = createRecords(database);
    await records.insert(rows.slice(0, 20));
    await records.insert(rows);
    await assertSpent(ledger, accountId);
  },
);

eachDatabase(
  "a bound beyond all numbers is refused, and whoever waits with it is served",
  async (database) => {
    const accountId = await newAccount(database);
    await createLedger(database).grant(accountId, cent);
    const reservations = escrowOn(database);
    for (let round = 0; round < 2; round++) {
      const [enormous, usual] = await Promise.allSettled([
        reservations.reserve(accountId, 10n ** 30n),
        reservations.reserve(accountId, cent),
      ]);
      const refused: unknown = enormous.status === "rejected" ? enormous.reason : undefined;
      assert.equal(refused instanceof Fault && refused.code, "insufficient_credits");
      if (usual.status === "rejected") throw usual.reason;
      usual.value.settle(0n);
    }
  },
);

onPostgres(
  "three processes admit never more than 37, and 37 once the refused have retried",
  async (database, open) => {
    const accountId = await newAccount(database);
    const ledger = createLedger(database);
    await ledger.grant(accountId, 37n * cent);
    const escrows = [database, await open(), await open()].map((one, at) =>
      escrowOn(one, `process-${at}`)
    );
    const rows: SettledCall[] = [];
    // First a few calls each, so that each has taken ahead.
    for (const reservations of escrows) rows.push(...await call(reservations, accountId, 2));
    for (let attempt = 0; attempt < 4; attempt++) {
      const admitted = await Promise.all(
        escrows.slice(attempt === 0 ? 0 : 2).map((reservations) =>
          call(reservations, accountId, 65)
        ),
      );
      rows.push(...admitted.flat());
      assert.ok(rows.length <= 37);
      for (const reservations of escrows) await reservations.tick();
    }
    assert.equal(rows.length, 37);
    await createRecords(database).insert(rows);
    for (const reservations of escrows) await reservations.close();
    await assertSpent(ledger, accountId);
  },
);

onBothDatabases(
  "after a crash the journal is posted, and the process's leases are back at once",
  (database) =>
    withFolder(async (folder) => {
      const accountId = await newAccount(database);
      const ledger = createLedger(database);
      await ledger.grant(accountId, 100n * cent);
      const reservations = escrowOn(database);
      const journal = await openJournal(folder, { sync: "always" });
      for (let at = 0; at < 50; at++) {
        const { leaseId } = await reservations.reserve(accountId, cent);
        const row = charged(accountId, leaseId!);
        journal.begin({ ...row, status: "interrupted", chargedNanos: 0n });
        if (at % 2 === 0) await journal.end(row);
        // Some reached the store before the crash.
        if (at % 10 === 0) await createRecords(database).insert([row]);
      }
      // What was under way at the store when the process died.
      await reservations.tick();
      const next = await openJournal(folder, { sync: "always" });
      const replayed = await next.replay((rows) => createRecords(database).insert(rows));
      assert.deepEqual(replayed, { ended: 25, interrupted: 25 });
      await ledger.takeBack("process-1");
      assert.equal((await ledger.available([accountId])).get(accountId), 75n * cent);
      assert.equal((await ledger.show(accountId)).balanceNanos, 75n * cent);
      assert.deepEqual(await ledger.check(), []);
      const stored = await database.query(
        "select status, count(*)::int as n from interactions group by status order by status",
        [],
      );
      assert.deepEqual(stored.map((row) => [row.status, row.n]), [["completed", 25], [
        "interrupted",
        25,
      ]]);
      await Promise.all([journal.close(), next.close()]);
    }),
);

onBothDatabases("a row that can't be stored does not take its charge with it", async (database) => {
  const accountId = await newAccount(database);
  const ledger = createLedger(database);
  await ledger.grant(accountId, 2n * cent);
  const row = { ...charged(accountId, "gone"), latencyMs: 0.5 };
  await assert.rejects(createRecords(database).insert([row]));
  assert.equal((await ledger.show(accountId)).balanceNanos, cent);
});
