import {
  type CohortBounds,
  type CohortStore,
  type CohortSums,
  type LatestSums,
  outcomeHash,
  type OutcomeItem,
  type OutcomePost,
  type OutcomeSum,
} from "../cohort.ts";
import { Fault } from "../../shared/fault.ts";
import type { Sums } from "../statistics.ts";
import { listCohorts } from "./cohorts_list.ts";
import type { Database, Queryable, SqlRow } from "../../database/database.ts";
import { lockRequest, sameRequestHours } from "../../database/request_lock.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";

/** `analytics` holds the interactions, `database` what was posted. */
export function createCohorts(database: Database, analytics: Queryable = database): CohortStore {
  return {
    post: (post) => database.transaction((tx) => insert(tx, post)),
    async read(accountId, cohortIds) {
      const asked = [accountId, cohortIds] as const;
      const calls = await analytics.query(readCalls(allCalls), asked, { forceCustomPlan: true });
      const outcomes = await database.query(readOutcomes(allOutcomes), asked);
      return cohortIds.map((cohortId) => sumsOf(cohortId, calls, outcomes));
    },
    readLatest: (accountId, cohortIds, bounds) =>
      readLatest({ database, analytics }, accountId, cohortIds, bounds),
    list: (accountId, page) => listCohorts({ database, analytics }, accountId, page),
  };
}

async function insert(
  tx: Queryable,
  post: OutcomePost,
): Promise<{ accepted: number; repeated: boolean }> {
  const { accountId, apiKeyId, cohortId, items } = post;
  const requestId = sanitizeText(post.requestId);
  const hash = outcomeHash(post);
  await lockRequest(tx, "cohort", accountId, requestId);
  const earlier = await tx.query(
    `select request_hash from cohort_outcomes where account_id = $1 and request_id = $2
       and created_at > clock_timestamp() - interval '${sameRequestHours} hours'`,
    [accountId, requestId],
  );
  if (earlier.length > 0) {
    if (earlier.some((row) => row.request_hash !== hash)) throw new Fault("idempotency_conflict");
    return { accepted: earlier.length, repeated: true };
  }
  const rows = items.map(({ type, label, valueNanos, itemId }) => ({
    type,
    label,
    value_nanos: String(valueNanos),
    item_id: itemId,
  }));
  const added = await tx.query(
    `insert into cohort_outcomes (account_id, cohort_id, type, label, value_nanos, item_id,
       api_key_id, request_id, request_hash)
     select $1, $2, type, label, value_nanos, item_id, $3, $4, $5
     from json_to_recordset($6::text::json)
       as r(type text, label text, value_nanos bigint, item_id text)
     on conflict (account_id, cohort_id, item_id) where item_id is not null do nothing
     returning item_id`,
    [accountId, cohortId, apiKeyId, requestId, hash, JSON.stringify(rows)],
  );
  if (added.length < items.length) await checkKnown(tx, post);
  return { accepted: added.length, repeated: false };
}

/** An id that is known must have said the same before; throws `idempotency_conflict` if not. */
async function checkKnown(tx: Queryable, { accountId, cohortId, items }: OutcomePost) {
  const ids = items.flatMap(({ itemId }) => itemId === null ? [] : [itemId]);
  const rows = await tx.query(
    `select item_id, type, label, value_nanos from cohort_outcomes
     where account_id = $1 and cohort_id = $2 and item_id = any($3::text[])`,
    [accountId, cohortId, ids],
  );
  const existing = new Map(rows.map((row) => [row.item_id, row]));
  for (const [index, item] of items.entries()) {
    const row = item.itemId === null ? undefined : existing.get(item.itemId);
    if (!row || saysTheSame(row, item)) continue;
    const param = `conversions[${index}].id`;
    throw new Fault("idempotency_conflict", {
      param,
      message:
        `${param}: this id was posted before with another type, value or label; nothing was recorded.`,
    });
  }
}

function saysTheSame(row: SqlRow, { type, label, valueNanos }: OutcomeItem): boolean {
  return row.type === type && row.label === label && row.value_nanos === valueNanos;
}

