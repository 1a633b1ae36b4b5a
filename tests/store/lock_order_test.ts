/** Acts that come at once take their rows in one order: none of them fails for a deadlock. */
import assert from "@std/assert";
import { createApiKeys } from "../../src/keys/store/api_keys.ts";
import { createKeyService } from "../../src/keys/store/key_service.ts";
import { createCohorts } from "../../src/cohorts/store/cohorts.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { createPeople } from "../../src/people/store/people.ts";
import { createSessions } from "../../src/people/store/sessions.ts";
import { createSignIns } from "../../src/people/store/sign_ins.ts";
import { Secret } from "../../src/base/secret.ts";
import { createBudgetStore } from "../../src/budgets/store/budgets.ts";
import type { LeaseTaken } from "../../src/credit/ledger.ts";
import { createLedger } from "../../src/credit/store/ledger.ts";
import { sweepKeyCharges } from "../../src/credit/store/spend.ts";
import type { Database } from "../../src/database/database.ts";
import { createReplays } from "../../src/idempotency/store/replays.ts";
import { createRecords } from "../../src/records/store/records.ts";
import { enqueueEvents } from "../../src/webhooks/store/enqueue.ts";
import { createWebhookStore } from "../../src/webhooks/store/webhooks.ts";
import { postBudgetCharges } from "../../src/budgets/store/budget_charges.ts";
import { createRepricing } from "../../src/repricing/store/repricing.ts";
import type { SettledCall } from "../../src/shared/interaction.ts";
import { createLabelSumWriter } from "../../src/usage/store/label_sums.ts";
import { unlinkOutcomes } from "../../src/erasure/store/erase_outcomes.ts";
import { createCachedAnswers } from "../../src/response_cache/store/cached_answers.ts";
import { request, storeOf } from "./erasing.ts";
import { createMigrated, onPostgres } from "../support/databases.ts";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { startInTurn } from "../support/lock_queue.ts";
import { collect, interaction, newAccount } from "./samples.ts";

const noon = new Date("2026-11-21T12:00:00Z");

/** An account with an owner, a member who made a key, and an invitation. */
async function household(database: Database) {
  const accountId = await newAccount(database);
  const context = { now: noon, allowedDomains: ["example.com"], hasAgreed: true };
  const signIns = createSignIns(database);
  const admit = (name: string, invitationHash: string | null = null) =>
    signIns.admit(
      { issuer: "i", subject: name, email: `${name}@example.com`, name },
      { claimHash: null, invitationHash },
      { ...context, newPersonId: name },
    );
  await admit("ann");
  await admit("bob");
  const audit = {
    ...{ accountId, at: noon, actor: { personId: null, name: "test" }, action: "key.revoked" },
    ...{ subject: "s", detail: "" },
  } as const;
  const key = {
    ...{ id: "key", accountId, name: "key", prefix: "p", hash: "h", scopes: ["chat"], models: [] },
    ...{ onDisconnect: "drain", translationMode: "default", expiresAt: null } as const,
    ...{ capDayNanos: null, capMonthNanos: null },
  };
  const keys = createKeyService(database, {
    analytics: createAnalyticsStore(database),
    carrySpend: () => Promise.resolve(),
  });
  await keys.create(key, { environment: "", madeBy: "bob" });
  const invitation = {
    ...{ id: "invitation", email: "cy@example.com", role: "member", tokenHash: "t" } as const,
    ...{ createdAt: noon, expiresAt: new Date(noon.getTime() + 1000) },
  };
  const people = createPeople(database, { now: () => noon });
  await people.invite(accountId, invitation);
  return { accountId, admit, audit, keys, people };
}

const heldAccount = "select from accounts for update";

onPostgres("a member is removed while a key of theirs is revoked", async (database) => {
  const { accountId, audit, keys, people } = await household(database);
  const [removed] = await startInTurn(
    database,
    heldAccount,
    () => people.remove(accountId, "bob", () => audit, () => audit),
    () => keys.revoke(accountId, "key", audit),
  );
  assert.ok(typeof removed === "object" && removed !== null && "id" in removed);
  assert.deepEqual(
    await createApiKeys(database).findByHash("h").then((one) => !!one?.key.revokedAt),
    true,
  );
});

