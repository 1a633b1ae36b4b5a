/** Which event a process takes next, of those that wait for webhooks, and which row it locks. */
import assert from "@std/assert";
import type { Fault } from "../../src/shared/fault.ts";
import { Secret } from "../../src/base/secret.ts";
import { type AuditNote, commandLine } from "../../src/audit/audit.ts";
import { createBudgetStore } from "../../src/budgets/store/budgets.ts";
import { createLedger } from "../../src/credit/store/ledger.ts";
import type { Database, SqlRow, SqlValue } from "../../src/database/database.ts";
import { createDeliveries } from "../../src/webhooks/store/deliveries.ts";
import { UnsealError } from "../../src/keys/sealing.ts";
import { type Webhook, webhookLimits } from "../../src/webhooks/webhook.ts";
import { createWebhookStore } from "../../src/webhooks/store/webhooks.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import { startInTurn } from "../support/lock_queue.ts";
import { newAccount, untilOneWaits } from "./samples.ts";

const noon = new Date("2026-11-21T12:00:00Z");
const secret = new Secret("s");
const sealer = {
  open: () => Promise.resolve(() => Promise.resolve({ sealed: "sealed", keyVersion: 1n })),
  unseal: () => Promise.resolve(secret),
};

/** A webhook for all events; its id. */
async function addHook(database: Database): Promise<string> {
  const accountId = await newAccount(database);
  const hook = { accountId, url: "https://hooks.example", events: [], creditLowNanos: null };
  const store = createWebhookStore(database, { sealer, workerId: "one/1" });
  return (await store.add("hook", hook, secret))!.id;
}

eachDatabase("of thousands of events for one receiver, a claim reads a few", async (database) => {
  const hook = await addHook(database);
  const waiting = 4_000;
  await database.query(
    `insert into webhook_deliveries
       (id, webhook_id, event_key, type, data, at, next_at, ends_at)
     select 'm' || n, $1, 'k' || n, 'export.ready', '{}', $2, $2, $2
     from generate_series(1, ${waiting}) n`,
    [hook, noon],
  );
  const read = await database.transaction(async (tx) => {
    const within = {
      query: tx.query.bind(tx),
      transaction: (run: (one: typeof tx) => unknown) => run(tx),
    };
    const deliveries = createDeliveries({ ...database, ...within } as Database, {
      sealer,
      workerId: "one/1",
    });
    const first = await deliveries.claim(noon, []);
    assert.equal(await deliveries.claim(noon, [first!.id]), undefined, "one at a time");
    const [row] = await tx.query(
      `select (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as n
       from pg_stat_xact_user_tables where relname = 'webhook_deliveries'`,
    );
    return Number(row!.n);
  });
  assert.ok(read > 0 && read < 20, `${read} rows`);
}, { fresh: true });

eachDatabase("a new event is due although its clock is ahead, and then waits its pauses", async (
  database,
) => {
  const hook = await addHook(database);
  const deliveries = createDeliveries(database, { sealer, workerId: "one/1" });
  const ahead = new Date(noon.getTime() + 10 * 60_000);
  await database.query(
    `insert into webhook_deliveries (id, webhook_id, event_key, type, data, at, next_at, ends_at)
     values ('m', $1, 'k', 'deletion.done', '{}', $2, $2, $2)`,
    [hook, ahead],
  );
  const claimed = await deliveries.claim(noon, []);
  assert.equal(claimed?.id, "m");
  const nextAt = new Date(noon.getTime() + 5_000);
  await deliveries.finish(claimed!, { kind: "failed", at: noon, reason: "status 500", nextAt });
  assert.equal(await deliveries.claim(noon, []), undefined);
  const again = (await deliveries.claim(nextAt, []))!;
  assert.equal(again.id, "m");
  const tomorrow = new Date(noon.getTime() + 24 * 3_600_000);
  await deliveries.finish(again, { kind: "failed", at: noon, reason: "none", nextAt: tomorrow });
  assert.equal((await deliveries.claim(noon, []))?.id, "m", "the clock was set back by a day");
});

