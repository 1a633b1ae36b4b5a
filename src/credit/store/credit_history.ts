import type { CreditEntry, CreditHistory } from "../credit_history.ts";
import type { Queryable, SqlRow } from "../../database/database.ts";

export function createCreditHistory(database: Queryable): CreditHistory {
  return {
    async latest(accountId, limit, before = null) {
      const rows = await database.query(
        `select ${columns} from ledger_entries
         where account_id = $1 and kind in ('grant', 'adjust') and amount_nanos <> 0
           and ($3::bigint is null or id < $3::bigint)
         order by id desc limit $2`,
        [accountId, limit, before],
      );
      return rows.map(readEntry);
    },
    async latestOfEachKind(accountId, limit) {
      const latest = (kind: CreditEntry["kind"]) =>
        `(select ${columns} from ledger_entries
          where account_id = $1 and kind = '${kind}' and amount_nanos <> 0
          order by id desc limit $2)`;
      const rows = await database.query(
        `${latest("grant")} union all ${latest("adjust")} order by id desc`,
        [accountId, limit],
      );
      return rows.map(readEntry);
    },
  };
}

const columns = "id, kind, amount_nanos, note, interaction_id, created_at";

function readEntry(row: SqlRow): CreditEntry {
  return {
    id: row.id as bigint,
    kind: row.kind as CreditEntry["kind"],
    nanos: row.amount_nanos as bigint,
    note: row.note as string | null,
    transactionId: row.interaction_id as string | null,
    at: row.created_at as Date,
  };
}

/** Reads accounts' balances, and the amounts of their last grants. */
export async function readCreditLevels(
  database: Queryable,
  accountIds: readonly number[],
): Promise<Map<number, { balanceNanos: bigint; lastGrantNanos: bigint }>> {
  const rows = await database.query(
    `select b.account_id, b.balance_nanos, coalesce((
         select e.amount_nanos from ledger_entries e
         where e.account_id = b.account_id and e.kind = 'grant' order by e.id desc limit 1
       ), 0) as last_grant
     from unnest($1::bigint[]) as wanted(id) cross join lateral (
       select * from account_balances where account_id = wanted.id offset 0
     ) as b`,
    [[...new Set(accountIds)]],
  );
  return new Map(rows.map((row) => [Number(row.account_id), {
    balanceNanos: row.balance_nanos as bigint,
    lastGrantNanos: row.last_grant as bigint,
  }]));
}
