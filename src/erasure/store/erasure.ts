import { greatest, least, pushAll } from "../../base/lists.ts";
import { type DataTable, type DeletionCounts, type ErasedBatch, noCounts } from "../deletion.ts";
import type { Database, Queryable } from "../../database/database.ts";
import { eraseOutcomes, hasLinkedOutcomes } from "./erase_outcomes.ts";
import { madeOf } from "./erasure_count.ts";
import type { ErasureScope } from "../tombstone.ts";
import type {
  AnalyticsStore,
  AnalyticsTransaction,
  CallKey,
  ErasedCalls,
} from "../../records/analytics_store.ts";
import { Bound, condition } from "./erasure_sql.ts";
import { noteErased } from "./tombstones.ts";
import { eraseUserBudgets } from "../../budgets/store/budgets.ts";
import { lockForErasure } from "../../database/erasure_lock.ts";

export interface RecordStores {
  /** Deletions, evaluations, stored responses and reasoning, stored replays. */
  main: Database;
  /** Interactions, payloads and media. */
  analytics: AnalyticsStore;
}

interface ErasedTable {
  table: string;
  /** `$1`: transaction ids. */
  where: string;
  /** Whether its rows are exported, by their own `created_at`. */
  isExported?: boolean;
}

const ofTheCall = "transaction_id = any($1::text[])";
/** The sub-select hides the ids from the planner, which expects them to match most of the table. */
const withTextOfTheCall = `${ofTheCall} or sources && (select $1::text[])`;

/** Selects stored replays, and locks them in the same order as charging calls does. */
const replaysWhere = (where: string) =>
  `key = any(array(select key from replays where ${where} order by key for update))`;

/**
 * Tables of the main database that are erased with an interaction; new tables must be added here.
 */
const erasedWithInteraction: readonly ErasedTable[] = [
  { table: "eval_results", where: ofTheCall, isExported: true },
  // A later response holds the whole conversation.
  { table: "kept_responses", where: withTextOfTheCall },
  { table: "kept_reasoning", where: ofTheCall },
  { table: "background_calls", where: ofTheCall },
  // An answer may quote earlier calls.
  { table: "replays", where: replaysWhere(withTextOfTheCall) },
  { table: "cached_answers", where: ofTheCall },
];

const batchRows = 500;

export interface Erased extends ErasedBatch {
  counts: DeletionCounts;
  from: Date | null;
  to: Date | null;
  /** Tables and partitions that had erased rows. */
  relations: string[];
}

/**
 * Erases some of the rows in the scope of a deletion and everything that belongs to them. `note`
 * stores the counts, in the transaction that erases. With two databases the interactions are erased
 * last, after that transaction, so that an interrupted step can be repeated, and runs once no call
 * is left, since they tell which calls were made from others. Interactions count there when their
 * erasure is first noted. Their database gets the tombstone before anything is looked for: a writer
 * that has not seen the deletion may be about to write there.
 */
export async function eraseBatch(
  { main, analytics }: RecordStores,
  scope: ErasureScope,
  { from, note }: {
    /** See `DeletionStore.eraseBatch`. */
    from?: Date | undefined;
    note: (main: Queryable, erased: Erased) => Promise<void>;
  },
): Promise<ErasedBatch> {
  if (from === undefined) await analytics.addTombstone(scope.tombstone);
  if (await hasLinkedOutcomes(main, scope.tombstone.accountId)) {
    const { calls } = await pick({ main, analytics }, scope, from);
    const erased = { ...erasedOf([]), relations: ["cohort_outcomes"] };
    await eraseOutcomes({ main, analytics }, { scope, calls }, (tx) => note(tx, erased));
  }
  if (analytics.sharesMain) {
    return await main.transaction(async (tx) => {
      await lockForErasure(tx);
      const rows = analytics.within(tx);
      const { calls, reached } = await pick({ main: tx, analytics: rows }, scope, from);
      await noteErased(tx, calls.map(idOf));
      const dependents = await eraseMain(tx, calls, { scope, from, maxCalls: batchRows - 1 });
      const all = joined(dependents, recordsOf(calls, await rows.erase(calls)));
      await note(tx, all);
      return { ...all, reached: dependents.reached ?? reached };
    });
  }
  const { calls, reached } = await pick({ main, analytics }, scope, from);
  const erased = await main.transaction(async (tx) => {
    await lockForErasure(tx);
    // Counted before they go: a step that is repeated after that finds none of them.
    const noted = await noteErased(tx, calls.map(idOf));
    const dependents = await eraseMain(tx, calls, { scope, from, maxCalls: 0 });
    const all = joined(dependents, recordsOf(calls, { interactions: noted.length, relations: [] }));
    await note(tx, all);
    return all;
  });
  await analytics.erase(calls);
  return { ...erased, reached: erased.reached ?? reached };
}

