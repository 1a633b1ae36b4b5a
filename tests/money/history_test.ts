import { FakeClock } from "../../src/base/clock.ts";
import type { Database } from "../../src/database/database.ts";
import { createLedger } from "../../src/credit/store/ledger.ts";
import { eachDatabase } from "../support/databases.ts";
import { MemoryLedger } from "../support/memory_ledger.ts";
import { newAccount } from "../store/samples.ts";
import { seeds } from "../support/random.ts";
import { playHistory, type World } from "./history.ts";

/** `HISTORIES=1000 deno test -A tests/money/history_test.ts` plays more of them. */
const asked = Number(Deno.env.get("HISTORIES") ?? 0);
const inMemory = asked || 300;
const onDatabases = asked || 12;

function memoryWorld(): World {
  const clock = new FakeClock();
  const ledger = new MemoryLedger(clock);
  return {
    ledger,
    clock,
    accountIds: [1, 2],
    isExact: true,
    pass: () => Promise.resolve(),
    leaseIds: () => Promise.resolve(new Set(ledger.leases.keys())),
  };
}

async function databaseWorld(database: Database): Promise<World> {
  await database.query(
    "truncate ledger_entries, account_balances, leases, accounts restart identity cascade",
  );
  return {
    ledger: createLedger(database),
    clock: new FakeClock(),
    isExact: false,
    accountIds: [await newAccount(database, "one"), await newAccount(database, "two")],
    async pass(ms) {
      await database.query(
        "update leases set expires_at = expires_at - $1::double precision * interval '1 ms'",
        [ms],
      );
    },
    async leaseIds() {
      const rows = await database.query("select id from leases", []);
      return new Set(rows.map(({ id }) => String(id)));
    },
  };
}

async function play(world: () => World | Promise<World>, histories: number, steps: number) {
  for (const seed of seeds(histories)) {
    try {
      await playHistory(await world(), seed, steps);
    } catch (thrown) {
      throw new Error(`history ${seed}`, { cause: thrown });
    }
  }
}

Deno.test(`${inMemory} random histories of the escrow keep every sum (in memory)`, () =>
  play(memoryWorld, inMemory, 120));

eachDatabase(
  `${onDatabases} random histories of escrow and ledger keep every sum`,
  (database) => play(() => databaseWorld(database), onDatabases, 60),
);
