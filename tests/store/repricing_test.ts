import assert from "@std/assert";
import { commandLine } from "../../src/audit/audit.ts";
import { createAuditLog } from "../../src/audit/store/audit.ts";
import { repriceBy } from "../../src/admin/reprice_command.ts";
import { systemClock } from "../../src/base/clock.ts";
import { createAccounts } from "../../src/keys/store/accounts.ts";
import type { PricedCallQuery } from "../../src/records/analytics_store.ts";
import type { SettledCall } from "../../src/shared/interaction.ts";
import { pricedUsageText, type RepricingStore } from "../../src/repricing/repricing.ts";
import { reprice } from "../../src/repricing/reprice.ts";
import type { Database } from "../../src/database/database.ts";
import { createBudgetStore } from "../../src/budgets/store/budgets.ts";
import type { NewApiKey } from "../../src/keys/api_key.ts";
import { createApiKeys } from "../../src/keys/store/api_keys.ts";
import { createRecords } from "../../src/records/store/records.ts";
import { refundCharge } from "../../src/credit/store/refund_charge.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { createLedger } from "../../src/credit/store/ledger.ts";
import { createPriceVersions } from "../../src/repricing/store/price_versions.ts";
import { createRepricing } from "../../src/repricing/store/repricing.ts";
import { bundledPrices, createPrices } from "../../src/pricing/table/prices.ts";
import { parsePricesFile } from "../../src/pricing/table/prices_file.ts";
import { createRegistry } from "../../src/vendors/registry.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import { startInTurn } from "../support/lock_queue.ts";
import { interaction, newAccount } from "./samples.ts";

const usd = 1_000_000_000n;
const registry = createRegistry({}, []);

/** A price table that says nothing but this. */
function pricesOf(file: Record<string, unknown>) {
  return createPrices({
    bundled: [],
    overrides: parsePricesFile(JSON.stringify(file)),
    familyOf: (name) => registry.find(name),
  });
}

/** A call that cost 1 nano-dollar per input token, as it was charged then. */
function call(accountId: number, id: string, more: Partial<SettledCall> = {}): SettledCall {
  return interaction(accountId, id, {
    ...{ model: "gpt-x", status: "completed", billingBasis: "reported", priceVersion: "old" },
    ...{ inputTokens: 1000, outputTokens: 0, totalTokens: 1000 },
    ...{ costNanos: 1000n, chargedNanos: 1000n },
    pricedUsageText: pricedUsageText({ input: 1000, output: 0, raw: { secret: "words" } }),
    ...more,
  });
}

interface Stored extends Record<string, unknown> {
  cost_nanos: bigint;
  charged_nanos: bigint;
  price_version: string;
}

async function stored(database: Database, id: string): Promise<Stored> {
  const [row] = await database.query<Stored>(
    "select cost_nanos, charged_nanos, price_version from interactions where transaction_id = $1",
    [id],
  );
  return row!;
}

async function entries(database: Database): Promise<unknown[]> {
  return await database.query(
    `select interaction_id, amount_nanos, note from ledger_entries where kind = 'adjust'
     order by id`,
  );
}

async function opened(database: Database, analytics = database) {
  const accountId = await newAccount(database);
  const ledger = createLedger(database);
  await ledger.grant(accountId, usd);
  const interactions = createAnalyticsStore(analytics);
  const store = createRepricing(database, createAnalyticsStore(analytics, database));
  const run = (prices: ReturnType<typeof pricesOf>, dryRun = false) =>
    reprice({ store, prices, registry }, [{ accountId }], dryRun);
  const balance = async () => (await ledger.show(accountId)).balanceNanos;
  return { accountId, ledger, interactions, store, run, balance };
}

const doubled = { "vendor-b/gpt-x": { input: "0.002", output: "1" } };