/** Chooses a batch of calls in the scope, and the calls that evaluations made from them. */
async function pick(
  { main, analytics }: { main: Queryable; analytics: AnalyticsTransaction },
  scope: ErasureScope,
  from: Date | undefined,
): Promise<{ calls: CallKey[]; reached: Date | undefined }> {
  const direct = await analytics.matched(restOf(scope, from), batchRows);
  const reached = direct.at(-1)?.createdAt;
  const { accountId } = scope.tombstone;
  const made = await madeOf({ main, analytics }, accountId, direct.map(idOf));
  if (made.length === 0) return { calls: direct, reached };
  return { calls: [...direct, ...await analytics.keysOf(accountId, made)], reached };
}

/** Returns the scope without rows older than `from`. */
function restOf(scope: ErasureScope, from: Date | undefined): ErasureScope {
  return from ? { ...scope, tombstone: { ...scope.tombstone, start: from } } : scope;
}

async function eraseMain(
  tx: Queryable,
  calls: readonly CallKey[],
  { scope, from, maxCalls }: {
    scope: ErasureScope;
    from: Date | undefined;
    maxCalls: number;
  },
): Promise<Erased> {
  const dependents = await eraseDependents(tx, calls);
  if (from === undefined) {
    // Not in batches: the first step erases all of it, and the last one looks again.
    await eraseUnrecorded(tx, scope);
    await eraseAnswers(tx, scope);
    await eraseBudgets(tx, scope);
  }
  // Evaluations in the scope come last; results about erased calls were erased with these.
  if (calls.length > maxCalls) return dependents;
  const rest = restOf(scope, from);
  const results = await eraseOldest(tx, rest, "eval_results");
  const runs = await eraseOldest(tx, rest, "eval_runs");
  // After a full batch, the rest of the table begins where the batch ended.
  const ends = [results, runs].filter(({ length }) => length >= batchRows)
    .map((times) => greatest(times.map((at) => at.getTime())));
  return joined(dependents, {
    ...erasedOf([...results, ...runs]),
    isLast: ends.length === 0,
    reached: ends.length === 0 ? undefined : new Date(least(ends)),
    counts: { interactions: 0, eval_results: results.length, eval_runs: runs.length },
    relations: ["eval_results", "eval_runs"],
  });
}

/** Erases background calls that have no record yet; their worker stops once they are gone. */
async function eraseUnrecorded(tx: Queryable, scope: ErasureScope): Promise<void> {
  const bound = new Bound();
  const where = condition(scope, "interactions", "b", bound);
  if (where === "false") return;
  const rows = await tx.query(
    `delete from background_calls b where b.request is not null and ${where}
     returning transaction_id`,
    bound.values,
  );
  if (rows.length === 0) return;
  // The stored replays of these calls hold text of the request.
  await tx.query(`delete from replays where ${replaysWhere(ofTheCall)}`, [
    rows.map((row) => String(row.transaction_id)),
  ]);
}

/** Erases the budgets of end users, which name them, when everything of a user is erased. */
async function eraseBudgets(tx: Queryable, { tombstone }: ErasureScope): Promise<void> {
  const { accountId, salt, userHashes, start, end, transactionIds, sessionHashes } = tombstone;
  const isWhole = !start && !end && !transactionIds && !sessionHashes;
  if (!userHashes || !isWhole || !tombstone.tables.includes("interactions")) return;
  await eraseUserBudgets(tx, { accountId, salt, userHashes });
}

