import assert from "@std/assert";
import { FakeClock } from "../../src/base/clock.ts";
import { createReadSpend } from "../../src/credit/store/spend.ts";
import type { LeaseTaken } from "../../src/credit/ledger.ts";
import type { CappedKey } from "../../src/credit/spend_cap.ts";
import type { Database } from "../../src/database/database.ts";
import { createApiKeys } from "../../src/keys/store/api_keys.ts";
import { Fault } from "../../src/shared/fault.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import { startInTurn } from "../support/lock_queue.ts";
import { Random } from "../support/random.ts";
import { capProcess, newCappedKey } from "./cap_process.ts";

const cent = 10_000_000n;

function isCapped(thrown: unknown): boolean {
  return thrown instanceof Fault && thrown.code === "spend_cap_exceeded";
}

async function spentBy(database: Database, { id }: CappedKey): Promise<bigint> {
  const spent = await createReadSpend(database)([id], new Date("2026-11-21T12:00:00Z"));
  return spent.get(id)?.dayNanos ?? 0n;
}

/** What processes hold, by cap. */
async function leased(database: Database): Promise<Record<string, bigint>> {
  const rows = await database.query(
    "select per, sum(amount_nanos)::bigint as nanos from key_leases group by per order by per",
  );
  return Object.fromEntries(rows.map(({ per, nanos }) => [String(per), nanos as bigint]));
}

onPostgres("four processes at once never spend more than a cap, and all of it in the end", async (
  database,
  open,
) => {
  const random = new Random(20261130);
  const key = await newCappedKey(database, "a", 20n * cent, 50n * cent);
  const clock = new FakeClock(new Date("2026-11-21T12:00:00Z"));
  const processes = [capProcess(database, clock, "0")];
  for (const id of ["1", "2", "3"]) processes.push(capProcess(await open(), clock, id));
  /** Starts calls in all processes at once; returns what they were charged. */
  const burst = async (calls: number, boundNanos: bigint) => {
    const charges = await Promise.all(
      Array.from({ length: calls }, async (_, n) => {
        const process = processes[n % processes.length]!;
        const call = await process.begin(key, boundNanos).catch((thrown) => {
          assert.ok(isCapped(thrown), `${thrown}`);
        });
        if (!call) return 0n;
        const charged = random.pick([0n, cent / 2n, boundNanos]);
        await process.end(call, charged);
        return charged;
      }),
    );
    assert.ok(await spentBy(database, key) <= 20n * cent);
    return charges.reduce((sum, one) => sum + one, 0n);
  };
  let charged = await burst(160, cent);
  charged += await burst(8, 15n * cent);
  for (let round = 0; charged < 20n * cent; round++) {
    assert.ok(round < 40, `${charged}`);
    clock.advance(5000);
    for (const { caps } of processes) await caps.tick();
    charged += await burst(16, 20n * cent - charged > cent ? cent : 20n * cent - charged);
  }
  assert.equal(await spentBy(database, key), 20n * cent);
  await Promise.all(processes.map(({ caps }) => caps.close()));
  assert.deepEqual(await leased(database), { day: 0n, month: 0n });
});

eachDatabase("a cap still holds after a restart, and what the process held is free again", async (
  database,
  open,
) => {
  const key = await newCappedKey(database, "a", 10n, 100n);
  const first = capProcess(database);
  await first.end(await first.begin(key, 4n), 4n);
  await first.begin(key, 5n);
  const again = capProcess(await open());
  await assert.rejects(again.begin(key, 2n), isCapped);
  assert.ok((await again.leases.takeBack("one")).leases > 0);
  await assert.rejects(again.begin(key, 7n), isCapped);
  await again.end(await again.begin(key, 6n), 6n);
  await assert.rejects(again.begin(key, 1n), isCapped);
});

onPostgres("what a killed process held is usable once its leases have expired", async (
  database,
  open,
) => {
  const key = await newCappedKey(database, "a", 10n);
  const killed = capProcess(database, undefined, "killed");
  const call = await killed.begin(key, 6n);
  const alive = capProcess(await open(), undefined, "alive");
  await assert.rejects(alive.begin(key, 6n), isCapped);
  assert.deepEqual(await alive.leases.sweepExpired(), { leases: 0, nanos: 0n });
  await database.query("update key_leases set expires_at = 'epoch' where process_id = 'killed'");
  assert.equal((await alive.leases.sweepExpired()).leases, 1);
  // Its next run finds the call in its journal.
  await killed.end(call, 5n);
  await assert.rejects(alive.begin(key, 6n), isCapped);
  await alive.end(await alive.begin(key, 5n), 5n);
  assert.equal(await spentBy(database, key), 10n);
});

