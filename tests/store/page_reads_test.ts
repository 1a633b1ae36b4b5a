/**
 * What the pages of the dashboard read of a store doesn't grow with it. Rows that plans have read are
 * counted: no machine is too slow for that.
 */
import assert from "@std/assert";
import { idOf } from "../../bench/calls.ts";
import { fillAccount } from "../../bench/dashboard.ts";
import { createBudgetStore } from "../../src/budgets/store/budgets.ts";
import { createAuditLog } from "../../src/audit/store/audit.ts";
import { createCohorts } from "../../src/cohorts/store/cohorts.ts";
import { createReadSpend } from "../../src/credit/store/spend.ts";
import { createCreditHistory, readCreditLevels } from "../../src/credit/store/credit_history.ts";
import type { Database } from "../../src/database/database.ts";
import { refreshStatistics } from "../../src/database/table_statistics.ts";
import { carrySpend } from "../../src/credit/store/spend.ts";
import { createSealer } from "../../src/keys/store/master_key_claim.ts";
import { createVendorKeys } from "../../src/keys/store/vendor_keys.ts";
import { createVirtualModelStore } from "../../src/routing/store/virtual_models.ts";
import { createWebhookStore } from "../../src/webhooks/store/webhooks.ts";
import { createKeyService } from "../../src/keys/store/key_service.ts";
import { createPeople } from "../../src/people/store/people.ts";
import {
  createAnalyticsReads,
  createAnalyticsStore,
} from "../../src/records/store/analytics_store.ts";
import { createLabelRows } from "../../src/records/store/label_days.ts";
import { createRecords } from "../../src/records/store/records.ts";
import { createRefusalStore } from "../../src/refusals/store/refusals.ts";
import { LabelUsage } from "../../src/usage/label_usage.ts";
import { createLabelSumsJob } from "../../src/usage/label_sums.ts";
import { createLabelSums, createLabelSumWriter } from "../../src/usage/store/label_sums.ts";
import { createUsageSums } from "../../src/usage/store/usage_sums.ts";
import { CountedReads } from "../support/counted_reads.ts";
import { eachDatabase } from "../support/databases.ts";
import { recountUsage } from "../support/recount_usage.ts";
import { interaction } from "./samples.ts";

const calls = 20_000;
const day = 86_400_000;
/** Behind the first day of a month, whose partition has a day's calls alone: the hardest for plans. */
const end = Date.UTC(2026, 11, 2);
const accountId = 1;
const list = { accountId, order: "newest", limit: 50 } as const;
const span = { accountId, span: "day", from: new Date(end - 30 * day), to: new Date(end) } as const;

/** What a page asks the store for, and how many rows that may read at most. */
type Reads = Readonly<Record<string, readonly [most: number, read: (on: Stores) => unknown]>>;

type Stores = ReturnType<typeof storesOn>;

function storesOn(database: Database) {
  const analytics = createAnalyticsReads(database);
  const usage = createUsageSums(database);
  const newLabels = () =>
    new LabelUsage({
      labelSums: createLabelSums(database),
      rows: createLabelRows(database),
      storedSteps: usage.storedSteps,
    });
  return {
    analytics,
    usage,
    newLabels,
    labels: newLabels(),
    keys: createKeyService(database, { analytics: createAnalyticsStore(database), carrySpend }),
    spend: createReadSpend(database),
    history: createCreditHistory(database),
    creditLevels: (accountIds: number[]) => readCreditLevels(database, accountIds),
    cohorts: createCohorts(database, analytics),
    refusals: createRefusalStore(database),
    audit: createAuditLog(database, () => new Date(end)),
    budgets: createBudgetStore(database),
    models: createVirtualModelStore(database),
    webhooks: createWebhookStore(database, { sealer, workerId: "w" }),
    vendorKeys: createVendorKeys(database, sealed),
    people: createPeople(database, { now: () => new Date(end) }),
  };
}

const sealed = () => Promise.reject(new Error("a page unseals nothing"));
const sealer = createSealer(sealed);

/** A page of 50, and a row that shows that there are more; one more from each month. */
const page = 60;

/** The calls of the newest month: a plan reads them all, as that is cheaper. */
const dayOfCalls = Math.ceil(calls / 90) + 1;

function filtered(filters: Record<string, string[]>): readonly [number, (on: Stores) => unknown] {
  return [page + dayOfCalls, ({ analytics }) => analytics.page({ ...list, filters })];
}

/** An export without payloads: a window looks up the calls of each user, then a page reads them. */
function exported(user_id: string[]): readonly [number, (on: Stores) => unknown] {
  return [2 * page + 2 * dayOfCalls, async ({ analytics }) => {
    const query = { accountId, filters: { user_id }, withoutPayloads: true };
    for await (const row of analytics.read(query)) assert.ok(user_id.includes(row.userId!));
  }];
}