onPostgres("a member is removed while they sign in", async (database) => {
  const { accountId, people } = await household(database);
  const sessions = createSessions(database);
  const session = { tokenHash: "s", personId: "bob", accountId, now: noon };
  await startInTurn(
    database,
    heldAccount,
    () => people.remove(accountId, "bob"),
    () => sessions.start(session, undefined),
  );
  assert.deepEqual(await people.list(accountId).then((all) => all.map(({ person }) => person.id)), [
    "ann",
  ]);
  assert.equal(await sessions.find("s", noon), undefined);
});

onPostgres("who signs in behind their removal has no session", async (database) => {
  const { accountId, people } = await household(database);
  const sessions = createSessions(database);
  // One that has ended, which the new one would sweep; and one of an account that they left.
  await database.query(
    `insert into dashboard_sessions
       (token_hash, person_id, account_id, created_at, seen_at, expires_at)
     values ('ended', 'bob', $1, 'epoch', 'epoch', 'epoch'),
       ('elsewhere', 'bob', $2, 'epoch', $3, 'infinity')`,
    [accountId, await newAccount(database, "other"), noon],
  );
  await startInTurn(
    database,
    "select from people where id = 'bob' for update",
    () => people.remove(accountId, "bob"),
    () => sessions.start({ tokenHash: "s", personId: "bob", accountId, now: noon }, undefined),
  );
  assert.deepEqual(await database.query("select from dashboard_sessions"), []);
});

onPostgres("somebody is removed while another signs in to the same browser", async (database) => {
  const { accountId, people } = await household(database);
  const sessions = createSessions(database);
  // In the order in which a removal takes them; the last one has ended.
  await database.query(
    `insert into dashboard_sessions
       (token_hash, person_id, account_id, created_at, seen_at, expires_at)
     select hash, 'bob', $1::bigint, 'epoch', $2::timestamptz, until
     from unnest('{theirs,held,ended}'::text[], '{infinity,infinity,epoch}'::timestamptz[])
       as s (hash, until)`,
    [accountId, noon],
  );
  await startInTurn(
    database,
    "select from dashboard_sessions where token_hash = 'held' for update",
    () => people.remove(accountId, "bob"),
    () => sessions.start({ tokenHash: "new", personId: "ann", accountId, now: noon }, "theirs"),
  );
  const left = await database.query("select token_hash as hash from dashboard_sessions");
  assert.deepEqual(left.map(({ hash }) => hash), ["new"]);
});

onPostgres("an invitation is accepted while it is withdrawn", async (database) => {
  const { accountId, admit, audit, people } = await household(database);
  const [admission, withdrawn] = await startInTurn(
    database,
    heldAccount,
    () => admit("cy", "t"),
    () => people.withdraw(accountId, "invitation", () => audit),
  );
  assert.deepEqual([admission, withdrawn], [{ kind: "invitation_void" }, "cy@example.com"]);
});

onPostgres("two posts have the same outcomes in another order", async (database) => {
  const accountId = await newAccount(database);
  const cohorts = createCohorts(database, createAnalyticsStore(database));
  const post = (...ids: string[]) =>
    cohorts.post({
      ...{ accountId, apiKeyId: "key", cohortId: "c", requestId: crypto.randomUUID() },
      items: ids.map((itemId) => ({
        ...{ type: "clicks", label: null, valueNanos: 1n, itemId },
        ...{ transactionId: null, sessionId: null },
      })),
    });
  const added = await startInTurn(
    database,
    `insert into cohort_outcomes (account_id, cohort_id, type, value_nanos, item_id, api_key_id,
       request_id, request_hash) values (${accountId}, 'c', 'clicks', 1, 'b', 'key', 'r', 'h')`,
    () => post("a", "b", "c"),
    () => post("c", "a"),
  );
  assert.deepEqual(added, [
    { accepted: 2, repeated: false },
    { accepted: 0, repeated: false },
  ]);
});

const sealer = {
  open: () => Promise.resolve(() => Promise.resolve({ sealed: "sealed", keyVersion: 1n })),
  unseal: () => Promise.resolve(new Secret("s")),
};

