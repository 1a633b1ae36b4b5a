import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import { FakeTimers } from "../../tests/support/fake_timers.ts";
import { settleDown } from "../../tests/support/repeats.ts";
import { MemoryBucket, startProcess, type StoreMood } from "../../tests/support/rate_world.ts";
import { Fault } from "../shared/fault.ts";
import { type Bucket, fullBucket, type Heartbeat, leaseFrom } from "./rate_bucket.ts";
import { RateLimiter } from "./rate_limiter.ts";
import { RateLease } from "./rate_lease.ts";
import { leaving, type RateStore, unitsPerToken } from "./rate_limit.ts";

const free = { id: 1, requestsPerMinute: 60, burst: 100 };
const operator = { id: 1, requestsPerMinute: 1_000_000, burst: 1_000_000 };

function setup(limits = free) {
  const clock = new FakeClock();
  const bucket = new MemoryBucket(limits, () => clock.now().getTime());
  const at = { mood: "there" as StoreMood, asked: 0, failure: undefined as Error | undefined };
  const inner = bucket.store(() => at.mood);
  const store: RateStore = {
    ...inner,
    lease(id, request) {
      at.asked++;
      if (at.failure) return Promise.reject(at.failure);
      return inner.lease(id, request);
    },
  };
  const process = (name: string) => startProcess(name, store, clock).limiter;
  const pass = async (ms: number, ...limiters: { tick(): Promise<void> }[]) => {
    for (let left = ms; left > 0; left -= 500) {
      clock.advance(Math.min(500, left));
      for (const limiter of limiters) await limiter.tick().catch(() => {});
    }
  };
  return { clock, bucket, at, process, pass };
}

Deno.test("every decision has the remaining tokens and the time of the full refill", async () => {
  const { clock, process } = setup();
  const limiter = process("a");
  const nowSeconds = clock.now().getTime() / 1000;
  for (let taken = 1; taken <= 100; taken++) {
    const left = 100 - taken;
    assert.deepEqual(await limiter.take(free), {
      admitted: true,
      limit: 60,
      remaining: Math.min(60, left),
      resetAt: nowSeconds + Math.max(0, 60 - left),
    });
  }
  const refused = await limiter.take(free);
  assert.deepEqual([refused.admitted, refused.remaining], [false, 0]);
  assert.deepEqual([refused.retryAfterSeconds, refused.resetAt], [1, nowSeconds + 60]);
});

Deno.test("what another process holds is among the remaining tokens, and what it has spent is not", async () => {
  const limits = { id: 1, requestsPerMinute: 600, burst: 100 };
  const { process, pass } = setup(limits);
  const [one, two] = [process("a"), process("b")];
  for (let taken = 0; taken < 50; taken++) await one.take(limits);
  await pass(500, one);
  assert.equal((await two.take(limits)).remaining, 50 + 5 - 1);
});

Deno.test("a slow rate says how many seconds a retry has to wait", async () => {
  const slow = { id: 1, requestsPerMinute: 4, burst: 1 };
  const { clock, process, pass } = setup(slow);
  const startSeconds = clock.now().getTime() / 1000;
  const limiter = process("a");
  assert.ok((await limiter.take(slow)).admitted);
  assert.equal((await limiter.take(slow)).retryAfterSeconds, 15);
  await pass(5_000, limiter);
  assert.equal((await limiter.take(slow)).retryAfterSeconds, 10);
  await pass(500, limiter);
  const { remaining, retryAfterSeconds, resetAt } = await limiter.take(slow);
  assert.deepEqual([remaining, retryAfterSeconds, resetAt], [0, 10, startSeconds + 15]);
  await pass(8_500, limiter);
  assert.equal((await limiter.take(slow)).admitted, false);
  await pass(1_000, limiter);
  assert.ok((await limiter.take(slow)).admitted);
  const odd = { id: 1, requestsPerMinute: 7, burst: 1 };
  const full = await setup(odd).process("a").take(odd);
  assert.equal(full.resetAt, startSeconds + 9, "after 8.6 seconds");
});

