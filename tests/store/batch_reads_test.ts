/**
 * What a batch of records, or a look at what has changed, reads of a store doesn't grow with it,
 * whatever the planner knows: plans are kept that were made while the tables were small, until
 * PostgreSQL looks at them again.
 */
import assert from "@std/assert";
import { createLedger } from "../../src/credit/store/ledger.ts";
import type { Database, Queryable } from "../../src/database/database.ts";
import { maxListedChanges } from "../../src/keys/key_changes.ts";
import { createKeyChanges } from "../../src/keys/store/key_changes.ts";
import { createRecords } from "../../src/records/store/records.ts";
import type { SettledCall } from "../../src/shared/interaction.ts";
import { onPostgres } from "../support/databases.ts";
import { interaction, newAccount } from "./samples.ts";

const grown = 20_000;
const batch = 200;

onPostgres("a batch reads a few rows a call after the store has grown", async (database) => {
  const accountId = await newAccount(database);
  const ledger = createLedger(database);
  await ledger.grant(accountId, 1_000_000n);
  await ledger.take({
    ...{ operationId: "take", accountId, leaseId: "lease", processId: "here", leaseSeconds: 60 },
    ...{ atLeastNanos: 1n, wantedNanos: 500_000n, aheadNanos: 500_000n },
  });
  await insertKeys(database, accountId, "few", 10);
  // As `vacuumdb --analyze` on a new store, or autovacuum while it was still small.
  await database.query("analyze", []);
  const counted = new CountedReads(database);
  const records = createRecords(counted.database);
  const calls = (name: string) =>
    Array.from({ length: batch }, (_, n) => call(accountId, `${name} ${n}`, `few ${n % 10}`));
  // A session keeps a plan for all values from the sixth time on.
  for (let n = 0; n < 8; n++) await records.insert(calls(`small ${n}`));

  await insertKeys(database, accountId, "many", grown);
  await database.query(
    `insert into ledger_entries (account_id, kind, amount_nanos, leased_nanos, interaction_id)
     select $1, 'settle', 0, 0, 'other ' || lpad(n::text, 6, '0')
     from generate_series(1, $2::int) n`,
    [accountId, grown],
  );
  const fewKeys = await counted.rowsOf(() => records.insert(calls("z, few keys")));
  const manyKeys = await counted.rowsOf(() =>
    records.insert(calls("z, many keys").map((one, n) => ({ ...one, apiKeyId: `many ${n}` })))
  );
  const again = await counted.rowsOf(() => records.insert(calls("z, few keys")));
  // An account's row and a key's for each call; sums and leases are few.
  for (const [name, { rows, tables }] of Object.entries({ fewKeys, manyKeys, again })) {
    assert.ok(rows > 0, `${name}: nothing was counted`);
    assert.ok(rows <= 8 * batch, `${name}: ${rows} rows for ${batch} calls: ${tables}`);
  }
}, { fresh: true });

onPostgres("a look beside an import of keys reads those that are held", async (database) => {
  const accountId = await newAccount(database);
  await insertKeys(database, accountId, "held", 100);
  await database.query("analyze", []);
  const [row] = await database.query("select clock_timestamp() as now", []);
  const since = row!.now as Date;
  await insertKeys(database, accountId, "many", grown);
  const counted = new CountedReads(database);
  const { rows, tables } = await counted.rowsOf(() =>
    counted.database.transaction(async (tx) => {
      const changes = createKeyChanges(tx);
      assert.equal((await changes.changedSince(since)).keys, "many");
      const held = Array.from({ length: 100 }, (_, n) => ({ id: `held ${n}`, changedAt: null }));
      assert.deepEqual(await changes.changedKeys(held, since), []);
    })
  );
  assert.ok(rows > 0 && rows <= maxListedChanges + 2 * 100 + 10, `${rows} rows: ${tables}`);
}, { fresh: true });

function call(accountId: number, id: string, apiKeyId: string): SettledCall {
  const charged = { costNanos: 5n, chargedNanos: 5n, leaseId: "lease" };
  return interaction(accountId, id, { apiKeyId, status: "completed", ...charged });
}

async function insertKeys(database: Queryable, accountId: number, name: string, count: number) {
  await database.query(
    `insert into api_keys (id, account_id, name, prefix, hash, scopes, models, on_disconnect,
       translation_mode)
     select $2 || ' ' || n, $1, 'key', 'dmt_', $2 || ' hash ' || n, '{}', '{}', 'cancel', 'default'
     from generate_series(0, $3::int - 1) n`,
    [accountId, name, count],
  );
}

/** A database that adds up the rows which its transactions read, those of triggers too. */
class CountedReads {
  readonly database: Database;
  #tables = new Map<string, number>();

  constructor(database: Database) {
    this.database = {
      ...database,
      transaction: (work) =>
        database.transaction(async (tx) => {
          const before = await rowsRead(tx);
          const result = await work(tx);
          for (const [table, rows] of await rowsRead(tx)) {
            const more = rows - (before.get(table) ?? 0);
            if (more > 0) this.#tables.set(table, (this.#tables.get(table) ?? 0) + more);
          }
          return result;
        }),
    };
  }

  async rowsOf(work: () => Promise<unknown>): Promise<{ rows: number; tables: string }> {
    this.#tables = new Map();
    await work();
    const tables = [...this.#tables].filter(([name]) => !name.startsWith("pg_"));
    return {
      rows: tables.reduce((sum, [, rows]) => sum + rows, 0),
      tables: tables.map(([name, rows]) => `${name} ${rows}`).join(", "),
    };
  }
}

/** What the session has read of each table and has not reported yet: only differences count. */
async function rowsRead(tx: Queryable): Promise<Map<string, number>> {
  const rows = await tx.query(
    `select relname, coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) as rows
     from pg_stat_xact_user_tables`,
    [],
  );
  return new Map(rows.map((row) => [String(row.relname), Number(row.rows)]));
}
