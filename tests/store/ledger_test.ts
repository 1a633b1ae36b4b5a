import assert from "@std/assert";
import type { LeaseRequest, Ledger } from "../../src/credit/ledger.ts";
import type { Database, Queryable } from "../../src/database/database.ts";
import { createCreditHistory, readCreditLevels } from "../../src/credit/store/credit_history.ts";
import { createLedger, credit, lockAccounts, releaseLease } from "../../src/credit/store/ledger.ts";
import { refundCharge } from "../../src/credit/store/refund_charge.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import { startInTurn } from "../support/lock_queue.ts";
import { newAccount, untilOneWaits } from "./samples.ts";

const usd = 1_000_000_000n;

function request(accountId: number, more: Partial<LeaseRequest> = {}): LeaseRequest {
  return {
    operationId: crypto.randomUUID(),
    accountId,
    processId: "process-1",
    leaseId: "lease-1",
    atLeastNanos: 1n,
    wantedNanos: 10n,
    aheadNanos: 10n,
    leaseSeconds: 150,
    ...more,
  };
}

async function opened(database: Database, nanos: bigint): Promise<[Ledger, number]> {
  const ledger = createLedger(database);
  const accountId = await newAccount(database);
  if (nanos > 0n) await ledger.grant(accountId, nanos);
  return [ledger, accountId];
}

/** Lets the store's time pass, as far as leases are concerned. */
async function pass(database: Database, seconds: number): Promise<void> {
  await database.query(
    "update leases set expires_at = expires_at - $1::double precision * interval '1 second'",
    [seconds],
  );
}

async function left(ledger: Ledger, accountId: number): Promise<bigint> {
  return (await ledger.available([accountId])).get(accountId) ?? 0n;
}

eachDatabase("grants and adjustments make the balance, and those with a name once", async (db) => {
  const [ledger, accountId] = await opened(db, 0n);
  assert.deepEqual(await ledger.show(accountId), { balanceNanos: 0n, reservedNanos: 0n });
  assert.equal(await ledger.grant(accountId, 5n * usd, { note: "first" }), 5n * usd);
  assert.equal(await ledger.adjust(accountId, -usd, { note: "price", operationId: "a" }), 4n * usd);
  assert.equal(await ledger.adjust(accountId, -usd, { note: "price", operationId: "a" }), 4n * usd);
  await db.query(
    `update ledger_entries set created_at = created_at - interval '25 hours',
       operation_id = to_char(clock_timestamp() at time zone 'UTC' - interval '1 day',
         '"a "YYYY-MM-DD') where operation_id like 'a %'`,
    [],
  );
  assert.equal(await ledger.adjust(accountId, -usd, { operationId: "a" }), 3n * usd, "next day");
  await assert.rejects(ledger.grant(accountId, 0n), RangeError);
  assert.equal((await ledger.show(accountId)).balanceNanos, 3n * usd);
  // A repricing writes one correction for each call.
  await ledger.grant(accountId, 50n);
  for (const nanos of [2n, 3n]) {
    await ledger.adjust(accountId, nanos, { note: "repriced", interactionId: `call-${nanos}` });
  }
  const latest = await createCreditHistory(db).latestOfEachKind(accountId, 3);
  assert.deepEqual(latest.map(({ kind, nanos }) => [kind, nanos]), [
    ...[["adjust", 3n], ["adjust", 2n], ["grant", 50n], ["adjust", -usd], ["grant", 5n * usd]],
  ]);
  const few = await createCreditHistory(db).latestOfEachKind(accountId, 1);
  assert.deepEqual(few.map(({ nanos }) => nanos), [3n, 50n]);
  assert.deepEqual(few.map(({ transactionId }) => transactionId), ["call-3", null]);
  assert.deepEqual(await ledger.check(), []);
});