eachDatabase(
  "a corrected price moves costs, charges and the balance once, and names the calls",
  async (db) => {
    const { accountId, interactions, ledger, run, balance } = await opened(db);
    await interactions.insert([
      call(accountId, "a"),
      call(accountId, "own", { mode: "stored_key", chargedNanos: 0n }),
      call(accountId, "back", { chargedNanos: 0n }),
      call(accountId, "told", { billingBasis: "vendor_cost" }),
      call(accountId, "other", { model: "gpt-y" }),
      call(accountId, "counted", { billingBasis: "estimated" }),
      call(accountId, "none", { billingBasis: "none", costNanos: 0n, chargedNanos: 0n }),
    ]);
    const prices = pricesOf(doubled);
    const expected = [{
      ...{ vendor: "vendor-b", model: "gpt-x", calls: 5, corrected: 4 },
      ...{ oldCostNanos: 5000n, newCostNanos: 9000n, chargedNanos: 2000n },
      unchanged: { vendor_cost: 1, disputed: 0, no_usage: 0, no_price: 0, list_price: 0 },
    }, {
      ...{ vendor: "vendor-b", model: "gpt-y", calls: 1, corrected: 0 },
      ...{ oldCostNanos: 1000n, newCostNanos: 1000n, chargedNanos: 0n },
      unchanged: { vendor_cost: 0, disputed: 0, no_usage: 0, no_price: 1, list_price: 0 },
    }];
    assert.deepEqual(await run(prices, true), expected, "a dry run says what a real one does");
    assert.equal((await stored(db, "a")).cost_nanos, 1000n);
    assert.deepEqual([await entries(db), await balance()], [[], usd]);

    assert.deepEqual(await run(prices), expected);
    const { version } = prices.rows()[0]!;
    const corrected = { cost_nanos: 2000n, charged_nanos: 2000n, price_version: version };
    assert.deepEqual(await stored(db, "a"), corrected);
    assert.deepEqual(await stored(db, "counted"), corrected);
    assert.deepEqual(await stored(db, "own"), { ...corrected, charged_nanos: 0n });
    assert.deepEqual(await stored(db, "back"), { ...corrected, charged_nanos: 0n });
    assert.equal((await stored(db, "told")).cost_nanos, 1000n);
    const note = `repriced from old to ${version}`;
    assert.deepEqual(await entries(db), [
      { interaction_id: "a", amount_nanos: -1000n, note },
      { interaction_id: "counted", amount_nanos: -1000n, note },
    ]);
    assert.deepEqual([await balance(), await ledger.check()], [usd - 2000n, []]);

    const again = await run(prices);
    assert.deepEqual(again.map((one) => one.corrected), [0, 0], "twice changes nothing more");
    assert.equal((await entries(db)).length, 2);
  },
);

eachDatabase("a run that fails on its way leaves an entry of what it has corrected", async (db) => {
  const { accountId, interactions, store } = await opened(db);
  const other = await newAccount(db, "other");
  await interactions.insert([call(accountId, "a"), call(other, "b")]);
  const audit = createAuditLog(db, () => new Date());
  const failing: RepricingStore = {
    ...store,
    correct: (id, calls) =>
      id === other ? Promise.reject(new Error("away")) : store.correct(id, calls),
  };
  const run = (repricing: RepricingStore) =>
    repriceBy(
      {
        ...{ accounts: createAccounts(db), audit, clock: systemClock },
        openPrices: () => ({
          ...{ registry, prices: pricesOf(doubled), repricing, close() {} },
          catalogue: undefined as never,
        }),
        priceVersions: createPriceVersions(db),
        flushRecords: () => Promise.resolve(),
        archivePrices: () => Promise.resolve(),
      },
      {},
      { actor: commandLine, at: new Date() },
    );
  await assert.rejects(run(failing), /away/);
  const noted = async () =>
    (await audit.list(accountId, { before: null, limit: 10 })).map(({ action, subject, detail }) =>
      [action, subject, detail].join(": ")
    );
  const first = "calls.repriced: 1 of 1 calls: cost 0.000001000 USD, charged 0.000001000 USD";
  assert.deepEqual(await noted(), [`${first}; then it failed`]);
  await assert.rejects(run(failing), /away/);
  assert.deepEqual((await noted()).length, 1, "nothing was corrected");
  await run(store);
  assert.deepEqual((await noted())[0], first.replace("1 of 1", "1 of 2"));
});

eachDatabase("a price that is taken back is given back, however often it changes", async (db) => {
  const { accountId, interactions, ledger, run, balance } = await opened(db);
  await interactions.insert([call(accountId, "a")]);
  const old = pricesOf({ "vendor-b/gpt-x": { input: "0.001" } });
  for (const [prices, cost] of [[pricesOf(doubled), 2000n], [old, 1000n]] as const) {
    for (let round = 0; round < 2; round++) await run(prices);
    assert.equal((await stored(db, "a")).charged_nanos, cost);
    // The charge itself was never posted here: what moved is the difference alone.
    assert.equal(await balance(), usd - cost + 1000n);
  }
  await run(pricesOf(doubled));
  assert.deepEqual([await balance(), await ledger.check()], [usd - 1000n, []]);
});

