import assert from "@std/assert";
import { commandLine } from "../../src/audit/audit.ts";
import { FakeClock } from "../../src/base/clock.ts";
import { createUuidv7 } from "../../src/base/ids.ts";
import { createLog } from "../../src/base/log.ts";
import { readBudgetScope } from "../../src/budgets/budget.ts";
import { createBudgets } from "../../src/budgets/wire.ts";
import type { Database, SqlRow, SqlValue } from "../../src/database/database.ts";
import { createLedger } from "../../src/credit/store/ledger.ts";
import { MasterKey } from "../../src/keys/sealing.ts";
import { createSealer } from "../../src/keys/store/master_key_claim.ts";
import { createVendorKeys } from "../../src/keys/store/vendor_keys.ts";
import { createRecords } from "../../src/records/store/records.ts";
import type { BillingBasis } from "../../src/shared/interaction.ts";
import { createDeliveries } from "../../src/webhooks/store/deliveries.ts";
import { enqueueEvents } from "../../src/webhooks/store/enqueue.ts";
import { resealWebhooks } from "../../src/webhooks/store/webhooks.ts";
import { eachDatabase, onBothDatabases, onPostgres } from "../support/databases.ts";
import { interaction, newAccount } from "./samples.ts";
import {
  masterKeys,
  minute,
  noon,
  processOf,
  type ProcessOptions,
  receiver,
  verify,
} from "./webhook_process.ts";

eachDatabase(
  "an event is signed by the specification and sent once, to the hooks that want it",
  async (database) => {
    const first = await newAccount(database);
    const other = await newAccount(database, "other");
    const one = processOf(database);
    const all = await one.add(first);
    const exports = await one.add(first, ["export.ready"]);
    // Another account hears nothing of it, whatever it wants.
    await one.add(other);
    await one.add(other, ["vendor.down"]);
    const event = {
      ...{ accountId: first, key: "deletion d1", type: "deletion.done", at: noon } as const,
      data: { request_id: "d1" },
    };
    for (let times = 0; times < 3; times++) await enqueueEvents(database, [event]);
    assert.equal((await one.webhooks.list(first))[0]!.waiting, 1);
    await one.send();
    assert.deepEqual(one.received.map(({ type, data }) => [type, data]), [["deletion.done", {
      request_id: "d1",
    }]]);
    await enqueueEvents(database, [event]);
    await one.send();
    assert.equal(one.received.length, 1, "also after it was sent");
    assert.deepEqual(
      (await one.webhooks.list(first)).map(({ lastSentAt }) => lastSentAt),
      [noon, null],
    );
    // Another account's event may have the same key; the operator's own goes to the first account.
    await enqueueEvents(database, [
      { ...event, accountId: other },
      { ...event, accountId: "first", key: "of the operator" },
    ]);
    const waitingOf = async (accountId: number) =>
      (await one.webhooks.list(accountId)).map(({ waiting }) => waiting);
    assert.deepEqual([await waitingOf(first), await waitingOf(other)], [[1, 0], [1, 0]]);
    await one.send();
    one.received.length = 1;
    assert.equal(await one.webhooks.test(all.id), true);
    assert.equal(await one.webhooks.test("none"), false);
    await one.send();
    assert.deepEqual(one.types(), ["deletion.done", "webhook.test"]);
    assert.equal(await one.webhooks.test(exports.id), true);
    assert.deepEqual(
      await waitingOf(first),
      [0, 1],
      "a test is for this hook alone, whatever it wants",
    );
    const [shown] = await one.webhooks.list(first);
    assert.deepEqual([shown!.waiting, shown!.lost, shown!.lastError], [0, 0n, null]);
    // Another body or another secret doesn't pass.
    const secret = [...one.state.secrets.values()][0]!;
    assert.throws(() =>
      verify(secret, "{}", {
        "webhook-id": "x",
        "webhook-timestamp": "1",
        "webhook-signature": "v1,AAAA",
      })
    );
  },
);

