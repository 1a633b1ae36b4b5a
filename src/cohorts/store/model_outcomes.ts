import type { CohortBounds, CohortModels, ModelSums, OutcomeSum } from "../cohort.ts";
import { modelBounds } from "../model_comparison.ts";
import type { AnalyticsReads, CohortModelSums } from "../../records/analytics_store.ts";
import type { Queryable, SqlRow } from "../../database/database.ts";

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

const unlinkedItems = `select type, label, count(*) as value_count, sum(value_nanos) as value_sum,
    sum(value_nanos::numeric * value_nanos) as value_squares
  from ${itemsOf} and transaction_id is null and session_id is null group by type, label`;

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

/** Reads a row of sums by type and label. */
export function readOutcomeSum(row: SqlRow): OutcomeSum {
  // Sums of integers come as `numeric`, whose text is a whole number.
  const whole = (column: string) => BigInt(String(row[column]));
  return {
    type: String(row.type),
    label: row.label as string | null,
    count: whole("value_count"),
    sum: whole("value_sum"),
    sumOfSquares: whole("value_squares"),
  };
}

/** Sums by type and label. */
class OutcomeSums {
  readonly #sums = new Map<string, OutcomeSum>();

  add(sums: readonly OutcomeSum[]): void {
    for (const one of sums) {
      const key = JSON.stringify([one.type, one.label]);
      const own = this.#sums.get(key);
      if (!own) {
        this.#sums.set(key, { ...one });
        continue;
      }
      own.count += one.count;
      own.sum += one.sum;
      own.sumOfSquares += one.sumOfSquares;
    }
  }

  /** Returns the sums sorted by type, then label; sums without a label come first. */
  list(): OutcomeSum[] {
    return [...this.#sums.values()].sort((a, b) =>
      compare(a.type, b.type) || compare(a.label ?? "", b.label ?? "")
    );
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