eachDatabase(
  "a lease takes what is wanted, a quarter ahead, and never more than is left",
  async (db) => {
    const [ledger, accountId] = await opened(db, 100n);
    const ahead = await ledger.take(request(accountId, { wantedNanos: 5n, aheadNanos: 60n }));
    assert.deepEqual(ahead, { grantedNanos: 25n, availableNanos: 75n, isNew: true });
    await pass(db, 149);
    const more = await ledger.take(request(accountId, { wantedNanos: 50n, aheadNanos: 60n }));
    assert.deepEqual(more, { grantedNanos: 50n, availableNanos: 25n, isNew: false });
    await pass(db, 2);
    const none = { leases: 0, nanos: 0n };
    assert.deepEqual(await ledger.sweepExpired(), none, "what enlarges a lease prolongs it");
    const refused = await ledger.take(request(accountId, { atLeastNanos: 26n, wantedNanos: 26n }));
    assert.deepEqual(refused, { grantedNanos: 0n, availableNanos: 25n, isNew: false });
    const rest = await ledger.take(request(accountId, { wantedNanos: 99n, leaseId: "lease-2" }));
    assert.deepEqual(rest, { grantedNanos: 25n, availableNanos: 0n, isNew: true });
    assert.equal((await ledger.take(request(accountId, { atLeastNanos: 0n }))).grantedNanos, 0n);
    assert.deepEqual(await ledger.check(), []);
  },
);

eachDatabase("an operation that is repeated is done once", async (db) => {
  const [ledger, accountId] = await opened(db, 100n);
  const take = request(accountId, { wantedNanos: 40n });
  assert.equal((await ledger.take(take)).grantedNanos, 40n);
  assert.deepEqual(await ledger.take(take), {
    grantedNanos: 40n,
    availableNanos: 60n,
    isNew: false,
  });
  const back = { operationId: "back", accountId, leaseId: "lease-1", amountNanos: 15n };
  assert.equal(await ledger.release(back), 75n);
  assert.equal(await ledger.release(back), 75n);
  await ledger.takeBack("process-1");
  assert.equal((await ledger.take(take)).grantedNanos, 0n, "the lease it made is gone");
  assert.equal(await left(ledger, accountId), 100n);
  assert.deepEqual(await ledger.check(), []);
});

onPostgres("an operation that is repeated while its first run waits is done once", async (db) => {
  const [ledger, accountId] = await opened(db, 100n);
  // As after a cut connection: the first run still waits, though nobody waits for its answer.
  const take = () => ledger.take(request(accountId, { operationId: "take", wantedNanos: 40n }));
  const held = `select from account_balances where account_id = ${accountId} for update`;
  const [first, second] = await startInTurn(db, held, take, take);
  assert.deepEqual(first, { grantedNanos: 40n, availableNanos: 60n, isNew: true });
  assert.deepEqual(second, { grantedNanos: 40n, availableNanos: 60n, isNew: false });
  assert.deepEqual(await ledger.check(), []);
});

eachDatabase(
  "a charge is posted once, out of its lease, and beyond it out of the balance",
  async (db) => {
    const [ledger, accountId] = await opened(db, 100n);
    await ledger.take(request(accountId, { wantedNanos: 30n }));
    const charge = (
      interactionId: string,
      chargedNanos: bigint,
      leaseId: string | null = "lease-1",
    ) => ({ interactionId, accountId, leaseId, chargedNanos });
    await ledger.post([charge("a", 12n), charge("b", 0n), charge("a", 12n)]);
    await ledger.post([charge("a", 12n)]);
    await ledger.post([charge("b", 0n)]);
    const settled = await db.query(
      "select interaction_id from ledger_entries where kind = 'settle'",
    );
    assert.deepEqual(settled, [{ interaction_id: "a" }], "nothing is posted for 0");
    assert.equal((await ledger.show(accountId)).balanceNanos, 88n);
    assert.equal(await left(ledger, accountId), 70n, "the lease keeps the rest");
    await ledger.post([charge("c", 10n), charge("d", 10n), charge("e", 5n, null)]);
    assert.equal((await ledger.show(accountId)).balanceNanos, 63n);
    assert.equal(await left(ledger, accountId), 63n, "the lease had 18 left");
    await ledger.post([charge("f", 7n, "never-there")]);
    await ledger.post([charge("g", 100n)]);
    assert.equal((await ledger.show(accountId)).balanceNanos, -44n);
    const ahead = await ledger.take(request(accountId, { atLeastNanos: 0n, leaseId: "lease-2" }));
    assert.deepEqual(ahead, { grantedNanos: 0n, availableNanos: -44n, isNew: false });
    assert.deepEqual(await ledger.check(), []);
  },
);

