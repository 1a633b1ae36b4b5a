import { createAccounts } from "../src/store/accounts.ts";
import type { Database } from "../src/store/database.ts";
import { fill } from "./list.ts";
import { benchPagesOf, timePage } from "./pages_bench.ts";
import { printTable } from "./table.ts";

const runs = 40;

/** The other pages of the dashboard over a million calls; the promise is 50 ms (issue 7). */
export async function benchPages(): Promise<void> {
  await benchPagesOf(prepare, async (kind, browser) => {
    const rows = [["page, 1,000,000 calls", "p95", "median"]];
    for (const [name, path] of Object.entries(pages)) {
      const { p95, median } = await timePage(browser, path, runs);
      rows.push([name, p95, median]);
    }
    printTable(`${kind}: ${runs} requests of each page over HTTP`, rows);
  });
}

/** Calls, outcomes, charges and deletions of the first account. */
async function prepare(database: Database): Promise<void> {
  const limits = { requestsPerMinute: 1000, burst: 1000 };
  await createAccounts(database).create({ name: "default", tier: "enterprise", ...limits });
  await fill(database);
  for (const statement of more) await database.query(statement, []);
  if (database.kind === "postgres") await database.query("analyze", []);
}

const more = [
  `insert into cohort_outcomes (account_id, cohort_id, type, label, value_nanos, api_key_id,
     request_id, request_hash, created_at)
   select 1, 'cohort ' || n % 50, case when n % 2 = 0 then 'orders' else 'revenue' end, null,
     1000000000, 'key 1', 'r' || n, 'h', timestamptz '2026-11-21' - n * interval '75 seconds'
   from generate_series(1, 100000) as n`,
  `insert into ledger_entries (account_id, kind, amount_nanos, leased_nanos, interaction_id)
   select 1, 'settle', -1000, 0, 'call ' || n from generate_series(1, 300000) as n`,
  `insert into deletions (deletion_id, account_id, state, selectors_hash, requested_at, completed_at)
   select 'd' || n, 1, 'done', 'h', timestamptz '2026-11-21' - n * interval '1 minute',
     timestamptz '2026-11-21' from generate_series(1, 20000) as n`,
  `insert into eval_runs (eval_run_id, created_at, account_id, api_key_id, model, filters, graders,
     state, counts)
   select gen_random_uuid(), timestamptz '2026-11-21' - n * interval '1 minute', 1, 'key 1',
     'vendor-b/gpt-4.1', '{}', '[]', 'done', '{"total":1,"done":1,"passed":1,"failed":0,' ||
     '"skipped":0,"errors":0,"cost_usd":"0.1","unpriced_calls":0}'
   from generate_series(1, 20000) as n`,
];

const pages: Readonly<Record<string, string>> = {
  "API keys": "/dashboard/keys",
  "cohorts": "/dashboard/cohorts",
  "cohorts, from a name": "/dashboard/cohorts?from=cohort%205",
  "cohort, 30 days": "/dashboard/cohorts/show?id=cohort+7",
  "cohort, all time": "/dashboard/cohorts/show?id=cohort+7&span=all",
  "two cohorts, all time": "/dashboard/cohorts/show?id=cohort+7&with=cohort+8&span=all",
  "evaluations": "/dashboard/evals",
  "new evaluation": "/dashboard/evals/new",
  "exports": "/dashboard/exports",
  "deletions": "/dashboard/deletion",
  "limits and credit": "/dashboard/settings/limits",
  "retention": "/dashboard/settings/retention",
  "audit log": "/dashboard/settings/audit",
};
