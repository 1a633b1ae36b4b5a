import { parseExactly } from "../../base/exact_json.ts";
import type { Grader } from "../../../contracts/data/eval_request.ts";
import {
  type CallCost,
  type ClaimedRun,
  countCost,
  countItem,
  type EndedItem,
  type EvalItem,
  type EvalState,
  type EvalWork,
  type FinishedItem,
} from "../eval.ts";
import type { AnalyticsStore, AnalyticsTransaction } from "../../records/analytics_store.ts";
import type { Database, Queryable, SqlRow } from "../../database/database.ts";
import { readCounts, writeCounts } from "./eval_rows.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";
import { lockForWriting } from "../../database/erasure_lock.ts";
import { whenUnlocked } from "../../database/when_unlocked.ts";
import {
  Claims,
  fewestFirst,
  firstParam,
  withoutClaim,
  type WorkTable,
} from "../../work_queue/store/claims.ts";

/** The columns by which processes claim runs. */
const work: WorkTable = {
  name: "eval_runs",
  key: "eval_run_id",
  owner: "claimed_by",
  until: "claimed_until",
  isOpen: "state in ('queued', 'running')",
  claimMs: 30_000,
};
/** A run that has waited this long, e.g. for credit, ends as failed. */
const maxWaitHours = 24;
/**
 * Pauses grow with the time that a run has waited, up to this, unless a longer one is requested.
 */
const longestPause = "60 seconds";

/**
 * Builds the worker's store. `workerId` identifies this start of the process in claims. `analytics`
 * holds the interactions, `database` the runs and their results.
 */
export function createEvalWork(
  database: Database,
  deps: { workerId: string; analytics: Pick<AnalyticsStore, "findCall" | "within"> },
): EvalWork {
  const { analytics, workerId } = deps;
  const claims = new Claims(database, work, workerId);
  const other = { where: `${isDue} and account_id <> all($${firstParam}::bigint[])` };
  return {
    async claim({ runs, accounts }) {
      const [row] = await claims.claim({ ...nextRun, ...other, except: runs, params: [accounts] });
      return row && readClaimed(row);
    },
    othersWait: ({ runs, accounts }) =>
      claims.canClaim({ ...other, except: runs, params: [accounts] }),
    renew: async (runIds) => new Set((await claims.renew(runIds)).keys()),
    async items(run, after, limit) {
      const rows = await database.query(
        `select position, transaction_id, transaction_created_at, attempts, counted_calls
         from eval_items
         where eval_run_id = $1 and outcome is null and position > $2 order by position limit $3`,
        [run.evalRunId, after, limit],
      );
      return rows.map(readItem);
    },
    async stateOf({ evalRunId }) {
      const [row] = await database.query(
        "select state from eval_runs where eval_run_id = $1 and claimed_by = $2",
        [evalRunId, workerId],
      );
      return row?.state as EvalState | undefined;
    },
    stored: (run, item) => analytics.findCall(run.accountId, item),
    earlierCall: (run, requestId) =>
      analytics.findCall(run.accountId, { requestId, completedSince: run.createdAt }),
    async begin(run, item) {
      await database.query(
        `update eval_items set attempts = 1
         where eval_run_id = $1 and position = $2 and attempts = 0`,
        [run.evalRunId, item.position],
      );
    },
    // What was paid for is neither lost nor asked for again because somebody has locked the run.
    countTry: (...args) => whenUnlocked(() => database.transaction((tx) => countTry(tx, ...args))),
    countCalls: (...args) =>
      whenUnlocked(() => database.transaction((tx) => countCalls(tx, ...args))),
    finish: (run, item, done) =>
      whenUnlocked(() =>
        database.transaction((tx) => {
          // Where both share a database, no interaction is erased while its result is written.
          return finish({ tx, calls: analytics.within(tx), workerId }, run, item, done);
        })
      ),
    async pause(run, { ms, code, message }) {
      await database.query(pauseSql, [run.evalRunId, workerId, code, ms, sanitizeText(message)]);
    },
    async end({ evalRunId }, state, error) {
      const { code = null, message } = error ?? {};
      await database.query(endSql, [
        ...[evalRunId, workerId, state, code],
        message === undefined ? null : sanitizeText(message),
      ]);
    },
    async release({ evalRunId }) {
      await database.query(
        `update eval_runs set ${withoutClaim(work)} where eval_run_id = $1 and claimed_by = $2`,
        [evalRunId, workerId],
      );
    },
  };
}

const isDue = "(next_at is null or next_at <= clock_timestamp())";

/**
 * The oldest run of the account with the fewest recent runs. Each kind of them is found by its own
 * index, once for all accounts.
 */
const nextRun = {
  // Processes of the previous release write only to runs that have the claim_id that they set.
  set: "state = 'running', claim_id = null, next_at = null",
  orderBy: `${
    fewestFirst(
      `select account_id from eval_runs where state = 'running'
       union all
       select account_id from eval_runs where finished_at > now() - interval '1 hour'`,
    )
  }, created_at`,
  returning: "eval_run_id, created_at, account_id, api_key_id, model, graders",
};

function readClaimed(row: SqlRow): ClaimedRun {
  return {
    evalRunId: String(row.eval_run_id),
    createdAt: row.created_at as Date,
    accountId: Number(row.account_id),
    apiKeyId: String(row.api_key_id),
    model: String(row.model),
    graders: parseExactly(String(row.graders)) as Grader[],
  };
}

