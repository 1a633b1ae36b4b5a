/** Refused calls: written in batches, bounded, stored for their retention time, and per account. */
import assert from "@std/assert";
import type {
  RefusalCount,
  RefusalSpan,
  RefusalStore,
  RefusedRequest,
} from "../../src/refusals/refusal.ts";
import { RefusalRecorder } from "../../src/refusals/refusal_recorder.ts";
import { createRefusalStore } from "../../src/refusals/store/refusals.ts";
import { Fault } from "../../src/shared/fault.ts";
import { createRefusals } from "../../src/refusals/wire.ts";
import type { Database } from "../../src/database/database.ts";
import { systemClock } from "../../src/base/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { newAccount } from "./samples.ts";

const now = new Date("2026-11-21T11:59:59.999Z");
const day = 86_400_000;
const silent = { info() {}, warn() {}, error() {} };

function refusal(accountId: number, more: Partial<RefusedRequest> = {}): RefusedRequest {
  return {
    ...{ accountId, at: now, requestId: "one", httpStatus: 400, code: "invalid_value" as const },
    ...{ param: "n", model: "vendor-b/gpt-x", apiKeyId: "key 1", endpoint: "/chat", isCall: true },
    ...more,
  };
}

eachDatabase(
  "refused calls are listed, counted by steps of time, and go after 30 days",
  async (database) => {
    const [ours, theirs] = [await newAccount(database), await newAccount(database, "theirs")];
    const store = createRefusalStore(database);
    const recorder = new RefusalRecorder({ store, clock: systemClock, log: silent });
    const span = { from: new Date(now.getTime() - 40 * day), to: new Date(now.getTime() + day) };
    for (let n = 0; n < 30; n++) {
      recorder.note(refusal(ours, {
        at: new Date(now.getTime() - n * day),
        requestId: `id ${n}`,
        code: n % 3 === 0 ? "rate_limit_exceeded" : "invalid_value",
        isCall: n % 2 === 0,
        param: "\u0000\ud800",
        model: n === 1 ? undefined : "m".repeat(1000),
      }));
    }
    // Of one hour and one model, under two codes.
    for (const code of ["invalid_value", "rate_limit_exceeded", "invalid_value"] as const) {
      recorder.note(refusal(theirs, { requestId: "theirs", code, isCall: true, model: "m" }));
    }
    await Promise.all([recorder.flush(), recorder.flush()]);
    assert.equal(recorder.waiting, 0);
    const query = { accountId: ours, ...span };
    const all = await store.list({ ...query, limit: 100 });
    assert.deepEqual(
      all.map(({ requestId }) => requestId),
      [...Array(30).keys()].map((n) => `id ${n}`),
    );
    assert.equal(all[0]!.model!.length, 120);
    assert.equal(all[1]!.model, undefined);
    const pages = await readPages(store, query);
    assert.deepEqual(pages, all.map(({ requestId }) => requestId));
    assert.equal(await store.total(query), 30);
    const another = { accountId: theirs, ...span };
    assert.equal(await store.total(another), 3);
    assert.deepEqual(await store.counts(another, "model", 5), [{ value: "m", refused: 3 }]);
    assert.deepEqual((await store.steps(another, [span.from])).map(({ refused }) => refused), [3]);
    const before = { ...another, to: span.from };
    assert.equal(await store.total(before), 0);
    assert.deepEqual(await store.counts(before, "model", 5), []);
    assert.deepEqual(await store.steps(before, [span.from]), []);
    assert.deepEqual(await store.counts(query, "code", 5), [
      { value: "invalid_value", refused: 20 },
      { value: "rate_limit_exceeded", refused: 10 },
    ]);
    const starts = [query.from, new Date(now.getTime() - 10 * day), new Date(now.getTime() - day)];
    const steps = await store.steps(query, starts);
    assert.deepEqual(steps.map(({ at }) => at), starts);
    assert.equal(steps.reduce((sum, { refused }) => sum + refused, 0), 15);
    const [first, second, third] = starts;
    assert.deepEqual(
      await store.steps({ ...query, to: third! }, [first!, second!]),
      steps.slice(0, 2),
    );
    await assertFiltered(store, query);
    // Counts have whole hours: the first one of a span counts, the one that begins at its end not.
    const hour = new Date(now.getTime() - now.getTime() % 3_600_000);
    const ofHour = await store.steps({ ...query, from: hour }, [hour]);
    assert.deepEqual(ofHour, [{ at: hour, refused: 1 }]);
    assert.deepEqual(
      await store.steps({ ...query, to: hour }, starts),
      [
        ...steps.slice(0, 2),
        { at: third, refused: steps[2]!.refused - 1 },
      ].filter(({ refused }) => refused > 0),
    );
    await assertSwept(database, query);
  },
);