eachDatabase(
  "each call has the price of its own time, and more than a batch is walked",
  async (db) => {
    const { accountId, interactions, run, store } = await opened(db);
    const rows = Array.from(
      { length: 1203 },
      (_, at) =>
        call(accountId, `call-${String(at).padStart(4, "0")}`, {
          // Many share a moment, as they do under load.
          createdAt: new Date(Date.UTC(2026, 10, 1 + Math.floor(at / 401))),
        }),
    );
    await interactions.insert(rows);
    const prices = pricesOf({
      "vendor-b/gpt-x": { input: "0.005", valid_from: "2026-11-02", valid_to: "2026-11-02" },
    });
    const [sum] = await run(prices);
    assert.deepEqual([sum!.calls, sum!.corrected, sum!.unchanged.no_price], [1203, 401, 802]);
    const seen: string[] = [];
    for await (const batch of store.read({ accountId, since: new Date("2026-11-02T00:00:00Z") })) {
      assert.ok(batch.length <= 500);
      seen.push(...batch.map(({ transactionId }) => transactionId));
    }
    assert.deepEqual(seen, rows.slice(401).map(({ transactionId }) => transactionId));
  },
);

eachDatabase(
  "rows with a time finer than a millisecond are walked once and corrected",
  async (db) => {
    const { accountId, interactions, run } = await opened(db);
    await interactions.insert(
      Array.from({ length: 501 }, (_, at) => call(accountId, `call-${at}`)),
    );
    await db.query(
      `update interactions set created_at = timestamptz '2026-11-21T10:00:00.123456Z'`,
    );
    const [sum] = await run(pricesOf(doubled));
    assert.deepEqual([sum!.calls, sum!.corrected], [501, 501]);
  },
);

eachDatabase("a call that changed or went meanwhile is left alone", async (db) => {
  const { accountId, interactions, store, balance } = await opened(db);
  await interactions.insert(["a", "b", "c", "d"].map((id) => call(accountId, id)));
  const calls = (await Array.fromAsync(store.read({ accountId }))).flat();
  await db.query("delete from interactions where transaction_id = 'a'");
  await db.query("update interactions set charged_nanos = 0 where transaction_id = 'b'");
  // As for a call with a key of the caller's own, whose charge stays what it is.
  await db.query("update interactions set cost_nanos = 7 where transaction_id = 'd'");
  const written = await store.correct(
    accountId,
    calls.map((one) => ({ call: one, costNanos: 5n, chargedNanos: 5n, priceVersion: "v" })),
  );
  assert.deepEqual([...written], ["c"]);
  assert.deepEqual([(await entries(db)).length, await balance()], [1, usd + 995n]);
});

eachDatabase("what changes while calls are priced again counts as it was read", async (db) => {
  const { accountId, interactions, store } = await opened(db);
  await interactions.insert([call(accountId, "a"), call(accountId, "b")]);
  const changing: typeof store = {
    ...store,
    async *read(query) {
      for await (const calls of store.read(query)) {
        await db.query("delete from interactions where transaction_id = 'a'");
        yield calls;
      }
    },
  };
  const [sum] = await reprice(
    { store: changing, prices: pricesOf(doubled), registry },
    [{ accountId }],
    false,
  );
  assert.deepEqual(sum, {
    ...{ vendor: "vendor-b", model: "gpt-x", calls: 2, corrected: 1 },
    ...{ oldCostNanos: 2000n, newCostNanos: 3000n, chargedNanos: 1000n },
    unchanged: { vendor_cost: 0, disputed: 0, no_usage: 0, no_price: 0, list_price: 0 },
  });
});

eachDatabase("only calls that were asked for are priced again", async (db) => {
  const { accountId, interactions, store } = await opened(db);
  const at = (second: number) => new Date(Date.UTC(2026, 10, 21, 10, 0, second));
  await interactions.insert([
    call(accountId, "early", { createdAt: at(1) }),
    call(accountId, "mini", { createdAt: at(2), model: "gpt-y" }),
    call(accountId, "other", { createdAt: at(3), vendor: "vendor-c" }),
    call(accountId, "told", { createdAt: at(4), billingBasis: "vendor_cost" }),
  ]);
  const read = async (query: Omit<PricedCallQuery, "accountId">) =>
    (await Array.fromAsync(store.read({ accountId, ...query }))).flat()
      .map(({ transactionId }) => transactionId);
  const all = ["early", "mini", "other", "told"];
  assert.deepEqual(await read({}), all);
  assert.deepEqual(await read({ since: at(2) }), all.slice(1));
  assert.deepEqual(await read({ until: at(3) }), all.slice(0, 2), "its end is excluded");
  assert.deepEqual(await read({ model: "gpt-y" }), ["mini"]);
  assert.deepEqual(await read({ vendor: "vendor-c" }), ["other"]);
  assert.deepEqual(await read({ basis: "vendor_cost" }), ["told"]);
  assert.deepEqual(await read({ vendor: "vendor-b", since: at(2), until: at(4) }), ["mini"]);
});

