import type { AuditNote } from "../audit/audit.ts";
import { createErasureIndex } from "./erasures.ts";
import assert from "@std/assert";
import { FakeTimers } from "../../tests/support/fake_timers.ts";
import {
  type Deletion,
  type DeletionStore,
  type ErasedBatch,
  type ErasedSpan,
  selectorKinds,
} from "./deletion.ts";
import { Fault } from "../shared/fault.ts";
import { tombstoneOf } from "./tombstone.ts";
import { Deletions } from "./deletions.ts";

const wanted = {
  accountId: 1,
  tables: ["interactions"],
  selectors: { userIds: ["ann"] },
  reason: null,
} as const;

const request = { ...wanted, deletionId: "d1", requestedAt: new Date(0) };
const claimed = { tombstone: tombstoneOf(request, "salt"), selectors: wanted.selectors };
const span = { tables: ["interactions"], from: new Date(1), to: new Date(2) } as const;

/** A store that writes down what it is asked; `steps` says how each batch goes. */
function setUp(
  steps: (() => Promise<ErasedBatch>)[],
  waiting = 0,
  flushed: () => Promise<void> = () => Promise.resolve(),
  over: Partial<DeletionStore> & {
    eraseExports?: (span: ErasedSpan) => Promise<number>;
    retentionUsageDays?: number;
    /** Holds up what was just asked. */
    hold?: (what: string) => Promise<void> | undefined;
  } = {},
) {
  const asked: string[] = [];
  const warned: unknown[] = [];
  const note = async <T>(what: string, value: T) => {
    asked.push(what);
    await over.hold?.(what);
    return value;
  };
  let isTaken = false;
  const store: DeletionStore = {
    count: () => note("count", { interactions: 3, eval_runs: 0, eval_results: 0 }),
    add: (_request, as = "queued") => note(`add ${as}`, claimed.tombstone),
    ...{ restore: unused, list: unused, now: unused },
    claim: () => {
      if (isTaken || waiting === 0) return note("claim nothing", undefined);
      isTaken = true;
      return note("claim", claimed);
    },
    renew: (ids) => note("renew", new Set(ids)),
    postpone: () => note("postpone", undefined),
    release: (id) => note(`release ${id}`, undefined),
    expect: () => note("expect", undefined),
    eraseBatch: (_deletion, from) => {
      asked.push(from ? `batch from ${from.getTime()}` : "batch");
      return steps.shift()!();
    },
    erasedSpan: () => note("span", span),
    finish: () => note("finish", undefined),
    find: () => Promise.resolve({ deletionId: "d1" } as Deletion),
    waiting: () => {
      const oldest = waiting > 0 ? new Date(clock.now().getTime() - 30_000) : null;
      return Promise.resolve({ count: waiting, oldest });
    },
    changeFeed: () => assert.fail("unused"),
    sweep: () => Promise.resolve(),
    ...over,
  };
  const { eraseExports = () => Promise.resolve(1), retentionUsageDays } = over;
  const timers = new FakeTimers();
  const { clock } = timers;
  const index = createErasureIndex(clock);
  const deletions = new Deletions({
    store,
    erasures: { refresh: () => note("refresh", undefined) },
    exports: {
      eraseExports: (account, span) => note(`exports of ${account}`, span).then(eraseExports),
    },
    retentionUsageDays,
    flushRecords: ({ timeoutMs, accountId }) => {
      assert.deepEqual([timeoutMs, typeof accountId], [Infinity, "number"]);
      return note("caught up", undefined).then(flushed);
    },
    ...{ index, clock },
    setTimer: timers.later,
    newId: () => "d1",
    log: { info() {}, warn: (message, values) => void warned.push(message, values) },
  });
  return { asked, warned, deletions, clock, timers, index };
}

const unused = () => Promise.reject(new Error("unused"));
const some = () => Promise.resolve({ isLast: false, transactionIds: ["t1"] });
const last = () => Promise.resolve({ isLast: true, transactionIds: [] });
const away = () => Promise.reject(new Fault("store_unavailable"));