/** The ids of all requests, seven a page. */
async function readPages(store: RefusalStore, query: RefusalSpan): Promise<string[]> {
  const pages: string[] = [];
  let after: { at: Date; id: string } | undefined;
  for (;;) {
    const page = await store.list({ ...query, limit: 7, ...(after ? { after } : {}) });
    pages.push(...page.map(({ requestId }) => requestId));
    if (page.length < 7) return pages;
    after = page.at(-1)!;
  }
}

async function assertFiltered(store: RefusalStore, query: RefusalSpan): Promise<void> {
  assert.equal((await store.list({ ...query, limit: 5, requestId: "id 3" })).length, 1);
  assert.equal((await store.list({ ...query, limit: 5, requestId: "theirs" })).length, 0);
  assert.equal((await store.list({ ...query, limit: 5, model: "" })).length, 1);
  assert.equal(
    (await store.list({ ...query, limit: 50, code: "rate_limit_exceeded" })).length,
    10,
  );
  assert.equal(await store.total({ ...query, code: "rate_limit_exceeded" }), 10);
  assert.equal(await store.total({ ...query, apiKeyId: "key 1" }), 30);
  assert.equal(await store.total({ ...query, apiKeyId: "key 2" }), 0);
}

/** Ten and a half days later. */
async function assertSwept(database: Database, query: RefusalSpan): Promise<void> {
  const { accountId } = query;
  const store = createRefusalStore(database);
  // More than one statement removes.
  const old = new Date(now.getTime() - 31 * day);
  await store.add(Array.from({ length: 1100 }, () => refusal(accountId, { at: old })), []);
  const later = { now: () => new Date(now.getTime() + 10.5 * day), monotonicMs: () => 0 };
  await createRefusals({ database, clock: later, log: silent }).sweepRefusals();
  assert.equal((await store.list({ ...query, limit: 100 })).length, 20);
  assert.equal(await store.total(query), 20);
  const ended = { accountId, from: old, to: now };
  assert.ok((await store.list({ ...ended, limit: 1100 })).every(({ at }) => at > old));
}

eachDatabase(
  "a flood is counted whole and listed in part; a store that is away loses neither",
  async (database) => {
    const accountId = await newAccount(database);
    const store = createRefusalStore(database);
    let isAway = true;
    let nowMs = 0;
    const recorder = new RefusalRecorder({
      store: {
        add: (...args) => isAway ? Promise.reject(new Error("away")) : store.add(...args),
      },
      clock: { monotonicMs: () => nowMs },
      log: silent,
    });
    for (let n = 0; n < 20_000; n++) {
      recorder.note(refusal(accountId, { requestId: `id ${n}`, model: `made up ${n}` }));
      if (n % 5_000 === 0) await assert.rejects(recorder.flush(), /away/);
    }
    assert.ok(recorder.waiting <= 10_000, String(recorder.waiting));
    // One that has a count of its own, and one that came too late for that.
    for (const n of [5, 19_999]) recorder.note(refusal(accountId, { model: `made up ${n}` }));
    isAway = false;
    await recorder.flush();
    const query = {
      accountId,
      from: new Date(now.getTime() - day),
      to: new Date(now.getTime() + day),
    };
    assert.equal(await store.total(query), 20_002);
    assert.equal(await store.total({ ...query, model: "made up 5" }), 2);
    assert.equal((await store.list({ ...query, limit: 1000 })).length, 500);
    assert.equal((await store.counts(query, "model", 5000)).length, 101);
    nowMs += 10_000;
    for (let n = 0; n < 20; n++) recorder.note(refusal(accountId, { requestId: `later ${n}` }));
    await recorder.flush();
    assert.equal((await store.list({ ...query, limit: 1000 })).length, 510);
    assert.equal(await store.total(query), 20_022, "counts of one hour add up");
    const [newest] = await store.list({ ...query, limit: 1 });
    assert.equal(newest!.requestId, "later 9", "the latest of one millisecond first");
    nowMs += 3_600_000;
    recorder.note(refusal(accountId, { model: "of the next hour" }));
    await recorder.flush();
    assert.equal(await store.total({ ...query, model: "of the next hour" }), 1);
  },
);