eachDatabase(
  "leases come back when they expire or their process returns, others stay",
  async (db) => {
    const [ledger, accountId] = await opened(db, 100n);
    await ledger.take(request(accountId));
    await ledger.take(request(accountId, { leaseId: "lease-2", processId: "process-2" }));
    assert.deepEqual(await ledger.sweepExpired(), { leases: 0, nanos: 0n });
    await pass(db, 149);
    assert.deepEqual(
      await ledger.renew([{ leaseId: "lease-2", accountId, inFlightNanos: 4n }], 150),
      new Map([["lease-2", true]]),
    );
    assert.equal((await ledger.show(accountId)).reservedNanos, 4n);
    assert.equal((await ledger.show(accountId, "process-1")).reservedNanos, 4n);
    assert.equal((await ledger.show(accountId, "process-2")).reservedNanos, 0n);
    await pass(db, 2);
    assert.deepEqual(await ledger.sweepExpired(), { leases: 1, nanos: 10n });
    assert.equal(await left(ledger, accountId), 90n);
    await ledger.post([{
      interactionId: "late",
      accountId,
      leaseId: "lease-1",
      chargedNanos: 95n,
    }]);
    assert.equal(await left(ledger, accountId), -5n, "late charges are posted all the same");
    assert.deepEqual(await ledger.takeBack("process-2"), { leases: 1, nanos: 10n });
    assert.deepEqual(
      await ledger.renew([{ leaseId: "lease-2", accountId, inFlightNanos: 0n }], 150),
      new Map(),
    );
    assert.equal(await left(ledger, accountId), 5n);
    assert.deepEqual(await ledger.check(), []);
  },
);

onPostgres(
  "a lease that is being changed is renewed later, and holds up no other one",
  async (db) => {
    const [ledger, accountId] = await opened(db, 100n);
    const besideId = await newAccount(db, "beside");
    await ledger.grant(besideId, 100n, { note: "beside" });
    await ledger.take(request(accountId));
    await ledger.take(request(besideId, { operationId: "beside", leaseId: "beside" }));
    const renew = () =>
      ledger.renew([
        { leaseId: "lease-1", accountId, inFlightNanos: 4n },
        { leaseId: "beside", accountId: besideId, inFlightNanos: 4n },
      ], 1000);
    await pass(db, 149);
    await db.transaction(async (tx) => {
      await releaseLease(tx, {
        ...{ operationId: "back", accountId, leaseId: "lease-1", amountNanos: 1n },
      });
      assert.deepEqual(await renew(), new Map([["lease-1", false], ["beside", true]]));
    });
    await pass(db, 2);
    assert.deepEqual(await ledger.sweepExpired(), { leases: 1, nanos: 9n });
    assert.deepEqual(await renew(), new Map([["beside", true]]));
  },
);

onPostgres(
  "leases are taken back although another account is locked, and that one's when it no longer is",
  async (db) => {
    const [ledger, accountId] = await opened(db, 100n);
    const lockedId = await newAccount(db, "locked");
    await ledger.grant(lockedId, 100n, { note: "locked" });
    await ledger.take(request(accountId));
    await ledger.take(request(lockedId, { operationId: "locked", leaseId: "locked" }));
    let isOver = false;
    const { takenBack, atOnce } = await db.transaction(async (tx) => {
      await lockAccounts(tx, [lockedId]);
      const takenBack = ledger.takeBack("process-1").finally(() => isOver = true);
      await untilOneWaits(db, () => isOver);
      return { takenBack, atOnce: await left(ledger, accountId) };
    });
    assert.equal(atOnce, 100n);
    assert.deepEqual(await takenBack, { leases: 2, nanos: 20n });
    assert.equal(await left(ledger, lockedId), 100n);
    assert.deepEqual(await ledger.check(), []);
  },
);