const onceMore = 160 + dayOfCalls;

function many(name: string, length: number): string[] {
  return Array.from({ length }, (_, n) => `${name}${n}`);
}

/** A member joined each minute. */
async function fillMembers(database: Database, members: number): Promise<void> {
  await database.query(
    `with people as (
       insert into people (id, issuer, subject, name, created_at, signed_in_at)
       select md5(n::text), 'issuer', n, n, $1::timestamptz - n * interval '1 minute', $1
       from generate_series(1, $2::int) as n returning id, created_at
     ) insert into memberships (account_id, person_id, role, created_at)
     select $3, id, 'member', created_at from people`,
    [new Date(end), members, accountId],
  );
}

/** An invitation was made each minute, all of them in the last week. */
async function fillInvitations(database: Database, invitations: number): Promise<void> {
  await database.query(
    `insert into invitations (id, account_id, email, role, token_hash, created_at, expires_at)
     select md5(n::text), $3, n || '@example.org', 'member', n, made, made + interval '7 days'
     from generate_series(1, $2::int) as n,
       lateral (select $1::timestamptz - n * interval '1 minute' as made) as at`,
    [new Date(end), invitations, accountId],
  );
}

/** Each user has a budget, and has spent some of it. */
async function fillBudgets(database: Database, budgets: number): Promise<void> {
  await database.query(
    `with made as (
       insert into budgets (id, account_id, scope, name, per, limit_nanos)
       select md5(n::text), $2, 'user', 'user ' || n, 'day', 10 from generate_series(1, $1::int) as n
       returning id
     ) insert into budget_periods (budget_id, starts_at, spent_nanos) select id, $3, 1 from made`,
    [budgets, accountId, new Date(end - day)],
  );
}

/** So many further accounts, each with virtual models, webhooks and vendor keys. */
async function fillAccounts(database: Database, accounts: number): Promise<void> {
  const each = (count: number) =>
    `from accounts a cross join generate_series(1, ${count}) as n where a.name like 'other %'`;
  const statements = [
    `insert into accounts (name, tier, requests_per_minute, burst)
     select 'other ' || n, 'free', 1, 1 from generate_series(1, ${accounts}) as n`,
    `insert into virtual_models (account_id, name, definition)
     select 1, 'm ' || n, '{}' from generate_series(1, 500) as n
     union all select a.id, 'm ' || n, '{}' ${each(20)}`,
    `insert into webhooks (id, account_id, url, events, sealed, key_version)
     select md5(a.id || ' ' || n), a.id, '', '{}', '', 1 ${each(20)}`,
    `insert into vendor_keys (account_id, vendor, sealed, key_version, last_four)
     select a.id, 'vendor-' || n, '', 1, '' ${each(20)}`,
  ];
  for (const statement of statements) await database.query(statement);
}

const now = new Date(end - 1);

const unused = ["a", "key 2b", "key 4b", "z"];
/** Months with calls, and the next ones. */
const months = 8;

const rareOfFrequent = { user_id: ["everybody"], app: ["app of two"] };

