import { startIdentityProvider } from "../demo/simulator/identity_provider.ts";
import { createAccounts } from "../src/store/accounts.ts";
import type { Database } from "../src/store/database.ts";
import { openEmbedded } from "../src/store/embedded.ts";
import { migrate } from "../src/store/migrate.ts";
import { openPostgres } from "../src/store/postgres.ts";
import { BrowserClient } from "../tests/support/browser_client.ts";
import { productMigrations } from "../tests/support/databases.ts";
import { postgresAvailability, startPostgres } from "../tests/support/postgres.ts";
import { type Environment, startTestService } from "../tests/support/service.ts";
import { fill } from "./list.ts";
import { p95, printTable } from "./table.ts";

const runs = 40;

/** Pages of the dashboard over a million calls, on both databases; the promise is 50 ms (issue 7). */
export async function benchPages(): Promise<void> {
  const { available, reason } = postgresAvailability();
  if (available) {
    const created = await (await startPostgres()).createDatabase();
    const database = await openPostgres(created.url);
    await prepare(database);
    await database.close();
    await measure("PostgreSQL", { DATABASE_URL: created.url });
    await created.drop();
  } else {
    console.log(`PostgreSQL skipped: ${reason}`);
  }
  const dataDir = await Deno.makeTempDir({ prefix: "bench-" });
  const database = await openEmbedded(`${dataDir}/database`);
  await prepare(database);
  await database.close();
  await measure("embedded", { DATA_DIR: dataDir });
  await Deno.remove(dataDir, { recursive: true });
}

/** Calls, outcomes, charges and deletions of the first account. */
async function prepare(database: Database): Promise<void> {
  await migrate(database, await productMigrations());
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

async function measure(kind: string, env: Environment): Promise<void> {
  const provider = startIdentityProvider();
  const service = await startTestService({
    env: {
      OAUTH_ISSUER: provider.issuer,
      OAUTH_CLIENT_ID: provider.clientId,
      OAUTH_CLIENT_SECRET: provider.clientSecret,
      ...env,
    },
  });
  const browser = new BrowserClient(service.baseUrl);
  const token = /claim\?token=(\S+)/.exec(service.greeting.join("\n"))?.[1];
  await browser.follow(`/dashboard/sign-in/start?claim=${token}`);
  const rows = [["page, 1,000,000 calls", "p95", "median"]];
  for (const [name, path] of Object.entries(pages)) {
    const times = await timesOf(browser, path);
    const median = times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]!;
    rows.push([name, `${p95(times).toFixed(1)} ms`, `${median.toFixed(1)} ms`]);
  }
  printTable(`${kind}: ${runs} requests of each page over HTTP`, rows);
  await service.stop();
  await provider.close();
}

async function timesOf(browser: BrowserClient, path: string): Promise<number[]> {
  const times: number[] = [];
  for (let run = 0; run < runs + 3; run++) {
    const began = performance.now();
    const { status } = await browser.get(path);
    if (status !== 200) throw new Error(`${path} answered ${status}`);
    // The first ones read the disk.
    if (run >= 3) times.push(performance.now() - began);
  }
  return times;
}