async function withHook(database: Database) {
  const accountId = await newAccount(database);
  const store = createWebhookStore(database, { sealer, workerId: "one/1" });
  const hook = { accountId, url: "https://hooks.example", events: [], creditLowNanos: null };
  await store.add("hook", hook, new Secret("s"));
  return { accountId, store };
}

onPostgres("two processes see the same new events in another order", async (database) => {
  const { accountId } = await withHook(database);
  const enqueue = (...keys: string[]) =>
    database.transaction((tx) =>
      enqueueEvents(
        tx,
        keys.map((key) => ({ accountId, key, type: "model.unpriced", data: {}, at: noon })),
      )
    );
  await startInTurn(
    database,
    `insert into webhook_deliveries (id, webhook_id, event_key, type, data, at, next_at, ends_at)
     values ('b', 'hook', 'b', 'model.unpriced', '{}', now(), now(), now())`,
    () => enqueue("a", "b", "c"),
    () => enqueue("c", "a"),
  );
  const rows = await database.query("select event_key from webhook_deliveries order by 1");
  assert.deepEqual(rows.map(({ event_key }) => event_key), ["a", "b", "c"]);
});

onPostgres("an event is noted while an attempt to send another one ends", async (database) => {
  const { accountId, store } = await withHook(database);
  const event = { accountId, type: "webhook.test", data: {}, at: noon } as const;
  await store.enqueue({ ...event, key: "first" }, "hook");
  const delivery = (await store.claim(noon, []))!;
  // The row of the webhook changes while the new event waits for it.
  await startInTurn(
    database,
    "select from webhooks for share",
    () => store.finish(delivery, { kind: "sent", at: noon }),
    () => store.enqueue({ ...event, key: "second" }, "hook"),
  );
  const rows = await database.query("select event_key, state from webhook_deliveries order by 1");
  assert.deepEqual(rows.map(({ event_key, state }) => [event_key, state]), [
    ["first", "sent"],
    ["second", "waiting"],
  ]);
});

onPostgres("a webhook is removed while what was sent is swept", async (database) => {
  const { store } = await withHook(database);
  await database.query(
    `insert into webhooks (id, account_id, url, events, sealed, key_version)
     select 'other', account_id, url, events, sealed, key_version from webhooks`,
  );
  // A removal finds them by the index of their keys, a sweep as they lie in the table.
  await database.query(
    `insert into webhook_deliveries
       (id, webhook_id, event_key, type, data, at, next_at, ends_at, state)
     select id, hook, id, 'export.ready', '{}', 'epoch', 'epoch', 'epoch', 'sent'
     from (values ('c', 'hook'), ('b', 'other'), ('a', 'hook')) as d (id, hook)`,
  );
  await startInTurn(
    database,
    "select from webhook_deliveries where webhook_id = 'other' for update",
    () => store.sweep(noon),
    () => store.remove("hook", {}),
  );
  assert.deepEqual((await store.list()).map(({ id }) => id), ["other"]);
});

onPostgres("periods of long ago are swept while leases of theirs are renewed", async (database) => {
  const accountId = await newAccount(database);
  const store = createBudgetStore(database);
  // In the order of their times another than in that of their budgets.
  const periods = ["c", "b", "a"].map((budgetId, day) => ({
    budgetId,
    startsAt: new Date(Date.UTC(2026, 0, day + 1)),
  }));
  for (const { budgetId } of periods) {
    await database.query(
      `insert into budgets (id, account_id, scope, name, per, limit_nanos)
       values ($1, $2, 'app', $1, 'day', 1)`,
      [budgetId, accountId],
    );
  }
  for (const { budgetId, startsAt } of periods) {
    await database.query(
      "insert into budget_periods (budget_id, starts_at) values ($1, $2)",
      [budgetId, startsAt],
    );
  }
  const held = [periods[2]!, periods[0]!].map((period) => ({
    ...{ leaseId: period.budgetId, accountId: period, inFlightNanos: 0n },
  }));
  await startInTurn(
    database,
    "select from budget_periods where budget_id = 'b' for update",
    () => store.sweep(60, noon),
    () => store.renew(held, 60),
  );
  const left = await database.query("select budget_id from budget_periods");
  assert.deepEqual(left, [{ budget_id: "b" }]);
  await store.sweep(60, noon);
  assert.deepEqual(await database.query("select from budget_periods"), []);
});