/** Sums of one column with what is needed for its spread, in the order of `readSums`. */
function columnSums(name: string, column: string, of = "true"): string {
  return `count(${column}) filter (where ${of}) as ${name}_count,
    coalesce(sum(${column}) filter (where ${of}), 0) as ${name}_sum,
    coalesce(sum(${column}::numeric * ${column}) filter (where ${of}), 0) as ${name}_squares`;
}

const completed = "status = 'completed'";

const allCalls = "interactions where account_id = $1 and cohort_id = any($2::text[])";

const latestCalls = `unnest($2::text[]) as wanted(id) cross join lateral (
    select cohort_id, created_at, status, cost_nanos, input_tokens, output_tokens, latency_ms
    from interactions where account_id = $1 and cohort_id = wanted.id
      and created_at >= coalesce($3::timestamptz, '-infinity')
    order by created_at desc limit $4
  ) as latest`;

const readCalls = (from: string) =>
  `select cohort_id, count(*) as interactions, min(created_at) as first_at,
    count(*) filter (where ${completed}) as completed,
    ${columnSums("cost", "cost_nanos")},
    ${columnSums("input", "input_tokens")},
    ${columnSums("output", "output_tokens")},
    ${columnSums("latency", "latency_ms", completed)},
    percentile_cont(0.5) within group (order by latency_ms) filter (where ${completed}) as p50,
    percentile_cont(0.95) within group (order by latency_ms) filter (where ${completed}) as p95
  from ${from} group by cohort_id`;

const allOutcomes = "cohort_outcomes where account_id = $1 and cohort_id = any($2::text[])";

const latestOutcomes = `unnest($2::text[], $3::timestamptz[]) as wanted(id, since)
  join cohort_outcomes on account_id = $1 and cohort_id = wanted.id
    and created_at >= coalesce(wanted.since, '-infinity')`;

const readOutcomes = (from: string) =>
  `select cohort_id, type, label, ${columnSums("value", "value_nanos")}
  from ${from}
  group by cohort_id, type, label order by cohort_id, type, label nulls first`;

async function readLatest(
  { database, analytics }: { database: Queryable; analytics: Queryable },
  accountId: number,
  cohortIds: readonly string[],
  { since, most }: CohortBounds,
): Promise<LatestSums[]> {
  const calls = await analytics.query(
    readCalls(latestCalls),
    [accountId, cohortIds, since, most],
    { forceCustomPlan: true },
  );
  const cuts = cohortIds.map((cohortId) => {
    const row = calls.find((one) => one.cohort_id === cohortId);
    return row && Number(row.interactions) >= most ? row.first_at as Date : null;
  });
  const outcomes = await database.query(readOutcomes(latestOutcomes), [
    accountId,
    cohortIds,
    cuts.map((cutAt) => (cutAt ?? since)?.toISOString() ?? null),
  ]);
  return cohortIds.map((cohortId, index) => ({
    sums: sumsOf(cohortId, calls, outcomes),
    cutAt: cuts[index]!,
  }));
}

function sumsOf(
  cohortId: string,
  calls: readonly SqlRow[],
  outcomes: readonly SqlRow[],
): CohortSums {
  const row = calls.find((one) => one.cohort_id === cohortId);
  return {
    cohortId,
    interactions: (row?.interactions ?? 0n) as bigint,
    completed: (row?.completed ?? 0n) as bigint,
    cost: readSums(row, "cost"),
    inputTokens: readSums(row, "input"),
    outputTokens: readSums(row, "output"),
    latency: readSums(row, "latency"),
    latencyP50: (row?.p50 ?? null) as number | null,
    latencyP95: (row?.p95 ?? null) as number | null,
    outcomes: outcomes.filter((one) => one.cohort_id === cohortId).map(readOutcome),
  };
}

function readOutcome(row: SqlRow): OutcomeSum {
  return {
    type: String(row.type),
    label: row.label as string | null,
    ...readSums(row, "value"),
  };
}

/** Sums of integers come as `numeric`, whose text is a whole number. */
function readSums(row: SqlRow | undefined, name: string): Sums {
  const whole = (column: string) => BigInt(String(row?.[`${name}_${column}`] ?? 0));
  return { count: whole("count"), sum: whole("sum"), sumOfSquares: whole("squares") };
}