Deno.test("a busy account asks the store a few times for thousands of requests", async () => {
  const { at, process } = setup(operator);
  const limiter = process("a");
  for (let taken = 0; taken < 50_000; taken++) assert.ok((await limiter.take(operator)).admitted);
  assert.ok(at.asked <= 3, `asked ${at.asked} times`);
});

Deno.test("an exhausted account does not ask the store at each refusal", async () => {
  const { at, process } = setup();
  const limiter = process("a");
  for (let taken = 0; taken < 101; taken++) await limiter.take(free);
  const before = at.asked;
  for (let more = 0; more < 1000; more++) assert.equal((await limiter.take(free)).admitted, false);
  assert.equal(at.asked, before);
});

Deno.test("tokens that lie idle for five seconds go back, and at the end all", async () => {
  const { bucket, process, pass } = setup();
  const limiter = process("a");
  await limiter.take(free);
  assert.ok((bucket.bucket?.holders[0]?.held ?? 0) > 0);
  await pass(5_500, limiter);
  assert.deepEqual([bucket.bucket?.holders[0]?.held, bucket.bucket?.level], [0, 6_000_000]);
  await limiter.close();
  assert.deepEqual(bucket.bucket?.holders, []);
});

Deno.test("an account with nothing to report asks the store no more for the rest of its lease", async () => {
  const { at, process, pass } = setup();
  const limiter = process("a");
  await limiter.take(free);
  await pass(10_000, limiter);
  const before = at.asked;
  await pass(20_000, limiter);
  assert.equal(at.asked, before);
});

Deno.test("a report that fails at a tick is that tick's failure", async () => {
  const { at, process, clock } = setup();
  const limiter = process("a");
  await limiter.take(free);
  clock.advance(1000);
  at.failure = new Error("no such column");
  await assert.rejects(limiter.tick(), { code: "store_unavailable" });
  at.failure = undefined;
  clock.advance(1000);
  await limiter.tick();
});

Deno.test("heartbeats go on, and the process ends, while the store hangs at a bucket", async () => {
  const timers = new FakeTimers();
  const { clock } = timers;
  const store = new MemoryBucket(free, () => clock.now().getTime()).store(() => "there");
  let hangs = false;
  let beats = 0;
  const limiter = new RateLimiter({
    ...{ clock, newId: () => crypto.randomUUID(), leaseMs: 150_000, setTimer: timers.later },
    processId: "p",
    pause: () => Promise.resolve(),
    store: {
      ...store,
      lease: (...asked) => hangs ? new Promise(() => {}) : store.lease(...asked),
      beat(process) {
        beats++;
        return store.beat(process);
      },
    },
  });
  await limiter.take(free);
  hangs = true;
  for (let round = 1; round <= 2; round++) {
    const ticked = limiter.tick();
    await settleDown();
    timers.advance(500);
    await ticked;
    assert.equal(beats, round);
  }
  const closed = limiter.close();
  timers.advance(5_000);
  await closed;
});

Deno.test("at the end a store that is away is asked once, not for every account", async () => {
  const { at, process } = setup();
  const limiter = process("a");
  for (const id of [1, 2, 3]) await limiter.take({ ...free, id });
  at.mood = "away";
  at.asked = 0;
  await limiter.close();
  assert.equal(at.asked, 1);
});

Deno.test("while the store is away a process goes on with its share of the rate", async () => {
  const { at, process, pass } = setup();
  const [one, two] = [process("a"), process("b")];
  await one.take(free);
  await two.take(free);
  await pass(60_000, one, two);
  at.mood = "away";
  const count = async (limiter: typeof one) => {
    let admitted = 0;
    while ((await limiter.take(free)).admitted) admitted++;
    return admitted;
  };
  await pass(10_000, one, two);
  await count(one);
  await count(two);
  await pass(40_000, one, two);
  // Half of 60 per minute each, up to a quarter of the burst in hand.
  assert.deepEqual([await count(one), await count(two)], [20, 20]);
  at.mood = "there";
  await pass(1_000, one, two);
  assert.ok((await one.take(free)).admitted);
});