eachDatabase("another account's calls are out of reach", async (db) => {
  const { accountId, interactions, store } = await opened(db);
  const other = await newAccount(db, "other");
  await interactions.insert([call(accountId, "a")]);
  const [[one]] = await Array.fromAsync(store.read({ accountId })) as [[never]];
  assert.deepEqual(await Array.fromAsync(store.read({ accountId: other })), []);
  const change = { call: one, costNanos: 5n, chargedNanos: 5n, priceVersion: "v" };
  assert.equal((await store.correct(other, [change])).size, 0);
  assert.equal((await stored(db, "a")).cost_nanos, 1000n);
});

eachDatabase("what a capped key has spent follows the correction", async (db) => {
  const { accountId, interactions, run } = await opened(db);
  await interactions.insert([call(accountId, "a")]);
  await db.query(
    `insert into key_charges (transaction_id, api_key_id, created_at, charged_nanos)
     values ('a', 'key_1', clock_timestamp(), 1000), ('z', 'key_1', clock_timestamp(), 500)`,
  );
  await run(pricesOf(doubled));
  const rows = await db.query("select charged_nanos from key_charges order by transaction_id");
  assert.deepEqual(rows.map((row) => row.charged_nanos), [2000n, 500n]);
});

eachDatabase(
  "calls that were free count in caps and budgets once they have a price, refunded ones don't",
  async (db) => {
    const { accountId, run } = await opened(db);
    const capped: NewApiKey = {
      ...{ id: "capped", accountId, name: "capped", prefix: "dmt_abcd", hash: "h", scopes: [] },
      ...{ models: [], expiresAt: null, capDayNanos: usd, capMonthNanos: null },
      onDisconnect: "cancel",
      translationMode: "default",
    };
    await createApiKeys(db).insert(capped);
    const budgets = createBudgetStore(db);
    const now = new Date("2026-11-21T12:00:00Z");
    const prior = () => Promise.resolve(0n);
    for (const scope of [{ kind: "account", name: "" }, { kind: "app", name: "null" }] as const) {
      const budget = { accountId, scope, per: "day", limitNanos: usd, raised: null } as const;
      await budgets.set(`on ${scope.kind}`, budget, { now, prior });
    }
    await db.query("update budgets set created_at = $1", [now]);
    const mine = { apiKeyId: capped.id, app: null, userId: null, createdAt: now };
    await createRecords(db).insert([
      call(accountId, "free", { ...mine, costNanos: 0n, chargedNanos: 0n }),
      call(accountId, "paid", mine),
      call(accountId, "own", { ...mine, mode: "stored_key", costNanos: 0n, chargedNanos: 0n }),
    ]);
    for (const [input, spent] of [["0.002", 4000n], ["0", 0n], ["0.003", 6000n]] as const) {
      for (let round = 0; round < 2; round++) await run(pricesOf({ "vendor-b/gpt-x": { input } }));
      const [byAccount, byApp] = await budgets.list({ accountId, now });
      assert.deepEqual([byAccount!.spentNanos, byApp!.spentNanos], [spent, 0n]);
      const [day] = await db.query("select sum(charged_nanos)::bigint as spent from key_spend");
      assert.equal(day!.spent, spent);
    }
    const refund = { accountId, transactionId: "paid", note: "twice" };
    await refundCharge(db, refund, createAnalyticsStore(db));
    const [byAccount] = await budgets.list({ accountId, now });
    assert.equal(byAccount!.spentNanos, 3000n);
    assert.deepEqual(
      await db.query("select transaction_id from key_charges where charged_nanos <> 0"),
      [{ transaction_id: "free" }],
    );
  },
);

