import type { Database } from "./database.ts";

/**
 * Columns that the planner is told about, by table. None of them says anything of a person: samples
 * of values outlive the rows that they were drawn from.
 */
const columns = {
  interactions: [
    ...["account_id", "api_key_id", "created_at", "vendor", "model", "status"],
    ...["cost_nanos", "latency_ms"],
  ],
  interaction_payloads: ["created_at"],
  cohort_outcomes: ["account_id", "created_at"],
  usage_sums: ["account_id", "span", "part", "at"],
} as const;

/** As many values of a column are told apart as a server would: rare models are known as rare. */
const rowsByTable: Partial<Record<keyof typeof columns, number>> = { interactions: 100 };

/**
 * Draws anew what the embedded database's planner knows of tables that have grown by a fifth: it
 * has no autovacuum, and takes tables for empty that hold a million rows. A few thousand rows a
 * table are read; each table by itself, so that nobody waits long.
 */
export async function refreshStatistics(database: Database): Promise<void> {
  const grown = await database.query(
    `select c.oid::regclass::text as name, coalesce(p.relname, c.relname) as kind from pg_class c
       left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent
     where c.relkind = 'r' and coalesce(p.relname, c.relname) = any($1::text[])
       and c.relnamespace = 'public'::regnamespace
       and pg_relation_size(c.oid) / current_setting('block_size')::int > c.relpages * 1.2 + 64`,
    [Object.keys(columns)],
  );
  for (const { name, kind } of grown) {
    const table = kind as keyof typeof columns;
    await database.transaction(async (tx) => {
      await tx.query(`set local default_statistics_target = ${rowsByTable[table] ?? 10}`);
      await tx.query(`analyze ${name} (${columns[table].join(", ")})`);
    });
  }
}
