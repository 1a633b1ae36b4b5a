import assert from "@std/assert";
import type { ExportTable } from "../../contracts/data/export_tables.ts";
import type { Database, SqlRow } from "../../src/database/database.ts";
import type { Cells } from "../../src/exports/row_writers.ts";
import type { WrittenLines } from "../../src/records/analytics_store.ts";
import { createFairReads } from "../../src/database/fair_reads.ts";
import { createExportSource } from "../../src/exports/store/export_source.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { writeCalls, writeRecords } from "../../src/records/store/interactions.ts";
import { onBothDatabases, onPostgres } from "../support/databases.ts";
import { collect, interaction, newAccount } from "./samples.ts";

function sourceOf(database: Database) {
  const analytics = createAnalyticsStore(database);
  return createExportSource({ analytics, database, reads: createFairReads(database) });
}

/** Ids of a table's rows as of a snapshot. */
async function ids(database: Database, accountId: number, snapshot: string, more: Query = {}) {
  const query = { table: "interactions" as const, accountId, filters: {}, snapshot, ...more };
  const { table } = query;
  const source = sourceOf(database);
  const rows = (await collect(source.read(query))).flat() as Cells[];
  assert.equal(await source.count(query), rows.length, "count agrees with read");
  const found = rows.map((row) => row[0]);
  if (table === "interactions" && database.eachRow) {
    const form = { format: "json", columns: ["transaction_id"], before: ",", after: "" } as const;
    // A payload that may be cut would make its row cells.
    const lines = await collect(source.read({ ...query, withoutPayloads: true }, form));
    const texts = lines.flat().map((some) =>
      new TextDecoder().decode((some as WrittenLines).bytes)
    );
    const named = JSON.parse(`[${texts.join("").slice(1)}]`).map((
      row: { transaction_id: string },
    ) => row.transaction_id);
    assert.deepEqual(named, found, "lines agree with cells");
  }
  return found;
}

interface Query {
  table?: ExportTable;
  filters?: Record<string, string | number | boolean | string[]>;
  start?: Date;
  end?: Date;
}

const now = () => new Date();
const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);

onBothDatabases(
  "after a dump is restored, a snapshot from before contains what is older than it",
  async (database) => {
    const accountId = await newAccount(database);
    const { insert } = createAnalyticsStore(database);
    await insert([interaction(accountId, "txn_1", { createdAt: hoursAgo(2) })]);
    const snapshot = await sourceOf(database).snapshot();
    await insert([interaction(accountId, "txn_2", { createdAt: hoursAgo(-0.1) })]);
    // Restored rows have ids that are later than those of the former database or, in a new cluster,
    // earlier ones.
    for (const next of [5, 9_000_000_000]) {
      const restored = snapshot.replaceAll(/\d+:\d+:[\d,]*@/g, `${next}:${next}:@`);
      assert.deepEqual(await ids(database, accountId, restored), ["txn_1"], `${next}`);
    }
  },
);

onBothDatabases(
  "what is written later is not in a snapshot, however old it is",
  async (database) => {
    const accountId = await newAccount(database);
    const { insert } = createAnalyticsStore(database);
    await insert([interaction(accountId, "txn_2", { createdAt: hoursAgo(2) })]);
    const snapshot = await sourceOf(database).snapshot();
    await insert([
      interaction(accountId, "txn_1", { createdAt: hoursAgo(3) }),
      interaction(accountId, "txn_3", { createdAt: now() }),
    ]);
    assert.deepEqual(await ids(database, accountId, snapshot), ["txn_2"]);
    const later = await sourceOf(database).snapshot();
    assert.deepEqual(await ids(database, accountId, later), ["txn_1", "txn_2", "txn_3"]);
  },
);

onBothDatabases(
  "a call that is priced anew stays in, as an erased one doesn't",
  async (database) => {
    const accountId = await newAccount(database);
    await createAnalyticsStore(database).insert([
      interaction(accountId, "txn_1", { createdAt: now() }),
      interaction(accountId, "txn_2", { createdAt: now() }),
    ]);
    const snapshot = await sourceOf(database).snapshot();
    await database.query("update interactions set cost_nanos = 5 where transaction_id = 'txn_1'");
    await database.query("delete from interactions where transaction_id = 'txn_2'");
    assert.deepEqual(await ids(database, accountId, snapshot), ["txn_1"]);
  },
);

onPostgres(
  "a transaction that was open when the snapshot was taken is not in it",
  async (database) => {
    const accountId = await newAccount(database);
    // Of another account: two that write for one account wait for each other at its sums.
    const other = await newAccount(database, "other");
    const begun = Promise.withResolvers<void>();
    const mayCommit = Promise.withResolvers<void>();
    const writing = database.transaction(async (tx) => {
      const rows = [interaction(accountId, "txn_open", { createdAt: now() })];
      await writeRecords(tx, rows, ["rows"], await writeCalls(rows), { mayExist: false });
      begun.resolve();
      await mayCommit.promise;
    });
    await begun.promise;
    await createAnalyticsStore(database).insert([
      interaction(other, "txn_done", { createdAt: now() }),
    ]);
    const snapshot = await sourceOf(database).snapshot();
    const seen = () => Promise.all([accountId, other].map((id) => ids(database, id, snapshot)));
    assert.deepEqual(await seen(), [[], ["txn_done"]]);
    mayCommit.resolve();
    await writing;
    assert.deepEqual(await seen(), [[], ["txn_done"]]);
  },
);

