import { parseExactly } from "../../base/exact_json.ts";
import type { Grader } from "../../../contracts/data/eval_request.ts";
import {
  type EvalResult,
  type EvalStore,
  maxUnfinishedRuns,
  type NewEvalRun,
  noCounts,
} from "../eval.ts";
import { Fault, overLimit } from "../../shared/fault.ts";
import { writeAudit } from "../../audit/store/audit.ts";
import type { Database, Queryable, SqlRow } from "../../database/database.ts";
import { readCounts, readRun, runColumns, writeCounts } from "./eval_rows.ts";
import type { AnalyticsReads, CallKey } from "../../records/analytics_store.ts";
import { lockRequest, sameRequestHours } from "../../database/request_lock.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";

/**
 * The endpoint that evaluations' own calls are recorded under. Runs leave these calls out, unless
 * their filters name an endpoint.
 */
export const evalEndpoint = "/api/v1/evals";

/** Builds the store: `analytics` finds the interactions, `database` holds runs and results. */
export function createEvals(
  database: Database,
  analytics: Pick<AnalyticsReads, "sample">,
): EvalStore {
  return {
    async create(run) {
      const chosen = await analytics.sample({
        ...run.select,
        order: run.sample === "random" ? "random" : "newest",
        limit: run.limit,
        ...(run.select.filters?.endpoint ? {} : { exceptEndpoint: evalEndpoint }),
      });
      return await database.transaction((tx) => insert(tx, run, chosen));
    },
    async find(accountId, evalRunId) {
      const [row] = await database.query(
        `select ${runColumns} from eval_runs where account_id = $1 and eval_run_id = $2`,
        [accountId, evalRunId],
      );
      return row && readRun(row);
    },
    async list(accountId, { limit, after }) {
      const rows = await database.query(
        `select ${runColumns} from eval_runs where account_id = $1 and ($3::timestamptz is null or
           (created_at, eval_run_id) < ($3::timestamptz, $4::text))
         order by created_at desc, eval_run_id desc limit $2`,
        [accountId, limit, after?.createdAt ?? null, after?.evalRunId ?? null],
      );
      return rows.map(readRun);
    },
    async results(accountId, evalRunId, { limit, after }) {
      const rows = await database.query(
        `select * from eval_results where account_id = $1 and eval_run_id = $2
           and (transaction_id, grader_index) > ($4::text, $5::integer)
         order by transaction_id, grader_index limit $3`,
        [accountId, evalRunId, limit, after?.transactionId ?? "", after?.graderIndex ?? -1],
      );
      return rows.map(readResult);
    },
    async cancel(accountId, evalRunId, audit) {
      await database.transaction(async (tx) => {
        const rows = await tx.query(
          `update eval_runs set state = 'cancelled', finished_at = clock_timestamp()
           where account_id = $1 and eval_run_id = $2 and state in ('queued', 'running')
           returning eval_run_id`,
          [accountId, evalRunId],
        );
        if (rows.length > 0) await writeAudit(tx, audit);
      });
      return await this.find(accountId, evalRunId);
    },
  };
}

async function insert(
  tx: Queryable,
  run: NewEvalRun,
  chosen: readonly CallKey[],
): Promise<{ evalRunId: string; total: number; repeated: boolean }> {
  const { accountId } = run;
  const requestId = sanitizeText(run.requestId);
  await lockRequest(tx, "eval", accountId, requestId);
  const [earlier] = await tx.query(
    `select eval_run_id, request_hash, counts from eval_runs
     where account_id = $1 and request_id = $2
       and created_at > $3::timestamptz - interval '${sameRequestHours} hours'
     order by created_at desc limit 1`,
    [accountId, requestId, run.createdAt],
  );
  if (earlier) {
    if (earlier.request_hash !== run.requestHash) throw new Fault("idempotency_conflict");
    const { total } = readCounts(String(earlier.counts));
    return { evalRunId: String(earlier.eval_run_id), total, repeated: true };
  }
  await requireRoom(tx, accountId);
  await tx.query(
    `insert into eval_runs (eval_run_id, created_at, account_id, api_key_id, name, model, filters,
       graders, state, counts, request_id, request_hash)
     values ($1, $2, $3, $4, $5, $6, $7, $8, 'queued', $9, $10, $11)`,
    [
      run.evalRunId,
      run.createdAt,
      accountId,
      run.apiKeyId,
      run.name === null ? null : sanitizeText(run.name),
      sanitizeText(run.model),
      sanitizeText(run.filtersText),
      sanitizeText(JSON.stringify(run.graders)),
      writeCounts(noCounts),
      requestId,
      run.requestHash,
    ],
  );
  await insertItems(tx, run.evalRunId, chosen);
  const total = chosen.length;
  await tx.query(
    `update eval_runs set counts = $2, state = case when $3 then 'done' else state end,
       finished_at = case when $3 then clock_timestamp() end where eval_run_id = $1`,
    [run.evalRunId, writeCounts({ ...noCounts, total }), total === 0],
  );
  await writeAudit(tx, run.audit);
  return { evalRunId: run.evalRunId, total, repeated: false };
}

async function requireRoom(tx: Queryable, accountId: number): Promise<void> {
  const rows = await tx.query(
    `select 1 from eval_runs where account_id = $1 and state in ('queued', 'running')
     limit ${maxUnfinishedRuns}`,
    [accountId],
  );
  if (rows.length < maxUnfinishedRuns) return;
  throw overLimit(
    `This account has ${maxUnfinishedRuns} evaluations that have not ended: wait for one, or cancel one.`,
    60,
  );
}

async function insertItems(
  tx: Queryable,
  evalRunId: string,
  chosen: readonly CallKey[],
): Promise<void> {
  const items = chosen.map(({ transactionId, createdAt }, position) => ({
    position,
    transaction_id: transactionId,
    created_at: createdAt.toISOString(),
  }));
  await tx.query(
    `insert into eval_items (eval_run_id, position, transaction_id, transaction_created_at)
     select $1, position, transaction_id, created_at from json_to_recordset($2::text::json)
       as r(position integer, transaction_id text, created_at timestamptz)`,
    [evalRunId, JSON.stringify(items)],
  );
}

function readResult(row: SqlRow): EvalResult {
  return {
    transactionId: String(row.transaction_id),
    answerTransactionId: row.answer_transaction_id as string | null,
    judgeTransactionId: row.judge_transaction_id as string | null,
    sessionId: row.session_id as string | null,
    userId: row.user_id as string | null,
    createdAt: row.created_at as Date,
    graderIndex: Number(row.grader_index),
    grader: parseExactly(String(row.grader)) as Grader,
    passed: row.passed as boolean | null,
    score: row.score as number | null,
    detail: row.detail as string | null,
  };
}
