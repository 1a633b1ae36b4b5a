import type { DataTable, Selectors } from "../deletion.ts";
import type { ErasureScope, Tombstone } from "../tombstone.ts";
import type { SqlValue } from "../../database/database.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";

export function scopeOf(tombstone: Tombstone, selectors: Selectors | null): ErasureScope {
  const stored = (values: readonly string[] | undefined) => values?.map((one) => sanitizeText(one));
  return {
    tombstone,
    sessionIds: stored(selectors?.sessionIds),
    userIds: stored(selectors?.userIds),
  };
}

/** Collects the parameters of a statement; `bind` adds a value and returns its `$n`. */
export class Bound {
  readonly values: SqlValue[] = [];

  bind(value: SqlValue): string {
    return `$${this.values.push(value)}`;
  }
}

/** Outcomes belong to interactions: a deletion that names that table covers them. */
type SelectableTable = DataTable | "cohort_outcomes";

/** The columns of each table that selectors of ids test; all tables have `created_at`. */
const selectable: Readonly<Record<SelectableTable, readonly string[]>> = {
  interactions: ["transaction_id", "session_id", "user_id"],
  eval_runs: [],
  eval_results: ["transaction_id", "session_id", "user_id"],
  cohort_outcomes: ["transaction_id", "session_id"],
};

/**
 * Returns the condition for rows of `alias` in the scope; `false` if no row of the table can be.
 */
export function condition(
  scope: ErasureScope,
  table: SelectableTable,
  alias: string,
  bound: Bound,
): string {
  const { tombstone } = scope;
  const { transactionIds, sessionHashes, userHashes, salt } = tombstone;
  const asked = Object.entries({
    transaction_id: transactionIds,
    session_id: sessionHashes,
    user_id: userHashes,
  }).filter(([, wanted]) => wanted !== null).map(([column]) => column);
  const named = table === "cohort_outcomes" ? "interactions" : table;
  if (!tombstone.tables.includes(named)) return "false";
  if (asked.some((column) => !selectable[table].includes(column))) return "false";
  const isOneOf = (
    column: string,
    clear: readonly string[] | undefined,
    hashes: readonly string[] | null,
  ) => {
    if (hashes === null) return [];
    if (clear) return [`${alias}.${column} = any(${bound.bind(clear)}::text[])`];
    const hash = hashOf(`${bound.bind(salt)}::text`, `${alias}.${column}`);
    return [`${hash} = any(${bound.bind(hashes)}::text[])`];
  };
  return [
    `${alias}.account_id = ${bound.bind(tombstone.accountId)}`,
    `${alias}.created_at <= ${bound.bind(tombstone.before)}`,
    ...(tombstone.start ? [`${alias}.created_at >= ${bound.bind(tombstone.start)}`] : []),
    ...(tombstone.end ? [`${alias}.created_at < ${bound.bind(tombstone.end)}`] : []),
    ...(transactionIds
      ? [
        `${alias}.transaction_id = any(${
          bound.bind(transactionIds.map((id) => sanitizeText(id)))
        }::text[])`,
      ]
      : []),
    ...isOneOf("session_id", scope.sessionIds, sessionHashes),
    ...isOneOf("user_id", scope.userIds, userHashes),
  ].join(" and ");
}

/** SQL: tombstone `t` covers the call `r`; the same as `covers` in `tombstone.ts`. */
export const tombstoneCovers = `'interactions' = any(t.tables)
  and t.account_id = r.account_id and t.before >= r.created_at
  and (t.start_at is null or r.created_at >= t.start_at)
  and (t.end_at is null or r.created_at < t.end_at)
  and (t.transaction_ids is null or r.transaction_id = any(t.transaction_ids))
  and (t.session_hashes is null or ${hashOf("t.salt", "r.session_id")} = any(t.session_hashes))
  and (t.user_hashes is null or ${hashOf("t.salt", "r.user_id")} = any(t.user_hashes))`;

/** Returns SQL that is the same as `saltedHash` in `tombstone.ts`; null for null. */
function hashOf(salt: string, value: string): string {
  return `encode(sha256(convert_to(${salt} || ${value}, 'UTF8')), 'hex')`;
}
