import type { DataTable, DeletionCounts } from "../deletion.ts";
import type { Queryable, SqlRow } from "../../database/database.ts";
import { Bound, condition, type MatchedRows } from "./erasure_sql.ts";

/** Columns of `eval_results` that name calls made of the stored one: they repeat its words. */
const madeOfIt = ["answer_transaction_id", "judge_transaction_id"];

/** Rows that a deletion means, without erasing any: what its steps come to. */
export async function countMatched(
  { main, records }: { main: Queryable; records: Queryable },
  matched: MatchedRows,
): Promise<DeletionCounts> {
  const { accountId } = matched.tombstone;
  const evaluated = await main.query(
    "select distinct transaction_id from eval_results where account_id = $1",
    [accountId],
  );
  const ids = await findMatched(records, matched, evaluated.map(idOf));
  const made = await madeOf(main, accountId, ids);
  return {
    interactions: await count(records, matched, "interactions") +
      await countOthers(records, matched, made),
    eval_runs: await count(main, matched, "eval_runs"),
    eval_results: await count(main, matched, "eval_results", [...ids, ...made]),
  };
}

/** The calls that evaluations made of these, and of those, and so on; without these. */
export async function madeOf(
  main: Queryable,
  accountId: number,
  transactionIds: readonly string[],
): Promise<string[]> {
  if (transactionIds.length === 0) return [];
  const columns = madeOfIt.map((column) => `(r.${column})`).join(", ");
  const rows = await main.query(
    `with recursive calls as (
       select unnest($2::text[]) as transaction_id
       union
       select made.transaction_id from calls c
         join eval_results r on r.transaction_id = c.transaction_id and r.account_id = $1
         cross join lateral (values ${columns}) as made (transaction_id)
       where made.transaction_id is not null
     ) select transaction_id from calls`,
    [accountId, transactionIds],
  );
  const transactions = new Set(transactionIds);
  return rows.map(idOf).filter((id) => !transactions.has(id));
}

async function findMatched(
  records: Queryable,
  matched: MatchedRows,
  transactionIds: readonly string[],
): Promise<string[]> {
  if (transactionIds.length === 0) return [];
  const bound = new Bound();
  const where = condition(matched, "interactions", "i", bound);
  const rows = await records.query(
    `select i.transaction_id from interactions i
     where i.transaction_id = any(${bound.bind(transactionIds)}::text[]) and ${where}`,
    bound.values,
  );
  return rows.map(idOf);
}

/** Rows of a table that are meant themselves, or belong to one of the calls. */
async function count(
  database: Queryable,
  matched: MatchedRows,
  table: DataTable,
  transactionIds: readonly string[] = [],
): Promise<number> {
  const bound = new Bound();
  const where = condition(matched, table, "t", bound);
  const belongs = transactionIds.length === 0
    ? ""
    : ` or t.account_id = ${bound.bind(matched.tombstone.accountId)} and t.transaction_id = any(${
      bound.bind(transactionIds)
    }::text[])`;
  const [row] = await database.query(
    `select count(*) as count from ${table} t where (${where})${belongs}`,
    bound.values,
  );
  return Number(row!.count);
}

/** Those of the calls that are not meant themselves. */
async function countOthers(
  records: Queryable,
  matched: MatchedRows,
  transactionIds: readonly string[],
): Promise<number> {
  if (transactionIds.length === 0) return 0;
  const bound = new Bound();
  const where = condition(matched, "interactions", "i", bound);
  const [row] = await records.query(
    `select count(*) as count from interactions i
     where i.account_id = ${bound.bind(matched.tombstone.accountId)}
       and i.transaction_id = any(${bound.bind(transactionIds)}::text[])
       and (${where}) is not true`,
    bound.values,
  );
  return Number(row!.count);
}

function idOf(row: SqlRow): string {
  return String(row.transaction_id);
}