eachDatabase(
  "a receiver that is away for an hour gets every event once it is there, and each once",
  async (database) => {
    const accountId = await newAccount(database);
    const one = processOf(database);
    await one.add(accountId);
    one.state.status = 503;
    const events = Array.from({ length: 5 }, (_, at) => ({
      ...{
        accountId,
        key: `export ${at}`,
        type: "export.ready",
        data: { request_id: `${at}` },
      } as const,
      at: new Date(noon.getTime() + at),
    }));
    await enqueueEvents(database, events);
    one.clock.advance(10);
    const attemptsAt: number[] = [];
    for (let passed = 0; passed < 60; passed++) {
      const before = one.state.attempts;
      await one.send();
      if (one.state.attempts > before) attemptsAt.push(passed);
      one.clock.advance(minute);
    }
    // 5 s, 30 s, 2 min, 10 min, 30 min: by the minute in which they are seen.
    assert.deepEqual(attemptsAt, [0, 1, 2, 4, 14, 44]);
    const [hook] = await one.webhooks.list();
    assert.deepEqual([hook!.waiting, hook!.lastError], [5, "the URL answered with status 503"]);
    one.state.status = 204;
    one.clock.advance(60 * minute);
    await one.send();
    assert.deepEqual(one.received.map(({ data }) => data.request_id).sort(), [
      "0",
      "1",
      "2",
      "3",
      "4",
    ]);
    const [later] = await one.webhooks.list();
    assert.deepEqual([later!.waiting, later!.lastError], [0, hook!.lastError]);
    assert.ok(later!.lastSentAt! > later!.lastFailedAt!);
  },
);

/** A database that says late that an attempt was noted: others see it before its process does. */
function notingLate(database: Database): Database {
  return {
    ...database,
    async query<Row extends SqlRow>(sql: string, parameters?: readonly SqlValue[]) {
      const rows = await database.query<Row>(sql, parameters);
      if (sql.includes("last_failed_at =")) await new Promise((over) => setTimeout(over, 20));
      return rows;
    },
  };
}

eachDatabase(
  "receivers that fail, whatever waits for them, make no other wait for its turn",
  async (database) => {
    const one = processOf(notingLate(database));
    const accountId = await newAccount(database);
    for (let hooks = 0; hooks < 8; hooks++) await one.add(accountId, ["export.ready"]);
    const happens = (type: "export.ready" | "vendor.down", key: string, ms: number) => {
      const at = new Date(noon.getTime() + ms);
      return enqueueEvents(database, [{ accountId, key, type, at, data: {} }]);
    };
    one.state.status = 504;
    await happens("export.ready", "first", 0);
    await one.send();
    for (let more = 0; more < 5; more++) await happens("export.ready", `${more}`, 1_000);
    await one.add(accountId, ["vendor.down"]);
    await happens("vendor.down", "down", 1_001);
    one.state.status = 204;
    one.clock.advance(2_000);
    await one.send();
    assert.equal(one.received.length, 41);
    assert.equal(one.types()[0], "vendor.down");
  },
);

eachDatabase("what waits for a receiver isn't counted for each event", async (database) => {
  const accountId = await newAccount(database);
  const waiting = 2_000;
  const events = (keys: readonly string[]) =>
    keys.map((key) =>
      ({ accountId, key, type: "model.unpriced", at: noon, data: { key } }) as const
    );
  const one = processOf(database);
  for (let hooks = 0; hooks < 2; hooks++) await one.add(accountId);
  await enqueueEvents(database, events(Array.from({ length: waiting }, (_, at) => `w${at}`)));
  const read = await database.transaction(async (tx) => {
    // As calls of two models write them, one of which was told before.
    for (const told of ["w1", "w2"]) {
      await enqueueEvents(tx, events(Array.from({ length: 50 }, (_, at) => at % 2 ? told : "new")));
    }
    const [row] = await tx.query(
      `select (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as n
       from pg_stat_xact_user_tables where relname = 'webhook_deliveries'`,
    );
    return Number(row!.n);
  });
  assert.ok(read > 0 && read < 10 * waiting, `${read} rows`);
  const [row] = await database.query("select count(*)::int as n from webhook_deliveries");
  assert.equal(row!.n, 2 * (waiting + 1));
}, { fresh: true });

eachDatabase(
  "after a day an event is lost and counted; redirects and refused addresses are failures",
  async (database) => {
    const accountId = await newAccount(database);
    const one = processOf(database);
    const hook = await one.add(accountId);
    await one.webhooks.test(hook.id);
    one.state.status = 302;
    for (let hours = 0; hours <= 25; hours++) {
      await one.send();
      if (hours === 0) assert.match((await one.webhooks.find(hook.id))!.lastError!, /status 302$/);
      one.clock.advance(60 * minute);
    }
    const lost = (await one.webhooks.find(hook.id))!;
    assert.deepEqual([lost.waiting, lost.lost], [0, 1n]);
    one.state.status = 204;
    await one.send();
    assert.deepEqual(one.received, []);
    assert.ok(one.state.attempts >= 9 && one.state.attempts <= 14, `${one.state.attempts}`);
    for (
      const url of [
        "http://hooks.example/",
        "https://127.0.0.1/",
        "https://10.1.2.3/x",
        "https://[::1]/",
        "https://a:b@hooks.example/",
        "https://hooks.example:8443/",
        "nothing",
        `https://x.example/${"a".repeat(3000)}`,
      ]
    ) {
      await assert.rejects(
        one.webhooks.add({ accountId, url, events: [], creditLowNanos: null }, commandLine),
        /^Fault: url: expected/,
      );
    }
    await assert.rejects(
      one.webhooks.add({
        accountId,
        url: "https://a.example/",
        events: ["export.done"],
        creditLowNanos: null,
      }, commandLine),
      /^Fault: events: 'export\.done' is not an event type; expected one of budget\.reached, /,
    );
  },
);