Deno.test("memories hear of an erasure before rows go, exports lose their files after", async () => {
  const { asked, deletions } = setUp([some, last]);
  await deletions.erase(wanted);
  assert.deepEqual(asked, [
    ...["caught up", "add claimed", "refresh", "caught up", "expect", "batch", "batch"],
    ...["span", "exports of 1", "refresh", "finish"],
  ]);
});

Deno.test("each step waits for the one before it, and the answer for the last", async () => {
  const held = [["erase", "refresh", 1], ["erase", "expect", 1], ["erase", "refresh", 2]] as const;
  for (
    const [ask, what, nth] of [...held, ["erase", "finish", 1], ["queue", "refresh", 1]] as const
  ) {
    const gate = Promise.withResolvers<void>();
    const { asked, deletions } = setUp([last], 0, undefined, {
      hold: (one) =>
        one === what && asked.filter((other) => other === what).length === nth
          ? gate.promise
          : undefined,
    });
    let isDone = false;
    const done = deletions[ask](wanted).then(() => isDone = true);
    await someTurns();
    assert.deepEqual([asked.at(-1), isDone], [what, false], `${ask}: ${what}`);
    gate.resolve();
    await done;
  }
});

Deno.test("a deletion covers the calls so far, whose time is after an earlier deletion's", async () => {
  const times: Date[] = [];
  const add: DeletionStore["add"] = ({ requestedAt }) => {
    times.push(requestedAt);
    return Promise.resolve(claimed.tombstone);
  };
  const { deletions, clock, index } = setUp([last], 0, undefined, { add });
  const aheadMs = clock.now().getTime() + 60_000;
  const earlier = { ...request, requestedAt: new Date(aheadMs) };
  index.add([tombstoneOf(earlier, "salt")]);
  clock.advance(10);
  await deletions.erase(wanted);
  assert.deepEqual(times, [new Date(aheadMs + 1)]);
});

Deno.test("each step looks from where the last one ended, and the last one at everything", async () => {
  const upTo = (ms: number) => () =>
    Promise.resolve({ isLast: false, transactionIds: [], reached: new Date(ms) });
  const { asked, deletions } = setUp([upTo(5), upTo(9), some, last, last]);
  await deletions.erase(wanted);
  assert.deepEqual(asked.filter((one) => one.startsWith("batch")), [
    ...["batch", "batch from 5", "batch from 9", "batch from 9", "batch"],
  ]);
});

Deno.test("a dry run erases nothing and counts what was answered before", async () => {
  const { asked, deletions } = setUp([]);
  assert.equal((await deletions.count(wanted)).interactions, 3);
  assert.deepEqual(asked, ["caught up", "count"]);
});

Deno.test("nothing is counted or erased before the calls answered before are rows", async () => {
  for (const ask of ["count", "queue", "erase"] as const) {
    const writes = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const under = writes.values();
    const { asked, deletions } = setUp([last], 0, () => under.next().value!.promise);
    const done = deletions[ask](wanted);
    await someTurns();
    assert.deepEqual(asked, ["caught up"], ask);
    writes[0].resolve();
    await someTurns();
    // Calls that were answered while the deletion was stored.
    if (ask === "erase") assert.equal(asked.at(-1), "caught up");
    writes[1].resolve();
    await done;
  }
});

async function someTurns(): Promise<void> {
  for (let turns = 0; turns < 100; turns++) await Promise.resolve();
}

Deno.test("when the store goes away in the middle, the caller learns where to continue", async () => {
  const { asked, deletions } = setUp([some, away]);
  const message = /\/api\/v1\/data\/requests\/d1/;
  await assert.rejects(deletions.erase(wanted), { code: "store_unavailable", message });
  assert.equal(asked.at(-1), "postpone");
});

