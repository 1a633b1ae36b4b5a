import type {
  CallKey,
  CallName,
  CallsOfRequests,
  SampleQuery,
  StoredCall,
} from "../analytics_store.ts";
import { chunksOf, pushAll } from "../../base/lists.ts";
import type { Queryable, SqlRow } from "../../database/database.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";
import { createUsageSums } from "../../usage/store/usage_sums.ts";
import { startOfMonth } from "../../shared/time_span.ts";
import { allWindows, windowsOf } from "./list_windows.ts";
import { timesOf } from "./partitions.ts";
import { selectCalls, selectedCalls } from "./selected_calls.ts";

/** Takes several statements where many calls could match, so that none is long. */
export async function sampleCalls(
  database: Queryable,
  { order, limit, exceptEndpoint, ...query }: SampleQuery,
): Promise<CallKey[]> {
  let chosen: (CallKey & { random: number })[] = [];
  for await (const window of windowsOf(database, { ...query, order: "newest" }, allWindows())) {
    if (window.isEmpty) continue;
    const calls = selectedCalls(window.query);
    const { conditions, values } = calls;
    if (exceptEndpoint !== undefined) {
      conditions.push(`i.endpoint <> $${values.push(exceptEndpoint)}`);
    }
    const most = `$${values.push(limit)}`;
    const newest = order === "random" ? undefined : { direction: "desc", limit: most } as const;
    const keys = selectCalls("i.transaction_id, i.created_at", calls, newest);
    const first = newest ? "i.created_at desc, i.transaction_id desc" : "random";
    const rows = await database.query(
      `select i.*, random() as random from (${keys}) as i order by ${first} limit ${most}`,
      values,
      { forceCustomPlan: true },
    );
    pushAll(chosen, rows.map((row) => ({ ...readCallKey(row), random: Number(row.random) })));
    if (order === "random") chosen.sort((a, b) => a.random - b.random);
    chosen = chosen.slice(0, limit);
    if (order === "newest" && chosen.length === limit) break;
  }
  return chosen.map(({ transactionId, createdAt }) => ({ transactionId, createdAt })).sort((a, b) =>
    a.createdAt.getTime() - b.createdAt.getTime() || (a.transactionId < b.transactionId ? -1 : 1)
  );
}

/**
 * Finds the oldest call of this name, with its payloads. Only by the id, as a page finds its call
 * (`interaction_repository.ts`): `+ 0` keeps the planner from the account's index.
 */
export async function findCall(
  database: Queryable,
  accountId: number,
  name: CallName,
): Promise<StoredCall | undefined> {
  const [condition, id, at] = "transactionId" in name
    ? ["i.transaction_id = $2 and i.created_at = $3", name.transactionId, name.createdAt] as const
    : [
      "i.request_id = $2 and i.created_at >= $3 and i.status = 'completed'",
      name.requestId,
      name.completedSince,
    ] as const;
  const [row] = await database.query(
    `select i.transaction_id, i.endpoint, i.dialect, i.status, i.session_id, i.user_id,
       i.payload_truncated, i.cost_nanos, p.request, p.response
     from interactions i left join interaction_payloads p
       on p.transaction_id = i.transaction_id and p.created_at = i.created_at
     where i.account_id + 0 = $1::bigint and ${condition} order by i.created_at limit 1`,
    [accountId, sanitizeText(id), at],
  );
  return row && {
    transactionId: String(row.transaction_id),
    endpoint: String(row.endpoint),
    dialect: String(row.dialect),
    status: String(row.status),
    sessionId: row.session_id as string | null,
    userId: row.user_id as string | null,
    requestText: row.request as string | null,
    responseText: row.response as string | null,
    payloadTruncated: row.payload_truncated as boolean,
    costNanos: row.cost_nanos as bigint | null,
  };
}

export async function hasCall(
  database: Queryable,
  accountId: number,
  { transactionId, createdAt }: CallKey,
): Promise<boolean> {
  const rows = await database.query(
    `select 1 as one from interactions
     where account_id = $1 and transaction_id = $2 and created_at = $3`,
    [accountId, transactionId, createdAt],
  );
  return rows.length > 0;
}

export async function keysOf(
  database: Queryable,
  accountId: number,
  transactionIds: readonly string[],
): Promise<CallKey[]> {
  const rows = await database.query(
    `select transaction_id, created_at from interactions
     where account_id = $1 and transaction_id = any($2::text[])`,
    [accountId, transactionIds],
  );
  return rows.map(readCallKey);
}

/**
 * One lookup in the index of request ids for each, which finds several calls where callers have
 * chosen the same id.
 */
