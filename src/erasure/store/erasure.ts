import { greatest, least, pushAll } from "../../base/lists.ts";
import { type DataTable, type DeletionCounts, type ErasedBatch, noCounts } from "../deletion.ts";
import type { Database, Queryable, SqlRow } from "../../database/database.ts";
import { madeOf } from "./erasure_count.ts";
import { Bound, condition, type MatchedRows } from "./erasure_sql.ts";
import { noteErased } from "./tombstones.ts";
import { countedColumns, countErased } from "../../usage/store/count_usage.ts";
import { lockForErasure } from "../../database/erasure_lock.ts";

/** Where records stand: `main` and `records` are the same unless ANALYTICS_DATABASE_URL is set. */
export interface RecordDatabases {
  /** Deletions, evaluations, what calls keep for later turns, stored replays. */
  main: Database;
  /** Interactions and payloads. */
  records: Database;
}

/** A table whose rows are erased with the interaction that they belong to. */
interface ErasedTable {
  table: string;
  database: keyof RecordDatabases;
  /** `$1`: transaction ids. */
  where: string;
  /** Also narrowed to the interactions' `created_at`, which leaves partitions out. */
  byTime?: true;
}

const ofTheCall = "transaction_id = any($1::text[])";

/**
 * What is erased with an interaction: a table more is a row more. Media references go with the
 * payloads that name them, by a trigger, and media with their last reference.
 */
export const erasedWithInteraction: readonly ErasedTable[] = [
  { table: "eval_results", database: "main", where: ofTheCall },
  // A later response holds the whole conversation.
  { table: "kept_responses", database: "main", where: `${ofTheCall} or sources && $1::text[]` },
  { table: "kept_reasoning", database: "main", where: ofTheCall },
  { table: "background_calls", database: "main", where: ofTheCall },
  { table: "replays", database: "main", where: ofTheCall },
  { table: "interaction_payloads", database: "records", where: ofTheCall, byTime: true },
  { table: "interactions", database: "records", where: ofTheCall, byTime: true },
];

const batchRows = 500;

/** What one step erased. */
export interface Erased extends ErasedBatch {
  counts: DeletionCounts;
  from: Date | null;
  to: Date | null;
  /** Tables and partitions that rows went from. */
  relations: string[];
}

/**
 * Erases some of the rows that a deletion means, with all that hangs on them. `note` writes down
 * what went, in the same transaction where both databases are one. Where they are two the
 * interactions go last: a step that is cut is repeated, and finds the rest.
 */
export async function eraseBatch(
  databases: RecordDatabases,
  matched: MatchedRows,
  note: (main: Queryable, erased: Erased) => Promise<void>,
): Promise<Erased> {
  const { main, records } = databases;
  if (main === records) {
    return await main.transaction(async (tx) => {
      await lockForErasure(tx);
      const calls = await pick({ main: tx, records: tx }, matched);
      const all = joined(await eraseMain(tx, calls, matched), await eraseRecords(tx, calls));
      await note(tx, all);
      return all;
    });
  }
  const calls = await pick(databases, matched);
  const hanging = await main.transaction(async (tx) => {
    await lockForErasure(tx);
    const erased = await eraseMain(tx, calls, matched);
    await note(tx, erased);
    return erased;
  });
  const rows = await records.transaction(async (tx) => {
    await lockForErasure(tx);
    await noteErased(tx, calls.map(idOf));
    return await eraseRecords(tx, calls);
  });
  await main.transaction((tx) => note(tx, rows));
  return joined(hanging, rows);
}

/** Calls that are meant, with those that evaluations made of them. */
async function pick(
  { main, records }: { main: Queryable; records: Queryable },
  matched: MatchedRows,
): Promise<SqlRow[]> {
  const bound = new Bound();
  const where = condition(matched, "interactions", "i", bound);
  if (where === "false") return [];
  const direct = await records.query(
    `select i.transaction_id, i.created_at from interactions i where ${where}
     order by i.created_at limit ${batchRows}`,
    bound.values,
  );
  const { accountId } = matched.tombstone;
  const made = await madeOf(main, accountId, direct.map(idOf));
  if (made.length === 0) return direct;
  const more = await records.query(
    `select transaction_id, created_at from interactions
     where account_id = $1 and transaction_id = any($2::text[])`,
    [accountId, made],
  );
  return [...direct, ...more];
}