onPostgres("a call holds against a budget that was removed while it is swept", async (database) => {
  const accountId = await newAccount(database);
  const store = createBudgetStore(database);
  await database.query(
    `insert into budgets (id, account_id, scope, name, per, limit_nanos, removed_at, changed_at)
     values ('gone', $1, 'app', '', 'day', 1, 'epoch', 'epoch')`,
    [accountId],
  );
  const wanted = {
    ...{ operationId: "o", leaseId: "l", processId: "p", leaseSeconds: 60, aheadNanos: 5n },
    ...{ accountId: { budgetId: "gone", startsAt: noon }, atLeastNanos: 5n, wantedNanos: 5n },
  };
  const [, taken] = await startInTurn(
    database,
    "select from budgets for update",
    () => store.sweep(60, noon),
    () => store.take(wanted, { atMost: 1n, now: noon }),
  );
  assert.equal((taken as LeaseTaken).grantedNanos, 5n);
  await store.sweep(60, noon);
  assert.deepEqual(await database.query("select from budgets"), []);
});

/** Claims on requests, in the order of the table another than in that of their keys. */
async function withClaims(database: Database) {
  const accountId = await newAccount(database);
  await createLedger(database).grant(accountId, 1_000n);
  const replays = createReplays(database, { processId: "one" });
  const claims = ["c", "b", "a"].map((key) => ({
    ...{ accountId, key, fingerprint: "f", claimId: `claim ${key}` },
  }));
  for (const claim of claims) await replays.claim(claim);
  const rows = claims.map(({ key, claimId }) =>
    interaction(accountId, `call ${key}`, {
      ...{ status: "completed", chargedNanos: 1n, costNanos: 1n, repeat: { key, claimId } },
    })
  );
  return { accountId, replays, claims, rows };
}

const heldClaim = "select from replays where key = 'b' for update";

onPostgres("answers are erased while their calls are charged", async (database) => {
  const { replays, claims, rows } = await withClaims(database);
  for (const claim of claims) {
    const answer = { status: 200, headers: {}, body: new Uint8Array(), streamed: false };
    await replays.finish(claim, { ...answer, transactionId: "t", sources: ["erased"] });
  }
  await startInTurn(
    database,
    heldClaim,
    () => createRecords(database).insert(rows),
    () => replays.erase(["erased"]),
  );
  assert.deepEqual(await database.query("select from replays"), []);
});

onPostgres("a call is erased while one that an answer repeats is written", async (database) => {
  const { accountId, replays, claims, rows } = await withClaims(database);
  await createRecords(database).insert([interaction(accountId, "erased")]);
  const answer = { status: 200, headers: {}, body: new Uint8Array(), streamed: false };
  await replays.finish(claims[0]!, { ...answer, transactionId: "call c", sources: ["erased"] });
  const wanted = request(accountId, { transactionIds: ["erased"] });
  const deletions = storeOf(database);
  const tombstone = await deletions.add(wanted, "claimed");
  await startInTurn(
    database,
    "select from account_balances for update",
    () => createRecords(database).insert(rows),
    () => deletions.eraseBatch({ tombstone, selectors: wanted.selectors }),
  );
  const ids = await database.query("select transaction_id as id from interactions order by 1");
  assert.deepEqual(ids.map(({ id }) => id), ["call a", "call b", "call c"]);
  const kept = await database.query("select key from replays order by 1");
  assert.deepEqual(kept.map(({ key }) => key), ["a", "b"]);
});

