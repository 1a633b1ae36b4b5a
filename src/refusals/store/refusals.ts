import type { Database, SqlRow } from "../../database/database.ts";
import { deletedAtOnce, deleteInChunks } from "../../database/delete_in_chunks.ts";
import { isLockTimeout } from "../../database/postgres/faults.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";
import { isStoreAway } from "../../shared/fault.ts";
import {
  type RefusalCount,
  refusalDimensions,
  type RefusalFilter,
  type RefusalRow,
  type RefusalSpan,
  type RefusalStore,
  type RefusedRequest,
} from "../refusal.ts";

const longestLockMs = 1000;

/** Refused requests on PostgreSQL, served or embedded. */
export function createRefusalStore(database: Database): RefusalStore {
  return {
    async add(rows, counts) {
      try {
        await add(database, rows, counts);
        return new Map();
      } catch (thrown) {
        if (!isLockTimeout(thrown)) throw thrown;
        return await addApart(database, rows, counts);
      }
    },
    async list({ limit, after, requestId, ...query }) {
      const { where, params } = conditions(query);
      // `offset 0` makes the planner use the index of request ids: for a short list of the latest it
      // would rather scan by time, where there may be no such request.
      const listed = requestId === undefined
        ? "refusals"
        : `(select * from refusals where account_id = $1 and request_id = $${
          params.push(requestId)
        } offset 0) as refusals`;
      const rows = await database.query(
        `select id, created_at, request_id, http_status, code, param, model, api_key_id, endpoint
         from ${listed} where ${where}
           and ($${params.length + 1}::timestamptz is null
             or (created_at, id) < ($${params.length + 1}::timestamptz, $${
          params.length + 2
        }::bigint))
         order by created_at desc, id desc limit $${params.length + 3}`,
        [...params, after?.at ?? null, after === undefined ? null : BigInt(after.id), limit],
      );
      return rows.map(readRow);
    },
    async steps({ accountId, from, to }, starts) {
      const rows = await database.query(sumBySteps, [accountId, from, to, starts]);
      return rows.map((row) => ({ at: row.at as Date, refused: Number(row.refused) }));
    },
    async counts(query, dimension, limit) {
      const name = refusalDimensions.find((one) => one === dimension) ?? "code";
      const { where, params } = conditions(query);
      const rows = await database.query(
        `select ${name} as value, sum(refused) as refused from refusal_counts where ${where}
         group by ${name} order by 2 desc, 1 limit $${params.length + 1}`,
        [...params, limit],
      );
      return rows.map(({ value, refused }) => ({ value: String(value), refused: Number(refused) }));
    },
    async total(query) {
      const { where, params } = conditions(query);
      const [row] = await database.query(
        `select coalesce(sum(refused), 0) as refused from refusal_counts where ${where}`,
        params,
      );
      return Number(row!.refused);
    },
    async sweep(before) {
      for (const table of ["refusals", "refusal_counts"]) {
        await deleteInChunks(
          database,
          `delete from ${table} where ctid = any(array(
             select ctid from ${table} where created_at < $1 order by created_at limit ${deletedAtOnce}
             for update skip locked)) returning 1 as one`,
          [before],
        );
      }
    },
  };
}

function add(
  database: Database,
  rows: readonly RefusedRequest[],
  counts: readonly RefusalCount[],
): Promise<void> {
  return database.transaction(async (tx) => {
    await tx.query(`set local lock_timeout = ${longestLockMs}`);
    if (rows.length > 0) await tx.query(insertRows, [JSON.stringify(rows.map(writeRow))]);
    if (counts.length > 0) await tx.query(addCounts, [JSON.stringify(counts.map(writeCount))]);
  });
}

/**
 * Adds each account's by themselves, until the store is away. Returns the accounts of which nothing
 * was added, and why.
 */
