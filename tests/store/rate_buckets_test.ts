import assert from "@std/assert";
import { FakeClock } from "../../src/base/clock.ts";
import { systemClock } from "../../src/base/clock.ts";
import { within } from "../../src/base/deadline.ts";
import { changeAccountLimits } from "../../src/administration/account_administration.ts";
import { tierLimits } from "../../src/keys/account.ts";
import { createApiKeys } from "../../src/keys/store/api_keys.ts";
import { graceMs } from "../../src/rate_limits/rate_limit.ts";
import { RateLimiter } from "../../src/rate_limits/rate_limiter.ts";
import { createAccounts } from "../../src/keys/store/accounts.ts";
import type { Database } from "../../src/database/database.ts";
import { createRateBuckets, endRateLeases } from "../../src/rate_limits/store/rate_buckets.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import { startProcess } from "../support/rate_world.ts";

async function freeAccount(database: Database) {
  return await createAccounts(database).create({ name: "a", tier: "free", ...tierLimits.free });
}

type Account = { id: number; requestsPerMinute: number; burst: number };

/** Requests one after the other on each limiter in turn, until each has refused. */
async function drain(limiters: readonly RateLimiter[], account: Account): Promise<number> {
  let admitted = 0;
  let open = [...limiters];
  while (open.length > 0) {
    const next: RateLimiter[] = [];
    for (const limiter of open) {
      if (!(await limiter.take(account)).admitted) continue;
      admitted++;
      next.push(limiter);
    }
    open = next;
  }
  return admitted;
}

async function minute(
  limiters: readonly RateLimiter[],
  clock: FakeClock,
  step: () => Promise<number>,
) {
  let admitted = 0;
  for (let at = 0; at < 60_000; at += 250) {
    clock.advance(250);
    if (at % 500 === 0) { for (const limiter of limiters) await limiter.tick(); }
    admitted += await step();
  }
  return admitted;
}

onPostgres(
  "60 per minute over three processes admits 100 at first and then exactly 60 per minute",
  async (database, open) => {
    const account = await freeAccount(database);
    const clock = new FakeClock();
    const limiters: RateLimiter[] = [];
    for (const name of ["p1", "p2", "p3"]) {
      const store = createRateBuckets(await open(), () => clock.now().getTime());
      limiters.push(startProcess(name, store, clock).limiter);
    }
    const burst = (count: number) =>
      Promise.all(
        Array.from({ length: count }, (_, at) => limiters[at % 3]!.take(account)),
      );
    const first = await burst(300);
    assert.equal(first.filter(({ admitted }) => admitted).length, 100);
    for (const refused of first.filter(({ admitted }) => !admitted)) {
      assert.deepEqual([refused.remaining, refused.retryAfterSeconds, refused.limit], [0, 1, 60]);
    }
    const everywhere = () => drain(limiters, account);
    assert.equal(await minute(limiters, clock, everywhere), 60, "demand on all");
    assert.equal(await minute(limiters, clock, everywhere), 60, "demand on all");
    const onOne = () => drain(limiters.slice(1, 2), account);
    assert.equal(await minute(limiters, clock, onOne), 60, "demand on one");
    const changing = () => drain([limiters[Math.floor(clock.monotonicMs() / 700) % 3]!], account);
    const moved = await minute(limiters, clock, changing);
    assert.ok(moved >= 59 && moved <= 60, `${moved} when demand moves about`);
  },
);

onPostgres("the same in real time, by the clock of the database", async (database, open) => {
  const account = await freeAccount(database);
  const limiters: RateLimiter[] = [];
  for (const name of ["p1", "p2", "p3"]) {
    let ids = 0;
    limiters.push(
      new RateLimiter({
        store: createRateBuckets(await open()),
        clock: systemClock,
        newId: () => `${name}-${++ids}`,
        leaseMs: 150_000,
        processId: name,
        pause: () => Promise.resolve(),
      }),
    );
  }
  const startedMs = performance.now();
  const decisions = await Promise.all(
    Array.from({ length: 500 }, (_, at) => limiters[at % 3]!.take(account)),
  );
  const elapsedMs = performance.now() - startedMs;
  const admitted = decisions.filter((one) => one.admitted).length;
  assert.ok(admitted >= 100 && admitted <= 100 + Math.ceil(elapsedMs / 1000), String(admitted));
});

