import { createAccounts } from "../src/keys/store/accounts.ts";
import type { Database } from "../src/database/database.ts";
import type { DashboardWorld } from "../tests/dashboard/world.ts";
import { interactionPages, otherPages, overviewPages, type Pages } from "./dashboard_pages.ts";
import { end, fill, total } from "./calls.ts";
import { benchPagesOf, shownMs, timePage } from "./pages_bench.ts";
import { fillPayloads } from "./payloads.ts";
import type { Figures } from "./figures.ts";
import type { BenchOptions } from "./options.ts";

const usualRuns = 100;

/**
 * Measures every page of the dashboard with a million calls and their texts, while calls come in.
 * The promise is 50 ms (issues 7 and 20). `--pages overview --stores postgres --rounds 10` runs a
 * part; texts, which take longest to write, are left out if no such page shows them.
 */
export async function benchDashboard(figures: Figures, options: BenchOptions): Promise<void> {
  const calls = options.rows ?? total;
  const isAsked = (name: string) => options.pages?.some((word) => name.includes(word)) ?? true;
  const pagesOf = (pages: Pages): Pages =>
    Object.fromEntries(Object.entries(pages).filter(([name]) => isAsked(name)));
  const [overview, interactions, others] = [
    pagesOf(overviewPages()),
    pagesOf(interactionPages(calls)),
    pagesOf(otherPages),
  ];
  const hasTexts = Object.keys(interactions).length > 0;
  const fillAll = async (database: Database) => {
    await fillAccount(database, calls);
    if (hasTexts) await fillPayloads(database, calls);
    if (database.kind === "postgres") await database.query("vacuum analyze", []);
  };
  await benchPagesOf(options.stores, fillAll, async (service) => {
    const runs = options.rounds ?? usualRuns;
    const parts = [overview, interactions, others].filter((one) => Object.keys(one).length > 0);
    const warm = [];
    for (const pages of parts) warm.push(await timePages(service.world, pages, runs));
    await service.world.stop();
    for (const [at, pages] of parts.entries()) {
      const rows = [["page", "p95", "median", "first", "CPU", "calls on it"]];
      for (const [nth, [name, path]] of Object.entries(pages).entries()) {
        const { p95, median, cpu, calls } = warm[at]![nth]!;
        rows.push([name, p95, median, shownMs(await service.firstLook(path)), cpu, String(calls)]);
      }
      const title = `${service.kind}, ${calls} calls: ${runs} requests of each page over HTTP, ` +
        "the first one of another service each";
      figures.add("dashboard", title, rows);
    }
  });
}

async function timePages(world: DashboardWorld, pages: Pages, runs: number) {
  const call = await callerOf(world);
  const browser = await world.owner();
  const rows = [];
  for (const path of Object.values(pages)) {
    const { text, ...times } = await timePage(browser, path, { runs, before: call });
    rows.push({ ...times, calls: text.match(/data-id=/g)?.length ?? 0 });
  }
  return rows;
}

/** Returns a function that makes a recorded call, so that no page can reuse cached results. */
async function callerOf(world: DashboardWorld): Promise<() => Promise<void>> {
  const { key } = await world.createKey();
  return async () => {
    const answer = await world.post("/chat/v1/chat/completions", {
      model: "vendor-b/gpt-4.1",
      user: "everybody",
      messages: [{ role: "user", content: "/// COHORT cohort 7\nHello" }],
    }, { authorization: `Bearer ${key}` });
    await answer.body?.cancel();
    if (answer.status !== 200) throw new Error(`a call was answered with ${answer.status}`);
  };
}

/** Fills the first account with calls, and outcomes, charges, refusals, deletions in proportion. */
export async function fillAccount(database: Database, calls = total, until = end): Promise<void> {
  const limits = { requestsPerMinute: 1_000_000, burst: 1_000_000 };
  await createAccounts(database).create({ name: "default", tier: "enterprise", ...limits });
  await fill(database, calls, until);
  for (const statement of beside(calls, sqlTime(until))) await database.query(statement, []);
}

const sqlTime = (at: number) => `timestamptz '${new Date(at).toISOString()}'`;