Deno.test("when this process's disk is full, the caller learns where to follow what goes on", async () => {
  const message = /\/api\/v1\/data\/requests\/d1/;
  for (const [ask, nth, last] of [["erase", 1, "postpone"], ["queue", 1, "refresh"]] as const) {
    let refreshes = 0;
    const noSpace = Object.assign(new Error("No space left on device"), { code: "ENOSPC" });
    const hold = (what: string) =>
      what === "refresh" && ++refreshes === nth ? Promise.reject(noSpace) : undefined;
    const { asked, deletions } = setUp([], 0, undefined, { hold });
    await assert.rejects(
      deletions[ask](wanted),
      { code: "store_unavailable", message, note: noSpace.message },
      ask,
    );
    assert.equal(asked.at(-1), last);
  }
});

Deno.test("when the store goes away behind a queued deletion, the caller learns where to follow it", async () => {
  const hold = (what: string) => what === "refresh" ? away() : undefined;
  const { deletions } = setUp([], 0, undefined, { hold });
  const message = /\/api\/v1\/data\/requests\/d1/;
  await assert.rejects(deletions.queue(wanted), { code: "store_unavailable", message });
});

Deno.test("any other failure is the caller's as it is, whether or not it can be postponed", async () => {
  for (const postpone of [() => Promise.resolve(), away]) {
    const bug = () => Promise.reject(new Error("a bug"));
    const { deletions, warned } = setUp([some, bug], 0, undefined, { postpone });
    await assert.rejects(deletions.erase(wanted), { message: "a bug" });
    assert.deepEqual(warned, [], "the caller is told");
  }
  const full = () => Promise.reject(new Fault("rate_limit_exceeded"));
  const { deletions } = setUp([full]);
  await assert.rejects(deletions.erase(wanted), { code: "rate_limit_exceeded" });
});

Deno.test("of one account's requests one is under way, 64 wait, and further ones are refused", async () => {
  const gate = Promise.withResolvers<void>();
  const steps = Array.from({ length: 67 }, () => last);
  const { asked, deletions } = setUp(steps, 0, () => gate.promise);
  const accepted = Array.from({ length: 65 }, () => deletions.erase(wanted));
  await someTurns();
  assert.equal(asked.filter((one) => one === "caught up").length, 1);
  const refused = { code: "rate_limit_exceeded", retryAfterSeconds: 10 };
  await assert.rejects(deletions.erase(wanted), refused);
  await assert.rejects(deletions.count(wanted), refused);
  const other = deletions.erase({ ...wanted, accountId: 2 });
  gate.resolve();
  await Promise.all([...accepted, other]);
});

Deno.test("a deletion is stored with its entry for the audit log, under its id", async () => {
  const entries: unknown[] = [];
  const add: DeletionStore["add"] = ({ audit }) => {
    entries.push(audit);
    return Promise.resolve(claimed.tombstone);
  };
  const { deletions } = setUp([last], 0, undefined, { add });
  const audit = (subject: string) => ({ subject }) as AuditNote;
  await deletions.erase({ ...wanted, audit });
  assert.deepEqual(entries, [{ subject: "d1" }]);
});

Deno.test("a deletion of the job's that fails is logged and postponed", async () => {
  const bug = () => Promise.reject(new Error("a bug"));
  const { asked, deletions, warned } = setUp([bug], 1);
  await deletions.tick();
  while (!asked.includes("postpone")) await Promise.resolve();
  await deletions.close();
  assert.deepEqual(warned.slice(0, 2), [
    "a deletion failed",
    { deletion: "d1", reason: "a bug" },
  ]);
});

Deno.test("a deletion is done only when the files of exports are erased", async () => {
  const gate = Promise.withResolvers<number>();
  const { asked, deletions } = setUp([last], 0, undefined, { eraseExports: () => gate.promise });
  const done = deletions.erase(wanted);
  while (!asked.includes("exports of 1")) await Promise.resolve();
  await someTurns();
  assert.equal(asked.at(-1), "exports of 1");
  gate.reject(new Error("the disk is away"));
  await assert.rejects(done, /the disk is away/);
  assert.deepEqual(asked.slice(-2), ["exports of 1", "postpone"]);
});

