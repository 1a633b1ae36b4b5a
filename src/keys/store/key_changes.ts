import type { Queryable, SqlRow } from "../../database/database.ts";
import {
  type ChangeList,
  type Held,
  type KeyChangeStore,
  maxListedChanges,
} from "../key_changes.ts";
import { accountColumns, readAccount } from "./accounts.ts";
import { principalColumns, readPrincipal } from "./api_keys.ts";

export function createKeyChanges(database: Queryable): KeyChangeStore {
  return {
    async changedSince(since) {
      const rows = await database.query(changedSinceSql, [since, maxListedChanges + 1]);
      return {
        now: rows[0]!.now as Date,
        keys: listOf(rows, "key", String),
        accounts: listOf(rows, "account", Number),
      };
    },
    async changedKeys(held, since) {
      const rows = await readChanged(
        database,
        `select ${principalColumns}, k.changed_at from ${heldRows("api_keys", "text")} k
         join accounts a on a.id = k.account_id where ${hasChanged("k")}`,
        { held, since },
      );
      return rows.map((row) => ({
        principal: readPrincipal(row),
        changedAt: row.changed_at as Date,
      }));
    },
    async changedAccounts(held, since) {
      const rows = await readChanged(
        database,
        `select ${accountColumns}, changed_at from ${heldRows("accounts", "bigint")} a
         where ${hasChanged("a")}`,
        { held, since },
      );
      return rows.map((row) => ({ account: readAccount(row), changedAt: row.changed_at as Date }));
    },
  };
}

/** $1 since when, $2 how many of each at most. */
const changedSinceSql = `with keys as (
    select id, changed_at from api_keys where changed_at >= $1::timestamptz
    order by changed_at limit $2
  ), changed_accounts as (
    select id, changed_at from accounts where changed_at >= $1::timestamptz
    order by changed_at limit $2
  )
  select n.now, c.kind, c.id, c.changed_at from (select clock_timestamp() as now) n
  left join (
    select 'key' as kind, id, changed_at from keys
    union all
    select 'account', id::text, changed_at from changed_accounts
  ) c on true`;

function listOf<Id>(
  rows: readonly SqlRow[],
  kind: "key" | "account",
  readId: (value: unknown) => Id,
): ChangeList<Id> {
  const found = rows.filter((row) => row.kind === kind);
  if (found.length > maxListedChanges) return "many";
  return found.map((row) => ({ id: readId(row.id), changedAt: row.changed_at as Date }));
}

/** SQL: rows by their ids in $1, each looked up by itself, whatever the planner expects. */
function heldRows(table: string, idType: string): string {
  return `unnest($1::${idType}[], $2::timestamptz[]) as held (held_id, held_at)
    cross join lateral (select * from ${table} one where one.id = held_id offset 0)`;
}

/**
 * SQL: the row has changed since $3 and differs from what was held, whose time has milliseconds
 * only.
 */
const hasChanged = (row: string) =>
  `${row}.changed_at >= $3
    and date_trunc('milliseconds', ${row}.changed_at) is distinct from held_at`;

async function readChanged(
  database: Queryable,
  text: string,
  { held, since }: { held: readonly Held<string | number>[]; since: Date },
): Promise<SqlRow[]> {
  const times = held.map(({ changedAt }) => changedAt === null ? null : new Date(changedAt));
  // A cached plan, from when there were few rows, would read the whole table.
  const options = { forceCustomPlan: true };
  return await database.query(text, [held.map(({ id }) => id), times, since], options);
}