onPostgres("an account that stays locked holds up those after it for five seconds", async (db) => {
  const [ledger] = await opened(db, 1n);
  const lockedIds = [await newAccount(db, "locked"), await newAccount(db, "too")];
  for (const accountId of lockedIds) {
    const name = String(accountId);
    await ledger.grant(accountId, 100n, { note: name });
    await ledger.take(request(accountId, { operationId: name, leaseId: name }));
  }
  await db.transaction(async (tx) => {
    await lockAccounts(tx, lockedIds);
    const startMs = performance.now();
    assert.deepEqual(await ledger.takeBack("process-1"), { leases: 0, nanos: 0n });
    const ms = performance.now() - startMs;
    assert.ok(ms > 4_900 && ms < 9_900, `${ms} ms`);
  });
  assert.equal((await ledger.takeBack("process-1")).leases, 2);
});

onPostgres("a lease whose own row stays locked is left out, and no other one", async (db) => {
  const [ledger, accountId] = await opened(db, 100n);
  await ledger.take(request(accountId));
  await ledger.take(request(accountId, { operationId: "beside", leaseId: "beside" }));
  await db.transaction(async (tx) => {
    await tx.query("select from leases where id = 'lease-1' for update");
    assert.deepEqual(await ledger.takeBack("process-1"), { leases: 1, nanos: 10n });
  });
  assert.deepEqual(await ledger.takeBack("process-1"), { leases: 1, nanos: 10n });
  assert.equal(await left(ledger, accountId), 100n);
  assert.deepEqual(await ledger.check(), []);
});

onPostgres("leases of a table that stays locked are left to the sweep", async (db) => {
  const [ledger, accountId] = await opened(db, 100n);
  await ledger.take(request(accountId));
  await db.transaction(async (tx) => {
    await tx.query("lock table leases in share mode");
    assert.deepEqual(await ledger.takeBack("process-1"), { leases: 0, nanos: 0n });
  });
  assert.deepEqual(await ledger.takeBack("process-1"), { leases: 1, nanos: 10n });
});

onPostgres("a lease that is just being renewed is taken back after that", async (db) => {
  const [ledger, accountId] = await opened(db, 100n);
  await ledger.take(request(accountId));
  const locked = Promise.withResolvers<void>();
  const renewed = db.transaction(async (tx) => {
    await tx.query("select from leases for update");
    locked.resolve();
    await new Promise((resolve) => setTimeout(resolve, 200));
  });
  await locked.promise;
  assert.deepEqual(await ledger.takeBack("process-1"), { leases: 1, nanos: 10n });
  await renewed;
});

eachDatabase("a charge to an account that never had credit is owed", async (db) => {
  const [ledger, accountId] = await opened(db, 0n);
  await ledger.post([{ interactionId: "a", accountId, leaseId: null, chargedNanos: 3n }]);
  assert.equal((await ledger.show(accountId)).balanceNanos, -3n);
  assert.deepEqual(await ledger.check(), []);
});