Deno.test("where nothing was erased no export is looked for", async () => {
  const erasedSpan = () => Promise.resolve(undefined);
  const { asked, deletions } = setUp([last], 0, undefined, { erasedSpan });
  await deletions.erase(wanted);
  assert.deepEqual(asked.slice(-3), ["batch", "refresh", "finish"]);
});

Deno.test("exports lose files that may have matching calls that were erased for their age", async () => {
  const dayMs = 24 * 60 * 60 * 1000;
  const now = new Date();
  const daysAgo = (days: number) => new Date(now.getTime() - days * dayMs);
  const { tables } = wanted;
  const older = { tables, from: new Date(0), to: daysAgo(30) };
  for (
    const [selectors, spans] of [
      [{ userIds: ["ann"] }, [older]],
      [{ start: daysAgo(40), end: daysAgo(35) }, [{ tables, from: daysAgo(40), to: daysAgo(35) }]],
      [{ start: daysAgo(20) }, []],
    ] as const
  ) {
    const erased: ErasedSpan[] = [];
    // The process's clock differs from the database's.
    const { deletions } = setUp([last], 0, undefined, {
      add: (request) => Promise.resolve(tombstoneOf(request, "salt")),
      erasedSpan: () => Promise.resolve(undefined),
      now: () => Promise.resolve(now),
      retentionUsageDays: 30,
      eraseExports: (span) => Promise.resolve(erased.push(span)),
    });
    await deletions.erase({ ...wanted, selectors });
    assert.deepEqual(erased, spans);
  }
});

Deno.test("what is queued is begun at once, also beside an awaited deletion of its account", async () => {
  const gate = Promise.withResolvers<ErasedBatch>();
  const without: unknown[] = [];
  const claim: DeletionStore["claim"] = (working) => {
    without.push(working);
    return Promise.resolve(undefined);
  };
  const { asked, deletions } = setUp([() => gate.promise, last], 1, undefined, { claim });
  const done = deletions.erase(wanted);
  while (!asked.includes("batch")) await Promise.resolve();
  without.length = 0;
  await deletions.queue(wanted);
  await someTurns();
  assert.deepEqual(without, [{ deletions: ["d1"], accounts: [] }]);
  gate.resolve({ isLast: true, transactionIds: [] });
  await done;
  await deletions.close();
});

Deno.test("what is queued is not erased yet, and no longer to be read from memory", async () => {
  const { asked, deletions } = setUp([]);
  assert.equal(await deletions.queue({ ...wanted, reason: "asked" }), "d1");
  assert.deepEqual(asked, ["caught up", "add queued", "refresh"]);
});

Deno.test("the job erases what waits, once", async () => {
  const { asked, deletions, clock } = setUp([last], 1);
  clock.advance(5000);
  await deletions.tick();
  await deletions.tick();
  while (!asked.includes("finish")) await Promise.resolve();
  await deletions.tick();
  assert.equal(asked.filter((one) => one === "finish").length, 1);
  assert.deepEqual(deletions.waiting, { count: 1, seconds: 30 });
});

Deno.test("two deletions at a time wait to be stored, so that they leave the database's connections to others", async () => {
  const gate = Promise.withResolvers<void>();
  const adding: number[] = [];
  const add: DeletionStore["add"] = async ({ accountId }) => {
    adding.push(accountId);
    await gate.promise;
    return claimed.tombstone;
  };
  const { deletions } = setUp(Array.from({ length: 3 }, () => last), 0, undefined, { add });
  const all = [1, 1, 1, 2, 3].map((accountId) => deletions.queue({ ...wanted, accountId }));
  const awaited = [1, 2, 3].map((accountId) => deletions.erase({ ...wanted, accountId }));
  await someTurns();
  assert.deepEqual(adding, [1, 2]);
  gate.resolve();
  await Promise.all([...all, ...awaited]);
  assert.equal(adding.length, 8);
});

