/** What a forgotten session has locked holds up no other account for good. */
import assert from "@std/assert";
import { Secret } from "../../src/base/secret.ts";
import { within } from "../../src/base/deadline.ts";
import { createBudgetStore } from "../../src/budgets/store/budgets.ts";
import { refundCharge } from "../../src/credit/store/refund_charge.ts";
import { type Database, noLockLimit, type SqlRow } from "../../src/database/database.ts";
import { migrate } from "../../src/database/migrate.ts";
import { parseMigration } from "../../src/database/migration_file.ts";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { createEvalWork } from "../../src/evals/store/eval_work.ts";
import { createExportJobs } from "../../src/exports/store/export_jobs.ts";
import { createSignIns } from "../../src/people/store/sign_ins.ts";
import { createRateBuckets } from "../../src/rate_limits/store/rate_buckets.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { RefusalRecorder } from "../../src/refusals/refusal_recorder.ts";
import { createRefusalStore } from "../../src/refusals/store/refusals.ts";
import { createVirtualModelStore } from "../../src/routing/store/virtual_models.ts";
import { isStoreAway } from "../../src/shared/fault.ts";
import { createDeliveries } from "../../src/webhooks/store/deliveries.ts";
import { createMigrated, onPostgres, productMigrations } from "../support/databases.ts";
import { postgresAvailability } from "../support/postgres.ts";
import { chatAnswer, openEvalWorld } from "../support/eval_world.ts";
import { addWebhook, newAccount } from "./samples.ts";

const newest = new Date("2026-11-21T12:00:00Z");

/** Adds two expired rows to each of the tables that are swept. */
async function addExpired(database: Database): Promise<void> {
  const account = await newAccount(database, "expired");
  await database.query(`
    insert into refusals (account_id, created_at, request_id, http_status, code, api_key_id, endpoint)
      select ${account}, '2026-01-01', n, 404, 'c', 'k', 'e' from generate_series(1, 2) n;
    insert into refusal_counts (account_id, created_at, is_call, code, api_key_id, model, refused)
      select ${account}, '2026-01-01', true, n, 'k', '', 1 from generate_series(1, 2) n;
    insert into rate_processes (process, heard_at_ms) values ('1', 0), ('2', 0);
    insert into virtual_models (account_id, name, updated_at)
      select ${account}, n, '2026-01-01' from generate_series(1, 2) n;
    insert into sign_in_states (state_hash, return_to, expires_at)
      select n, '/', '2026-01-01' from generate_series(1, 2) n;
    insert into export_jobs (request_id, account_id, place, format, tables, detail, snapshot, state,
        expires_at)
      select n, ${account}, 'chunks', 'json', '{}', '{}', '', 'removed', '2026-01-01'
      from generate_series(1, 2) n;
    insert into budgets (id, account_id, scope, name, per, limit_nanos, changed_at, removed_at)
      select n, ${account}, 'account', '', 'day', 1, '2026-01-01', '2026-01-01'
      from generate_series(1, 2) n;
    insert into budget_periods (budget_id, starts_at)
      select n, '2026-01-01' from generate_series(1, 2) n`);
}

onPostgres("what has expired is removed around locked rows", async (database) => {
  await addExpired(database);
  const start = {
    ...{ stateHash: "ours", returnTo: "/", expiresAt: new Date(newest.getTime() + 1000) },
    ...{ claimHash: null, invitationHash: null, identity: null },
  };
  const sweeps: [tables: string[], sweep: () => Promise<unknown>][] = [
    [["refusals", "refusal_counts"], () => createRefusalStore(database).sweep(newest)],
    [["rate_processes"], () => createRateBuckets(database).beat("ours")],
    [["virtual_models"], () => createVirtualModelStore(database).forgetRemoved(60)],
    [["sign_in_states"], () => createSignIns(database).begin(start, newest)],
    [["export_jobs"], () => createExportJobs(database, "a/1").forget()],
    [["budget_periods", "budgets"], () => createBudgetStore(database).sweep(60, newest)],
  ];
  const expired: Record<string, string> = {
    rate_processes: "where heard_at_ms = 0",
    sign_in_states: `where expires_at < '${newest.toISOString()}'`,
  };
  const rowsOf = (table: string) => `select from ${table} ${expired[table] ?? ""}`;
  const left = (tables: readonly string[]) =>
    Promise.all(tables.map(async (table) => (await database.query(rowsOf(table))).length));
  for (const [tables, sweep] of sweeps) {
    await database.transaction(async (tx) => {
      for (const table of tables) await tx.query(`${rowsOf(table)} limit 1 for update`);
      assert.notEqual(await within(60_000, sweep(), "late"), "late", tables[0]);
    });
    assert.deepEqual(await left(tables), tables.map(() => 1), tables[0]);
    // Another id, so that a sign-in can begin again.
    start.stateHash += "+";
    await sweep();
    assert.deepEqual(await left(tables), tables.map(() => 0), tables[0]);
  }
});