const reads: Reads = {
  "list": [page, ({ analytics }) => analytics.page(list)],
  "list, page 500": [
    page,
    ({ analytics }) =>
      analytics.page({
        ...list,
        after: { createdAt: new Date(end - 56 * day), transactionId: "8" },
      }),
  ],
  "list by status": filtered({ status: ["failed"] }),
  "list by vendor": filtered({ vendor: ["vendor-c"] }),
  "list by model": filtered({ model: ["model 3"] }),
  "list by two models": [
    2 * page,
    ({ analytics }) => analytics.page({ ...list, filters: { model: ["model 3", "model 4"] } }),
  ],
  "list by another vendor's model": [
    page,
    ({ analytics }) =>
      analytics.page({
        ...list,
        start: new Date(end - 90 * day),
        filters: { model: ["model 0", "vendor-z/model 0"] },
        modelNames: ["vendor-z/model 0"],
      }),
  ],
  "list by app": filtered({ app: ["app 3"] }),
  "list by flow": filtered({ flow: ["flow 2"] }),
  "list by cohort": filtered({ cohort_id: ["cohort 7"] }),
  "list by key": filtered({ api_key_id: ["key 3"] }),
  "list by user": filtered({ user_id: ["everybody"] }),
  "list by unknown user": filtered({ user_id: ["nobody"] }),
  "list by many users": filtered({ user_id: many("user 7", 30) }),
  "list by many unknown users": filtered({ user_id: many("nobody ", 300) }),
  "list by many unknown sessions": filtered({ session_id: many("nowhere ", 30) }),
  // The user's 2,000 calls are read once at most, to check the newest of them, and the app's two.
  "list by frequent user and rare app": [
    2_000 + 6,
    ({ analytics }) => analytics.page({ ...list, filters: rareOfFrequent }),
  ],
  "list by session": filtered({ session_id: ["session 424"] }),
  "list by request id": filtered({ request_id: ["request 7777"] }),
  "list by request ids and user": filtered({
    ...{ request_id: ["request 7770", "request 7780", "nowhere"], user_id: ["everybody"] },
  }),
  "list by unknown request id": filtered({ request_id: ["nowhere"] }),
  "total of a list": [
    110,
    ({ analytics }) =>
      analytics.totals({ ...list, limit: 100, filters: { user_id: ["everybody"] } }),
  ],
  // Each window looks up some calls of each.
  "total of a list by many users": [
    page + dayOfCalls,
    ({ analytics }) =>
      analytics.totals({ ...list, limit: 5_000, filters: { user_id: many("user 7", 300) } }),
  ],
  // A thousand calls of each would be nearly all.
  "total of a list by frequent models": [
    10_000,
    ({ analytics }) =>
      analytics.totals({ ...list, limit: 1_000, filters: { model: many("model ", 30) } }),
  ],
  "a long page by many users": [
    page + dayOfCalls,
    ({ analytics }) =>
      analytics.page({ ...list, limit: 1_000, filters: { user_id: many("user 7", 300) } }),
  ],
  "export by many users": exported(many("user 7", 300)),
  "export by many unknown users": exported(many("nobody ", 300)),
  "count by many users": [
    2 * page + 2 * dayOfCalls,
    ({ analytics }) => analytics.count({ accountId, filters: { user_id: many("user 7", 300) } }),
  ],
  "sample by many users": [
    2 * page + 2 * dayOfCalls,
    ({ analytics }) =>
      analytics.sample({
        ...{ accountId, order: "newest", limit: 20 },
        filters: { user_id: many("user 7", 300) },
      }),
  ],
  "a call": [4, ({ analytics }) => analytics.find(accountId, idOf(0, calls, end), 1000)],
  "a session": [
    70,
    ({ analytics }) => analytics.sessionCalls(accountId, "session long", 60),
  ],
  "texts of a session's calls": [
    2 * 40,
    ({ analytics }) =>
      analytics.texts(accountId, Array.from({ length: 20 }, (_, n) => idOf(n, calls, end)), 1000),
  ],
  // Rows of sums: a day has at most 146 models here, whatever the number of calls.
  "overview by model": [
    30 * 150,
    ({ usage }) => usage.values(span, "model", 10),
  ],
  "overview by key": [900, ({ usage }) => usage.values(span, "api_key", 10)],
  // Each of the sums of up to nine keys a day once.
  "file by key": [30 * 9 + 30, ({ usage }) => usage.values(span, "api_key", 100_000)],
  "overview, charts": [
    200,
    ({ usage }) => usage.steps({ ...span, from: new Date(end - 60 * day) }),
  ],
  "overview by user, once more": [onceMore, ({ labels }) => labels.values(span, "user", 10)],
  // Days that are over are kept; of the newest the calls are read, some two hundred here.
  "overview by user, the first look after a start": [
    900,
    ({ newLabels }) => newLabels().values(span, "user", 10),
  ],
  "overview by flow, once more": [onceMore, ({ labels }) => labels.values(span, "flow", 10)],
  "API keys": [40, ({ keys }) => keys.list(accountId)],
  // Plans that go by time until they find one read the month in which all calls are of one key.
  "last uses of unused keys": [
    4 * months,
    ({ analytics }) => analytics.lastUses(accountId, unused),
  ],
  "last calls of unused cohorts": [
    4 * months,
    ({ analytics }) => analytics.cohortCosts(accountId, unused, { since: null, most: 100 }),
  ],
  "an unused cohort": [
    2 * months,
    ({ cohorts }) => cohorts.readLatest(accountId, ["a"], { since: null, most: 1_000 }),
  ],
  // Days of two months of eight keys.
  "what keys have spent": [
    8 * 62,
    ({ spend }) => spend(Array.from({ length: 8 }, (_, n) => `key ${n}`), new Date(end - day)),
  ],
  "cohorts": [
    20 * 2 * 100 + 500,
    ({ cohorts }) =>
      cohorts.list(accountId, { from: "", limit: 20, since: new Date(end - 30 * day), most: 100 }),
  ],
  "a cohort": [
    400,
    ({ cohorts }) => cohorts.readLatest(accountId, ["cohort 7"], { since: null, most: 150 }),
  ],
  "refused requests": [
    page,
    ({ refusals }) => refusals.list({ accountId, from: new Date(0), to: new Date(end), limit: 51 }),
  ],
  "a refused request": [
    2,
    ({ refusals }) =>
      refusals.list({
        ...{ accountId, from: new Date(0), to: new Date(end), limit: 51, requestId: "refused 77" },
      }),
  ],
  "audit log": [page, ({ audit }) => audit.list(accountId, { before: null, limit: 51 })],
  "people": [2 * page, ({ people }) => people.list(accountId, { limit: 51 })],
  "people, page 30": [
    2 * page,
    ({ people }) =>
      people.list(accountId, {
        after: { createdAt: new Date(end - 8_500 * 60_000), person: { id: "8" } },
        limit: 51,
      }),
  ],
  "invitations": [page, ({ people }) => people.invitations(accountId, now, { limit: 51 })],
  "invitations, page 30": [
    page,
    ({ people }) =>
      people.invitations(accountId, now, {
        after: { createdAt: new Date(end - 8_500 * 60_000), id: "8" },
        limit: 51,
      }),
  ],
  // Each with the sum of its period.
  "budgets": [2 * page, ({ budgets }) => budgets.list({ accountId, now, limit: 51 })],
  "budgets, page 30": [
    2 * page,
    ({ budgets }) => {
      const after = { accountId, scope: { kind: "user", name: "user 5" }, per: "day" } as const;
      return budgets.list({ accountId, now, after, limit: 51 });
    },
  ],
  "the budget on a user": [
    2,
    ({ budgets }) =>
      budgets.list({ accountId, now, on: { scope: { kind: "user", name: "user 5" }, per: "day" } }),
  ],
  "virtual models": [page, ({ models }) => models.list(undefined, { limit: 51 })],
  "virtual models, a page in the middle": [
    page,
    ({ models }) => models.list(undefined, { after: { accountId, name: "m 5" }, limit: 51 }),
  ],
  // An account has at most 50, here all are of one. Each with its waiting events, of which there are none.
  "webhooks, a page in the middle": [
    3 * page,
    ({ webhooks }) => webhooks.list(undefined, { after: { accountId: 120, name: "" }, limit: 51 }),
  ],
  "vendor keys, a page in the middle": [
    page,
    ({ vendorKeys }) =>
      vendorKeys.list(undefined, { after: { accountId: 120, name: "" }, limit: 51 }),
  ],
  "a budget": [2, ({ budgets }) => budgets.list({ accountId, now, id: "no budget" })],
  "credit": [3 * 20 + 10, ({ history }) => history.latestOfEachKind(accountId, 20)],
  "file of credit, a page": [30, ({ history }) => history.latest(accountId, 20)],
  "balance and last grant, for webhooks": [3, ({ creditLevels }) => creditLevels([accountId])],
};