onPostgres("replicas that claim at once send a receiver one event at a time", async (database) => {
  const hook = await addHook(database);
  const processes = ["one", "two", "three", "four"].map((name) =>
    createDeliveries(database, {
      sealer,
      workerId: `${name}/1`,
    })
  );
  for (let round = 0; round < 20; round++) {
    await database.query(
      `insert into webhook_deliveries (id, webhook_id, event_key, type, data, at, next_at, ends_at)
       select n, $1, n, 'export.ready', '{}', $2, $2, $2 from unnest($3::text[]) n`,
      [hook, noon, ["a", "b", "c", "d"].map((name) => `${name}${round}`)],
    );
    const claimed = await Promise.all(processes.map((one) => one.claim(noon, [])));
    assert.equal(claimed.filter((one) => one !== undefined).length, 1, `round ${round}`);
    await database.query("delete from webhook_deliveries");
  }
});

eachDatabase(
  "a process with an old master key tries a receiver's events once a minute, and delays none",
  async (
    database,
  ) => {
    const hook = await addHook(database);
    await database.query(
      `insert into webhook_deliveries (id, webhook_id, event_key, type, data, at, next_at, ends_at)
     select 'm' || n, $1, 'k' || n, 'export.ready', '{}', $2, $2, $2 from generate_series(1, 50) n`,
      [hook, noon],
    );
    let tries = 0;
    const unseal = () => {
      tries++;
      return Promise.reject(new UnsealError("sealed under another key"));
    };
    const old = createDeliveries(database, { sealer: { ...sealer, unseal }, workerId: "one/1" });
    const claimAt = (second: number) => old.claim(new Date(noon.getTime() + second * 1000), []);
    for (const second of [0, 1, 59]) assert.equal(await claimAt(second), undefined);
    assert.equal(tries, 1);
    const current = createDeliveries(database, { sealer, workerId: "two/1" });
    const claimed = await current.claim(noon, []);
    assert.ok(claimed, "the other process doesn't wait");
    await current.release(claimed!);
    await claimAt(60);
    assert.equal(tries, 2);
  },
);

eachDatabase(
  "an account's slow receivers, whatever waits for them, make no other account wait",
  async (
    database,
  ) => {
    const store = createWebhookStore(database, { sealer, workerId: "one/1" });
    const deliveries = createDeliveries(database, { sealer, workerId: "one/1" });
    const at = (ms: number) => new Date(noon.getTime() + ms);
    const add = async (id: string, accountId: number, events: number, ms: number) => {
      await store.add(
        id,
        { accountId, url: "https://hooks.example", events: [], creditLowNanos: null },
        secret,
      );
      await database.query(
        `insert into webhook_deliveries (id, webhook_id, event_key, type, data, at, next_at, ends_at)
       select $1 || n, $1, 'k' || n, 'export.ready', '{}', $2, $2, $2
       from generate_series(1, $3::int) n`,
        [id, at(ms), events],
      );
    };
    const slow = await newAccount(database, "slow");
    for (let hook = 0; hook < 6; hook++) await add(`slow${hook}`, slow, 2, 0);
    const next = async (ms: number) => (await deliveries.claim(at(ms), []))!;
    const working = [await next(0), await next(0), await next(0), await next(0)];
    await add("other", await newAccount(database, "other"), 3, 1_000);
    const sent = async (delivery: typeof working[number]) =>
      await deliveries.finish(delivery, { kind: "sent", at: at(2_000) });
    await sent(working.shift()!);
    const hooks: string[] = [];
    for (let turn = 0; turn < 4; turn++) {
      const delivery = await next(2_000);
      hooks.push(delivery.webhookId);
      await sent(delivery);
    }
    assert.deepEqual(hooks, ["other", "other", "other", "slow0"]);
  },
);

eachDatabase("a restarted process sends at once what its earlier run was sending", async (
  database,
) => {
  const hook = await addHook(database);
  const run = (workerId: string) => createDeliveries(database, { sealer, workerId });
  await database.query(
    `insert into webhook_deliveries (id, webhook_id, event_key, type, data, at, next_at, ends_at)
     select n, $1, n, 'export.ready', '{}', $2, $2, $2 from unnest(array['a', 'b']) n`,
    [hook, noon],
  );
  assert.equal((await run("one/1").claim(noon, []))!.id, "a");
  if (database.kind !== "embedded") {
    assert.equal(await run("two/1").claim(noon, []), undefined, "another process waits");
  }
  const restarted = run("one/2");
  assert.equal((await restarted.claim(noon, []))!.id, "a");
  assert.equal(await restarted.claim(noon, ["a"]), undefined, "still one at a time");
});