eachDatabase(
  "a budget's first sum has the calls made before it, whatever their corrections",
  async (db) => {
    const { accountId, run } = await opened(db);
    const at = (time: string) => new Date(`2026-11-21T${time}Z`);
    const free = { app: null, userId: null, costNanos: 0n, chargedNanos: 0n };
    await createRecords(db).insert([
      call(accountId, "paid", { app: null, userId: null, createdAt: at("11:00:00") }),
      call(accountId, "free", { ...free, createdAt: at("11:00:00") }),
      call(accountId, "later", { ...free, createdAt: at("13:00:00") }),
    ]);
    const budgets = createBudgetStore(db);
    const now = at("12:00:00");
    const scope = { kind: "account", name: "" } as const;
    const budget = { accountId, scope, per: "month", limitNanos: usd, raised: null } as const;
    await budgets.set("budget", budget, { now, prior: () => Promise.resolve(1000n) });
    await db.query("update budgets set created_at = $1", [now]);
    for (const [input, spent] of [["0.002", 3000n], ["0", 1000n], ["0.003", 4000n]] as const) {
      await run(pricesOf({ "vendor-b/gpt-x": { input } }));
      assert.equal((await budgets.list({ accountId, now }))[0]!.spentNanos, spent, input);
    }
  },
);

eachDatabase("a charge that is given back after its correction is given back whole", async (db) => {
  const { accountId, interactions, ledger, run, balance } = await opened(db);
  await interactions.insert([call(accountId, "a")]);
  await ledger.post([
    { interactionId: "a", accountId, leaseId: null, chargedNanos: 1000n },
  ]);
  await run(pricesOf(doubled));
  assert.equal(await balance(), usd - 2000n);
  for (let round = 0; round < 2; round++) {
    await refundCharge(
      db,
      { accountId, transactionId: "a", note: "twice" },
      createAnalyticsStore(db),
    );
    await run(pricesOf({ "vendor-b/gpt-x": { input: "0.005" } }));
    assert.deepEqual([await balance(), (await stored(db, "a")).charged_nanos], [usd, 0n]);
  }
  assert.deepEqual(await ledger.check(), []);
});

onPostgres(
  "a charge that is given back while it is corrected stays given back",
  async (db, open) => {
    // Another connection stands for another database: there the ledger is corrected before the calls.
    const analytics = await open();
    const { accountId, interactions, ledger, store, balance } = await opened(db, analytics);
    await interactions.insert([call(accountId, "a")]);
    await ledger.post([{ interactionId: "a", accountId, leaseId: null, chargedNanos: 1000n }]);
    const calls = (await Array.fromAsync(store.read({ accountId }))).flat();
    const refund = { accountId, transactionId: "a", note: "meanwhile" };
    await refundCharge(db, refund, createAnalyticsStore(analytics, db));
    await store.correct(
      accountId,
      calls.map((call) => ({ call, costNanos: 2000n, chargedNanos: 2000n, priceVersion: "v" })),
    );
    assert.equal(await balance(), usd);
    assert.deepEqual(await ledger.check(), []);
  },
);

onPostgres(
  "a charge that two processes give back at the same moment leaves the usage once",
  async (db) => {
    const { accountId, interactions } = await opened(db);
    await interactions.insert([call(accountId, "a"), call(accountId, "b")]);
    const clear = () => interactions.clearCharge("a");
    await startInTurn(db, "select from interactions for update", clear, clear);
    const sums = await db.query(
      "select charged_nanos::bigint from usage_sums where part = 'all' and span = 'day'",
    );
    assert.deepEqual(sums, [{ charged_nanos: 1000n }]);
  },
);

onPostgres(
  "with calls in a database of their own, a correction that was cut is finished once",
  async (db, open) => {
    // Another connection represents another database: no transaction is shared.
    const analytics = await open();
    const { accountId, interactions, ledger, store, run, balance } = await opened(db, analytics);
    await interactions.insert([call(accountId, "a")]);
    const calls = (await Array.fromAsync(store.read({ accountId }))).flat();
    const changes = calls.map((one) => ({
      ...{ call: one, costNanos: 2000n, chargedNanos: 2000n, priceVersion: "v" },
    }));
    const away = () => Promise.reject(new Error("away"));
    const dead: Database = { ...analytics, query: away, transaction: away };
    await assert.rejects(
      createRepricing(db, createAnalyticsStore(dead, db)).correct(accountId, changes),
      /away/,
    );
    assert.deepEqual([await balance(), (await stored(db, "a")).cost_nanos], [usd - 1000n, 1000n]);
    const [sum] = await run(pricesOf(doubled));
    assert.equal(sum!.chargedNanos, 0n, "the balance was charged before the cut");
    assert.deepEqual([await balance(), (await stored(db, "a")).cost_nanos], [usd - 1000n, 2000n]);
    assert.deepEqual([(await entries(db)).length, await ledger.check()], [1, []]);
  },
);