eachDatabase(
  "of two that remove a hook at the same time one does, and is noted",
  async (database) => {
    const accountId = await newAccount(database);
    const { add, webhooks } = processOf(database);
    for (let rounds = 0; rounds < 5; rounds++) {
      const { id } = await add(accountId);
      const removals = [webhooks.remove(id, commandLine), webhooks.remove(id, commandLine)];
      assert.deepEqual((await Promise.all(removals)).sort(), [false, true]);
    }
    const noted = await database.query(
      "select count(*)::int as n from audit_log where action = 'webhook.removed'",
      [],
    );
    assert.equal(Number(noted[0]!.n), 5);
  },
);

onPostgres("two replicas notice and send the same things once", async (database, open) => {
  const accountId = await newAccount(database);
  const clock = new FakeClock(noon);
  const to = receiver(clock);
  const keys = masterKeys();
  const one = processOf(database, { clock, to, keys, name: "one" });
  const two = processOf(await open(), { clock, to, keys, name: "two" });
  await one.add(accountId, [], 5n);
  await createLedger(database).grant(accountId, 100n);
  const both = async () => {
    await Promise.all([one.noteEvents(), two.noteEvents()]);
    await Promise.all([one.send(), two.send()]);
  };
  await both();
  assert.deepEqual(to.received, []);
  // A balance that falls below the limit, twice.
  await createLedger(database).adjust(accountId, -95n, { note: "spent" });
  await both();
  assert.deepEqual(one.types(), [], "the limit itself is there");
  await createLedger(database).adjust(accountId, -1n, { note: "spent" });
  await both();
  await both();
  assert.deepEqual(one.types(), ["credit.low"]);
  assert.equal(to.received[0]!.data.balance_usd, "0.000000004");
  await createLedger(database).grant(accountId, 100n);
  clock.advance(1000);
  await both();
  assert.deepEqual(one.types(), ["credit.low"], "nothing where it rises again");
  await createLedger(database).adjust(accountId, -100n, { note: "spent" });
  clock.advance(1000);
  await both();
  assert.deepEqual(one.types(), ["credit.low", "credit.low"]);
  // A vendor that both see down, one after the other, and that both see up again.
  to.received.length = 0;
  /** As processes look every two seconds; here every ten, for a minute. */
  const later = async () => {
    for (let looks = 0; looks < 6; looks++) {
      clock.advance(10_000);
      await both();
    }
  };
  one.down.push("vendor-b");
  await both();
  two.down.push("vendor-b");
  await both();
  one.down.pop();
  await later();
  assert.deepEqual(one.types(), ["vendor.down"]);
  two.down.pop();
  await later();
  assert.deepEqual(to.received.map(({ type, data }) => [type, data]), [
    ["vendor.down", { vendor: "vendor-b" }],
    ["vendor.up", { vendor: "vendor-b" }],
  ]);
  assert.equal(new Set(to.received.map(({ id }) => id)).size, 2);
  // Two hundred events, both sending at the same time.
  to.received.length = 0;
  await enqueueEvents(
    database,
    Array.from({ length: 200 }, (_, at) => ({
      ...{ accountId, key: `export ${at}`, type: "export.ready", at: clock.now() } as const,
      data: { request_id: `${at}` },
    })),
  );
  for (let rounds = 0; rounds < 20 && to.received.length < 200; rounds++) await both();
  assert.equal(to.received.length, 200);
  assert.equal(new Set(to.received.map(({ data }) => data.request_id)).size, 200);
});

