import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { checkEmpty, copyDatabase, type CopySteps } from "../../src/database/copy_database.ts";
import type { Database } from "../../src/database/database.ts";
import { openEmbedded } from "../../src/database/embedded/embedded.ts";
import { createFairReads } from "../../src/database/fair_reads.ts";
import { adoptExports } from "../../src/exports/store/adopt_exports.ts";
import { createExportChunks } from "../../src/exports/store/export_chunks.ts";
import { createExportFiles } from "../../src/exports/store/export_files.ts";
import { createExportJobs } from "../../src/exports/store/export_jobs.ts";
import { createExportSource } from "../../src/exports/store/export_source.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { copyPartitions } from "../../src/records/store/partitions.ts";
import { onPostgres } from "../support/databases.ts";
import { writeManyRows } from "../support/many_rows.ts";
import { ensureMigrated } from "../support/new_database.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import { collect, interaction } from "./samples.ts";

const dataDir = temporaryDirectory("copy-database");

/**
 * What a copy could change: texts, times, arrays, bytes; and triggers, references, partitions. More
 * keys than one page has, more images than one batch, and one that is larger than a batch.
 */
const awkward = `
  insert into accounts (name, tier, requests_per_minute, burst) values ('one', 'free', 9, 9), (E'\\\\N \\\\. \\t\\n\\r\\u0001 "{},'' ü🙂', 'pro', 9, 9);
  insert into api_keys (id, account_id, name, prefix, hash, scopes, models, on_disconnect,
      translation_mode, created_at)
    select 'key ' || n, 1, 'k', 'p', 'hash ' || n, array['a,"b', null, '', E'\\\\ NULL {}'], '{}',
      'drain', 'default', '2026-01-02T03:04:05.678901Z' from generate_series(1, 2100) n;
  insert into api_key_notes (api_key_id, environment, replaces)
    select 'key ' || n, '', 'key ' || n + 1 from generate_series(1, 2099) n;
  insert into key_charges select 'call ' || n, 'key 1', now(), 9007199254740993 from generate_series(1, 9) n;
  insert into media select sha256(convert_to(n::text, 'utf8'))::text, n, decode(repeat('00ff5c0a', n), 'hex')
    from generate_series(1, 300001, 150000) n;
  select open_month('1999-12-31T23:59:59.999999Z');
  insert into schema_backfills (version, name, position) values (1, 'backfill', 'half of it');
`;

/** All rows as text, by table: written without what the copy uses. */
async function contents(database: Database): Promise<Record<string, string[]>> {
  const tables = await database.query(
    `select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
       and relname <> 'schema_migrations' order by relname`,
    [],
  );
  const found: Record<string, string[]> = {};
  for (const { relname } of tables) {
    const rows = await database.query(
      `select to_json(t)::text as row from ${relname} t order by 1`,
      [],
    );
    found[String(relname)] = rows.map(({ row }) => String(row));
  }
  return found;
}

function exportsOf(database: Database) {
  const analytics = createAnalyticsStore(database);
  const source = createExportSource({ analytics, database, reads: createFairReads(database) });
  return { source, jobs: createExportJobs(database, "worker") };
}

const text = new TextEncoder().encode("the file of an export");

/** An export with a file, and one whose snapshot lacks the later rows. */
async function exportsIn(database: Database): Promise<void> {
  const { source, jobs } = exportsOf(database);
  const create = async (requestId: string) => {
    const spec = {
      format: "json",
      tables: ["interactions"],
      filters: {},
      rawCells: false,
    } as const;
    const snapshot = await source.snapshot();
    return await jobs.create({ requestId, accountId: 1, location: "files", spec, snapshot });
  };
  await create("ready");
  const { job } = (await jobs.claim())!;
  await createExportFiles(`${dataDir}/exports`).save(job, ReadableStream.from([text]));
  assert.ok(await jobs.finish(job, text.length));
  await insertCall(database, "before the export", -3_600_000);
  await create("waiting");
  await insertCall(database, "later than the export", 1_000);
}

async function insertCall(database: Database, id: string, afterMs: number): Promise<void> {
  const createdAt = new Date(Date.now() + afterMs);
  await createAnalyticsStore(database).insert([interaction(1, id, { createdAt })]);
}

