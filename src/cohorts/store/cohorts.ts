import {
  type CohortBounds,
  type CohortStore,
  type CohortSums,
  type LatestSums,
  outcomeHash,
  type OutcomeItem,
  type OutcomePost,
} from "../cohort.ts";
import type { Sums } from "../../shared/call_sums.ts";
import { Fault } from "../../shared/fault.ts";
import { listCohorts } from "./cohorts_list.ts";
import { readModels } from "./model_outcomes.ts";
import { readOutcomeSum, sumsByLabel } from "./outcome_sums.ts";
import type { AnalyticsReads, CohortCallSums } from "../../records/analytics_store.ts";
import type { Database, Queryable, SqlRow } from "../../database/database.ts";
import { lockRequest, sameRequestHours } from "../../database/request_lock.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";

type CohortCalls = Pick<
  AnalyticsReads,
  "cohortSums" | "cohortModels" | "modelsOfOutcomes" | "cohortNames" | "cohortCosts"
>;

/** Builds the store: `analytics` sums the interactions, `database` holds the posted outcomes. */
export function createCohorts(database: Database, analytics: CohortCalls): CohortStore {
  return {
    post: (post) => database.transaction((tx) => insert(tx, post)),
    async read(accountId, cohortIds) {
      const calls = await analytics.cohortSums(accountId, cohortIds);
      const outcomes = await database.query(sumsByLabel(allOutcomes), [accountId, cohortIds]);
      return cohortIds.map((cohortId) => sumsOf(cohortId, calls, outcomes));
    },
    readLatest: (accountId, cohortIds, bounds) =>
      readLatest({ database, analytics }, accountId, cohortIds, bounds),
    readModels: (...args) => readModels({ database, analytics }, ...args),
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
  const rows = items.map((item) => ({ ...storedItem(item), at: item.at }));
  const added = await tx.query(
    `insert into cohort_outcomes (account_id, cohort_id, type, label, value_nanos, item_id,
       transaction_id, session_id, api_key_id, request_id, request_hash, created_at)
     select $1, $2, type, label, value_nanos, item_id, transaction_id, session_id, $3, $4, $5,
       coalesce(at, clock_timestamp())
     from json_to_recordset($6::text::json) as r(type text, label text, value_nanos bigint,
       item_id text, transaction_id text, session_id text, at timestamptz)
     -- Two posts of the same items wait for each other's at the first, whatever their orders.
     order by item_id
     on conflict (account_id, cohort_id, item_id) where item_id is not null do nothing
     returning item_id`,
    [accountId, cohortId, apiKeyId, requestId, hash, JSON.stringify(rows)],
  );
  if (added.length < items.length) await checkKnown(tx, post);
  return { accepted: added.length, repeated: false };
}

function storedItem({ type, label, valueNanos, itemId, transactionId, sessionId }: OutcomeItem) {
  return {
    ...{ type, label, value_nanos: String(valueNanos), item_id: itemId },
    // Sanitized like the stored ids of calls and sessions.
    transaction_id: sanitizeText(transactionId),
    session_id: sanitizeText(sessionId),
  };
}

/** Throws `idempotency_conflict` if an item's id was posted before with other content. */
async function checkKnown(tx: Queryable, { accountId, cohortId, items }: OutcomePost) {
  const ids = items.flatMap(({ itemId }) => itemId === null ? [] : [itemId]);
  const rows = await tx.query(
    `select item_id, type, label, value_nanos, transaction_id, session_id from cohort_outcomes
     where account_id = $1 and cohort_id = $2 and item_id = any($3::text[])`,
    [accountId, cohortId, ids],
  );
  const existing = new Map(rows.map((row) => [row.item_id, row]));
  for (const [index, item] of items.entries()) {
    const row = item.itemId === null ? undefined : existing.get(item.itemId);
    if (!row || isSameOutcome(row, item)) continue;
    const param = `conversions[${index}].id`;
    throw new Fault("idempotency_conflict", {
      param,
      message:
        `${param}: this id was posted before with another type, value, label, session or transaction; nothing was recorded.`,
    });
  }
}

function isSameOutcome(row: SqlRow, item: OutcomeItem): boolean {
  const { value_nanos, ...stored } = storedItem(item);
  return String(row.value_nanos) === value_nanos &&
    Object.entries(stored).every(([column, value]) => row[column] === value);
}

const allOutcomes = "cohort_outcomes where account_id = $1 and cohort_id = any($2::text[])";

const latestOutcomes = `unnest($2::text[], $3::timestamptz[]) as wanted(id, since)
  join cohort_outcomes on account_id = $1 and cohort_id = wanted.id
    and created_at >= coalesce(wanted.since, '-infinity')`;

async function readLatest(
  { database, analytics }: { database: Queryable; analytics: CohortCalls },
  accountId: number,
  cohortIds: readonly string[],
  { since, most }: CohortBounds,
): Promise<LatestSums[]> {
  const calls = await analytics.cohortSums(accountId, cohortIds, { since, most });
  const cuts = cohortIds.map((cohortId) => {
    const found = calls.find((one) => one.cohortId === cohortId);
    return found && Number(found.interactions) >= most ? found.firstAt : null;
  });
  const outcomes = await database.query(sumsByLabel(latestOutcomes), [
    accountId,
    cohortIds,
    cuts.map((cutAt) => (cutAt ?? since)?.toISOString() ?? null),
  ]);
  return cohortIds.map((cohortId, index) => ({
    sums: sumsOf(cohortId, calls, outcomes),
    cutAt: cuts[index]!,
  }));
}

const noValues: Sums = { count: 0n, sum: 0n, sumOfSquares: 0n };

/** The sums of a cohort without calls. */
const noCalls = {
  ...{ interactions: 0n, completed: 0n, cost: noValues, inputTokens: noValues },
  ...{ outputTokens: noValues, latency: noValues, latencyP50: null, latencyP95: null },
};

function sumsOf(
  cohortId: string,
  calls: readonly CohortCallSums[],
  outcomes: readonly SqlRow[],
): CohortSums {
  const { firstAt: _, ...sums } = calls.find((one) => one.cohortId === cohortId) ??
    { ...noCalls, cohortId, firstAt: null };
  return {
    ...sums,
    outcomes: outcomes.filter((one) => one.cohort_id === cohortId).map(readOutcomeSum),
  };
}