onPostgres("calls are charged whose answers an erasure deletes in two steps", async (main) => {
  // Their rows are in a database of their own.
  const created = await createMigrated();
  const rowsDatabase = await openPostgres(created.url);
  try {
    const { accountId, replays, claims, rows } = await withClaims(main);
    const analytics = createAnalyticsStore(rowsDatabase, main);
    await analytics.insert([interaction(accountId, "erased", { userId: "u" })]);
    const answer = { status: 200, headers: {}, body: new Uint8Array(), streamed: false };
    const [c, , a] = claims;
    await replays.finish(c!, { ...answer, transactionId: "call c", sources: ["erased"] });
    await replays.finish(a!, { ...answer, transactionId: "unrecorded" });
    await main.query(
      `insert into background_calls
         (account_id, response_id, transaction_id, created_at, api_key_id, user_id, state, request)
       values ($1, 'r', 'unrecorded', 'epoch', 'key', 'u', 'queued', '{}')`,
      [accountId],
    );
    const wanted = request(accountId, { userIds: ["u"] });
    const deletions = storeOf(main, analytics);
    const tombstone = await deletions.add(wanted, "claimed");
    await startInTurn(
      main,
      "select from background_calls for update",
      () => deletions.eraseBatch({ tombstone, selectors: wanted.selectors }),
      () => createRecords(main, analytics).insert(rows),
    );
    const kept = await main.query("select key from replays");
    assert.deepEqual(kept.map(({ key }) => key), ["b"]);
  } finally {
    await rowsDatabase.close();
    await created.drop();
  }
});

/** Calls of one user, their rows in the table in another order than that of their ids and times. */
async function withCalls(database: Database, more: Partial<SettledCall> = {}) {
  const accountId = await newAccount(database);
  await createLedger(database).grant(accountId, 1_000_000n);
  const calls = ["c", "b", "a"].map((id, hour) =>
    interaction(accountId, id, {
      ...{ createdAt: new Date(Date.UTC(2026, 10, 21, 2 - hour)), userId: "u" },
      ...{ costNanos: 1n, chargedNanos: 1n, billingBasis: "reported", requestText: "{}" },
      ...more,
    })
  );
  const analytics = createAnalyticsStore(database);
  await analytics.insert(calls);
  const reprice = async () => {
    const store = createRepricing(database, analytics);
    const [priced] = await collect(store.read({ accountId }));
    const corrected = priced!.map((call) => ({
      ...{ call, costNanos: 2n, chargedNanos: 2n, priceVersion: "new" },
    }));
    return () => store.correct(accountId, corrected);
  };
  const deletions = storeOf(database);
  const eraseUser = async () => {
    const wanted = request(accountId, { userIds: ["u"] });
    const tombstone = await deletions.add(wanted, "claimed");
    return () => deletions.eraseBatch({ tombstone, selectors: wanted.selectors });
  };
  return { accountId, calls, analytics, reprice, eraseUser };
}

onPostgres("calls are erased while they are priced again", async (database) => {
  const { reprice, eraseUser } = await withCalls(database);
  await startInTurn(
    database,
    "select from interactions where transaction_id = 'b' for update",
    await reprice(),
    await eraseUser(),
  );
  assert.deepEqual(await database.query("select from interactions"), []);
});

onPostgres("calls come to the end of their time while they are priced again", async (database) => {
  const { analytics, reprice } = await withCalls(database);
  await startInTurn(
    database,
    "select from interactions where transaction_id = 'b' for update",
    () => analytics.eraseRowsBefore(noon),
    await reprice(),
  );
  const left = await database.query("select transaction_id as id, cost_nanos from interactions");
  assert.deepEqual(left, [{ id: "b", cost_nanos: 2n }]);
});

onPostgres(
  "calls are read while those of a month that is dropped are counted",
  async (database) => {
    const { analytics } = await withCalls(database);
    const later = new Date("2026-12-21T12:00:00Z");
    const count = () =>
      database.transaction(async (tx) => {
        await tx.query("set local lock_timeout = 1");
        return (await tx.query("select from interactions")).length;
      });
    const [, read] = await startInTurn(
      database,
      "select from usage_sums where part = 'app' for update",
      () => analytics.eraseRowsBefore(later),
      count,
    );
    assert.equal(read, 3);
    assert.equal(await count(), 0);
    const [sums] = await database.query(
      `select sum(calls)::int as calls, bool_and(erased) as erased from usage_sums
     where part = 'all' and span = 'day'`,
    );
    assert.deepEqual(sums, { calls: 3, erased: true });
  },
);

onPostgres("calls are erased while they come to the end of their time", async (database) => {
  const { analytics, eraseUser } = await withCalls(database);
  await startInTurn(
    database,
    "select from interaction_payloads where transaction_id = 'b' for update",
    () => analytics.erasePayloadsBefore(noon),
    await eraseUser(),
  );
  assert.deepEqual(await database.query("select from interactions"), []);
});

