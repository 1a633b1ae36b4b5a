/** Calls that answered one request, since a process died in between: charged once, in any order. */
import assert from "@std/assert";
import type { NewApiKey } from "../../src/keys/api_key.ts";
import { createApiKeys } from "../../src/keys/store/api_keys.ts";
import { type Claim, replayIdOf } from "../../src/idempotency/request_fingerprint.ts";
import type { SettledCall } from "../../src/shared/interaction.ts";
import type { Database } from "../../src/database/database.ts";
import { chargeOnce } from "../../src/credit/store/charge_once.ts";
import { refundCharge } from "../../src/credit/store/refund_charge.ts";
import { createLedger } from "../../src/credit/store/ledger.ts";
import type { NewBudget } from "../../src/budgets/budget.ts";
import { createBudgetStore } from "../../src/budgets/store/budgets.ts";
import { createRecords } from "../../src/records/store/records.ts";
import { createCreditHistory } from "../../src/credit/store/credit_history.ts";
import { parsePricesFile } from "../../src/pricing/table/prices_file.ts";
import { createPrices } from "../../src/pricing/table/prices.ts";
import { reprice } from "../../src/repricing/reprice.ts";
import { createRepricing } from "../../src/repricing/store/repricing.ts";
import { createRegistry } from "../../src/vendors/registry.ts";
import { createReplays } from "../../src/idempotency/store/replays.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import { erase, request } from "./erasing.ts";
import { capProcess } from "./cap_process.ts";
import { interaction, newAccount, untilOneWaits } from "./samples.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";

const charge = 1_000n;
let made = 0;

async function setUp(database: Database) {
  const accountId = await newAccount(database);
  const ledger = createLedger(database);
  await ledger.grant(accountId, 1_000_000n);
  const records = createRecords(database);
  const dead = createReplays(database, { processId: "dead" });
  const alive = createReplays(database, { processId: "alive" });
  const claimOf = (more: { requestId?: string; bodyText?: string } = {}): Claim => ({
    ...replayIdOf({
      accountId,
      method: "POST",
      path: "/p",
      requestId: "r1",
      bodyText: "{}",
      ...more,
    }),
    claimId: `claim-${made++}`,
  });
  const row = (id: string, claim: Claim, more: Partial<SettledCall> = {}): SettledCall =>
    interaction(accountId, id, {
      status: "completed",
      chargedNanos: charge,
      costNanos: charge,
      repeat: { key: claim.key, claimId: claim.claimId },
      ...more,
    });
  const charged = async () => {
    const rows = await database.query(
      "select transaction_id, charged_nanos from interactions order by 1",
      [],
    );
    const sum = rows.reduce((all, { charged_nanos }) => all + (charged_nanos as bigint), 0n);
    const { balanceNanos } = await ledger.show(accountId);
    assert.equal(balanceNanos, 1_000_000n - sum, "rows and ledger say the same");
    assert.deepEqual(await ledger.check(), []);
    return rows.filter(({ charged_nanos }) => charged_nanos !== 0n)
      .map(({ transaction_id }) => String(transaction_id));
  };
  /** As if a claim had expired. */
  const expire = () =>
    database.query("update replays set until = clock_timestamp() - interval '1 ms'", []);
  return { accountId, records, dead, alive, claimOf, row, charged, expire };
}

const answer = (transactionId: string) => ({
  status: 200,
  headers: {},
  body: new Uint8Array([1]),
  streamed: false,
  transactionId,
});

for (const first of ["x", "y"]) {
  eachDatabase(
    `a call whose process died and its repetition are one charge; ${first} is written first`,
    async (database) => {
      const { records, dead, alive, claimOf, row, charged, expire } = await setUp(database);
      const [x, y] = [claimOf(), claimOf()];
      await dead.claim(x);
      if (first === "x") await records.insert([row("x", x)]);
      await expire();
      assert.equal(await alive.sweep(), 0, "a dead process's claim stays for a day");
      assert.deepEqual(await alive.claim(y), { state: "free" });
      await records.insert([row("y", y)]);
      const finished = await alive.finish(y, answer("y"));
      const isChargedElsewhere = first === "x" ? { isChargedElsewhere: true } : {};
      assert.deepEqual(finished, { state: "stored", ...isChargedElsewhere });
      await records.insert([row("x", x)]);
      assert.deepEqual(await charged(), [first]);
      await records.insert([row("y", y), row("x", x)]);
      assert.deepEqual(await charged(), [first], "written again");
    },
  );
}

