import type { CreditEntry, CreditHistory } from "../credit_history.ts";
import type { Queryable } from "../../database/database.ts";

export function createCreditHistory(database: Queryable): CreditHistory {
  return {
    async latest(accountId, limit, before = null) {
      const rows = await database.query(
        `select id, kind, amount_nanos, note, created_at from ledger_entries
         where account_id = $1 and kind in ('grant', 'adjust')
           and ($3::bigint is null or id < $3::bigint)
         order by id desc limit $2`,
        [accountId, limit, before],
      );
      return rows.map((row) => ({
        id: row.id as bigint,
        kind: row.kind as CreditEntry["kind"],
        nanos: row.amount_nanos as bigint,
        note: row.note as string | null,
        at: row.created_at as Date,
      }));
    },
  };
}