Deno.test("of one account a hundred deletions wait to be stored, and no more", async () => {
  const gate = Promise.withResolvers<never>();
  const { deletions } = setUp([], 0, undefined, { add: () => gate.promise });
  const all = Array.from({ length: 103 }, () => deletions.queue(wanted));
  const ended = Promise.allSettled(all);
  for (const late of all.slice(-2)) {
    await assert.rejects(late, /^Fault: This account has 100 deletions waiting/);
  }
  gate.reject(new Fault("store_unavailable"));
  const outcomes = (await ended).map((one) => one.status === "rejected" && one.reason.code);
  assert.equal(outcomes.filter((code) => code === "store_unavailable").length, 101);
});

Deno.test("nor do more than a hundred of one account wait for the records of calls before them", async () => {
  const gate = Promise.withResolvers<never>();
  const { asked, deletions } = setUp([], 0, () => gate.promise);
  const all = Array.from({ length: 102 }, () => deletions.queue(wanted));
  const ended = Promise.allSettled(all);
  await assert.rejects(all.at(-1)!, /^Fault: This account has 100 deletions waiting/);
  gate.reject(new Fault("store_unavailable"));
  const outcomes = (await ended).map((one) => one.status === "rejected" && one.reason.code);
  assert.equal(outcomes.filter((code) => code === "store_unavailable").length, 101);
  assert.ok(!asked.includes("add queued"));
});

Deno.test("of queued deletions three are under way at once, each of another account, and two erase", async () => {
  const gate = Promise.withResolvers<ErasedBatch>();
  const without: unknown[] = [];
  const claim: DeletionStore["claim"] = (except) => {
    const accountId = without.push(except?.accounts);
    const tombstone = { ...claimed.tombstone, deletionId: `d${accountId}`, accountId };
    return Promise.resolve(accountId > 9 ? undefined : { ...claimed, tombstone });
  };
  const steps = Array.from({ length: 9 }, () => () => gate.promise);
  const { asked, deletions } = setUp(steps, 9, undefined, { claim });
  await deletions.tick();
  await someTurns();
  assert.deepEqual(without, [[], [1], [1, 2]]);
  assert.equal(asked.filter((one) => one === "batch").length, 2);
  const closing = deletions.close();
  gate.resolve({ isLast: true, transactionIds: [] });
  await closing;
  assert.equal(without.length, 3);
});

Deno.test("closing waits for the step under way and releases the rest", async () => {
  const step = Promise.withResolvers<ErasedBatch>();
  const { asked, deletions, warned } = setUp([() => step.promise, last]);
  assert.deepEqual(deletions.waiting, { count: 0, seconds: 0 });
  const erasing = deletions.erase(wanted);
  while (!asked.includes("batch")) await Promise.resolve();
  const closing = deletions.close();
  step.resolve({ isLast: false, transactionIds: [] });
  await assert.rejects(erasing, Fault);
  await closing;
  assert.equal(asked.filter((one) => one === "batch").length, 1);
  assert.equal(asked.at(-1), "release d1");
  assert.deepEqual(warned, []);
});

Deno.test("a step at which the store hangs holds up the end of the process for ten seconds at most", async () => {
  const { timers, deletions, asked } = setUp([() => new Promise(() => {})]);
  void deletions.erase(wanted);
  while (!asked.includes("batch")) await Promise.resolve();
  let hasEnded = false;
  void deletions.close().then(() => hasEnded = true);
  for (const [ms, expected] of [[9_999, false], [1, true]] as const) {
    timers.advance(ms);
    await someTurns();
    assert.equal(hasEnded, expected);
  }
});

Deno.test("the audit log has the kinds of a deletion's selectors, and none of their values", () => {
  const time = new Date(0);
  const selectors = { userIds: ["ann"], sessionIds: ["a", "b"], transactionIds: ["t"], end: time };
  assert.equal(selectorKinds(selectors), "user, 2 sessions, 1 transaction, time");
  assert.equal(selectorKinds({ start: time }), "time");
});
