/** What processes look for, and lists, read no more rows the more work has ended. */
import assert from "@std/assert";
import { createBackgroundCalls } from "../../src/background/store/background.ts";
import type { Database } from "../../src/database/database.ts";
import { refreshStatistics } from "../../src/database/table_statistics.ts";
import { createEvals } from "../../src/evals/store/evals.ts";
import { noCounts } from "../../src/evals/eval.ts";
import { writeCounts } from "../../src/evals/store/eval_rows.ts";
import { createEvalWork } from "../../src/evals/store/eval_work.ts";
import { eraseResults } from "../../src/evals/store/stale_results.ts";
import { createExportJobs } from "../../src/exports/store/export_jobs.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { CountedReads } from "../support/counted_reads.ts";
import { eachDatabase } from "../support/databases.ts";
import { storeOf } from "./erasing.ts";
import { newAccount } from "./samples.ts";

const rows = 20_000;

const counts = writeCounts(noCounts);

type Reads = Readonly<Record<string, () => Promise<unknown>>>;

/** What has ended: nine tenths of one account, and one each of others. */
const inserts = [
  `with others as (
     insert into accounts (name, tier, requests_per_minute, burst)
     select 'other ' || n, 'free', 1, 1 from generate_series(1, ${rows / 10}) as n where $1 > 0
   ) insert into eval_runs (eval_run_id, created_at, account_id, api_key_id, model, filters, graders,
     state, counts, finished_at, request_id)
   select 'run ' || n, at, account, 'k', 'm', '{}', '[]', 'done', '${counts}', at, 'r ' || n`,
  `insert into eval_results (eval_run_id, created_at, account_id, transaction_id, grader_index,
     grader) select 'run ' || n % 10, at, account, 't ' || n, 0, '{}'`,
  `insert into deletions (deletion_id, account_id, state, selectors_hash, requested_at, attempts,
     completed_at) select 'd ' || n, account, 'done', '', at, 1, at`,
  `insert into tombstones (deletion_id, account_id, tables, before, salt, selectors_hash)
   select 'd ' || n, account, '{}', at, '', ''`,
  `insert into background_calls (account_id, response_id, transaction_id, created_at, api_key_id,
     state, answer, request_id)
   select account, 'r ' || n, 't ' || n, at, 'k', 'completed', '{}', 'r ' || n`,
  `insert into export_jobs (request_id, account_id, place, format, tables, detail, snapshot, state,
     claim, has_file, created_at, expires_at)
   select 'e ' || n, account, 'bucket', 'csv', '{}', '{}', '', 'ready', 1, true, at,
     now() + interval '5 days'`,
];

const numbered = `from (select n, now() - n * interval '1 hour' as at,
  case when n % 10 > 0 then $1 else $1 + n / 10 end as account
  from generate_series(1, ${rows}) as n) as numbered`;

/** Two that have just ended, and 20 that wait. */
const waiting = [
  `update eval_runs set finished_at = now() where eval_run_id in ('run 1', 'run 10')`,
  `update deletions set completed_at = now() where deletion_id in ('d 1', 'd 10')`,
  `insert into eval_runs (eval_run_id, created_at, account_id, api_key_id, model, filters, graders,
     state, counts)
   select 'new ' || n, now(), $1, 'k', 'm', '{}', '[]', 'queued', '${counts}'
   from generate_series(1, 20) as n`,
  `insert into tombstones (deletion_id, account_id, tables, before, salt, selectors_hash)
   select 'new ' || n, $1, '{}', now(), '', '' from generate_series(1, 20) as n`,
  `insert into deletions (deletion_id, account_id, state, selectors, selectors_hash, requested_at)
   select 'new ' || n, $1, 'queued', '{}', '', now() from generate_series(1, 20) as n`,
];

function readsOn(database: Database, accountId: number) {
  const analytics = createAnalyticsStore(database);
  const evals = createEvals(database, analytics);
  const evalWork = createEvalWork(database, { workerId: "w/1", analytics });
  const deletions = storeOf(database, analytics);
  const few = accountId + 7;
  const createdAt = new Date(Date.now() - 5_000 * 3_600_000);
  return {
    looks: {
      "evaluations": () => evalWork.claim({ runs: [], accounts: [] }),
      "whether evaluations wait": () => evalWork.othersWait({ runs: [], accounts: [] }),
      "deletions": () => deletions.claim(),
      "figures of deletions": () => deletions.waiting(),
      "background calls": () => createBackgroundCalls(database, "w/1").claim(8, []),
      "exports": () => createExportJobs(database, "w/1").claim(),
    },
    lists: {
      "evaluations": () => evals.list(accountId, { limit: 51 }),
      "evaluations, a page in the middle": () =>
        evals.list(accountId, { limit: 51, after: { createdAt, evalRunId: "" } }),
      "evaluations of an account with few": () => evals.list(few, { limit: 51 }),
      "results": () => evals.results(accountId, "run 7", { limit: 51 }),
      "deletions": () => deletions.list(accountId, { limit: 51 }),
      "deletions, a page in the middle": () =>
        deletions.list(accountId, { limit: 51, after: { requestedAt: createdAt, deletionId: "" } }),
      "deletions of an account with few": () => deletions.list(few, { limit: 51 }),
    },
  };
}

eachDatabase(`of ${rows} evaluations and deletions few are read`, async (database) => {
  const accountId = await newAccount(database);
  for (const insert of inserts) await database.query(`${insert} ${numbered}`, [accountId]);
  if (database.kind === "embedded") await refreshStatistics(database);
  else await database.query("analyze");
  const counted = new CountedReads(database);
  const { looks, lists } = readsOn(counted.database, accountId);
  const found: string[] = [];
  const check = async (reads: Reads, most: number, when: string) => {
    for (const [name, read] of Object.entries(reads)) {
      counted.rows = counted.statements = 0;
      await read();
      assert.ok(counted.statements > 0, `${name}: nothing was counted`);
      if (counted.rows > most) found.push(`${name}, ${when}: ${counted.rows} rows`);
    }
  };
  await check(lists, 51, "listed");
  await check(looks, 0, "nothing waits");
  for (const statement of waiting) {
    await database.query(statement, statement.includes("$1") ? [accountId] : []);
  }
  // Each of those that wait, and the two; the one that is claimed is read again.
  await check(looks, 50, "some wait");
  assert.deepEqual(found, []);
}, { fresh: true });

eachDatabase("retention reads each result of an evaluation once", async (database) => {
  const accountId = await newAccount(database);
  for (const insert of inserts.slice(0, 2)) {
    await database.query(`${insert} ${numbered}`, [accountId]);
  }
  // Each interaction has two results, of which a step may end between.
  await database.query(
    `insert into eval_results select (jsonb_populate_record(r, '{"grader_index": 1}')).*
     from eval_results as r`,
  );
  if (database.kind === "embedded") await refreshStatistics(database);
  else await database.query("analyze");
  const counted = new CountedReads(database);
  const seen = new Set<string>();
  const analytics = {
    idsSince: (ids: readonly string[]) => {
      for (const id of ids) seen.add(id);
      return Promise.resolve(new Set(ids));
    },
  };
  assert.equal(await eraseResults({ main: counted.database, analytics }, new Date(), "rows"), 0);
  assert.equal(seen.size, rows);
  // A plan that sorts equal ids together reads a few of the next.
  assert.ok(counted.rows < 2.1 * rows, `${counted.rows} rows`);
}, { fresh: true });