eachDatabase("what happens to one account's credit leaves another's as it is", async (db) => {
  const [ledger, accountId] = await opened(db, 100n);
  const besideId = await newAccount(db, "beside");
  await ledger.grant(besideId, 1000n, { note: "beside" });
  await ledger.take(request(besideId, { leaseId: "beside", processId: "process-2" }));
  await ledger.renew([{ leaseId: "beside", accountId: besideId, inFlightNanos: 4n }], 1000);
  await ledger.post([
    { interactionId: "beside", accountId: besideId, leaseId: null, chargedNanos: 3n },
  ]);
  await ledger.adjust(besideId, -2n, { note: "repriced", interactionId: "beside" });
  const beside = () =>
    Promise.all(
      ["account_balances", "leases", "ledger_entries"].map((table) =>
        db.query(`select * from ${table} where account_id = $1 order by 1`, [besideId])
      ),
    );
  const before = await beside();

  const take = request(accountId, { wantedNanos: 20n });
  await ledger.take(take);
  const charge = { accountId, chargedNanos: 7n };
  await ledger.post([
    { ...charge, interactionId: "a", leaseId: "lease-1" },
    { ...charge, interactionId: "b", leaseId: null },
    // An account's charge draws on no lease but its own.
    { ...charge, interactionId: "c", leaseId: "beside" },
  ]);
  assert.equal(await left(ledger, accountId), 66n);
  const back = { operationId: "back", accountId, amountNanos: 5n };
  assert.equal(await ledger.release({ ...back, leaseId: "lease-1" }), 71n);
  assert.equal(await ledger.release({ ...back, leaseId: "beside", operationId: "other" }), 71n);
  const refund = { accountId, note: "twice" };
  for (const transactionId of ["a", "beside"]) {
    await refundCharge(db, { ...refund, transactionId }, createAnalyticsStore(db));
  }
  for (let time = 0; time < 2; time++) {
    const once = { note: "price", operationId: "once" };
    assert.equal(await ledger.adjust(accountId, -1n, once), 85n);
  }
  await ledger.renew([{ leaseId: "lease-1", accountId, inFlightNanos: 2n }], 150);
  assert.deepEqual(await ledger.show(accountId), { balanceNanos: 85n, reservedNanos: 2n });
  assert.deepEqual(await ledger.available([accountId]), new Map([[accountId, 77n]]));
  await pass(db, 151);
  assert.equal((await ledger.show(accountId)).reservedNanos, 0n);
  assert.deepEqual(await ledger.sweepExpired(), { leases: 1, nanos: 8n });
  assert.equal((await ledger.take(take)).grantedNanos, 0n, "the lease it made is gone");
  await ledger.take(request(accountId, { leaseId: "lease-2" }));
  await ledger.take(request(accountId, { leaseId: "lease-3", processId: "process-2" }));
  assert.deepEqual(await ledger.takeBack("process-1"), { leases: 1, nanos: 10n });
  assert.equal(await left(ledger, accountId), 75n, "another process goes on");

  const history = await createCreditHistory(db).latest(accountId, 10);
  assert.deepEqual(history.map(({ nanos }) => nanos), [-1n, 7n, 100n]);
  assert.deepEqual(
    await readCreditLevels(db, [accountId]),
    new Map([[accountId, { balanceNanos: 85n, lastGrantNanos: 100n }]]),
  );
  assert.deepEqual(await ledger.check(), []);
  // `pass` moves the time of every lease.
  await pass(db, -151);
  assert.deepEqual(await beside(), before);
});

eachDatabase("the check names a sum that does not agree with the entries", async (db) => {
  const [ledger, accountId] = await opened(db, 100n);
  await db.query("update account_balances set balance_nanos = 99", []);
  assert.deepEqual(await ledger.check(), [
    { accountId, what: "balance", unspentNanos: 99n, entriesNanos: 100n },
  ]);
  // Sums and leases that are gone, and such as no entry stands for.
  assert.equal((await ledger.take(request(accountId))).grantedNanos, 10n);
  await db.query("delete from leases", []);
  await db.query("delete from account_balances", []);
  const otherId = await newAccount(db, "other");
  await db.query(
    `insert into account_balances (account_id, balance_nanos, leased_nanos) values ($1, 3, 7)`,
    [otherId],
  );
  await db.query(
    `insert into leases (id, account_id, process_id, amount_nanos, expires_at)
     values ('lease', $1, 'process', 5, clock_timestamp())`,
    [otherId],
  );
  const gaps = (await ledger.check()).map(({ accountId, what, ...sums }) =>
    [`${what} of ${accountId}`, Object.values(sums)] as const
  );
  assert.deepEqual(
    new Map(gaps),
    new Map([
      [`balance of ${accountId}`, [0n, 100n]],
      [`leased of ${accountId}`, [0n, 10n]],
      [`leases of ${accountId}`, [0n, 10n]],
      [`balance of ${otherId}`, [3n, 0n]],
      [`leased of ${otherId}`, [7n, 0n]],
      [`leases of ${otherId}`, [5n, 0n]],
    ]),
  );
  assert.equal(gaps.length, 6);
});