async function addApart(
  database: Database,
  rows: readonly RefusedRequest[],
  counts: readonly RefusalCount[],
): Promise<Map<number, unknown>> {
  const rowsOf = Map.groupBy(rows, ({ accountId }) => accountId);
  const countsOf = Map.groupBy(counts, ({ accountId }) => accountId);
  const left = new Map<number, unknown>();
  let away: unknown;
  for (const account of new Set([...rowsOf.keys(), ...countsOf.keys()])) {
    try {
      if (away !== undefined) throw away;
      await add(database, rowsOf.get(account) ?? [], countsOf.get(account) ?? []);
    } catch (thrown) {
      left.set(account, thrown);
      if (isStoreAway(thrown) && !isLockTimeout(thrown)) away = thrown;
    }
  }
  return left;
}

/**
 * Builds the conditions of a query. Counts have the start of their hour, so spans are whole hours.
 */
function conditions(
  { accountId, from, to, code, apiKeyId, model }: RefusalSpan & RefusalFilter,
): { where: string; params: (number | Date | string)[] } {
  const params: (number | Date | string)[] = [accountId, from, to];
  const add = (value: string) => `$${params.push(value)}`;
  const parts = ["account_id = $1", "created_at >= $2", "created_at < $3"];
  if (code !== undefined) parts.push(`code = ${add(code)}`);
  if (apiKeyId !== undefined) parts.push(`api_key_id = ${add(apiKeyId)}`);
  if (model !== undefined) parts.push(`coalesce(model, '') = ${add(model)}`);
  return { where: parts.join(" and "), params };
}

/** Sums in the database: sending a row costs as much as reading ten, and a step has many hours. */
const sumBySteps = `select ($4::timestamptz[])[width_bucket(hour, $4::timestamptz[])] as at,
    sum(refused) as refused
  from (
    select created_at as hour, sum(refused) as refused from refusal_counts
    where account_id = $1 and created_at >= $2 and created_at < $3 and is_call
    group by created_at
  ) as hours
  group by 1 order by 1`;

/**
 * Drops those of accounts that a failover has lost: nobody can read them. A subquery, and no join,
 * since rows have to be inserted in their order.
 */
const ofAccounts = "where account_id = (select a.id from accounts a where a.id = account_id)";

const insertRows = `insert into refusals (account_id, created_at, request_id, http_status, code,
    param, model, api_key_id, endpoint)
  select account_id, created_at, request_id, http_status, code, param, model, api_key_id, endpoint
  from json_to_recordset($1::text::json) as r(account_id bigint, created_at timestamptz,
    request_id text, http_status integer, code text, param text, model text, api_key_id text,
    endpoint text)
  ${ofAccounts}`;

/** Rows are locked in the order of their key, so that processes don't deadlock. */
const addCounts = `insert into refusal_counts as c (account_id, created_at, is_call, code,
    api_key_id, model, refused)
  select account_id, created_at, is_call, code, api_key_id, model, sum(refused)
  from json_to_recordset($1::text::json) as r(account_id bigint, created_at timestamptz,
    is_call boolean, code text, api_key_id text, model text, refused bigint)
  ${ofAccounts}
  group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6
  on conflict (account_id, created_at, is_call, code, api_key_id, model)
    do update set refused = c.refused + excluded.refused`;

function writeRow(row: RefusedRequest): SqlRow {
  return {
    account_id: row.accountId,
    created_at: row.at.toISOString(),
    request_id: sanitizeText(row.requestId),
    http_status: row.httpStatus,
    code: row.code,
    param: sanitizeText(row.param ?? null),
    model: sanitizeText(row.model ?? null),
    api_key_id: row.apiKeyId,
    endpoint: row.endpoint,
  };
}

function writeCount(count: RefusalCount): SqlRow {
  return {
    account_id: count.accountId,
    created_at: count.hour.toISOString(),
    is_call: count.isCall,
    code: count.code,
    api_key_id: count.apiKeyId,
    model: sanitizeText(count.model),
    refused: count.refused,
  };
}

function readRow(row: SqlRow): RefusalRow {
  return {
    id: String(row.id),
    at: row.created_at as Date,
    requestId: String(row.request_id),
    httpStatus: Number(row.http_status),
    code: row.code as RefusalRow["code"],
    param: row.param as string | null ?? undefined,
    model: row.model as string | null ?? undefined,
    apiKeyId: String(row.api_key_id),
    endpoint: String(row.endpoint),
  };
}