eachDatabase(
  "refused calls of an account that a failover has lost keep no others from being stored",
  async (database) => {
    const accountId = await newAccount(database);
    let transactions = 0;
    const transaction: Database["transaction"] = (work) => {
      transactions++;
      return database.transaction(work);
    };
    const recorder = new RefusalRecorder({
      store: createRefusalStore({ ...database, transaction }),
      ...{ clock: systemClock, log: silent },
    });
    for (const one of [accountId + 1, accountId]) recorder.note(refusal(one));
    await recorder.flush();
    assert.equal(recorder.waiting, 0);
    assert.equal(transactions, 1, "one for each account would be slow with many");
    const store = createRefusalStore(database);
    const [from, to] = [-1, 1].map((days) => new Date(now.getTime() + days * day));
    assert.equal(await store.total({ accountId, from: from!, to: to! }), 1);
  },
);

Deno.test("a store that is away while accounts are tried one by one is not asked for each", async () => {
  const away = new Fault("store_unavailable", { note: "away" });
  const locked = Object.assign(new Error("locked"), { code: "55P03" });
  const failing: unknown[] = [locked, locked, new Error("a row is refused"), undefined, away];
  const transaction = () => {
    const thrown = failing.shift();
    return thrown === undefined ? Promise.resolve() : Promise.reject(thrown);
  };
  const recorder = new RefusalRecorder({
    store: createRefusalStore({ transaction } as unknown as Database),
    ...{ clock: systemClock, log: silent },
  });
  for (const account of [1, 2, 3, 4, 5]) recorder.note(refusal(account));
  const perAccount = recorder.waiting / 5;
  await assert.rejects(recorder.flush(), (thrown: unknown) => thrown === away);
  assert.equal(recorder.waiting, 4 * perAccount, "all but the third's wait");
  assert.deepEqual(failing, []);
});

Deno.test("while the store is away memory is bounded, and uncounted refusals are reported", async () => {
  const added: [readonly RefusedRequest[], readonly RefusalCount[]][] = [];
  const told: number[] = [];
  const begun = Promise.withResolvers<void>();
  let away = Promise.withResolvers<void>();
  const recorder = new RefusalRecorder({
    store: {
      add: async (...batch) => {
        added.push(batch);
        begun.resolve();
        await away.promise;
        return new Map();
      },
    },
    clock: { monotonicMs: () => 0 },
    log: { ...silent, warn: (_message, fields) => void told.push(Number(fields?.calls)) },
  });
  for (let account = 0; account < 60; account++) {
    for (let n = 0; n < 120; n++) recorder.note(refusal(account, { model: `made up ${n}` }));
  }
  assert.equal(recorder.waiting, 10_000);
  const writing = recorder.flush();
  await begun.promise;
  for (let n = 0; n < 10; n++) recorder.note(refusal(99));
  away.reject(new Error("away"));
  await assert.rejects(writing, /away/);
  assert.equal(recorder.waiting, 10_000);
  away = Promise.withResolvers();
  away.resolve();
  added.length = 0;
  await recorder.flush();
  const [rows, counts] = added[0]!;
  assert.deepEqual([rows.length, counts.length], [5_000, 5_000]);
  const counted = counts.reduce((sum, { refused }) => sum + refused, 0);
  const lost = told.reduce((sum, calls) => sum + calls, 0);
  assert.equal(counted + lost, 60 * 120 + 10);
  recorder.note(refusal(1));
  const before = told.length;
  away = Promise.withResolvers();
  const first = recorder.flush();
  recorder.note(refusal(1));
  const second = recorder.flush();
  away.resolve();
  await Promise.all([first, second]);
  assert.equal(recorder.waiting, 0, "a second flush writes what came after the first one's batch");
  assert.equal(told.length, before, "each is told once");
});