onPostgres("refused requests of a locked account hold up those of no other", async (database) => {
  const [locked, free] = [await newAccount(database, "locked"), await newAccount(database, "free")];
  const store = createRefusalStore(database);
  const recorder = new RefusalRecorder({
    ...{ store, clock: { monotonicMs: () => 0 }, log: { info() {}, warn() {}, error() {} } },
  });
  const note = (accountId: number, requestId: string) =>
    recorder.note({
      ...{ accountId, at: newest, requestId, httpStatus: 404, code: "model_not_found" as const },
      ...{ param: undefined, model: "m", apiKeyId: "k", endpoint: "/chat", isCall: true },
    });
  const span = { from: new Date("2026-11-21T00:00:00Z"), to: new Date("2026-11-22T00:00:00Z") };
  const total = (accountId: number) => store.total({ accountId, ...span });
  await database.transaction(async (tx) => {
    await tx.query("select from accounts where id = $1 for update", [locked]);
    for (const account of [locked, free, locked]) note(account, `call of ${account}`);
    await assert.rejects(recorder.flush(), isStoreAway);
    assert.deepEqual([await total(locked), await total(free)], [0, 1]);
    note(free, "later call");
    await assert.rejects(recorder.flush(), isStoreAway);
    assert.deepEqual([await total(locked), await total(free)], [0, 2]);
  });
  await recorder.flush();
  assert.deepEqual([await total(locked), await total(free)], [2, 2]);
  assert.equal((await store.list({ accountId: locked, ...span, limit: 10 })).length, 2);
});

/** Registers a test with a database that waits 300 ms for a lock, and one that locks. */
function onImpatient(
  name: string,
  test: (database: Database, other: Database) => Promise<void>,
): void {
  Deno.test({ name, ignore: !postgresAvailability().available }, async () => {
    const { url, drop } = await createMigrated();
    const [database, other] = [await openPostgres(url, { lockMs: 300 }), await openPostgres(url)];
    try {
      await test(database, other);
    } finally {
      await Promise.all([database.close(), other.close()]);
      await drop();
    }
  });
}

onImpatient(
  "a statement's own wait for locks ends with it, on the same connection",
  async (database) => {
    const sql = "select pg_backend_pid() as pid, current_setting('lock_timeout') as wait";
    const rows = async (queries: Promise<SqlRow[]>) => (await queries)[0]!;
    const found = [
      await rows(database.query(sql)),
      await rows(database.query(sql, [], noLockLimit)),
      await rows(database.query(sql, [], noLockLimit)),
      await rows(database.transaction((tx) => tx.query(sql))),
      await rows(database.query(sql, [], { lockMs: 70 })),
      await rows(database.query(sql)),
    ];
    assert.deepEqual(found.map(({ wait }) => wait), ["300ms", "0", "0", "300ms", "70ms", "300ms"]);
    assert.equal(new Set(found.map(({ pid }) => pid)).size, 1);
  },
);

onImpatient(
  "statements at a locked account leave connections to the others",
  async (database, other) => {
    const account = await newAccount(other);
    const note = () =>
      database.query(
        `insert into audit_log (account_id, at, actor, action, subject, detail)
       values ($1, clock_timestamp(), 'a', 'b', 'c', 'd')`,
        [account],
      );
    await other.transaction(async (tx) => {
      await tx.query("select from accounts where id = $1 for update", [account]);
      // As many as a process has connections.
      const waiting = Promise.allSettled(Array.from({ length: 10 }, note));
      assert.equal((await database.query("select 1")).length, 1);
      for (const one of await waiting) {
        assert.ok(one.status === "rejected" && isStoreAway(one.reason));
      }
    });
  },
);

onImpatient("a start waits for a copy that has locked all tables", async (database, other) => {
  const migrations = await productMigrations();
  await other.transaction(async (tx) => {
    await tx.query("lock table schema_migrations in access exclusive mode");
    const migrated = migrate(database, migrations);
    assert.equal(await within(700, migrated, "late"), "late");
    return { migrated };
  }).then(async ({ migrated }) => assert.deepEqual(await migrated, []));
});