onPostgres(
  "with calls in a database of their own, rows and ledger agree though the price went back after a cut",
  async (db, open) => {
    // Another connection represents another database: no transaction is shared.
    const analytics = await open();
    const { accountId, interactions, ledger, store, run, balance } = await opened(db, analytics);
    await interactions.insert([call(accountId, "a"), call(accountId, "refunded")]);
    const charges = ["a", "refunded"].map((interactionId) => (
      { interactionId, accountId, leaseId: null, chargedNanos: 1000n }
    ));
    await ledger.post(charges);
    const calls = (await Array.fromAsync(store.read({ accountId }))).flat();
    const dead: Database = {
      ...analytics,
      transaction: () => Promise.reject(new Error("away")),
    };
    const cut = createAnalyticsStore(dead, db);
    const changes = calls.map((one) => ({
      ...{ call: one, costNanos: 2000n, chargedNanos: 2000n, priceVersion: "wrong" },
    }));
    await assert.rejects(createRepricing(db, cut).correct(accountId, changes), /away/);
    const refund = { accountId, transactionId: "refunded", note: "twice" };
    await assert.rejects(refundCharge(db, refund, cut), /away/);
    assert.equal(await balance(), usd - 2000n, "what was cut has changed the ledger");

    for (let time = 1; time <= 2; time++) {
      await run(pricesOf({ "vendor-b/gpt-x": { input: "0.001", output: "1" } }));
      assert.equal(await balance(), usd - 1000n);
      assert.equal((await stored(db, "a")).charged_nanos, 1000n);
      assert.equal((await stored(db, "refunded")).charged_nanos, 0n);
    }
    assert.deepEqual(await ledger.check(), []);
  },
);

eachDatabase(
  "rows from before their usage was kept are read from the vendor's own object",
  async (db) => {
    const { accountId, interactions, run } = await opened(db);
    const raw = {
      ...{ input_tokens: 10, cache_creation_input_tokens: 3000, output_tokens: 5 },
      cache_creation: { ephemeral_5m_input_tokens: 1000, ephemeral_1h_input_tokens: 2000 },
      server_tool_use: { web_search_requests: 1 },
    };
    const { pricedUsageText: _, ...row } = call(accountId, "a", {
      ...{ vendor: "vendor-c", model: "claude-opus-5", dialect: "chat" },
      ...{ inputTokens: 3010, cacheWriteTokens: 3000, outputTokens: 5 },
      usageRawText: JSON.stringify(raw),
    });
    await interactions.insert([row]);
    const prices = createPrices({
      bundled: bundledPrices(),
      familyOf: (name) => registry.find(name),
    });
    await run(prices);
    // 10 × 5 + 1,000 × 6.25 + 2,000 × 10 + 5 × 25 per million, and one search at 0.01.
    assert.equal((await stored(db, "a")).cost_nanos, 36_425_000n);
  },
);

eachDatabase("rows without any usage object are priced by their counts", async (db) => {
  const { accountId, interactions, run } = await opened(db);
  const { pricedUsageText: _, ...row } = call(accountId, "a", {
    ...{ inputTokens: 1000, cacheReadTokens: 200, cacheWriteTokens: 300, outputTokens: 50 },
  });
  await interactions.insert([row]);
  await run(pricesOf({
    "vendor-b/gpt-x": { input: "1", output: "10", cache_read: "0.1", cache_write: "2" },
  }));
  // Input includes what the cache held: 500 × 1 + 200 × 0.1 + 300 × 2 + 50 × 10 per million.
  assert.equal((await stored(db, "a")).cost_nanos, 1_620_000n);
});

eachDatabase(
  "the prices behind a version can be looked up, as they were first seen",
  async (db) => {
    const versions = createPriceVersions(db);
    const one = {
      ...{ version: "abc", label: "vendor-b", model: "gpt-x", fieldsText: '{"input":"1"}' },
      ...{ source: "PRICES_FILE", checkedOn: null },
    };
    await versions.keep([one, { ...one, version: "def", checkedOn: "2026-11" }]);
    await versions.keep([{ ...one, source: "another" }]);
    const { firstSeenAt, ...found } = (await versions.find("abc"))!;
    assert.ok(firstSeenAt instanceof Date);
    assert.deepEqual(found, one);
    assert.equal((await versions.find("def"))?.checkedOn, "2026-11");
    assert.equal(await versions.find("no"), undefined);
  },
);
