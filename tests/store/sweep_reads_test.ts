/** What jobs forget each minute is found by an index: usually there is nothing. */
import assert from "@std/assert";
import { createSealer } from "../../src/keys/store/master_key_claim.ts";
import { createBudgetStore } from "../../src/budgets/store/budgets.ts";
import { sweepKeyCharges } from "../../src/credit/store/spend.ts";
import type { Database } from "../../src/database/database.ts";
import { refreshStatistics } from "../../src/database/table_statistics.ts";
import { sweepErased } from "../../src/erasure/store/tombstones.ts";
import { createExportJobs } from "../../src/exports/store/export_jobs.ts";
import { createReplays } from "../../src/idempotency/store/replays.ts";
import { sweepSignIns } from "../../src/people/store/sign_ins.ts";
import { createRefusalStore } from "../../src/refusals/store/refusals.ts";
import { createCachedAnswers } from "../../src/response_cache/store/cached_answers.ts";
import { createVirtualModelStore } from "../../src/routing/store/virtual_models.ts";
import { createDeliveries } from "../../src/webhooks/store/deliveries.ts";
import { CountedReads } from "../support/counted_reads.ts";
import { eachDatabase } from "../support/databases.ts";
import { newAccount } from "./samples.ts";

const rows = 20_000;

const later = "now() + interval '1 day'";

/** Inserts of rows that are not to be forgotten yet, of an account `$1` and for each text `n`. */
const inserts = [
  `insert into replays (key, account_id, fingerprint, claim_id, holder, until, status)
   select n, $1, '', '', '', ${later}, 200`,
  `insert into cached_answers (key, account_id, transaction_id, created_at, until, status, headers,
     body, streamed, vendor, model, translation_loss, bytes)
   select n, $1, n, now(), ${later}, 200, '{}', '', false, '', '', '{}', 1`,
  `insert into key_spend (api_key_id, day, charged_nanos) select n, date_trunc('day', now()), $1`,
  "insert into erased_calls (transaction_id) select n || $1::text",
  "insert into refunded_calls (transaction_id) select n || $1::text",
  `insert into refusals (account_id, created_at, request_id, http_status, code, model, api_key_id,
     endpoint) select $1, now(), n, 429, '', '', '', ''`,
  `insert into refusal_counts (account_id, created_at, is_call, code, api_key_id, model, refused)
   select $1, now(), true, n, '', '', 1`,
  "insert into virtual_models (account_id, name, definition) select $1, n, '{}'",
  `insert into budgets (id, account_id, scope, name, per, limit_nanos)
   select n, $1, 'user', n, 'day', 1`,
  "insert into budget_periods (budget_id, starts_at, spent_nanos) select n, now(), $1",
  `insert into invitations (id, account_id, email, role, token_hash, created_at, expires_at)
   select n, $1, n, 'member', n, now(), ${later}`,
  `insert into sign_in_states (state_hash, return_to, expires_at)
   select n, '/', ${later} + $1 * interval '1 second'`,
  `insert into export_jobs (request_id, account_id, place, format, tables, detail, snapshot, state,
     has_file, expires_at) select n, $1, 'bucket', 'csv', '{}', '{}', '', 'ready', true, ${later}`,
  `insert into webhooks (id, account_id, url, events, sealed, key_version)
   select n, $1, '', '{}', '', 1`,
  `insert into webhook_deliveries (id, webhook_id, event_key, type, data, at, state, next_at, ends_at)
   select n, n, n, '', '', now(), 'sent', now(), ${later} + $1 * interval '1 second'`,
];

function sweepsOf(database: Database): Readonly<Record<string, () => Promise<unknown>>> {
  const longAgo = new Date(Date.now() - 86_400_000);
  return {
    "answers": () => createReplays(database, { processId: "p" }).sweep(),
    "cached answers": () => createCachedAnswers(database).sweep(),
    "charges of keys": () => sweepKeyCharges(database, new Date()),
    "erased and refunded calls": () => sweepErased(database),
    "refused requests": () => createRefusalStore(database).sweep(longAgo),
    "removed models": () => createVirtualModelStore(database).forgetRemoved(60),
    "removed budgets": () => createBudgetStore(database).sweep(60, longAgo),
    "invitations and sign-ins": () => sweepSignIns(database, new Date()),
    "exports": () => createExportJobs(database, "w/1").forget(),
    "files of exports": () => createExportJobs(database, "w/1").leftOver(),
    "sent events": () => createDeliveries(database, { sealer, workerId: "w" }).sweep(new Date()),
  };
}

const sealer = createSealer(() => Promise.reject(new Error("a sweep unseals nothing")));

eachDatabase("a job that has nothing to forget reads hardly any rows", async (database) => {
  const accountId = await newAccount(database);
  for (const insert of inserts) {
    await database.query(
      `${insert} from (select g::text as n from generate_series(1, ${rows}) as g) as numbers`,
      [accountId],
    );
  }
  if (database.kind === "embedded") await refreshStatistics(database);
  else await database.query("analyze");
  const counted = new CountedReads(database);
  const found: string[] = [];
  for (const [name, sweep] of Object.entries(sweepsOf(counted.database))) {
    counted.rows = counted.statements = 0;
    await sweep();
    assert.ok(counted.statements > 0, `${name}: nothing was counted`);
    if (counted.rows > 10) found.push(`${name}: ${counted.rows} rows`);
  }
  assert.deepEqual(found, []);
}, { fresh: true });