onPostgres("a webhook is removed while an attempt to send to it ends", async (database) => {
  const hook = await addHook(database);
  const store = createWebhookStore(database, { sealer, workerId: "one/1" });
  const at = new Date();
  await store.enqueue(
    { ...{ accountId: "first", key: "k", type: "webhook.test" }, ...{ data: {}, at } },
    hook,
  );
  const delivery = (await store.claim(at, []))!;
  // Both wait for the webhook's row, the removal in front.
  const [removed] = await startInTurn(
    database,
    "select from webhooks for share",
    () => store.remove(hook, {}),
    () => store.finish(delivery, { kind: "sent", at }),
  );
  assert.equal((removed as { id: string }).id, hook);
  assert.deepEqual(await database.query("select from webhook_deliveries"), []);
});

onPostgres(
  "two processes that notice the same thing at the same moment store one event",
  async (database) => {
    const hook = await addHook(database);
    const store = createWebhookStore(database, { sealer, workerId: "one/1" });
    const [account] = await database.query("select id from accounts");
    const ledger = createLedger(database);
    await ledger.grant(Number(account!.id), 100n);
    await store.note(noon, ["vendor-b"]);
    await store.note(new Date(noon.getTime() + 60_000), []);
    await database.query("delete from webhook_deliveries");
    await ledger.adjust(Number(account!.id), -95n, { note: "spent" });
    // Their clocks differ, so that two events would have two keys.
    const noteAt = (seconds: number) => () =>
      store.note(new Date(noon.getTime() + seconds * 1000), ["vendor-b"]);
    for (const table of ["webhooks", "vendor_states"]) {
      await startInTurn(database, `select from ${table} for update`, noteAt(70), noteAt(71));
    }
    const events = await database.query(
      "select webhook_id, type from webhook_deliveries order by type",
    );
    const types = ["credit.low", "vendor.down"];
    assert.deepEqual(events, types.map((type) => ({ webhook_id: hook, type })));
  },
);

onPostgres(
  "while one event waits for a locked budget or webhook, no other one is locked",
  async (database) => {
    const store = createWebhookStore(database, { sealer, workerId: "one/1" });
    const ledger = createLedger(database);
    const accounts: number[] = [];
    for (const id of ["a", "b", "c"]) {
      const accountId = await newAccount(database, id);
      await store.add(id, {
        ...{ accountId, url: "https://hooks.example", events: [], creditLowNanos: null },
      }, secret);
      await createBudgetStore(database).set(id, {
        ...{ accountId, scope: { kind: "account", name: "" }, per: "day" },
        ...{ limitNanos: 100n, raised: null },
      }, { now: noon, prior: () => Promise.resolve(80n) });
      await ledger.grant(accountId, 100n, { note: id });
      accounts.push(accountId);
    }
    await store.note(noon, []);
    // Nothing new happens to a, which comes first.
    const spend = () =>
      database.query("update budget_periods set spent_nanos = 95 where budget_id <> 'a'");
    const lower = async () => {
      for (const accountId of accounts.slice(1)) {
        await ledger.adjust(accountId, -99n, { note: "spent" });
      }
    };
    const waiting = async () => (await store.list()).map(({ waiting }) => waiting);
    assert.deepEqual(await waiting(), [1, 1, 1]);
    for (
      const [change, table, key, expected] of [
        [spend, "budget_periods", "budget_id", [1, 2, 1]],
        [lower, "webhooks", "id", [1, 3, 2]],
      ] as const
    ) {
      const row = (id: string, wait = "") =>
        `select from ${table} where ${key} = '${id}' for update ${wait}`;
      await change();
      let isOver = false;
      const { noted, ...meanwhile } = await database.transaction(async (tx) => {
        for (const id of ["a", "c"]) await tx.query(row(id));
        const noted = store.note(noon, []).finally(() => isOver = true);
        await untilOneWaits(database, () => isOver);
        const isFree = await database.query(row("b", "nowait")).then(() => true, () => false);
        return { noted, isFree, waiting: await waiting() };
      });
      await noted;
      assert.deepEqual(meanwhile, { isFree: true, waiting: expected }, table);
    }
  },
);

