import type { Grader } from "../../../contracts/data/eval_request.ts";
import {
  type ClaimedRun,
  countItem,
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

/** How long a claim holds without being renewed. */
const claimMs = 30_000;
/** A run that has waited for so long for credit or the like is given up. */
const maxWaitHours = 24;
/** Pauses grow with the time that a run has waited, up to this unless a longer one is asked for. */
const longestPause = "60 seconds";

/**
 * What a process asks of the runs; `holder` names it among those that share the database.
 * `analytics` holds the interactions, `database` the runs and their results.
 */
export function createEvalWork(
  database: Database,
  deps: { workerId: string; analytics: Pick<AnalyticsStore, "findCall" | "within"> },
): EvalWork {
  const { analytics } = deps;
  // An embedded database has one owner: what another process claimed in it was before its end.
  const workerId = database.kind === "embedded" ? "embedded" : deps.workerId;
  return {
    claim: ({ runs, accounts, claimId }) => claim(database, workerId, claimId, runs, accounts),
    othersWait: (asked) => othersWait(database, workerId, asked),
    renew: (claimIds) => renew(database, claimIds),
    async items(run, after, limit) {
      const rows = await database.query(
        `select position, transaction_id, transaction_created_at, attempts from eval_items
         where eval_run_id = $1 and outcome is null and position > $2 order by position limit $3`,
        [run.evalRunId, after, limit],
      );
      return rows.map((row) => ({
        position: Number(row.position),
        transactionId: String(row.transaction_id),
        createdAt: row.transaction_created_at as Date,
        attempts: Number(row.attempts),
      }));
    },
    async stateOf({ evalRunId, claimId }) {
      const [row] = await database.query(
        "select state from eval_runs where eval_run_id = $1 and claim_id = $2",
        [evalRunId, claimId],
      );
      return row?.state as EvalState | undefined;
    },
    stored: (run, item) => analytics.findCall(run.accountId, item),
    earlierCall: (run, requestId) =>
      analytics.findCall(run.accountId, { requestId, completedSince: run.createdAt }),
    async begin(run, item) {
      await database.query(
        "update eval_items set attempts = attempts + 1 where eval_run_id = $1 and position = $2",
        [run.evalRunId, item.position],
      );
    },
    finish: (run, item, done) =>
      database.transaction((tx) => {
        // Where both share a database nobody can erase the one while the other is written.
        return finish({ tx, calls: analytics.within(tx) }, run, item, done);
      }),
    async pause(run, { ms, code, message }) {
      await database.query(pauseSql, [run.evalRunId, run.claimId, code, ms, sanitizeText(message)]);
    },
    end: (run, state, error) => end(database, run, state, error),
    async release({ evalRunId, claimId }) {
      await database.query(
        `update eval_runs set ${noClaim} where eval_run_id = $1 and claim_id = $2`,
        [evalRunId, claimId],
      );
    },
  };
}

/** Whether there are runs of other accounts that could be claimed. */
async function othersWait(
  database: Database,
  workerId: string,
  { runs, accounts }: Parameters<EvalWork["othersWait"]>[0],
): Promise<boolean> {
  const rows = await database.query(
    `select 1 as one from eval_runs where ${claimable("$1", "$2", "$3")} limit 1`,
    [runs, accounts, workerId],
  );
  return rows.length > 0;
}

const noClaim = "claim_id = null, claimed_by = null, claimed_until = null";

function fromNow(ms: string): string {
  return `clock_timestamp() + ${ms}::bigint * interval '1 millisecond'`;
}

/** Runs that this holder may take up, but for some and those of some accounts. */
function claimable(runs: string, accounts: string, workerId: string): string {
  return `state in ('queued', 'running') and (next_at is null or next_at <= clock_timestamp())
    and (claimed_until is null or claimed_until <= clock_timestamp() or claimed_by = ${workerId})
    and eval_run_id <> all(${runs}::text[]) and account_id <> all(${accounts}::bigint[])`;
}

/** The oldest of whoever had the fewest of late comes first. */
const claimSql = `update eval_runs set state = 'running', claim_id = $1, claimed_by = $2,
    claimed_until = ${fromNow("$3")}, next_at = null
  where eval_run_id = (
    select eval_run_id from eval_runs r
    where ${claimable("$4", "$5", "$2")}
    order by (
      select count(*) from eval_runs other
      where other.account_id = r.account_id and (other.state = 'running'
        or other.finished_at > clock_timestamp() - interval '1 hour')
    ), created_at
    limit 1 for update skip locked
  ) returning eval_run_id, created_at, account_id, api_key_id, model, graders`;

async function claim(
  database: Database,
  workerId: string,
  claimId: string,
  runs: readonly string[],
  accounts: readonly number[],
): Promise<ClaimedRun | undefined> {
  const [row] = await database.query(claimSql, [claimId, workerId, claimMs, runs, accounts]);
  return row && {
    evalRunId: String(row.eval_run_id),
    claimId,
    createdAt: row.created_at as Date,
    accountId: Number(row.account_id),
    apiKeyId: String(row.api_key_id),
    model: String(row.model),
    graders: JSON.parse(String(row.graders)) as Grader[],
  };
}

async function renew(database: Database, claimIds: readonly string[]): Promise<string[]> {
  if (claimIds.length === 0) return [];
  const rows = await database.query(
    `update eval_runs set claimed_until = ${fromNow("$2")} where claim_id = any($1::text[])
     returning claim_id`,
    [claimIds, claimMs],
  );
  return rows.map((row) => String(row.claim_id));
}

async function end(
  database: Queryable,
  { evalRunId, claimId }: ClaimedRun,
  state: EvalState,
  error: { code: string; message: string } | undefined,
): Promise<void> {
  await database.query(
    `update eval_runs set state = $3, error_code = $4, error_message = $5, ${noClaim},
       finished_at = clock_timestamp()
     where eval_run_id = $1 and claim_id = $2 and state = 'running'`,
    [evalRunId, claimId, state, error?.code ?? null, error ? sanitizeText(error.message) : null],
  );
}

const pauseSql = `update eval_runs set ${noClaim}, waiting_for = $3,
    waiting_since = coalesce(waiting_since, clock_timestamp()),
    next_at = clock_timestamp() + greatest(
      $4::bigint * interval '1 millisecond',
      least(coalesce(clock_timestamp() - waiting_since, '0'), interval '${longestPause}')
    ),
    state = case when ${gaveUp()} then 'failed' else state end,
    finished_at = case when ${gaveUp()} then clock_timestamp() end,
    error_code = case when ${gaveUp()} then $3 end,
    error_message = case when ${gaveUp()} then $5 end
  where eval_run_id = $1 and claim_id = $2 and state = 'running'`;

function gaveUp(): string {
  return `waiting_since < clock_timestamp() - interval '${maxWaitHours} hours'`;
}

/** Item, results and counts together; a run that was cancelled meanwhile takes them too. */
async function finish(
  { tx, calls }: { tx: Queryable; calls: Pick<AnalyticsTransaction, "has"> },
  run: ClaimedRun,
  item: EvalItem,
  done: FinishedItem,
): Promise<boolean> {
  // Before any row, as an erasure does it too.
  await lockForWriting(tx);
  const [row] = await tx.query(
    "select counts from eval_runs where eval_run_id = $1 and claim_id = $2 for update",
    [run.evalRunId, run.claimId],
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
  // The interaction may have been erased meanwhile; then nothing is drawn from it.
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
  { results }: FinishedItem,
): Promise<void> {
  await tx.query(
    `insert into eval_results (eval_run_id, created_at, account_id, transaction_id,
       answer_transaction_id, judge_transaction_id, session_id, user_id, grader_index, grader,
       passed, score, detail)
     select $1, clock_timestamp(), $2, $3, r.answer, r.judge, r.session_id, r.user_id,
       r.grader_index, r.grader, r.passed, r.score, r.detail
     from json_to_recordset($4::text::json) as r(answer text, judge text, session_id text,
       user_id text, grader_index integer, grader text, passed boolean, score double precision,
       detail text)
     on conflict do nothing`,
    [run.evalRunId, run.accountId, item.transactionId, JSON.stringify(results.map(writeResult))],
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