/** Ids, exports and sums continue where the original ended. */
async function continues(database: Database): Promise<void> {
  const { source, jobs } = exportsOf(database);
  const { job, work } = (await jobs.claim())!;
  assert.deepEqual([job.requestId, job.location], ["waiting", "chunks"]);
  await insertCall(database, "later than the copy", -3_600_000);
  const rows = await collect(source.read({ ...work, table: "interactions" }));
  assert.equal(rows.flat().length, 101, "all that was there, and nothing later");
  const ready = (await jobs.find(1, "ready"))!;
  const file = await collect(createExportChunks(database).read(ready, 0, ready.bytesSize));
  assert.deepEqual(Buffer.concat(file), Buffer.from(text));
  const [account] = await database.query(
    "insert into accounts (name, tier, requests_per_minute, burst) values ('next', 'free', 9, 9) returning id",
  );
  assert.equal(account!.id, 3n);
  await database.query("insert into key_charges values ('last', 'key 1', now(), 1)");
  const [spent] = await database.query("select sum(charged_nanos)::text as spent from key_spend");
  assert.equal(spent!.spent, String(9n * 9007199254740993n + 1n), "triggers count again");
}

const steps: CopySteps = {
  openPartitions: copyPartitions,
  adapt: (to) => adoptExports(to, dataDir, true),
};

onPostgres(
  "a copy needs a schema without tables of others, and a user with rights of their owner, and nobody beside it",
  async (database, open) => {
    const refuses = async (prepare: string, text: RegExp) => {
      await assert.rejects(
        database.transaction(async (tx) => {
          await tx.query(prepare);
          await checkEmpty(tx);
        }),
        text,
      );
    };
    await refuses(
      'create schema "app-Prod"; set local search_path = "app-Prod"; create table theirs (id int)',
      /^Error: DATABASE_URL: the database isn't empty \(it has theirs\); create a new one/,
    );
    await refuses(
      'create role "copier"; grant all on all tables in schema public to copier; set local role copier',
      /^Error: DATABASE_URL: the table account_balances belongs to \w+, whose rights the user copier doesn't have; copy as/,
    );
    // As a source, this session reads the tables that the copy wants for itself.
    await assert.rejects(
      copyDatabase(await open(), database, { ...steps, lockWaitMs: 50 }),
      /^Error: DATABASE_URL: another session is using tables/,
    );
  },
);

onPostgres("a copied database has the same rows, or after a failure none", async (target, open) => {
  await ensureMigrated(dataDir);
  const source = await openEmbedded(`${dataDir}/database`);
  try {
    await source.query(awkward);
    await writeManyRows(source, 1, 100);
    await exportsIn(source);
    const before = await contents(source);
    const failing = (fail: () => Promise<unknown> | never) => {
      let left = 2500;
      let failed: Promise<unknown> | undefined;
      return copyDatabase(source, target, {
        ...steps,
        onCopied: (rows) => void ((left -= rows) < 0 && (failed ??= fail())),
      });
    };
    await assert.rejects(
      failing(() => {
        throw new Error("stop");
      }),
      /^Error: stop$/,
    );
    const other = await open();
    await assert.rejects(failing(() =>
      other.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
      )
    ));
    await checkEmpty(other);
    await other.query(
      "insert into schema_migrations values (9999, 'newer', 'sum', 'expand', 1, now())",
    );
    await assert.rejects(
      copyDatabase(source, other, steps),
      /^Error: The embedded database has schema version \d+, this program 9999: use the version/,
    );
    await other.query("delete from schema_migrations where version = 9999");
    // As a migration leaves it in a new database; the original has got further.
    await other.query("insert into schema_backfills (version, name) values (1, 'backfill')");

    const copied = await copyDatabase(source, other, steps);
    assert.deepEqual(await contents(source), before, "the original is as it was");
    const after = await contents(other);
    for (const [table, rows] of Object.entries(before)) {
      if (/^export_(jobs|chunks)$/.test(table)) continue;
      assert.deepEqual(after[table], rows, table);
      assert.equal(copied.find(({ name }) => name === table)!.rows, rows.length);
    }
    const charges = copied.find(({ name }) => name === "key_charges")!;
    assert.deepEqual(charges.nanos, { charged_nanos: String(9n * 9007199254740993n) });
    await continues(other);
    await assert.rejects(
      copyDatabase(source, other, steps),
      /the database isn't empty \(it has accounts, /,
    );
  } finally {
    await source.close();
  }
});
