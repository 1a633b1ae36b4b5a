import type { Database } from "./database.ts";

/**
 * Columns to analyze, by table. None holds personal data: sampled values outlive the rows that they
 * came from.
 */
const columns = {
  interactions: [
    ...["account_id", "api_key_id", "created_at", "vendor", "model", "status"],
    ...["cost_nanos", "latency_ms"],
  ],
  interaction_payloads: ["created_at"],
  cohort_outcomes: ["account_id", "created_at"],
  api_keys: ["account_id", "revoked_at", "expires_at"],
  ledger_entries: ["account_id", "kind"],
  usage_sums: ["account_id", "span", "part", "at"],
  refusals: ["account_id", "created_at"],
  audit_log: ["account_id", "at"],
  memberships: ["account_id", "created_at"],
  invitations: ["account_id", "created_at", "expires_at"],
  key_spend: ["day"],
  budgets: ["id"],
  sign_in_states: ["expires_at"],
  eval_runs: ["account_id", "created_at", "finished_at", "state"],
  eval_results: ["account_id", "created_at", "eval_run_id"],
  deletions: ["account_id", "requested_at", "completed_at"],
  background_calls: ["account_id", "created_at"],
} as const;

/**
 * Statistics targets that differ from the default here. For interactions as many most common values
 * as a PostgreSQL server has, so that rare models count as rare.
 */
const statisticsTargets: Partial<Record<keyof typeof columns, number>> = { interactions: 100 };

/**
 * Refreshes the planner's statistics of tables that have grown by a fifth: the embedded database
 * has no autovacuum, and would take a table of a million rows for empty. Samples a few thousand
 * rows, one table at a time, so that other queries wait only briefly.
 */
export async function refreshStatistics(database: Database): Promise<void> {
  const grown = await database.query(
    `select c.oid::regclass::text as name, coalesce(p.relname, c.relname) as kind from pg_class c
       left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent
     where c.relkind = 'r' and coalesce(p.relname, c.relname) = any($1::text[])
       and c.relnamespace = 'public'::regnamespace
       and pg_relation_size(c.oid) / current_setting('block_size')::int > c.relpages * 1.2`,
    [Object.keys(columns)],
  );
  for (const { name, kind } of grown) {
    const table = kind as keyof typeof columns;
    await database.transaction(async (tx) => {
      await tx.query(`set local default_statistics_target = ${statisticsTargets[table] ?? 10}`);
      await tx.query(`analyze ${name} (${columns[table].join(", ")})`);
    });
  }
}

/** Tables whose large rows expire within hours or days. */
const expiring = ["replays", "cached_answers", "background_calls", "webhook_deliveries"];

/**
 * Lets the embedded database reuse the room of expired rows. Pages that are unchanged since the
 * last time aren't read.
 */
export async function reclaimExpired(database: Database): Promise<void> {
  // One at a time, so that other queries wait only briefly.
  for (const table of expiring) await database.query(`vacuum ${table}`);
}