eachDatabase("both in one batch, and three in a line, are one charge", async (database) => {
  const { records, dead, alive, claimOf, row, charged } = await setUp(database);
  const [x, y, z] = [claimOf(), claimOf(), claimOf()];
  // A process that starts again takes over what it left itself at once.
  for (const claim of [x, y]) await dead.claim(claim);
  await records.insert([row("y", y), row("x", x)]);
  await dead.claim(z);
  await records.insert([row("z", z)]);
  assert.equal((await charged()).length, 1);
  assert.deepEqual((await alive.find(z)).state, "running");
});

eachDatabase(
  "a second call costs nothing, though claims are erased and it is written again",
  async (
    database,
  ) => {
    const { records, dead, claimOf, row, charged } = await setUp(database);
    const [x, y] = [claimOf(), claimOf()];
    for (const claim of [x, y]) await dead.claim(claim);
    await records.insert([row("x", x)]);
    await records.insert([row("y", y)]);
    // As by an erasure, before y's process could remove it from its journal.
    await database.query("delete from replays");
    for (const again of [row("y", y), row("x", x)]) {
      await records.insert([again]);
      assert.deepEqual(await charged(), ["x"]);
    }
  },
);

eachDatabase("however often a request's processes died, it is one charge", async (database) => {
  const { records, dead, claimOf, row, charged } = await setUp(database);
  const claims = Array.from({ length: 130 }, () => claimOf());
  for (const claim of claims.slice(0, 104)) await dead.claim(claim);
  await records.insert([row("y", claims[103]!)]);
  await records.insert(claims.slice(0, 10).map((claim, at) => row(`x${at}`, claim)));
  // Calls that went on without a claim, since the database was away.
  for (const [at, { key, claimId, fingerprint }] of claims.slice(104).entries()) {
    const more = { createdAt: new Date(), repeat: { key, claimId, fingerprint } };
    await records.insert([row(`z${at}`, claims[at]!, more)]);
  }
  assert.deepEqual(await charged(), ["y"]);
});

eachDatabase("requests of one batch are charged each by itself, once", async (database) => {
  const { records, dead, claimOf, row, charged } = await setUp(database);
  const ids = ["r1", "r2", "r3"];
  const claimAll = async () => {
    const claims = ids.map((requestId) => claimOf({ requestId }));
    for (const claim of claims) await dead.claim(claim);
    return claims;
  };
  const first = await claimAll();
  await records.insert([row("a1", first[0]!), row("a2", first[1]!)]);
  const second = await claimAll();
  await records.insert(second.map((claim, at) => row(`b${at + 1}`, claim)));
  await records.insert([row("a3", first[2]!)]);
  assert.deepEqual(await charged(), ["a1", "a2", "b3"]);
});

for (
  const [name, more] of [
    ["an answer of the response cache", { cache: "hit" }],
    ["a call that was cut by its process's end", { status: "interrupted" }],
    ["a call with a vendor key of the caller's own", { mode: "stored_key" }],
  ] as const
) {
  eachDatabase(`${name} doesn't make its repetition free`, async (database) => {
    const { records, dead, claimOf, row, charged } = await setUp(database);
    const [x, y] = [claimOf(), claimOf()];
    await dead.claim(x);
    await records.insert([row("x", x, { ...more, costNanos: 0n, chargedNanos: 0n })]);
    await dead.claim(y);
    await records.insert([row("y", y, { cache: "miss" })]);
    assert.deepEqual(await charged(), ["y"]);
  });
}

onPostgres("calls of one request that two processes write at once are one charge", async (
  database,
  open,
) => {
  const { records, dead, alive, claimOf, row, charged, expire } = await setUp(database);
  const [x, y] = [claimOf(), claimOf()];
  await dead.claim(x);
  await expire();
  await alive.claim(y);
  const other = await open();
  const written = await database.transaction(async (tx) => {
    await chargeOnce(tx, [row("x", x)]);
    let isOver = false;
    const done = createRecords(other).insert([row("y", y)]).finally(() => isOver = true);
    await untilOneWaits(tx, () => isOver);
    return { done };
  });
  await written.done;
  await records.insert([row("x", x)]);
  assert.deepEqual(await charged(), ["x"]);
});

eachDatabase("an attempt that came to nothing leaves the line as it was", async (database) => {
  const { records, dead, claimOf, row, charged } = await setUp(database);
  const [x, y, z] = [claimOf(), claimOf(), claimOf()];
  await dead.claim(x);
  await dead.claim(y);
  await dead.release(y);
  assert.deepEqual(await dead.claim(z), { state: "free" });
  await records.insert([row("z", z)]);
  await records.insert([row("x", x)]);
  assert.deepEqual(await charged(), ["z"]);
});