onPostgres(
  "calls under several budgets are priced again while leases are renewed",
  async (database) => {
    const { accountId, calls, reprice } = await withCalls(database, { app: "first" });
    await database.query(
      `insert into budgets (id, account_id, scope, name, per, limit_nanos, created_at)
     values ('a', $1, 'app', 'first', 'day', 9, $2), ('b', $1, 'user', 'u', 'day', 9, $2),
       ('c', $1, 'app', 'free', 'day', 9, $2)`,
      [accountId, calls[0]!.createdAt],
    );
    await database.transaction((tx) =>
      postBudgetCharges(
        tx,
        calls.map((call) => ({ ...call, leaseIds: [], fromLeaseNanos: 0n })),
      )
    );
    // It cost nothing so far, and comes to a budget of its own now.
    const free = interaction(accountId, "free", {
      ...{ createdAt: calls[0]!.createdAt, app: "free", costNanos: 0n, billingBasis: "reported" },
    });
    await createAnalyticsStore(database).insert([free]);
    const startsAt = new Date("2026-11-21T00:00:00Z");
    const store = createBudgetStore(database);
    await database.query(
      "insert into budget_periods (budget_id, starts_at) values ('c', $1)",
      [startsAt],
    );
    const held = ["b", "c"].map((budgetId) => ({
      ...{ leaseId: budgetId, accountId: { budgetId, startsAt }, inFlightNanos: 0n },
    }));
    await startInTurn(
      database,
      "select from budget_periods where budget_id = 'a' for update",
      await reprice(),
      () => store.renew(held, 60),
    );
    const spent = await database.query(
      "select budget_id, spent_nanos from budget_periods order by 1",
    );
    assert.deepEqual(spent.map(({ spent_nanos }) => spent_nanos), [6n, 6n, 2n]);
  },
);

onPostgres("what somebody else deletes already is left to them", async (database) => {
  const { accountId } = await household(database);
  const sums = createLabelSumWriter(database, () => ({ read: () => Promise.resolve([]) }));
  const rowsOf = {
    label_steps: `(account_id, span, label, at, state, ranks, layout, records, names)
      select $1::bigint, 'hour', id, 'epoch', '', '', '', '', ''`,
    cached_answers:
      `(account_id, transaction_id, key, created_at, stored_at, until, status, headers,
        body, streamed, vendor, model, translation_loss, bytes)
      select $1::bigint, id, id, 'epoch', 'epoch', 'infinity', 200, '{}', '', false, 'v', 'm', '{}',
        1000000000000`,
    dashboard_sessions: `(account_id, token_hash, person_id, created_at, seen_at, expires_at)
      select $1::bigint, id, 'bob', 'epoch', 'epoch', 'epoch'`,
    cohort_outcomes: `(account_id, session_id, cohort_id, type, value_nanos, api_key_id, request_id,
        request_hash, created_at)
      select $1::bigint, id, 'c', 't', 1, 'k', 'r', 'h', 'epoch'`,
    key_charges: `(charged_nanos, transaction_id, api_key_id, created_at)
      select $1::bigint, id, 'k', 'epoch'`,
  };
  const acts: Record<keyof typeof rowsOf, [id: string, () => Promise<unknown>]> = {
    label_steps: ["label", () => sums.dropHours(accountId, noon)],
    cached_answers: ["key", () => createCachedAnswers(database).trim(accountId)],
    dashboard_sessions: [
      "token_hash",
      () =>
        createSessions(database).start(
          { tokenHash: "new", personId: "ann", accountId, now: noon },
          undefined,
        ),
    ],
    cohort_outcomes: ["session_id", () => unlinkOutcomes(database, noon)],
    key_charges: ["transaction_id", () => sweepKeyCharges(database, noon)],
  };
  for (const [table, [id, act]] of Object.entries(acts)) {
    await database.query(
      `insert into ${table} ${
        rowsOf[table as keyof typeof rowsOf]
      } from unnest('{a,b}'::text[]) n (id)`,
      [accountId],
    );
    await startInTurn(database, `select from ${table} where ${id} = 'a' for update`, act);
    const left = await database.query(
      `select ${id} as id from ${table} where ${id} in ('a', 'b')`,
    );
    assert.deepEqual(left, [{ id: "a" }], table);
  }
});