export async function idsOfRequests(
  database: Queryable,
  { accountId, endpoint, requests }: CallsOfRequests,
): Promise<string[]> {
  const ids: string[] = [];
  for (const some of chunksOf(requests, requestsAtOnce)) {
    const rows = await database.query(
      `select i.transaction_id
       from unnest($3::text[], $4::timestamptz[]) as wanted(request_id, since)
       cross join lateral (
         select i.transaction_id from interactions i
         where i.request_id = wanted.request_id and i.created_at >= wanted.since
           and i.account_id + 0 = $1::bigint and i.endpoint = $2 offset 0
       ) as i`,
      [
        accountId,
        endpoint,
        some.map(({ requestId }) => requestId),
        some.map(({ since }) => since.toISOString()),
      ],
    );
    pushAll(ids, rows.map((row) => String(row.transaction_id)));
  }
  return ids;
}

const requestsAtOnce = 1000;

export async function sessionsEndingWith(
  database: Queryable,
  accountId: number,
  calls: readonly CallKey[],
  before: Date,
): Promise<string[]> {
  if (calls.length === 0) return [];
  const rows = await database.query(
    `with ours as (
       select distinct session_id as id from interactions
       where account_id = $1 and transaction_id = any($2::text[]) and created_at between $4 and $5
         and session_id is not null
     ) select id from ours where not exists (
       select from interactions other
       where other.account_id = $1 and other.session_id = ours.id and other.created_at <= $3
         and other.transaction_id <> all($2::text[])
     )`,
    [accountId, calls.map(({ transactionId }) => transactionId), before, ...timesOf(calls)],
  );
  return rows.map(({ id }) => String(id));
}

export async function idsSince(
  database: Queryable,
  transactionIds: readonly string[],
  limit: Date,
): Promise<Set<string>> {
  const rows = await database.query(
    `select transaction_id as id from interactions
     where transaction_id = any($1::text[]) and created_at >= $2`,
    [transactionIds, limit],
  );
  return new Set(rows.map(({ id }) => String(id)));
}

export async function oldestCall(
  database: Queryable,
  accountId: number,
): Promise<Date | undefined> {
  const [row] = await database.query(
    `select created_at from interactions where account_id = $1
     order by account_id, created_at, transaction_id limit 1`,
    [accountId],
    { forceCustomPlan: true },
  );
  return row?.created_at as Date | undefined;
}

/**
 * Takes one index lookup per key and month, however many calls the key made. With `api_key_id = k.id
 * order by created_at desc`, the planner reads a month in which one key made all calls by time, to
 * its beginning for each other key.
 */
export async function lastUses(
  database: Queryable,
  accountId: number,
  apiKeyIds: readonly string[],
): Promise<Map<string, Date>> {
  if (apiKeyIds.length === 0) return new Map();
  const rows = await database.query(
    `select k.id, i.created_at from unnest($2::text[]) as k(id)
     cross join lateral (
       select created_at from interactions
       where account_id = $1 and api_key_id between k.id and k.id
       order by api_key_id desc, created_at desc limit 1
     ) i`,
    [accountId, apiKeyIds],
  );
  return new Map(rows.map((row) => [String(row.id), row.created_at as Date]));
}

export async function chargedSince(
  database: Queryable,
  accountId: number,
  { app, userId }: { app?: string; userId?: string },
  since: Date,
): Promise<bigint> {
  if (app === undefined && userId === undefined) {
    const days = { accountId, span: "day", from: since, to: startOfMonth(since, 1) } as const;
    const steps = await createUsageSums(database).steps(days);
    return steps.reduce((sum, { chargedNanos }) => sum + chargedNanos, 0n);
  }
  const [row] = await database.query(
    `select coalesce(sum(charged_nanos), 0)::bigint as charged from interactions
     where account_id = $1 and created_at >= $2
       and ($3::text is null or app = $3) and ($4::text is null or user_id = $4)`,
    [accountId, since, app ?? null, userId ?? null],
    { forceCustomPlan: true },
  );
  return row!.charged as bigint;
}

export function readCallKey(row: SqlRow): CallKey {
  return { transactionId: String(row.transaction_id), createdAt: row.created_at as Date };
}

/** Whether there are calls; false in a database without our tables. */
export async function hasCalls(database: Queryable): Promise<boolean> {
  const [table] = await database.query("select to_regclass('interactions') is null as missing");
  if (table?.missing === true) return false;
  const [row] = await database.query("select exists (select from interactions) as found");
  return row?.found === true;
}

/** By the database's clock, which has written the rows of other processes too. */
export async function isBusy(database: Queryable): Promise<boolean> {
  const [row] = await database.query(
    // Not by `clock_timestamp()`, with which every month would be read.
    `select exists (select from interactions
       where created_at > now() - interval '10 seconds') as busy`,
  );
  return row?.busy === true;
}
