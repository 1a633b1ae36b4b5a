import type { CohortBounds, CohortModels, ModelSums, OutcomeSum } from "../cohort.ts";
import { modelBounds } from "../model_comparison.ts";
import type { AnalyticsReads, CohortModelSums } from "../../records/analytics_store.ts";
import type { Queryable, SqlRow } from "../../database/database.ts";
import { OutcomeSums, readOutcomeSum, sumsByLabel } from "./outcome_sums.ts";

/**
 * Items attributed in one step, at 0.5 ms an item: on the embedded database, calls wait meanwhile.
 */
const stepItems = 250;

type CohortCalls = Pick<AnalyticsReads, "cohortModels" | "modelsOfOutcomes">;

/** Sums a cohort's calls and outcomes by model: all of them, or those within `bounds`. */
export async function readModels(
  stores: { database: Queryable; analytics: CohortCalls },
  accountId: number,
  cohortId: string,
  bounds?: CohortBounds,
): Promise<CohortModels> {
  const { database, analytics } = stores;
  // Reads one model more than is listed, to know whether there are others.
  const calls = await analytics.cohortModels(accountId, cohortId, {
    bounds,
    limit: modelBounds.models + 1,
  });
  const listed = calls.models.slice(0, modelBounds.models);
  // If older calls are left out, so are outcomes from before the oldest counted call.
  const isCut = bounds !== undefined && Number(calls.interactions) >= bounds.most;
  const since = isCut ? calls.firstAt : bounds?.since ?? null;
  const byModel = new Map(listed.map((row) => [nameOf(row), new OutcomeSums()]));
  const unattributed = new OutcomeSums();
  unattributed.add(
    (await database.query(unlinkedItems, [accountId, cohortId, since])).map(readOutcomeSum),
  );
  const most = Math.min(bounds?.most ?? Infinity, modelBounds.items);
  let items = 0;
  for await (const page of linkedItems(database, { accountId, cohortId, since })) {
    const models = await analytics.modelsOfOutcomes(accountId, cohortId, page.map(referenceOf));
    for (const [index, row] of page.entries()) {
      const model = models[index];
      if (items++ >= most) break;
      // Items of a model that isn't listed are left out too.
      const sums = model ? byModel.get(nameOf(model)) : unattributed;
      sums?.add([itemSum(row)]);
    }
    if (items > most) break;
  }
  return {
    models: listed.map((row) => modelSums(row, byModel.get(nameOf(row))!)),
    unattributed: unattributed.list(),
    hasMoreModels: calls.models.length > listed.length,
    hasMoreItems: items > most,
  };
}

function nameOf({ vendor, model }: { vendor: string; model: string }): string {
  return `${vendor}/${model}`;
}

function modelSums(row: CohortModelSums, outcomes: OutcomeSums): ModelSums {
  const { cohortId: _, firstAt: __, vendor: ___, ...sums } = row;
  return { ...sums, model: nameOf(row), outcomes: outcomes.list() };
}

const itemsOf = `cohort_outcomes where account_id = $1 and cohort_id = $2
  and created_at >= coalesce($3::timestamptz, '-infinity')`;

const unlinkedItems = sumsByLabel(
  `${itemsOf} and transaction_id is null and session_id is null`,
);

// The time as text: a `Date` would lose its microseconds.
const linkedPage = `select id, created_at::text as at, type, label, value_nanos, transaction_id,
    session_id
  from ${itemsOf} and (transaction_id is not null or session_id is not null)
    and ($4::text is null or (created_at, id) < ($4::text::timestamptz, $5::bigint))
  order by created_at desc, id desc limit ${stepItems}`;

/** Yields pages of items that name a call or a session, the latest first. */
async function* linkedItems(
  database: Queryable,
  { accountId, cohortId, since }: { accountId: number; cohortId: string; since: Date | null },
): AsyncGenerator<SqlRow[]> {
  let last: SqlRow | undefined;
  let page: SqlRow[];
  do {
    page = await database.query(linkedPage, [
      ...[accountId, cohortId, since?.toISOString() ?? null],
      ...[last ? String(last.at) : null, last ? last.id as bigint : null],
    ], { forceCustomPlan: true });
    if (page.length > 0) yield page;
    last = page.at(-1);
  } while (page.length === stepItems);
}

function referenceOf(row: SqlRow) {
  return {
    transactionId: row.transaction_id as string | null,
    sessionId: row.session_id as string | null,
    at: String(row.at),
  };
}

function itemSum(row: SqlRow): OutcomeSum {
  const value = row.value_nanos as bigint;
  return {
    type: String(row.type),
    label: row.label as string | null,
    count: 1n,
    sum: value,
    sumOfSquares: value * value,
  };
}