onPostgres("who lost its claim on an event says nothing more about it", async (database) => {
  const accountId = await newAccount(database);
  const one = processOf(database);
  const hook = await one.add(accountId);
  await enqueueEvents(database, [
    { accountId, key: "export x", type: "export.ready", data: { request_id: "x" }, at: noon },
  ]);
  const sealer = createSealer(() => Promise.resolve(one.keys));
  const [slow, quick] = ["slow/1", "quick/1"].map((workerId) =>
    createDeliveries(database, { sealer, workerId })
  );
  const delivery = (await slow!.claim(noon, []))!;
  await database.query("update webhook_deliveries set claimed_until = 'epoch'");
  assert.equal((await quick!.claim(noon, []))?.id, delivery.id);
  await slow!.release(delivery);
  await slow!.finish(delivery, { kind: "failed", at: noon, reason: "late", nextAt: null });
  assert.equal((await quick!.renew([delivery])).size, 1);
  await quick!.finish(delivery, { kind: "sent", at: noon });
  const { lost, lastError, lastSentAt } = (await one.webhooks.find(hook.id))!;
  assert.deepEqual([lost, lastError, lastSentAt], [0n, null, noon]);
});

eachDatabase(
  "a budget's 80, 95 and 100 % are sent once a period and limit, and never of an erased user",
  async (database) => {
    const accountId = await newAccount(database);
    const one = processOf(database);
    await one.add(accountId, ["budget.reached"]);
    const { clock } = one;
    const { budgets } = createBudgets({
      ...{ database, processId: "one", leaseSeconds: 150, clock, newId: createUuidv7(clock) },
      log: createLog(() => {}, clock.now),
      chargedSince: () => Promise.resolve(0n),
    });
    const set = (on: string, limitNanos = 100n) =>
      budgets.set(
        { accountId, scope: readBudgetScope(on), per: "day", limitNanos, raised: null },
        commandLine,
      );
    const budget = await set("user:ann");
    const spend = async (nanos: bigint, userId = "ann") => {
      const row = interaction(accountId, crypto.randomUUID(), {
        userId,
        chargedNanos: nanos,
        createdAt: clock.now(),
      });
      await createRecords(database).insert([row]);
      for (let times = 0; times < 2; times++) await one.noteEvents();
      await one.send();
    };
    await spend(79n);
    assert.deepEqual(one.received, []);
    await spend(1n);
    assert.deepEqual(one.received.map(({ data }) => data), [{
      ...{ budget_id: budget.id, on: "user:ann", per: "day", percent: 80 },
      ...{ limit_usd: "0.000000100", spent_usd: "0.000000080" },
    }]);
    await spend(20n);
    await spend(5n);
    const percents = () => one.received.splice(0).map(({ data }) => data.percent);
    assert.deepEqual(percents(), [80, 95, 100]);
    await set("user:ann", 200n);
    await spend(54n);
    assert.deepEqual(percents(), []);
    await spend(1n);
    assert.deepEqual(percents(), [80], "of the raised limit");
    await set("user:ann");
    await spend(1n);
    assert.deepEqual(percents(), [], "of the first limit, which were sent");
    clock.advance(24 * 60 * minute);
    await spend(80n);
    assert.deepEqual(percents(), [80]);
    // While it waits the user is erased: neither is it sent, nor does it name them.
    one.state.status = 500;
    await spend(20n);
    const rows = await database.query(
      "select row_to_json(d)::text as row from webhook_deliveries d",
      [],
    );
    assert.ok(rows.length >= 5 && !rows.some(({ row }) => String(row).includes("ann")));
    await budgets.remove(budget.id, commandLine);
    one.state.status = 204;
    clock.advance(60 * minute);
    await one.send();
    assert.deepEqual(percents(), []);
    assert.equal((await one.webhooks.list())[0]!.waiting, 0);
  },
);