Deno.test("just after the store went away ten requests wait for a token, and the others are refused", async () => {
  const { clock, bucket, at } = setup();
  const pauses: number[] = [];
  const over = Promise.withResolvers<void>();
  const pause = (ms: number) => (pauses.push(ms), over.promise);
  const limiter = new RateLimiter({
    ...{ store: bucket.store(() => at.mood), clock, newId: () => crypto.randomUUID(), pause },
    ...{ leaseMs: 150_000, processId: "a" },
  });
  await limiter.take(free);
  await limiter.tick();
  at.mood = "away";
  await limiter.tick().catch(() => {});
  for (let left = 9; left > 0; left--) assert.ok((await limiter.take(free)).admitted);
  const waiting = Array.from({ length: 10 }, () => limiter.take(free));
  const refused = await limiter.take(free);
  assert.deepEqual([refused.admitted, pauses.length], [false, 10]);
  clock.advance(pauses[0]!);
  over.resolve();
  const admitted = (await Promise.all(waiting)).filter((one) => one.admitted);
  assert.deepEqual([admitted.length, new Set(pauses).size], [1, 1]);
  assert.equal((await limiter.take(free)).admitted, false);
  assert.equal(pauses.length, 10, "nobody waits once tokens are issued");
  at.mood = "there";
  await limiter.tick();
  at.mood = "away";
  await limiter.tick().catch(() => {});
  for (let more = 0; more < 20; more++) await limiter.take(free);
  assert.ok(pauses.length > 10, "those that waited make room for others");
});

Deno.test("a request that waits for a token while the store is away gets one of the store that is back", async () => {
  const { clock, bucket, at, pass } = setup(operator);
  const over = Promise.withResolvers<void>();
  const pauses: number[] = [];
  const limiter = new RateLimiter({
    ...{ store: bucket.store(() => at.mood), clock, newId: () => crypto.randomUUID() },
    ...{ leaseMs: 60_000, processId: "a" },
    pause: (ms) => (pauses.push(ms), over.promise),
  });
  await limiter.take(operator);
  // The tokens in hand lie idle and go back.
  await pass(6_000, limiter);
  at.mood = "away";
  await limiter.tick().catch(() => {});
  const waiting = limiter.take(operator);
  await settleDown();
  assert.equal(pauses.length, 1);
  at.mood = "there";
  clock.advance(pauses[0]! - 1);
  await limiter.tick();
  clock.advance(1);
  over.resolve();
  assert.ok((await waiting).admitted);
});

Deno.test("tokens are fetched before those in hand are spent", async () => {
  const { at, process } = setup();
  const limiter = process("a");
  for (let taken = 0; taken < 4; taken++) await limiter.take(free);
  await settleDown();
  assert.equal(at.asked, 1);
  for (let taken = 0; taken < 2; taken++) await limiter.take(free);
  await settleDown();
  assert.equal(at.asked, 2);
});

Deno.test("a process that stalls for two seconds costs nobody a part of the burst", async () => {
  const { clock, process, pass } = setup();
  const [one, two] = [process("a"), process("b")];
  const count = async (limiter: typeof one, max = Infinity) => {
    let admitted = 0;
    while (admitted < max && (await limiter.take(free)).admitted) admitted++;
    return admitted;
  };
  await count(one, 10);
  await count(two, 10);
  clock.advance(2_000);
  await pass(500, one, two);
  const left = await count(one) + await count(two) + await count(one);
  // 80 were left, and two seconds have brought two more.
  assert.ok(left >= 80 && left <= 83, `${left}`);
});

Deno.test("what a process issued itself while the store was away it may still spend afterwards", async () => {
  const { at, process, pass } = setup();
  const limiter = process("a");
  const count = async () => {
    let admitted = 0;
    while ((await limiter.take(free)).admitted) admitted++;
    return admitted;
  };
  assert.equal(await count(), 100);
  at.mood = "away";
  await pass(40_000, limiter);
  at.mood = "there";
  await pass(500, limiter);
  // The bucket refilled until the process fell silent; from then on it had the whole rate.
  assert.equal(await count(), 40);
});

for (const mood of ["write_lost", "answer_lost"] as const) {
  Deno.test(`the store goes away in the middle of a report (${mood}): the share is what it was`, async () => {
    const { at, process, pass } = setup();
    const [one, two] = [process("a"), process("b")];
    await one.take(free);
    await two.take(free);
    await pass(60_000, one, two);
    at.mood = mood;
    const count = async () => {
      let admitted = 0;
      while ((await one.take(free)).admitted) admitted++;
      return admitted;
    };
    await count();
    at.mood = "away";
    await pass(10_000, one, two);
    await count();
    await pass(20_000, one, two);
    assert.equal(await count(), 10);
  });
}