onPostgres("an event whose row stays locked waits for the next run, and holds up no other", async (
  database,
) => {
  await addHook(database);
  const store = createWebhookStore(database, { sealer, workerId: "one/1" });
  const both = ["vendor-a", "vendor-b"];
  await store.note(noon, both);
  const later = new Date(noon.getTime() + 60_000);
  await store.note(later, []);
  const count = async () => (await database.query("select from webhook_deliveries")).length;
  assert.equal(await count(), 4);
  let isOver = false;
  const noting = await database.transaction(async (tx) => {
    await tx.query("select from vendor_states where label = 'vendor-a' for update");
    const noting = store.note(later, both).catch((thrown) => thrown).finally(() => isOver = true);
    for (const endMs = Date.now() + 60_000; !isOver && Date.now() < endMs;) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.ok(isOver, "the run waits for the locked row");
    return { noting };
  });
  assert.equal((await noting.noting as Fault).code, "store_unavailable");
  assert.equal(await count(), 5);
  await store.note(later, both);
  assert.equal(await count(), 6);
});

eachDatabase("an event that can't be stored, as at a locked budget, keeps no other back", async (
  database,
) => {
  await addHook(database);
  const [account] = await database.query("select id from accounts");
  const accountId = Number(account!.id);
  await createBudgetStore(database).set("b", {
    ...{ accountId, scope: { kind: "account", name: "" }, per: "day" },
    ...{ limitNanos: 100n, raised: null },
  }, { now: noon, prior: () => Promise.resolve(80n) });
  const ledger = createLedger(database);
  await ledger.grant(accountId, 100n);
  await ledger.adjust(accountId, -95n, { note: "spent" });
  let transactions = 0;
  const locked: Database = {
    ...database,
    transaction: (run) =>
      transactions++ === 0 ? Promise.reject(new Error("locked")) : database.transaction(run),
  };
  const noteOn = (one: Database) =>
    createWebhookStore(one, { sealer, workerId: "one/1" }).note(noon, ["vendor-b"]);
  const stored = async () => {
    const events = await database.query("select type from webhook_deliveries order by type");
    return events.map(({ type }) => type);
  };
  await assert.rejects(() => noteOn(locked), /locked/);
  assert.deepEqual(await stored(), ["credit.low", "vendor.down"]);
  await noteOn(database);
  assert.deepEqual(await stored(), ["budget.reached", "credit.low", "vendor.down"]);
});

onPostgres(
  "two webhooks that are made at the same moment keep an account's number",
  async (database) => {
    await addHook(database);
    await database.query(
      `insert into webhooks (id, account_id, url, events, sealed, key_version)
     select 'h' || n, account_id, url, events, sealed, key_version
     from webhooks, generate_series(3, $1::int) n`,
      [webhookLimits.perAccount],
    );
    const store = createWebhookStore(database, { sealer, workerId: "one/1" });
    const [{ accountId, url }] = await store.list() as [Webhook];
    const add = (id: string) => () =>
      store.add(id, { accountId, url, events: [], creditLowNanos: null }, secret);
    const held = "select from accounts for update";
    const added = await startInTurn(database, held, add("one"), add("two"));
    assert.deepEqual(added.map((one) => (one as Webhook | undefined)?.id), ["one", undefined]);
  },
);