const beside = (calls: number, until: string) => [
  `insert into cohort_outcomes (account_id, cohort_id, type, label, value_nanos, api_key_id,
     request_id, request_hash, created_at)
   select 1, 'cohort ' || n % 50, case when n % 2 = 0 then 'orders' else 'revenue' end, null,
     1000000000, 'key 1', 'r' || n, 'h', ${until} - n * interval '75 seconds' * ${total / calls}
   from generate_series(1, ${calls / 10}) as n`,
  `insert into account_balances values (1, 1000000000000000, 0)`,
  `insert into ledger_entries (account_id, kind, amount_nanos, leased_nanos)
   select 1, 'grant', 1000000000000000, 0`,
  `insert into ledger_entries (account_id, kind, amount_nanos, leased_nanos, interaction_id)
   select 1, 'settle', -1000, 0, 'call ' || n from generate_series(1, ${calls * 0.3}) as n`,
  `insert into api_keys (id, account_id, name, prefix, hash, scopes, models, on_disconnect,
     translation_mode, cap_day_nanos, cap_month_nanos)
   select 'key ' || n, 1, 'key ' || n, 'dmt_' || n, 'h' || n, '{}', '{}', 'cancel', 'default',
     100000000000, case when n < 4 then 1000000000000 end
   from generate_series(0, 7) as n`,
  `insert into key_charges (transaction_id, api_key_id, created_at, charged_nanos)
   select transaction_id, api_key_id, created_at, cost_nanos from interactions
   where account_id = 1 and created_at > ${until} - interval '60 days' and api_key_id <> 'key rare'`,
  `insert into refusals (account_id, created_at, request_id, http_status, code, param, model,
     api_key_id, endpoint)
   select 1, ${until} - n * interval '26 seconds' * ${total / calls}, 'refused ' || n, 429,
     case when n % 50 = 0 then 'invalid_value' else 'rate_limit_exceeded' end, null,
     'model ' || (n / 139 + n % 3) % 20, 'key ' || (n / 139 + n % 2) % 8, '/chat/v1/chat/completions'
   from generate_series(1, ${calls / 10}) as n`,
  `insert into refusal_counts (account_id, created_at, is_call, code, api_key_id, model, refused)
   select account_id, date_trunc('hour', created_at, 'UTC'), true, code, api_key_id, model, count(*)
   from refusals group by 1, 2, 3, 4, 5, 6`,
  `insert into deletions (deletion_id, account_id, state, selectors_hash, requested_at, completed_at)
   select 'd' || n, 1, 'done', 'h', ${until} - n * interval '1 minute', ${until}
   from generate_series(1, ${calls / 50}) as n`,
  `insert into eval_runs (eval_run_id, created_at, account_id, api_key_id, model, filters, graders,
     state, counts, finished_at)
   select 'run-' || n, ${until} - n * interval '1 minute', 1, 'key 1',
     'vendor-b/gpt-4.1', '{}', '[]', 'done', '{"total":1,"done":1,"passed":1,"failed":0,' ||
     '"skipped":0,"errors":0,"cost_usd":"0.1","unpriced_calls":0}', ${until}
   from generate_series(1, ${calls / 50}) as n`,
  `insert into eval_results (eval_run_id, created_at, account_id, transaction_id, grader_index,
     grader, passed, score, detail)
   select 'run-' || n / 100, ${until} - n * interval '1 second', 1, found.transaction_id, 0,
     '{"type":"contains","text":"x"}', n % 2 = 0, 0.5, null
   from (select transaction_id, row_number() over () as n from interactions
     where account_id = 1 and created_at > ${until} - interval '20 days' limit ${
    calls / 10
  }) as found`,
  `insert into audit_log (account_id, at, person_id, actor, action, subject, detail)
   select 1, ${until} - n * interval '5 minutes', null, 'operator', 'api_key.changed', 'key ' || n, ''
   from generate_series(1, ${calls / 50}) as n`,
  `insert into budgets (id, account_id, scope, name, per, limit_nanos)
   select 'budget-' || n, 1, 'app', 'app ' || n, 'month', 1000000000000
   from generate_series(0, 11) as n`,
];
