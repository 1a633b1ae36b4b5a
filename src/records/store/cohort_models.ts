import type { CallBounds, CohortByModel, ModelName, OutcomeReference } from "../analytics_store.ts";
import type { Queryable, SqlRow } from "../../database/database.ts";
import { allCalls, latestCalls, readCallSums, sumsOf } from "./cohort_calls.ts";

/** Sums of a cohort's calls by model, those with the most calls first, and over all models. */
export async function cohortModels(
  database: Queryable,
  accountId: number,
  cohortId: string,
  { limit, bounds }: { limit: number; bounds?: CallBounds | undefined },
): Promise<CohortByModel> {
  const rows = await database.query(
    bounds ? modelSums(latestCalls, "$5") : modelSums(allCalls, "$3"),
    [accountId, [cohortId], ...(bounds ? [bounds.since, bounds.most] : []), limit],
    { forceCustomPlan: true },
  );
  return {
    models: rows.map((row) => ({
      ...readCallSums(row),
      ...modelNameOf(row),
      errors: row.errors as bigint,
    })),
    // A sum of counts is a `numeric`, whose text is a whole number.
    interactions: BigInt(String(rows[0]?.all_interactions ?? 0)),
    firstAt: rows[0]?.all_first_at as Date | undefined ?? null,
  };
}

const modelSums = (from: string, limit: string) =>
  `${
    sumsOf(from, {
      columns: `vendor, model, sum(count(*)) over () as all_interactions,
      min(min(created_at)) over () as all_first_at,
      count(*) filter (where status in ('failed', 'truncated', 'interrupted')) as errors`,
      by: "cohort_id, vendor, model",
    })
  } order by interactions desc, vendor, model limit ${limit}`;

/** The most calls of a session that are searched for its last one of a cohort. */
const sessionCalls = 100;

/**
 * Returns the model of the call that each outcome belongs to; undefined where the cohort has no
 * such call. Each is found by an index, in at most `sessionCalls` steps.
 */
export async function modelsOfOutcomes(
  database: Queryable,
  accountId: number,
  cohortId: string,
  outcomes: readonly OutcomeReference[],
): Promise<(ModelName | undefined)[]> {
  const models: (ModelName | undefined)[] = outcomes.map(() => undefined);
  const named = outcomes.flatMap(({ transactionId }, index) =>
    transactionId === null ? [] : [{ index, id: transactionId }]
  );
  const inSession = outcomes.flatMap(({ transactionId, sessionId, at }, index) =>
    transactionId !== null || sessionId === null ? [] : [{ index, id: sessionId, at }]
  );
  const note = (rows: readonly SqlRow[]) => {
    for (const row of rows) models[Number(row.index)] = modelNameOf(row);
  };
  if (named.length > 0) {
    note(
      await database.query(byTransaction, [
        accountId,
        cohortId,
        named.map(({ index }) => index),
        named.map(({ id }) => id),
      ], { forceCustomPlan: true }),
    );
  }
  if (inSession.length > 0) {
    note(
      await database.query(bySession, [
        accountId,
        cohortId,
        inSession.map(({ index }) => index),
        inSession.map(({ id }) => id),
        inSession.map(({ at }) => at),
      ], { forceCustomPlan: true }),
    );
  }
  return models;
}

// `offset 0` keeps the lookup by key apart, whatever the planner thinks of the other conditions.
const byTransaction = `select named.index, found.vendor, found.model
  from unnest($3::integer[], $4::text[]) as named(index, id)
  cross join lateral (
    select account_id, cohort_id, vendor, model from interactions
    where transaction_id = named.id offset 0
  ) as found
  where found.account_id = $1 and found.cohort_id = $2`;

const callOfSession = (time: string, order: "asc" | "desc") =>
  `select vendor, model from (
    select vendor, model, cohort_id, created_at from interactions
    where account_id = $1 and session_id = named.id and ${time}
    order by created_at ${order} limit ${sessionCalls}
  ) as nearest where cohort_id = $2 order by created_at ${order} limit 1`;

// The clocks of callers' processes and of the database differ, and an outcome may be reported
// before its call begins: if no call precedes it, it belongs to the first call after it.
const bySession = `select named.index, coalesce(earlier.vendor, later.vendor) as vendor,
    coalesce(earlier.model, later.model) as model
  from unnest($3::integer[], $4::text[], $5::timestamptz[]) as named(index, id, at)
  left join lateral (${callOfSession("created_at <= named.at", "desc")}) as earlier on true
  left join lateral (
    ${callOfSession("earlier.vendor is null and created_at > named.at", "asc")}
  ) as later on true
  where coalesce(earlier.vendor, later.vendor) is not null`;

function modelNameOf(row: SqlRow): ModelName {
  return { vendor: String(row.vendor), model: String(row.model) };
}