onPostgres(
  "charges and refunds read nothing that another transaction is about to change",
  async (db, open) => {
    const [ledger, accountId] = await opened(db, 100n);
    await ledger.take(request(accountId, { wantedNanos: 30n }));
    const charge = (interactionId: string, chargedNanos: bigint) => ({
      ...{ interactionId, accountId, leaseId: "lease-1", chargedNanos },
    });
    const other = await open();
    /** `waiting` begins once a transaction has locked the account, and before that one acts. */
    const meanwhile = async (
      act: (tx: Queryable) => Promise<unknown>,
      waiting: () => Promise<void>,
    ) => {
      const { done } = await db.transaction(async (tx) => {
        await lockAccounts(tx, [accountId]);
        let isOver = false;
        const done = waiting().finally(() => isOver = true);
        await untilOneWaits(tx, () => isOver);
        await act(tx);
        return { done };
      });
      await done;
      assert.deepEqual(await ledger.check(), []);
    };
    const back = { operationId: "back", accountId, leaseId: "lease-1", amountNanos: 25n };
    await meanwhile(
      (tx) => releaseLease(tx, back),
      () => createLedger(other).post([charge("a", 20n)]),
    );
    assert.equal(await left(ledger, accountId), 80n, "the lease had 5 left");
    assert.equal(await ledger.release({ ...back, operationId: "nothing left" }), 80n);
    const correction = { note: "repriced", interactionId: "a" };
    await meanwhile(
      (tx) => credit(tx, "adjust", accountId, -7n, correction),
      () =>
        refundCharge(
          other,
          { accountId, transactionId: "a", note: "twice" },
          createAnalyticsStore(other),
        ),
    );
    assert.equal(await left(ledger, accountId), 100n, "the correction is given back too");
  },
);

onPostgres(
  "processes that lease, charge, renew and give back at once keep every sum",
  async (db, open) => {
    const [first, accountId] = await opened(db, 1000n);
    const otherId = await newAccount(db, "other");
    await first.grant(otherId, 1000n);
    const ledgers = [first, createLedger(await open()), createLedger(await open())];
    let granted = 0n;
    let charged = 0n;
    await Promise.all(Array.from({ length: 240 }, async (_, at) => {
      const ledger = ledgers[at % 3]!;
      const account = at % 2 ? accountId : otherId;
      const leaseId = `lease-${at % 12}`;
      const take = request(account, { leaseId, processId: `process-${at % 3}`, wantedNanos: 13n });
      const { grantedNanos } = await ledger.take(take);
      granted += grantedNanos;
      if (grantedNanos === 0n) return;
      const settlement = (id: number, leased: string) => ({
        interactionId: `call-${id}`,
        accountId: account,
        leaseId: leased,
        chargedNanos: 7n,
      });
      charged += 7n;
      const back = { operationId: `back-${at}`, accountId: account, leaseId, amountNanos: 5n };
      await Promise.all([
        ledger.post([settlement(at, leaseId)]),
        ledger.post([settlement(at, leaseId)]),
        ledger.release(back),
        ledger.renew([{ leaseId, accountId: account, inFlightNanos: 0n }], 150),
        ledger.sweepExpired(),
      ]);
    }));
    assert.ok(granted > 0n);
    assert.deepEqual(await first.check(), []);
    const balances = [await first.show(accountId), await first.show(otherId)];
    assert.equal(balances[0]!.balanceNanos + balances[1]!.balanceNanos, 2000n - charged);
    for (const id of [accountId, otherId]) assert.ok(await left(first, id) >= 0n);
  },
);

onPostgres(
  "of those who take at the same moment each finds what the one before has left",
  async (db) => {
    const [ledger, accountId] = await opened(db, 37n);
    const take = (leaseId: string) => async () => {
      const asked = request(accountId, { leaseId, atLeastNanos: 0n, wantedNanos: 15n });
      const { grantedNanos, availableNanos } = await ledger.take(asked);
      return [grantedNanos, availableNanos];
    };
    const held = "select from account_balances for update";
    const [first, ...later] = await startInTurn(db, held, take("one"), take("two"), take("three"));
    assert.deepEqual(first, [15n, 22n]);
    assert.deepEqual(later.map(String).toSorted(), ["15,7", "7,0"]);
    assert.deepEqual(await ledger.check(), []);
  },
);