eachDatabase(
  "a charged attempt whose answer isn't kept leaves the next one to be charged",
  async (database) => {
    const { records, dead, claimOf, row, charged } = await setUp(database);
    const [x, y, z] = [claimOf(), claimOf(), claimOf()];
    await dead.claim(x);
    await dead.claim(y);
    await records.insert([row("y", y)]);
    await dead.release(y);
    await dead.claim(z);
    await records.insert([row("z", z)]);
    assert.deepEqual(await charged(), ["y", "z"]);
    // The first one's record comes last, from the journal of a process that died.
    await records.insert([row("x", x)]);
    assert.deepEqual(await charged(), ["y", "z"]);
  },
);

eachDatabase("what the same id is used for otherwise is charged each time", async (database) => {
  const { records, dead, claimOf, row, charged, expire } = await setUp(database);
  // An answer that was not stored, because it was too large or erased.
  const [a, b] = [claimOf(), claimOf()];
  await dead.claim(a);
  await records.insert([row("a", a)]);
  await dead.release(a);
  await dead.claim(b);
  await records.insert([row("b", b)]);
  assert.deepEqual(await dead.finish(b, answer("b")), { state: "stored" });
  // A day later.
  await expire();
  const c = claimOf();
  await dead.claim(c);
  await records.insert([row("c", c)]);
  // Another body under the id of a process that died.
  const d = claimOf({ bodyText: "{ }" });
  await dead.claim(d);
  await records.insert([row("d", d)]);
  assert.deepEqual(await charged(), ["a", "b", "c", "d"]);
});

eachDatabase("a lease gets back what a second call doesn't cost", async (database) => {
  const { accountId, records, dead, claimOf, row, charged } = await setUp(database);
  const ledger = createLedger(database);
  await ledger.take({
    operationId: "take",
    accountId,
    processId: "dead",
    leaseId: "lease",
    atLeastNanos: 5_000n,
    wantedNanos: 5_000n,
    aheadNanos: 0n,
    leaseSeconds: 60,
  });
  const [x, y] = [claimOf(), claimOf()];
  await dead.claim(x);
  await dead.claim(y);
  await records.insert([row("x", x, { leaseId: "lease" }), row("y", y, { leaseId: "lease" })]);
  assert.equal((await charged()).length, 1);
  const [lease] = await database.query("select amount_nanos from leases", []);
  assert.equal(lease?.amount_nanos, 5_000n - 2n * charge);
});

eachDatabase("a charge that stands for its request is not given back", async (database) => {
  const { accountId, records, dead, claimOf, row, charged } = await setUp(database);
  const [x, y] = [claimOf(), claimOf()];
  await dead.claim(x);
  await dead.claim(y);
  await records.insert([row("y", y)]);
  await records.insert([row("x", x)]);
  const duplicate = { accountId, note: "twice" };
  await refundCharge(
    database,
    { ...duplicate, transactionId: "y", claim: y },
    createAnalyticsStore(database),
  );
  await refundCharge(
    database,
    { ...duplicate, transactionId: "x", claim: x },
    createAnalyticsStore(database),
  );
  assert.deepEqual(await charged(), ["y"]);
  // One that was charged beside it is.
  const z = claimOf();
  await records.insert([row("z", z)]);
  assert.deepEqual(await charged(), ["y", "z"]);
  await refundCharge(
    database,
    { ...duplicate, transactionId: "z", claim: z },
    createAnalyticsStore(database),
  );
  assert.deepEqual(await charged(), ["y"]);
});

eachDatabase("a charge that is given back after its call was erased leaves the sums too", async (
  database,
) => {
  const { accountId, records, dead, claimOf, row, charged } = await setUp(database);
  const [x, y] = [claimOf(), claimOf({ requestId: "r2" })];
  for (const claim of [x, y]) await dead.claim(claim);
  const settled = row("y", y);
  await records.insert([row("x", x), settled]);
  await erase(database, request(accountId, { transactionIds: ["y"] }));
  // The second time as after an answer that was lost.
  const duplicate = { accountId, transactionId: "y", note: "twice", settled };
  await refundCharge(database, duplicate, createAnalyticsStore(database));
  await refundCharge(database, duplicate, createAnalyticsStore(database));
  assert.deepEqual(await charged(), ["x"]);
  const sums = await database.query(
    `select calls::integer as calls, charged_nanos::bigint as charged from usage_sums
     where part = 'all' and span = 'day' order by erased`,
  );
  assert.deepEqual(sums, [{ calls: 1, charged: charge }, { calls: 1, charged: 0n }]);
});