eachDatabase("a restart does not refill the bucket, and time does", async (database, open) => {
  const account = await freeAccount(database);
  const clock = new FakeClock();
  const now = () => clock.now().getTime();
  const first = startProcess("p1", createRateBuckets(database, now), clock).limiter;
  for (let at = 0; at < 40; at++) assert.ok((await first.take(account)).admitted);
  await first.close();
  const reopened = await open();
  const second = startProcess("p2", createRateBuckets(reopened, now), clock).limiter;
  assert.equal(await drain([second], account), 60);
  clock.advance(10_000);
  assert.equal(await drain([second], account), 10);
});

eachDatabase("what a killed process held back ends when it starts again", async (database) => {
  const account = await freeAccount(database);
  const clock = new FakeClock();
  const now = () => clock.now().getTime();
  const start = (run: string, process = "p") =>
    startProcess(process, createRateBuckets(database, now), clock, 150_000, run).limiter;
  const killed = start("run 1");
  assert.equal(await drain([killed], account), 100);
  await killed.tick();
  clock.advance(graceMs);
  await endRateLeases(database, "another", now);
  await endRateLeases(database, "p", now);
  clock.advance(20_000);
  const next = start("run 2");
  assert.equal(await drain([next], account), 21, "the refill, with the second before the restart");
  clock.advance(30_000);
  assert.equal(await drain([next], account), 30);
  assert.equal(await next.isShared(account.id), false, "with its last run");
  // A process that only falls silent keeps its share.
  await endRateLeases(database, "another", now);
  clock.advance(10_000);
  assert.equal(await drain([start("run 1", "q")], account), 0);
});

onPostgres("a start waits for no locked bucket and no locked table", async (database) => {
  const account = await freeAccount(database);
  const limiter = startProcess("p", createRateBuckets(database), new FakeClock()).limiter;
  assert.ok((await limiter.take(account)).admitted);
  for (const lock of ["select from rate_buckets for update", "lock table rate_buckets"]) {
    await database.transaction(async (tx) => {
      await tx.query(lock);
      assert.notEqual(await within(60_000, endRateLeases(database, "p"), "late"), "late", lock);
    });
  }
});

eachDatabase("a change of tier fills the bucket, the same tier does not", async (database) => {
  const accounts = createAccounts(database);
  const account = await freeAccount(database);
  const clock = new FakeClock();
  const store = createRateBuckets(database, () => clock.now().getTime());
  const { limiter } = startProcess("p1", store, clock);
  assert.equal(await drain([limiter], account), 100);
  const same = await accounts.setTier(account.id, () => ({ tier: "free", ...tierLimits.free }));
  assert.deepEqual(same, account);
  assert.equal(await drain([limiter], same!), 0);
  const pro = await accounts.setTier(account.id, () => ({ tier: "pro", ...tierLimits.pro }));
  assert.equal(pro?.tier, "pro");
  const one = await limiter.take(pro!);
  assert.deepEqual([one.admitted, one.limit, one.remaining], [true, 600, 600]);
  assert.equal(await drain([limiter], pro!), 999);
  assert.equal(await accounts.setTier(999, () => ({ tier: "pro", ...tierLimits.pro })), undefined);
});

eachDatabase(
  "two changes of an account's limits that begin at once both hold",
  async (database) => {
    const accounts = createAccounts(database);
    const limits = { tier: "enterprise", requestsPerMinute: 10, burst: 10 } as const;
    const account = await accounts.create({ name: "both", ...limits });
    const deps = { accounts, apiKeys: createApiKeys(database), keysChanged() {} };
    const by = { actor: { personId: null, name: "test" }, at: new Date() };
    // Both have read the account before either changes it.
    await changeAccountLimits(deps, by, account, { rpm: 20 });
    await changeAccountLimits(deps, by, account, { burst: 30 });
    const { requestsPerMinute, burst } = (await accounts.find("both"))!;
    assert.deepEqual([requestsPerMinute, burst], [20, 30]);
  },
);