eachDatabase(`pages read a bounded number of ${calls} calls`, async (database) => {
  await fillAccount(database, calls, end);
  const ofOneKey = { apiKeyId: crypto.randomUUID(), cohortId: "cohort 7" };
  await createRecords(database).insert(Array.from({ length: 1_000 }, (_, n) => {
    const createdAt = new Date(end - 200 * day + n * 60_000);
    return interaction(accountId, `old ${n}`, { ...ofOneKey, createdAt });
  }));
  await recountUsage(database);
  // A repricing since the last grant.
  await database.query(
    `insert into ledger_entries (account_id, kind, amount_nanos, leased_nanos, interaction_id)
     select account_id, 'adjust', 1, 0, transaction_id from interactions
     where account_id = $1 limit 2000`,
    [accountId],
  );
  await fillMembers(database, 10_000);
  await fillInvitations(database, 10_000);
  await fillBudgets(database, 10_000);
  await fillAccounts(database, 400);
  await database.query(
    `update interactions set app = 'app of two' where transaction_id in (
       select transaction_id from interactions where account_id = $1 and user_id = 'everybody'
       order by created_at limit 2)`,
    [accountId],
  );
  if (database.kind === "embedded") await refreshStatistics(database);
  else await database.query("analyze");
  const counted = new CountedReads(database);
  const stores = storesOn(counted.database);
  assert.ok(await counted.rowsOf("select count(*) from interactions", []) >= calls);
  const keeper = createLabelSumWriter(database, createLabelRows);
  await createLabelSumsJob({ keeper, now: () => new Date(end - 1) })();
  // Sums by label are read once; from then on as many calls as came in.
  for (const label of ["user", "flow"] as const) await stores.labels.values(span, label, 10);
  await createRecords(database).insert([
    interaction(accountId, "new", { createdAt: new Date(end - 1), userId: "new", flow: "new" }),
  ]);
  const found: string[] = [];
  for (const [name, [most, read]] of Object.entries(reads)) {
    counted.rows = counted.statements = 0;
    await read(stores);
    assert.ok(counted.statements > 0, `${name}: nothing was counted`);
    if (counted.rows > most) found.push(`${name}: ${counted.rows} rows, of ${most} at most`);
  }
  assert.deepEqual(found, []);
}, { fresh: true });