async function eraseMain(
  tx: Queryable,
  calls: readonly SqlRow[],
  matched: MatchedRows,
): Promise<Erased> {
  await noteErased(tx, calls.map(idOf));
  const hanging = await eraseHanging(tx, "main", calls);
  await eraseUnrecorded(tx, matched);
  // Evaluations that are meant themselves come last; those of erased calls went with them.
  if (calls.length >= batchRows) return hanging;
  const results = await eraseSome(tx, matched, "eval_results", resultsKey);
  const runs = await eraseSome(tx, matched, "eval_runs", "(eval_run_id)");
  return joined(hanging, {
    ...erasedOf([...results, ...runs]),
    isLast: results.length < batchRows && runs.length < batchRows,
    counts: { interactions: 0, eval_results: results.length, eval_runs: runs.length },
    relations: ["eval_results", "eval_runs"],
  });
}

/** Background calls that have no row yet: who works on one ends it when it is gone. */
async function eraseUnrecorded(tx: Queryable, matched: MatchedRows): Promise<void> {
  const bound = new Bound();
  const where = condition(matched, "interactions", "b", bound);
  if (where === "false") return;
  const rows = await tx.query(
    `delete from background_calls b where b.request is not null and ${where}
     returning transaction_id`,
    bound.values,
  );
  if (rows.length === 0) return;
  // What repeats are answered with holds words of the request.
  await tx.query(`delete from replays where ${ofTheCall}`, [rows.map(idOf)]);
}

const resultsKey = "(eval_run_id, transaction_id, grader_index)";

async function eraseRecords(tx: Queryable, calls: readonly SqlRow[]): Promise<Erased> {
  const transactionIds = calls.map(idOf);
  const [media] = await tx.query(
    "select exists (select from media_refs where transaction_id = any($1::text[])) as named",
    [transactionIds],
  );
  const erased = await eraseHanging(tx, "records", calls);
  if (media!.named === true) erased.relations.push("media");
  // It held the names of their apps.
  if (calls.length > 0) erased.relations.push("usage_sums");
  return { ...erased, transactionIds };
}

async function eraseHanging(
  tx: Queryable,
  database: keyof RecordDatabases,
  calls: readonly SqlRow[],
): Promise<Erased> {
  const erased = { ...erasedOf(calls), counts: { ...noCounts }, relations: [] as string[] };
  if (calls.length === 0) return erased;
  for (const one of erasedWithInteraction.filter((each) => each.database === database)) {
    const rows = await eraseFrom(tx, one, calls);
    pushAll(erased.relations, new Set(rows.map((row) => String(row.relation))));
    if (one.table === "interactions") await countErased(tx, rows);
    if (one.table === "interactions" || one.table === "eval_results") {
      erased.counts[one.table] = rows.length;
    }
  }
  return erased;
}

/** Nothing yet, but the time that the rows span. */
function erasedOf(rows: readonly SqlRow[]): Erased {
  const times = rows.map((row) => (row.created_at as Date).getTime());
  return {
    transactionIds: [],
    isLast: false,
    counts: noCounts,
    from: times.length === 0 ? null : new Date(least(times)),
    to: times.length === 0 ? null : new Date(greatest(times)),
    relations: [],
  };
}

function joined(one: Erased, other: Erased): Erased {
  const froms = [one.from, other.from].filter((time) => time !== null);
  const tos = [one.to, other.to].filter((time) => time !== null);
  const add = (table: DataTable) => one.counts[table] + other.counts[table];
  return {
    transactionIds: [...one.transactionIds, ...other.transactionIds],
    isLast: one.isLast || other.isLast,
    counts: {
      interactions: add("interactions"),
      eval_runs: add("eval_runs"),
      eval_results: add("eval_results"),
    },
    from: froms.reduce<Date | null>((a, b) => a === null || b < a ? b : a, null),
    to: tos.reduce<Date | null>((a, b) => a === null || b > a ? b : a, null),
    relations: [...one.relations, ...other.relations],
  };
}

async function eraseFrom(
  tx: Queryable,
  { table, where, byTime }: ErasedTable,
  calls: readonly SqlRow[],
): Promise<SqlRow[]> {
  const times = calls.map((row) => (row.created_at as Date).getTime());
  const counted = table === "interactions" ? countedColumns : [];
  const span = byTime ? [new Date(least(times)), new Date(greatest(times))] : [];
  return await tx.query(
    `delete from ${table} where (${where})${byTime ? " and created_at between $2 and $3" : ""}
     returning ${["tableoid::regclass::text as relation", ...counted].join(", ")}`,
    [calls.map(idOf), ...span],
  );
}

async function eraseSome(
  tx: Queryable,
  matched: MatchedRows,
  table: DataTable,
  key: string,
): Promise<SqlRow[]> {
  const bound = new Bound();
  const where = condition(matched, table, "e", bound);
  if (where === "false") return [];
  return await tx.query(
    `delete from ${table} where ${key} in (
       select ${key.slice(1, -1)} from ${table} e where ${where} limit ${batchRows}
     ) returning created_at`,
    bound.values,
  );
}

function idOf(row: SqlRow): string {
  return String(row.transaction_id);
}