eachDatabase(
  "a model without a price is named once a day, and secrets are sealed, under a new master key too",
  async (database) => {
    const accountId = await newAccount(database);
    const one = processOf(database);
    const hook = await one.add(accountId, ["model.unpriced", "webhook.test"]);
    const unpriced = (model: string) =>
      interaction(accountId, crypto.randomUUID(), {
        model,
        status: "completed",
        costNanos: null,
        chargedNanos: 0n,
        createdAt: noon,
      });
    await createRecords(database).insert([unpriced("new"), unpriced("new"), unpriced("newer")]);
    await createRecords(database).insert([unpriced("new")]);
    await createRecords(database).insert(["nul \u0000", "half \ud83d"].map(unpriced));
    // One that did not answer, and one that answered for nothing, are not named.
    await createRecords(database).insert([
      { ...unpriced("failed"), status: "failed" },
      { ...unpriced("free"), costNanos: 0n },
    ]);
    await one.send();
    assert.deepEqual(
      one.received.map(({ data }) => data.model).sort(),
      ["half \ud83d", "new", "newer", "nul \u0000"],
    );
    const secret = one.state.secrets.values().next().value!;
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    const stored = async () =>
      String(
        (await database.query("select row_to_json(w)::text as row from webhooks w", []))[0]!.row,
      );
    const before = await stored();
    for (const part of [secret, secret.slice(6), secret.slice(6, 20)]) {
      assert.ok(!before.includes(part));
    }
    // After a rotation the same secret signs.
    const keys = createVendorKeys(database, () => Promise.resolve(one.keys), resealWebhooks);
    const rotation = await keys.rotate(MasterKey.generate());
    assert.equal(rotation.resealed, 1);
    assert.notEqual(await stored(), before);
    await one.webhooks.test(hook.id);
    await one.send();
    assert.equal(one.types().at(-1), "webhook.test");
    // A process with another master key leaves events to those that have the right one.
    const stranger = processOf(
      database,
      { clock: one.clock, to: one, keys: masterKeys() } as ProcessOptions,
    );
    await enqueueEvents(database, [{
      ...{ accountId, key: "unpriced later", type: "model.unpriced", data: {} },
      at: one.clock.now(),
    }]);
    await stranger.look();
    const received = one.received.length;
    await processOf(database, { clock: one.clock, to: one, keys: one.keys } as ProcessOptions)
      .send();
    assert.equal(one.received.length, received + 1);
  },
);

eachDatabase(
  "a charge that is disputed is sent to its account, once per call",
  async (database) => {
    const accountId = await newAccount(database);
    const one = processOf(database);
    await one.add(accountId, ["charge.disputed"]);
    const call = (billingBasis: BillingBasis) =>
      interaction(accountId, crypto.randomUUID(), {
        ...{ billingBasis, vendor: "vendor-b", model: "gpt-5-mini", createdAt: noon },
        chargedNanos: 318_000n,
      });
    const disputed = call("disputed");
    await createRecords(database).insert([disputed, call("reported")]);
    // As a journal that is read again writes it.
    await createRecords(database).insert([disputed]);
    await one.send();
    assert.deepEqual(one.types(), ["charge.disputed"]);
    assert.deepEqual(one.received[0]!.data, {
      transaction_id: disputed.transactionId,
      vendor: "vendor-b",
      model: "gpt-5-mini",
      charged_usd: "0.000318000",
    });
  },
);

onBothDatabases(
  "hooks and what waits for them are bounded; a removed hook takes its events with it",
  async (database) => {
    const accountId = await newAccount(database);
    const one = processOf(database);
    const hooks = [];
    for (let count = 0; count < 50; count++) hooks.push(await one.add(accountId, ["export.ready"]));
    await assert.rejects(
      one.add(accountId),
      /^Fault: url: the account has 50 webhooks already/,
    );
    const [hook] = hooks;
    await database.query(
      `insert into webhook_deliveries (id, webhook_id, event_key, type, data, at, next_at, ends_at)
     select 'm' || n, $1, n::text, 'export.ready', '{}', $2, $2, $2 from generate_series(1, 10000) n`,
      [hook!.id, new Date(noon.getTime() + 60 * minute)],
    );
    await enqueueEvents(database, [
      { accountId, key: "export x", type: "export.ready", data: { request_id: "x" }, at: noon },
    ]);
    // What waits already is not lost.
    await enqueueEvents(database, [
      { accountId, key: "1", type: "export.ready", data: {}, at: noon },
    ], hook!.id);
    assert.deepEqual(
      (await one.webhooks.list()).slice(0, 2).map(({ waiting, lost }) => [waiting, lost]),
      [
        [10_000, 1n],
        [1, 0n],
      ],
    );
    // What was sent takes no room.
    await database.query("update webhook_deliveries set state = 'sent' where webhook_id = $1", [
      hook!.id,
    ]);
    await enqueueEvents(database, [
      { accountId, key: "export y", type: "export.ready", data: {}, at: noon },
    ], hook!.id);
    const [first] = await one.webhooks.list();
    assert.deepEqual([first!.waiting, first!.lost], [1, 1n]);
    assert.equal(await one.webhooks.remove(hook!.id, commandLine, accountId + 1), false);
    assert.equal(await one.webhooks.remove(hook!.id, commandLine), true);
    const [left] = await database.query("select count(*)::int as n from webhook_deliveries", []);
    assert.equal(Number(left!.n), 49);
    const audit = await database.query(
      "select distinct action, subject from audit_log order by action",
      [],
    );
    assert.deepEqual(audit.map(({ action, subject }) => [action, subject]), [
      ["webhook.added", "hooks.example"],
      ["webhook.removed", "hooks.example"],
    ]);
  },
);
