import type { PartitionsInUse, StoredMonth } from "../retention.ts";
import type { Queryable } from "../../database/database.ts";

/** Reads what the database knows of its partitions (`open_month` names them): no row is read. */
export function createPartitionsInUse(analytics: Queryable): PartitionsInUse {
  return {
    async list() {
      const rows = await analytics.query(
        `select p.relname as parent, c.relname as name, pg_total_relation_size(c.oid) as bytes
         from pg_inherits i join pg_class c on c.oid = i.inhrelid
           join pg_class p on p.oid = i.inhparent
         where i.inhparent in ('interactions'::regclass, 'interaction_payloads'::regclass)`,
      );
      const months = new Map<number, StoredMonth>();
      for (const { parent, name, bytes } of rows) {
        const month = monthOf(String(name));
        if (!month) continue;
        const existing = months.get(month.getTime()) ?? { month, usageBytes: 0, payloadBytes: 0 };
        existing[parent === "interactions" ? "usageBytes" : "payloadBytes"] = Number(bytes);
        months.set(month.getTime(), existing);
      }
      return [...months.values()].sort((a, b) => b.month.getTime() - a.month.getTime());
    },
    async oldestCall(accountId) {
      const [row] = await analytics.query(
        `select created_at from interactions where account_id = $1
         order by created_at, transaction_id limit 1`,
        [accountId],
        { forceCustomPlan: true },
      );
      return row?.created_at as Date | undefined;
    },
  };
}

function monthOf(partition: string): Date | undefined {
  const [, year, month] = /_(\d{4})_(\d{2})$/.exec(partition) ?? [];
  return year === undefined ? undefined : new Date(Date.UTC(Number(year), Number(month) - 1));
}