Deno.test("a part of a token goes back with a report whose answer is lost, and is not kept too", async () => {
  const limits = { id: 1, requestsPerMinute: 60, burst: 4 };
  const { at, process, pass } = setup(limits);
  const one = process("a");
  while ((await one.take(limits)).admitted);
  at.mood = "answer_lost";
  // From 1.5 s on it issues half a token, which its next report gives back.
  await pass(2_000, one);
  await one.take(limits).catch(() => {});
  at.mood = "away";
  await pass(2_000, one);
  assert.equal((await one.take(limits)).admitted, false);
});

/** Reports of processes to one bucket; each holds a token afterwards. */
function report(
  before: Bucket,
  name: string,
  nowMs: number,
  more = {},
  heartbeats: Heartbeat = {},
) {
  const ask = { process: name, leaseId: name, spent: 0, has: 0, leaseMs: 60_000 };
  const request = { ...ask, ...leaving, needed: 1, leave: false, ...more };
  return leaseFrom(before, request, { requestsPerMinute: 60, burst: 100 }, nowMs, heartbeats)
    .bucket;
}

const full = fullBucket(free, 100_000);

Deno.test("a database's clock that was set back: holders may have made what they can make", () => {
  const bucket = report(full, "a", 100_000);
  const [held] = bucket.holders;
  const afterwards = report(bucket, "b", 40_000);
  const [holder, asking] = afterwards.holders;
  assert.equal(holder?.selfIssued, (held?.ceiling ?? 0) - (held?.held ?? 0));
  assert.equal(afterwards.level + asking!.held + holder!.ceiling, 100 * unitsPerToken);
  assert.equal(holder!.expiresAtMs, 40_000 + 60_000);
  // Without a heartbeat it is silent, and issues the whole rate itself.
  const empty = report(report({ ...full, level: 0 }, "a", 100_000), "b", 40_000);
  assert.equal(report(empty, "b", 44_000).level, 0);
});

Deno.test("a database's clock that was set back: who was silent before it is still silent", () => {
  const heartbeats = { a: 40_000 };
  const bucket = report(report(full, "a", 100_000), "b", 43_000, {}, heartbeats);
  const later = report(bucket, "b", 44_000, {}, heartbeats);
  // The whole rate is the share of the silent one, who makes it itself.
  assert.equal(later.level, bucket.level);
});

Deno.test("a database's clock that was set back unnoticed: who is silent since has made its tokens", () => {
  const bucket = report(full, "a", 100_000);
  // Its last heartbeat came after the lease began, by a clock that was set back in between, or by
  // one that has been set back since.
  for (const heartbeatMs of [85_000, 200_000]) {
    const later = report(bucket, "b", 101_000, {}, { a: heartbeatMs });
    const [silent, asking] = later.holders;
    assert.equal(later.level + asking!.held + silent!.ceiling, 100 * unitsPerToken);
  }
});

Deno.test("all that processes may issue themselves fits the rate and half of the burst, whatever answers are lost", () => {
  const tokens = (count: number) => count * unitsPerToken;
  let bucket = report(full, "a", 100_000);
  const next = (name: string, more: Parameters<typeof report>[3]) => {
    bucket = report(bucket, name, 100_000, more);
    const { share, ceiling, held } = bucket.holders.at(-1)!;
    return { share, ceiling, held };
  };
  // What the first one may issue is left free.
  assert.deepEqual(next("b", { needed: 100 }), { share: 0, ceiling: 0, held: tokens(50) });
  // It may not learn that its part is smaller now.
  const whole = { share: 60, ceiling: tokens(50) };
  assert.deepEqual(next("a", whole), { ...whole, held: tokens(1) });
  assert.deepEqual(next("b", {}), { share: 0, ceiling: 0, held: tokens(1) });
  const half = { share: 30, ceiling: tokens(25) };
  assert.deepEqual(next("a", half), { ...half, held: tokens(1) });
  assert.deepEqual(next("b", {}), { ...half, held: tokens(1) });
});