/**
 * Erases cached answers and those for repeats by the selectors, since their calls may have no row
 * yet: another process may be about to write it, or have died before it could.
 */
async function eraseAnswers(tx: Queryable, scope: ErasureScope): Promise<void> {
  const cached = new Bound();
  const where = condition(scope, "interactions", "c", cached);
  if (where === "false") return;
  await tx.query(`delete from cached_answers c where ${where}`, cached.values);
  const repeated = new Bound();
  const ofTheScope = condition(scope, "interactions", "replays", repeated);
  await tx.query(`delete from replays where ${replaysWhere(ofTheScope)}`, repeated.values);
}

function recordsOf(calls: readonly CallKey[], { interactions, relations }: ErasedCalls): Erased {
  return {
    ...erasedOf(calls.map(({ createdAt }) => createdAt)),
    transactionIds: calls.map(idOf),
    counts: { ...noCounts, interactions },
    relations,
  };
}

async function eraseDependents(tx: Queryable, calls: readonly CallKey[]): Promise<Erased> {
  const counts = { ...noCounts };
  const relations: string[] = [];
  const created = calls.map(({ createdAt }) => createdAt);
  if (calls.length === 0) return erasedOf(created);
  for (const { table, where, isExported } of erasedWithInteraction) {
    const rows = await tx.query(
      `delete from ${table} where (${where})
         returning tableoid::regclass::text as relation${isExported ? ", created_at" : ""}`,
      [calls.map(idOf)],
    );
    pushAll(relations, new Set(rows.map((row) => String(row.relation))));
    if (table === "eval_results") counts.eval_results = rows.length;
    // An export's span may begin after the call but before the results about it.
    if (isExported) pushAll(created, rows.map((row) => row.created_at as Date));
  }
  return { ...erasedOf(created), counts, relations };
}

/** Returns a result without counts, which has the span of these times. */
function erasedOf(created: readonly Date[]): Erased {
  const times = created.map((at) => at.getTime());
  return {
    transactionIds: [],
    isLast: false,
    counts: noCounts,
    from: times.length === 0 ? null : new Date(least(times)),
    to: times.length === 0 ? null : new Date(greatest(times)),
    relations: [],
  };
}

function joined(one: Erased, other: Erased): Erased {
  const froms = [one.from, other.from].filter((time) => time !== null);
  const tos = [one.to, other.to].filter((time) => time !== null);
  const add = (table: DataTable) => one.counts[table] + other.counts[table];
  return {
    transactionIds: [...one.transactionIds, ...other.transactionIds],
    isLast: one.isLast || other.isLast,
    reached: one.reached ?? other.reached,
    counts: {
      interactions: add("interactions"),
      eval_runs: add("eval_runs"),
      eval_results: add("eval_results"),
    },
    from: froms.reduce<Date | null>((a, b) => a === null || b < a ? b : a, null),
    to: tos.reduce<Date | null>((a, b) => a === null || b > a ? b : a, null),
    relations: [...one.relations, ...other.relations],
  };
}

/**
 * Erases the oldest rows, a batch and those with the same time as the last of it; returns their
 * times.
 */
async function eraseOldest(
  tx: Queryable,
  scope: ErasureScope,
  table: DataTable,
): Promise<Date[]> {
  const bound = new Bound();
  const where = condition(scope, table, "e", bound);
  if (where === "false") return [];
  const [last] = await tx.query(
    `select e.created_at::text as at from ${table} e where ${where}
     order by e.created_at offset ${batchRows - 1} limit 1`,
    bound.values,
  );
  // Selected by time, so that the index is read no further.
  const until = last
    ? ` and e.created_at <= ${bound.bind(String(last.at))}::text::timestamptz`
    : "";
  const rows = await tx.query(
    `delete from ${table} e where ${where}${until} returning created_at`,
    bound.values,
  );
  return rows.map((row) => row.created_at as Date);
}

function idOf({ transactionId }: CallKey): string {
  return transactionId;
}