onImpatient("a start waits for who has locked what it builds", async (database, other) => {
  const account = await newAccount(other);
  const existing = await productMigrations();
  const steps = [
    "-- phase: expand\n-- transaction: none\ncreate index concurrently more on accounts (name);",
    `-- phase: backfill\nwith changed as (update accounts set name = 'n' returning id)
     select count(*) as rows, max(id)::text as position from changed
     where length($1) < $2::bigint`,
    "-- phase: contract\n-- works with: 0001\nalter table accounts alter column name set not null",
  ].map((sql, at) => parseMigration(existing.at(-1)!.version + 1 + at, `more_${at}`, sql));
  for (const count of [1, 3]) {
    const migrated = await other.transaction(async (tx) => {
      await tx.query("select from accounts where id = $1 for update", [account]);
      const applied = migrate(database, [...existing, ...steps.slice(0, count)]);
      applied.catch(() => {});
      assert.equal(await within(1000, applied, "late"), "late");
      return { applied };
    });
    await migrated.applied;
  }
  assert.deepEqual(await other.query("select name from accounts"), [{ name: "n" }]);
});

onImpatient(
  "the end of a webhook's attempt waits for the locked webhook",
  async (database, other) => {
    await addWebhook(other, await newAccount(other));
    await other.query(
      `insert into webhook_deliveries (id, webhook_id, event_key, type, data, at, next_at, ends_at)
     select 'm', id, 'k', 'export.ready', '{}', $1, $1, $1 from webhooks`,
      [newest],
    );
    const deliveries = createDeliveries(database, {
      sealer: {
        open: () => Promise.reject(new Error("nothing is sealed")),
        unseal: () => Promise.resolve(new Secret("s")),
      },
      workerId: "one/1",
    });
    const claimed = await deliveries.claim(newest, []);
    let isEnded = false;
    const ending = await other.transaction(async (tx) => {
      await tx.query("select from webhooks for update");
      const ended = deliveries.finish(claimed!, { kind: "sent", at: newest })
        .finally(() => isEnded = true);
      // The caller awaits it later.
      ended.catch(() => {});
      await tx.query("select pg_sleep(0.7)");
      assert.equal(isEnded, false);
      return { ended };
    });
    assert.equal(await ending.ended, "sent");
  },
);

onImpatient("the refund of a call waits for the locked account", async (database, other) => {
  const accountId = await newAccount(other);
  const refund = { accountId, transactionId: "t", note: "twice" };
  const { refunded } = await other.transaction(async (tx) => {
    await tx.query("select from accounts where id = $1 for update", [accountId]);
    const refunded = refundCharge(database, refund, createAnalyticsStore(database));
    refunded.catch(() => {});
    assert.equal(await within(700, refunded, "late"), "late");
    return { refunded };
  });
  await refunded;
  assert.deepEqual(await other.query("select note from ledger_entries"), [{ note: "twice" }]);
});

onImpatient(
  "what an evaluation's calls cost is counted once it is unlocked",
  async (database, other) => {
    const world = await openEvalWorld(database);
    await world.store(1);
    const id = await world.create();
    const analytics = createAnalyticsStore(database);
    const work = createEvalWork(database, { workerId: "one", analytics });
    const run = await work.claim({ runs: [], accounts: [] });
    const [item] = await work.items(run!, -1, 1);
    const { counted } = await other.transaction(async (tx) => {
      await tx.query("select from eval_runs for update");
      const counted = Promise.all([
        work.countTry(run!, item!, { costNanos: 1n, unpricedCalls: 0 }),
        work.countCalls(run!, item!, [{ costNanos: 2n, unpricedCalls: 0, transactionId: "t" }]),
      ]);
      counted.catch(() => {});
      assert.equal(await within(700, counted, "late"), "late");
      return { counted };
    });
    await counted;
    assert.equal((await world.run(id)).counts.costNanos, 3n);
  },
);

onPostgres("a locked run of an evaluation asks for no answer twice", async (database) => {
  const world = await openEvalWorld(database);
  try {
    await world.store(3);
    const id = await world.create();
    const isAsked = Promise.withResolvers<void>();
    const isLocked = Promise.withResolvers<void>();
    world.model = async () => {
      isAsked.resolve();
      await isLocked.promise;
      return chatAnswer("answer");
    };
    world.runner().wake();
    await isAsked.promise;
    await database.transaction(async (tx) => {
      await tx.query("select from eval_runs for update");
      isLocked.resolve();
      // Longer than one try waits for the row.
      await tx.query("select pg_sleep(6)");
    });
    await world.until(id, ({ state }) => state === "done");
    assert.deepEqual([world.calls.length, world.log], [3, []]);
  } finally {
    await world.close();
  }
});
