import { createAccounts } from "../src/keys/store/accounts.ts";
import type { Database } from "../src/database/database.ts";
import type { BrowserClient } from "../tests/support/browser_client.ts";
import { interactionPages, otherPages, overviewPages, type Pages } from "./dashboard_pages.ts";
import { fill, total } from "./calls.ts";
import { benchPagesOf, timePage } from "./pages_bench.ts";
import { fillPayloads } from "./payloads.ts";
import type { Figures } from "./figures.ts";

const runs = 100;

/**
 * Every page of the dashboard with a million calls that say something; the promise is 50 ms
 * (issue 7).
 */
export async function benchDashboard(figures: Figures): Promise<void> {
  const all = [overviewPages(), interactionPages(), otherPages];
  await benchPagesOf(fillAll, async (kind, browser) => {
    // A process that has just started compiles what it runs; that is of the start, not of a page.
    for (const path of all.flatMap((pages) => Object.values(pages))) await browser.get(path);
    for (const pages of all) await time(figures, kind, browser, pages);
  });
}

async function time(
  figures: Figures,
  kind: string,
  browser: BrowserClient,
  pages: Pages,
): Promise<void> {
  const rows = [[`a page, ${total} calls`, "p95", "median", "calls on it"]];
  for (const [name, path] of Object.entries(pages)) {
    const { p95, median, text } = await timePage(browser, path, runs);
    rows.push([name, p95, median, String(text.match(/data-id=/g)?.length ?? 0)]);
  }
  figures.add("dashboard", `${kind}: ${runs} requests of each page over HTTP`, rows);
}

/** Calls, outcomes, charges and deletions of the first account. */
async function fillAll(database: Database): Promise<void> {
  const limits = { requestsPerMinute: 1000, burst: 1000 };
  await createAccounts(database).create({ name: "default", tier: "enterprise", ...limits });
  await fill(database);
  await fillPayloads(database);
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