eachDatabase(
  "a charge that is given back leaves the sums of its stored call too",
  async (database) => {
    const { accountId, records, dead, claimOf, row, charged } = await setUp(database);
    const [x, y] = [claimOf(), claimOf({ requestId: "r2" })];
    for (const claim of [x, y]) await dead.claim(claim);
    const settled = row("y", y);
    await records.insert([row("x", x), settled]);
    // The second time as after an answer that was lost.
    const duplicate = { accountId, transactionId: "y", note: "twice", settled };
    await refundCharge(database, duplicate, createAnalyticsStore(database));
    await refundCharge(database, duplicate, createAnalyticsStore(database));
    assert.deepEqual(await charged(), ["x"]);
    const sums = await database.query(
      `select calls::integer as calls, cost_nanos::bigint as cost, charged_nanos::bigint as charged
     from usage_sums where part = 'all' and span = 'day'`,
    );
    assert.deepEqual(sums, [{ calls: 2, cost: 2n * charge, charged: charge }]);
  },
);

for (const way of ["dropped", "given back"]) {
  eachDatabase(`of calls without a price the one that is ${way} costs nothing later either`, async (
    database,
  ) => {
    const { accountId, records, dead, claimOf, row, charged } = await setUp(database);
    const [x, y] = [claimOf(), claimOf()];
    for (const claim of [x, y]) await dead.claim(claim);
    const unpriced = { costNanos: null, chargedNanos: 0n, model: "gpt-x", priceVersion: null };
    const more = { ...unpriced, billingBasis: "reported", inputTokens: 1000 } as const;
    await records.insert([row("x", x, more)]);
    await records.insert([row("y", way === "dropped" ? y : claimOf({ requestId: "r2" }), more)]);
    const analytics = createAnalyticsStore(database);
    if (way === "given back") {
      await refundCharge(database, { accountId, transactionId: "y", note: "twice" }, analytics);
    }
    const registry = createRegistry({}, []);
    const prices = createPrices({
      bundled: [],
      overrides: parsePricesFile('{"vendor-b/gpt-x": {"input": "0.001"}}'),
      familyOf: (name) => registry.find(name),
    });
    const store = createRepricing(database, analytics);
    for (const dryRun of [true, false]) {
      const [sum] = await reprice({ store, prices, registry }, [{ accountId }], dryRun);
      assert.deepEqual([sum!.newCostNanos, sum!.chargedNanos], [2_000n, 1_000n]);
    }
    assert.deepEqual(await charged(), ["x"]);
    const shown = await createCreditHistory(database).latest(accountId, 10);
    assert.deepEqual(shown.map(({ nanos }) => nanos), [-1_000n, 1_000_000n]);
  });

  eachDatabase(
    `a charge that is ${way} leaves its key's cap and its budget as if it had not been`,
    async (
      database,
    ) => {
      const { accountId, records, dead, claimOf, row } = await setUp(database);
      const key = await createApiKeys(database).insert(cappedKey(accountId, 2n * charge));
      const process = capProcess(database);
      const at = process.clock.now();
      const budgets = createBudgetStore(database);
      const budget: NewBudget = {
        ...{ accountId, scope: { kind: "account", name: "" }, per: "day" },
        ...{ limitNanos: 9n * charge, raised: null },
      };
      await budgets.set("budget", budget, { now: at, prior: () => Promise.resolve(0n) });
      const [x, y] = [claimOf(), claimOf()];
      for (const claim of [x, y]) await dead.claim(claim);
      const more = { apiKeyId: key.id, createdAt: at };
      const ended = async () => {
        const { hold } = await process.begin(key, charge);
        hold.settle(charge);
        return { ...more, limitLeaseIds: hold.leaseIds };
      };
      const [xMore, yMore] = [await ended(), await ended()];
      await records.insert([row("x", x, xMore)]);
      // Its request has a claim of its own where the charge is to stand at first.
      const second = way === "dropped" ? y : claimOf({ requestId: "r2" });
      await records.insert([row("y", second, yMore)]);
      if (way === "given back") {
        const duplicate = { accountId, transactionId: "y", note: "twice" };
        await refundCharge(database, duplicate, createAnalyticsStore(database));
      }
      await process.begin(key, charge);
      await assert.rejects(process.begin(key, 1n), /spend cap/);
      const listed = await budgets.list({ accountId, now: at });
      assert.deepEqual(listed.map(({ spentNanos }) => spentNanos), [charge]);
    },
  );
}

function cappedKey(accountId: number, capDayNanos: bigint): NewApiKey {
  return {
    ...{ id: "capped", accountId, name: "capped", prefix: "dmt_abcd", hash: "hash" },
    ...{ scopes: [], models: [], onDisconnect: "cancel", translationMode: "default" },
    ...{ capDayNanos, capMonthNanos: null, expiresAt: null },
  };
}