eachDatabase("a write is refused to who read before another wrote", async (database) => {
  const account = await freeAccount(database);
  const store = createRateBuckets(database, () => 1_000_000);
  const ask = (process: string) =>
    store.lease(account.id, {
      ...{ process, leaseId: process, spent: 0, has: 0, withheld: 0, share: 0, ceiling: 0 },
      ...{ needed: 7, wanted: 0, leaseMs: 60_000, leave: false },
    });
  const answers = await Promise.all(["a", "b", "c", "d", "e"].map(ask));
  assert.deepEqual(answers.map(({ tokens }) => tokens), [7, 7, 7, 7, 7]);
  assert.equal(Math.min(...answers.map(({ free }) => free)), 65 * 60_000);
});

eachDatabase(
  "a process knows whether others answer an account's calls, and those that ended don't",
  async (database) => {
    const account = await freeAccount(database);
    const clock = new FakeClock();
    const start = (name: string) =>
      startProcess(name, createRateBuckets(database, () => clock.now().getTime()), clock).limiter;
    const [one, two, three] = [start("p1"), start("p2"), start("p3")];
    await one.take(account);
    await one.tick();
    // After a silence under a new name.
    clock.advance(2_000);
    await one.tick();
    assert.equal(await one.isShared(account.id), false, "its own names");
    await two.take(account);
    assert.equal(await one.isShared(account.id), true, "it holds tokens");
    await two.close();
    assert.equal(await one.isShared(account.id), false, "it has ended");
    await three.take(account);
    await three.tick();
    clock.advance(6_000);
    await three.tick();
    assert.equal(await one.isShared(account.id), true, "it was heard");
    await three.close();
    assert.equal(await one.isShared(account.id), false, "it has ended");
    const killed = start("p4");
    await killed.take(account);
    await killed.tick();
    clock.advance(3_600_000 - 1);
    assert.equal(await one.isShared(account.id), true, "it may still be answering a call");
    clock.advance(1);
    assert.equal(await one.isShared(account.id), false, "it was not heard for an hour");
  },
);

eachDatabase("each account has a bucket of its own, by its own limits", async (database) => {
  const accounts = createAccounts(database);
  const small = await accounts.create({
    ...{ name: "small", tier: "free", requestsPerMinute: 30, burst: 40 },
  });
  const large = await freeAccount(database);
  const clock = new FakeClock();
  const store = createRateBuckets(database, () => clock.now().getTime());
  const { limiter } = startProcess("p1", store, clock);
  const other = startProcess("p2", store, clock).limiter;
  await limiter.take(large);
  assert.equal(await other.isShared(large.id), true);
  assert.equal(
    await other.isShared(small.id),
    false,
    "the process holds tokens of another account",
  );
  // In turn, so that both rows are written as often.
  const admitted = { small: 0, large: 1 };
  for (let call = 0; call < 110; call++) {
    if ((await limiter.take(small)).admitted) admitted.small++;
    if ((await limiter.take(large)).admitted) admitted.large++;
  }
  assert.deepEqual(admitted, { small: 40, large: 100 });
});

eachDatabase(
  "a key whose account a failover has lost is invalid, and holds up no other account",
  async (database) => {
    const account = await freeAccount(database);
    const clock = new FakeClock();
    const store = createRateBuckets(database, () => clock.now().getTime());
    const { limiter } = startProcess("p1", store, clock);
    await limiter.take(account);
    await limiter.tick();
    const lost = { ...account, id: account.id + 1 };
    await assert.rejects(limiter.take(lost), { code: "invalid_api_key" });
    assert.equal(await drain([limiter], account), account.burst - 1);
  },
);