eachDatabase("what was sent is remembered for a day after its last, and what waits stays", async (
  database,
) => {
  const hook = await addHook(database);
  const deliveries = createDeliveries(database, { sealer, workerId: "one/1" });
  await database.query(
    `insert into webhook_deliveries
       (id, webhook_id, event_key, type, data, at, next_at, ends_at)
     select 'm' || n, $1, 'k' || n, 'export.ready', '{}', $2, $2, $3 from generate_series(1, 2) n`,
    [hook, noon, hoursLater(24)],
  );
  const claimed = await deliveries.claim(noon, []);
  assert.equal(await deliveries.finish(claimed!, { kind: "sent", at: noon }), "sent");
  const next = await deliveries.claim(noon, []);
  assert.notEqual(next!.id, claimed!.id);
  await deliveries.finish(next!, {
    ...{ kind: "failed", at: noon, reason: "away", nextAt: hoursLater(1) },
  });
  assert.equal(await deliveries.claim(noon, []), undefined, "neither again before its time");
  // An attempt that fails at the former address sets no pause for the new one.
  const underWay = await deliveries.claim(hoursLater(1), []);
  const url = "https://other.example";
  const store = createWebhookStore(database, { sealer, workerId: "one/1" });
  const changed = ({ accountId }: { accountId: number }): AuditNote => ({
    ...{ accountId, actor: commandLine, action: "webhook.changed", subject: url, detail: "" },
    at: noon,
  });
  await store.update(hook, { url }, changed);
  await deliveries.finish(underWay!, {
    ...{ kind: "failed", at: hoursLater(1), reason: "former", nextAt: hoursLater(5) },
  });
  const again = await deliveries.claim(hoursLater(1), []);
  assert.deepEqual([again?.id, again?.url, again?.attempts], [next!.id, url, 0]);
  // Nor is its event lost if that attempt would have been the last one.
  await store.update(hook, { url: `${url}/new` }, changed);
  const failed = { kind: "failed", at: hoursLater(1), reason: "former", nextAt: null } as const;
  assert.equal(await deliveries.finish(again!, failed), "waiting");
  assert.equal(await deliveries.finish(again!, failed), undefined, "its claim has ended");
  const last = await deliveries.claim(hoursLater(1), []);
  assert.deepEqual([last?.id, last?.url], [next!.id, `${url}/new`]);
  // Its reason isn't shown as one at the new URL.
  const [listed] = await store.list();
  assert.deepEqual([listed!.lost, listed!.lastFailedAt, listed!.lastError], [0n, noon, "away"]);
  // A change between claim and attempt: the attempts at the former URL don't count here either.
  await deliveries.finish(last!, {
    ...{ kind: "failed", at: noon, reason: "away", nextAt: hoursLater(2) },
  });
  const changing: Database = {
    ...database,
    async query<Row extends SqlRow>(text: string, values?: readonly SqlValue[]) {
      if (text.includes("from webhooks where")) await store.update(hook, { url }, changed);
      return await database.query<Row>(text, values);
    },
  };
  const late = await createDeliveries(changing, { sealer, workerId: "two/1" })
    .claim(hoursLater(2), []);
  assert.deepEqual([late?.url, late?.attempts], [url, 0]);
  const statesAfter = async (hours: number) => {
    await deliveries.sweep(hoursLater(hours));
    const rows = await database.query("select state from webhook_deliveries order by state");
    return rows.map(({ state }) => state);
  };
  // So that its key doesn't come again.
  assert.deepEqual(await statesAfter(48), ["sent", "waiting"]);
  assert.deepEqual(await statesAfter(49), ["waiting"]);
});

eachDatabase(
  "an event that is given up is lost, and counted; one without its budget is lost at once",
  async (
    database,
  ) => {
    const hook = await addHook(database);
    const store = createWebhookStore(database, { sealer, workerId: "one/1" });
    await database.query(
      `insert into webhook_deliveries (id, webhook_id, event_key, type, data, at, next_at, ends_at)
     values ('a', $1, 'a', 'export.ready', '{}', $2, $2, $3),
       ('b', $1, 'b', 'budget.reached', '{"budget_id":"gone"}', $3, $3, $3)`,
      [hook, noon, hoursLater(1)],
    );
    const failed = { kind: "failed", at: noon, reason: "away", nextAt: null } as const;
    await store.finish((await store.claim(noon, []))!, failed);
    const states = async () => {
      const rows = await database.query("select state from webhook_deliveries order by id");
      return rows.map(({ state }) => state);
    };
    assert.deepEqual(await states(), ["lost", "waiting"]);
    const listed = await store.find(hook);
    assert.deepEqual([listed!.lost, listed!.lastError, listed!.waiting], [1n, "away", 1]);
    assert.equal(await store.claim(hoursLater(1), []), undefined);
    assert.deepEqual(await states(), ["lost", "lost"]);
  },
);

function hoursLater(hours: number): Date {
  return new Date(noon.getTime() + hours * 3_600_000);
}