onPostgres("transaction ids that have come again hide no old rows", async (database) => {
  const accountId = await newAccount(database);
  await createAnalyticsStore(database).insert([
    interaction(accountId, "txn_old", { createdAt: hoursAgo(24 * 30) }),
  ]);
  const [row] = await database.query("select xmin::text as id from interactions");
  // As if four billion transactions had gone by, and the snapshot's next one had this row's id.
  const next = String(row!.id);
  const at = new Date().toISOString();
  assert.deepEqual(await ids(database, accountId, `${next}:${next}:@${at}`), ["txn_old"]);
});

onBothDatabases(
  "evaluations are exported page by page, filtered, as of a snapshot",
  async (database) => {
    const accountId = await newAccount(database);
    const other = await newAccount(database, "other");
    const made = async (run: string, account: number, results: number) => {
      await database.query(
        `insert into eval_runs
           (eval_run_id, created_at, account_id, api_key_id, model, filters, graders, state, counts)
         values ($1, now(), $2, 'key', 'gpt', '{"a": 1.0}', '[]', 'queued', '{}')`,
        [run, account],
      );
      await database.query(
        `insert into eval_results (eval_run_id, created_at, account_id, transaction_id,
           answer_transaction_id, session_id, user_id, grader_index, grader, passed, score, detail)
         select $1, clock_timestamp(), $2, 'txn_' || lpad(n::text, 4, '0'),
         null, 's', 'u', 0, '{}', n % 2 = 0, n / 4.0, null from generate_series(1, $3::integer) as n`,
        [run, account, results],
      );
    };
    await made("run_1", accountId, 450);
    await made("run_9", other, 3);
    const source = sourceOf(database);
    // A call that is evaluated between the two snapshots is in the export, its evaluation isn't.
    let between = false;
    const taking = sourceOf({
      ...database,
      async query<Row extends SqlRow>(...args: Parameters<Database["query"]>) {
        const rows = await database.query<Row>(...args);
        if (between || !args[0].includes("pg_current_snapshot")) return rows;
        between = true;
        const call = interaction(accountId, "txn_between", { createdAt: now() });
        await createAnalyticsStore(database).insert([call]);
        await made("run_between", accountId, 1);
        return rows;
      },
    });
    const snapshot = await taking.snapshot();
    assert.deepEqual(await ids(database, accountId, snapshot), ["txn_between"]);
    await database.query("update eval_runs set state = 'done'");
    await made("run_2", accountId, 5);
    const [, ofEvals] = snapshot.split("|");
    // The latter is what jobs of earlier versions have, where one database holds all.
    for (const taken of [snapshot, ofEvals!]) {
      assert.deepEqual(await ids(database, accountId, taken, { table: "eval_runs" }), ["run_1"]);
    }
    const results = (await collect(
      source.read({ table: "eval_results", accountId, filters: {}, snapshot }),
    )).flat() as Cells[];
    assert.equal(results.length, 450);
    assert.equal(new Set(results.map((cells) => cells[3])).size, 450);
    const half = {
      table: "eval_results" as const,
      filters: { passed: true, eval_run_id: "run_1" },
    };
    assert.equal((await ids(database, accountId, snapshot, half)).length, 225);
    const [run] = await database.query(
      "select created_at from eval_runs where eval_run_id = 'run_1'",
    );
    const start = run!.created_at as Date;
    for (const table of ["eval_runs", "eval_results"] as const) {
      const within = async (span: Query) =>
        (await ids(database, accountId, snapshot, { ...span, table })).length;
      assert.equal(await within({ start }), table === "eval_runs" ? 1 : 450);
      assert.equal(await within({ start: new Date(start.getTime() + 3_600_000) }), 0);
      assert.equal(await within({ end: start }), 0);
    }
    // What the table lacks leaves nothing of it.
    const lacking = { table: "eval_results" as const, filters: { vendor: "vendor-b" } };
    assert.deepEqual(await ids(database, accountId, snapshot, lacking), []);
  },
);

onBothDatabases("every plain column filters, by its own kind of value", async (database) => {
  const accountId = await newAccount(database);
  const createdAt = hoursAgo(1);
  await createAnalyticsStore(database).insert([
    interaction(accountId, "txn_1", { createdAt, costNanos: 54_399n, inputTokens: 900 }),
    interaction(accountId, "txn_2", { createdAt: now(), costNanos: 0n, payloadTruncated: true }),
  ]);
  const snapshot = await sourceOf(database).snapshot();
  const left = (filters: NonNullable<Query["filters"]>) =>
    ids(database, accountId, snapshot, { filters });
  assert.deepEqual(await left({ cost_usd: "0.000054399" }), ["txn_1"]);
  assert.deepEqual(await left({ cost_usd: ["0", "7.5"] }), ["txn_2"]);
  assert.deepEqual(await left({ input_tokens: 900 }), ["txn_1"]);
  assert.deepEqual(await left({ payload_truncated: true }), ["txn_2"]);
  assert.deepEqual(await left({ created_at: createdAt.toISOString() }), ["txn_1"]);
  assert.deepEqual(await left({ created_at: createdAt.toISOString(), input_tokens: 1 }), []);
});