function readItem(row: SqlRow): EvalItem {
  return {
    position: Number(row.position),
    transactionId: String(row.transaction_id),
    createdAt: row.transaction_created_at as Date,
    attempts: Number(row.attempts),
    countedCalls: row.counted_calls as string[],
  };
}

const endSql = `update eval_runs set state = $3, error_code = $4, error_message = $5,
    ${withoutClaim(work)}, finished_at = clock_timestamp()
  where eval_run_id = $1 and claimed_by = $2 and state = 'running'`;

const pauseSql = `update eval_runs set ${withoutClaim(work)}, waiting_for = $3,
    waiting_since = coalesce(waiting_since, clock_timestamp()),
    next_at = clock_timestamp() + greatest(
      $4::bigint * interval '1 millisecond',
      least(coalesce(clock_timestamp() - waiting_since, '0'), interval '${longestPause}')
    ),
    state = case when ${gaveUp()} then 'failed' else state end,
    finished_at = case when ${gaveUp()} then clock_timestamp() end,
    error_code = case when ${gaveUp()} then $3 end,
    error_message = case when ${gaveUp()} then $5 end
  where eval_run_id = $1 and claimed_by = $2 and state = 'running'`;

function gaveUp(): string {
  return `waiting_since < clock_timestamp() - interval '${maxWaitHours} hours'`;
}

async function countTry(tx: Queryable, run: ClaimedRun, item: EvalItem, spent: CallCost) {
  // Locks the run before the item, in the same order as `finish`.
  await countSpent(tx, run, spent);
  await tx.query(
    "update eval_items set attempts = attempts + 1 where eval_run_id = $1 and position = $2",
    [run.evalRunId, item.position],
  );
}

async function countCalls(tx: Queryable, ...args: Parameters<EvalWork["countCalls"]>) {
  const [run, item, calls] = args;
  for (const spent of calls) await countSpent(tx, run, spent);
  await tx.query(
    `update eval_items set counted_calls = counted_calls || $3::text[]
     where eval_run_id = $1 and position = $2`,
    [
      run.evalRunId,
      item.position,
      calls.flatMap(({ transactionId: id }) => id === null ? [] : [id]),
    ],
  );
}

/** Adds a call's cost to the run, even if another process has claimed it: the call was made. */
async function countSpent(tx: Queryable, { evalRunId }: ClaimedRun, spent: CallCost) {
  if (spent.costNanos === 0n && spent.unpricedCalls === 0) return;
  const [row] = await tx.query("select counts from eval_runs where eval_run_id = $1 for update", [
    evalRunId,
  ]);
  if (!row) return;
  const counts = countCost(readCounts(String(row.counts)), spent);
  await tx.query("update eval_runs set counts = $2 where eval_run_id = $1", [
    evalRunId,
    writeCounts(counts),
  ]);
}

/** Stores outcome, results and counts together, also in a run that was cancelled meanwhile. */
async function finish(
  { tx, calls, workerId }: {
    tx: Queryable;
    calls: Pick<AnalyticsTransaction, "has">;
    workerId: string;
  },
  run: ClaimedRun,
  item: EvalItem,
  done: EndedItem,
): Promise<boolean> {
  // Before any row, like an erasure, so that the two can't deadlock.
  await lockForWriting(tx);
  const [row] = await tx.query(
    "select counts from eval_runs where eval_run_id = $1 and claimed_by = $2 for update",
    [run.evalRunId, workerId],
  );
  if (!row) return false;
  const [marked] = await tx.query(
    `update eval_items set outcome = $3, reason = $4
     where eval_run_id = $1 and position = $2 and outcome is null returning position`,
    [
      run.evalRunId,
      item.position,
      done.outcome,
      done.reason === null ? null : sanitizeText(done.reason),
    ],
  );
  if (!marked) return true;
  // The interaction may have been erased meanwhile; then no results about it may be stored.
  if (await calls.has(run.accountId, item)) await insertResults(tx, run, item, done);
  await tx.query(
    `update eval_runs set counts = $2, waiting_for = null, waiting_since = null
     where eval_run_id = $1`,
    [run.evalRunId, writeCounts(countItem(readCounts(String(row.counts)), done))],
  );
  return true;
}

async function insertResults(
  tx: Queryable,
  run: ClaimedRun,
  item: EvalItem,
  { results, finishedAt }: EndedItem,
): Promise<void> {
  await tx.query(
    `insert into eval_results (eval_run_id, created_at, account_id, transaction_id,
       answer_transaction_id, judge_transaction_id, session_id, user_id, grader_index, grader,
       passed, score, detail)
     select $1, $5, $2, $3, r.answer, r.judge, r.session_id, r.user_id,
       r.grader_index, r.grader, r.passed, r.score, r.detail
     from json_to_recordset($4::text::json) as r(answer text, judge text, session_id text,
       user_id text, grader_index integer, grader text, passed boolean, score double precision,
       detail text)
     on conflict do nothing`,
    [
      run.evalRunId,
      run.accountId,
      item.transactionId,
      JSON.stringify(results.map(writeResult)),
      finishedAt,
    ],
  );
}

function writeResult(result: FinishedItem["results"][number]): SqlRow {
  return {
    answer: result.answerTransactionId,
    judge: result.judgeTransactionId,
    session_id: sanitizeText(result.sessionId),
    user_id: sanitizeText(result.userId),
    grader_index: result.graderIndex,
    grader: sanitizeText(JSON.stringify(result.grader)),
    passed: result.passed,
    score: result.score,
    detail: sanitizeText(result.detail),
  };
}