eachDatabase(
  "a charge is taken out of its leases once, as far as they have it",
  async (database) => {
    const key = await newCappedKey(database, "a", 4n * cent, 8n * cent);
    const one = capProcess(database);
    const call = await one.begin(key, cent);
    const before = await leased(database);
    await one.end(call, cent, 3);
    assert.deepEqual(await leased(database), {
      day: before.day! - cent,
      month: before.month! - cent,
    });
    // More than was held, and more than the whole cap.
    await one.end(await one.begin(key, cent), 5n * cent, 2);
    assert.equal(await spentBy(database, key), 6n * cent);
    await assert.rejects(one.begin(key, 1n), /daily.* 0\.000000000 USD is left/);
    assert.ok(Object.values(await leased(database)).every((nanos) => nanos >= 0n));
  },
);

onPostgres(
  "charges of processes that hold nothing count, and a changed cap holds everywhere",
  async (
    database,
    open,
  ) => {
    const key = await newCappedKey(database, "a", 10n, 100n);
    const [one, two] = [capProcess(database, undefined, "one"), capProcess(await open())];
    const without = { leaseIds: [], settle() {} };
    // As a process of the version before writes them; the last ones are of other periods.
    for (
      const at of ["2026-11-21T00:00:00Z", "2026-11-20T12:00:00Z", "2026-10-31T23:59:59Z"]
    ) await two.end({ key, hold: without, at: new Date(at), transactionId: at }, 4n);
    await assert.rejects(one.begin(key, 7n), /daily.* 0\.000000006 USD is left/);
    await one.end(await one.begin(key, 1n), 1n);
    // Another process lowers the cap, of which this one doesn't know yet.
    const change = (capDayNanos: bigint | null, capMonthNanos: bigint | null) =>
      createApiKeys(database).change("a", { capDayNanos, capMonthNanos });
    await change(7n, 10n);
    await one.caps.close();
    await assert.rejects(two.begin(key, 3n), isCapped);
    await assert.rejects(two.begin({ ...key, capDayNanos: null }, 2n), /monthly/);
    await change(null, null);
    await two.end(await two.begin({ ...key, capDayNanos: 8n, capMonthNanos: null }, 3n), 3n);
    assert.equal(await spentBy(database, key), 5n, "a key without a cap counts nothing");
  },
);

const request = {
  accountId: { keyId: "a", per: "day", startsAt: new Date("2026-11-21T00:00:00Z") } as const,
  ...{ operationId: "1", processId: "one", leaseId: "lease", leaseSeconds: 150 },
  ...{ atLeastNanos: 10n, wantedNanos: 10n, aheadNanos: 10n },
};

onPostgres("who leases while another process does gets only what that one leaves", async (
  database,
) => {
  await newCappedKey(database, "a", 15n);
  // Spent on another day.
  await database.query("insert into key_spend values ('a', '2026-11-22T00:00:00Z', 15)");
  const { leases } = capProcess(database);
  const grants = await startInTurn(
    database,
    // The first has seen what is left, and waits to write its lease.
    `insert into key_leases (id, api_key_id, per, starts_at, process_id, amount_nanos, operation_id,
       granted_nanos, expires_at)
     values ('lease', 'a', 'day', '2026-11-21T00:00:00Z', 'one', 0, '0', 0, 'infinity')`,
    () => leases.take(request, 15n),
    () => leases.take({ ...request, processId: "two", leaseId: "other" }, 15n),
  );
  assert.deepEqual((grants as LeaseTaken[]).map(({ grantedNanos }) => grantedNanos), [10n, 0n]);
});

onPostgres("a repeated request for a lease is granted once", async (database) => {
  await newCappedKey(database, "a", 100n);
  const { leases } = capProcess(database);
  const grants = await Promise.all(
    Array.from({ length: 4 }, () => leases.take(request, 100n)),
  );
  assert.deepEqual(grants.map(({ grantedNanos }) => grantedNanos), [10n, 10n, 10n, 10n]);
  assert.deepEqual(await leases.available([request.accountId]), [90n]);
  const back = { ...request, operationId: "2", amountNanos: 5n };
  assert.deepEqual([await leases.release(back), await leases.release(back)], [95n, 95n]);
  const more = await leases.take({ ...request, operationId: "3" }, 100n);
  assert.deepEqual(more, { grantedNanos: 10n, availableNanos: 85n, isNew: false });
  assert.deepEqual(await leases.available([request.accountId]), [85n]);
  assert.deepEqual(
    await leases.renew([{ ...request, inFlightNanos: 1n }], 1),
    new Map([["lease", true]]),
  );
  assert.deepEqual(await leases.available([]), []);
});