Deno.test("a silent process that may issue nothing itself slows no refill", () => {
  const limits = { requestsPerMinute: 4, burst: 1 };
  const request = { ...leaving, leave: false, spent: 0, has: 0, leaseMs: 60_000 };
  const ask = (before: Bucket, name: string, nowMs: number, needed: number) =>
    leaseFrom(before, { ...request, process: name, leaseId: name, needed }, limits, nowMs, {});
  const { bucket } = ask({ ...fullBucket(limits, 0), level: 0 }, "silent", 0, 0);
  const [silent] = bucket.holders;
  assert.deepEqual([silent!.share, silent!.ceiling], [4, 0]);
  assert.equal(ask(bucket, "asking", 15_000, 1).answer.tokens, 1);
});

Deno.test("tokens in hand beyond a process's ceiling are its own while the store is away", () => {
  const lease = new RateLease("a");
  const answer = { limits: free, tokens: 3, stock: 3, rest: 0, free: 0, share: 60, ceiling: 0 };
  lease.accept(answer, { atMs: 0, spent: 0 }, 0, 60_000);
  assert.equal(lease.tokens(30_000), 3);
});

Deno.test("after a change of tier a full bucket lacks what others hold", () => {
  const bucket = { ...report(full, "a", 100_000), level: 0, fill: true };
  const after = report(bucket, "b", 100_000);
  const [other, own] = after.holders;
  assert.equal(after.level + other!.held + own!.held, 100 * unitsPerToken);
});

Deno.test("after a change of tier a full bucket lacks what its process made and spent itself", () => {
  const bucket = { ...report(full, "a", 100_000), level: 0, fill: true };
  // In ten seconds of silence it has made ten tokens, and spent five of them and the one it held.
  const after = report(bucket, "a", 111_500, { spent: 6, has: 5 * unitsPerToken });
  assert.equal(after.level + after.holders[0]!.held, 95 * unitsPerToken);
});

Deno.test("an account unknown to the process is no business without the store", async () => {
  const { at, process } = setup();
  at.mood = "away";
  await assert.rejects(
    process("a").take(free),
    (thrown: unknown) => thrown instanceof Fault && thrown.code === "store_unavailable",
  );
});

Deno.test("what a dead process held is free again when its lease ends, and not twice", async () => {
  const { bucket, process, pass } = setup();
  const [dead, alive] = [process("a"), process("b")];
  await dead.take(free);
  const held = bucket.bucket?.holders[0]?.held ?? 0;
  assert.ok(held > 0);
  await pass(140_000, alive);
  await alive.take(free);
  assert.equal(bucket.bucket?.holders.length, 2);
  await pass(20_000, alive);
  await alive.take(free);
  assert.equal(bucket.bucket?.holders.length, 1);
  await pass(100_000, alive);
  let admitted = 0;
  while ((await alive.take(free)).admitted) admitted++;
  assert.equal(admitted, 100);
});

Deno.test("after a change to a smaller tier one process's old share doesn't keep others out", async () => {
  const { bucket, process } = setup(operator);
  const [one, two] = [process("a"), process("b")];
  for (const limiter of [one, two, one, two]) await limiter.take(operator);
  bucket.limits = free;
  bucket.bucket = { ...bucket.bucket!, fill: true };
  await one.take(free);
  assert.ok((await two.take(free)).admitted);
});

Deno.test("a changed tier holds from the next request on, whichever of its numbers is another", async () => {
  for (const change of [{ requestsPerMinute: 30 }, { burst: 2 }]) {
    const { bucket, process } = setup();
    const limiter = process("a");
    await limiter.take(free);
    const changed = { ...free, ...change };
    bucket.limits = changed;
    bucket.bucket = { ...bucket.bucket!, fill: true };
    let admitted = 0;
    for (;;) {
      const decision = await limiter.take(changed);
      assert.equal(decision.limit, changed.requestsPerMinute);
      if (!decision.admitted) break;
      admitted++;
    }
    assert.ok(admitted <= changed.burst && admitted > changed.burst / 2, `${admitted} admitted`);
  }
});
