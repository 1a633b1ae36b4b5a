import assert from "@std/assert";
import { Fault } from "../shared/fault.ts";
import { FakeTimers } from "../../tests/support/fake_timers.ts";
import { MemoryLedger } from "../../tests/support/memory_ledger.ts";
import { LeasedBalances } from "./leased_balances.ts";
import type { LeaseStore } from "./ledger.ts";

const account = 1;
const usd = 1_000_000_000n;
const cent = usd / 100n;

/** Balances on a ledger in memory, some of whose operations `over` replaces. */
async function setUp(
  balanceNanos: bigint,
  { shared = false, over }: {
    shared?: boolean;
    over?: (store: LeaseStore<number>) => Partial<LeaseStore<number>>;
  } = {},
) {
  const timers = new FakeTimers();
  const { clock } = timers;
  const store = new MemoryLedger(clock);
  await store.grant(account, balanceNanos);
  const failures: unknown[] = [];
  const balances = new LeasedBalances<number>({
    store: {
      take: store.take,
      release: store.release,
      renew: store.renew,
      available: store.available,
      ...over?.(store),
    },
    clock,
    setTimer: timers.later,
    newId: () => crypto.randomUUID(),
    processId: "process-1",
    leaseSeconds: 150,
    shared,
    refusal: (_id, { neededNanos, leftNanos }) =>
      new Fault("insufficient_credits", { message: `needs ${neededNanos}, ${leftNanos} is left` }),
    onFailure: (_id, thrown) => void failures.push(thrown),
  });
  return { timers, clock, store, balances, failures };
}

/** Lets everything happen that waits for nothing but its turn. */
async function settleDown(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
}

Deno.test("recalled credit goes back at once, but for what calls have reserved", async () => {
  const { balances, store } = await setUp(usd);
  await balances.reserve(account, cent);
  await settleDown();
  assert.ok(store.left(account) < usd - cent, "credit is taken ahead");
  balances.recall(account);
  await settleDown();
  assert.equal(store.left(account), usd - cent);
  balances.recall(account);
  balances.recall(2);
  await settleDown();
  assert.equal(store.left(account), usd - cent, "nothing was left to go back");
});

Deno.test("credit that was asked for before a recall goes back when it comes", async () => {
  const gate = Promise.withResolvers<void>();
  const granted: bigint[] = [];
  const returned: bigint[] = [];
  const { balances } = await setUp(usd, {
    over: (real) => ({
      async take(request) {
        const taken = await real.take(request);
        granted.push(taken.grantedNanos);
        if (granted.length === 1) await gate.promise;
        return taken;
      },
      release(back) {
        returned.push(back.amountNanos);
        return real.release(back);
      },
    }),
  });
  const reserving = balances.reserve(account, cent);
  await settleDown();
  balances.recall(account);
  gate.resolve();
  await reserving;
  assert.equal(granted.length, 2, "the call is served by what is taken after it");
  assert.deepEqual(returned, [granted[0]]);
});

Deno.test("credit whose lease has ended by the time it comes goes back", async () => {
  const gate = Promise.withResolvers<void>();
  const granted: bigint[] = [];
  const returned: bigint[] = [];
  const { balances, clock } = await setUp(usd, {
    over: (real) => ({
      async take(request) {
        const taken = await real.take(request);
        granted.push(taken.grantedNanos);
        if (granted.length === 1) await gate.promise;
        return taken;
      },
      release(back) {
        returned.push(back.amountNanos);
        return real.release(back);
      },
    }),
  });
  const reserving = balances.reserve(account, cent);
  await settleDown();
  clock.advance(150_000);
  gate.resolve();
  assert.ok(await reserving, "from another lease");
  assert.equal(granted.length, 2);
  assert.equal(returned[0], granted[0]);
});

Deno.test("after a failure whose effect is unknown nothing more is spent from the lease", async () => {
  let isBroken = false;
  const { balances, store, failures } = await setUp(usd, {
    over: (real) => ({
      take: async (request) => {
        const taken = await real.take(request);
        if (isBroken) throw new Error("numeric field overflow");
        return taken;
      },
    }),
  });
  const first = await balances.reserve(account, cent);
  await settleDown();
  isBroken = true;
  await assert.rejects(balances.reserve(account, usd / 2n), /numeric field overflow/);
  assert.deepEqual(failures.map((one) => (one as Error).message), ["numeric field overflow"]);
  isBroken = false;
  const before = store.requests;
  const second = await balances.reserve(account, cent);
  assert.notEqual(second.leaseId, first.leaseId);
  await settleDown();
  assert.ok(store.requests > before);
  assert.equal(failures.length, 1, "the failed request is not repeated");
});

Deno.test("a request that always fails is not repeated, so the calls after it are served", async () => {
  for (const kind of ["take", "release"] as const) {
    let broken: string | undefined;
    const failOnFirst =
      <R extends { operationId: string }, T>(work: (request: R) => Promise<T>) => (request: R) => {
        broken ??= request.operationId;
        return request.operationId === broken
          ? Promise.reject(new Error("numeric field overflow"))
          : work(request);
      };
    const { balances, failures } = await setUp(usd, {
      over: (real) =>
        kind === "take" ? { take: failOnFirst(real.take) } : { release: failOnFirst(real.release) },
    });
    if (kind === "take") {
      await assert.rejects(balances.reserve(account, cent), /numeric field overflow/);
    } else {
      await balances.reserve(account, cent);
      balances.recall(account);
      await settleDown();
    }
    assert.equal(failures.length, 1);
    assert.equal((await balances.reserve(account, cent)).reservedNanos, cent);
  }
});

Deno.test("a call is served although a return of credit fails once", async () => {
  let tries = 0;
  const { balances, store } = await setUp(usd, {
    over: ({ release }) => ({
      release: (back) =>
        tries++ === 0 ? Promise.reject(new Fault("store_unavailable")) : release(back),
    }),
  });
  await balances.reserve(account, cent);
  await settleDown();
  balances.recall(account);
  assert.equal((await balances.reserve(account, cent)).reservedNanos, cent);
  assert.equal(tries, 2);
  await balances.close();
  assert.equal(store.left(account), usd - 2n * cent);
});

Deno.test("where hardly anything is left nothing is asked for ahead of need", async () => {
  const { balances, store, clock } = await setUp(2n * cent);
  await balances.reserve(account, cent);
  await settleDown();
  const before = store.requests;
  for (let second = 0; second < 4; second++) {
    clock.advance(1000);
    await balances.tick();
  }
  assert.equal(store.requests, before);
});

Deno.test("a process alone asks the store for nothing while it has credit to spare", async () => {
  const { balances, store, clock } = await setUp(10n * usd);
  (await balances.reserve(account, cent)).settle(0n);
  await settleDown();
  const before = store.requests;
  await balances.reserve(account, cent);
  clock.advance(1000);
  await balances.tick();
  assert.equal(store.requests, before);
});

Deno.test("beside others a process reports calls under way once, and reads what is left", async () => {
  const done: string[] = [];
  const { balances, clock } = await setUp(10n * usd, {
    shared: true,
    over: (real) => ({
      renew(held, seconds) {
        done.push(`renew ${held.map(({ inFlightNanos }) => inFlightNanos / cent)}`);
        return real.renew(held, seconds);
      },
      available(ids) {
        done.push(`read ${ids}`);
        return real.available(ids);
      },
    }),
  });
  const call = await balances.reserve(account, cent);
  await settleDown();
  const tick = async () => {
    done.length = 0;
    clock.advance(1000);
    await balances.tick();
    return [...done];
  };
  assert.deepEqual(await tick(), ["renew 1", "read 1"]);
  assert.deepEqual(await tick(), ["read 1"]);
  call.settle(cent);
  assert.deepEqual(await tick(), ["renew 0", "read 1"]);
  const whole = await balances.reserve(account, 2n * cent);
  assert.deepEqual(await tick(), ["renew 2", "read 1"]);
  whole.settle(0n);
  done.length = 0;
  await balances.close();
  assert.deepEqual(done, ["renew 0"], "so that nobody sees calls under way any more");
});

Deno.test("a tick checks a limited number of balances, and the others at the next ones", async () => {
  const reads: number[][] = [];
  const { balances, store, clock } = await setUp(usd, {
    shared: true,
    over: (real) => ({
      available(ids) {
        reads.push([...ids]);
        return real.available(ids);
      },
    }),
  });
  const accounts = Array.from({ length: 1200 }, (_, n) => n + 1);
  for (const one of accounts) {
    await store.grant(one, usd);
    await balances.reserve(one, cent);
  }
  for (let second = 0; second < 4; second++) {
    clock.advance(1000);
    await balances.tick();
  }
  assert.deepEqual(reads.map(({ length }) => length), [500, 500, 200, 500]);
  assert.deepEqual(reads.slice(0, 3).flat(), accounts);
});

Deno.test("a lease that can't be renewed now is spent from, and renewed at the next tick", async () => {
  let isBusy = true;
  const renewals: boolean[] = [];
  const { balances, clock } = await setUp(usd, {
    over: (real) => ({
      async renew(held, seconds) {
        renewals.push(!isBusy);
        return isBusy
          ? new Map(held.map(({ leaseId }) => [leaseId, false]))
          : await real.renew(held, seconds);
      },
    }),
  });
  const call = await balances.reserve(account, cent);
  clock.advance(30_000);
  // Not idle, so that no credit goes back.
  (await balances.reserve(account, cent)).settle(0n);
  await balances.tick();
  assert.equal((await balances.reserve(account, cent)).leaseId, call.leaseId);
  isBusy = false;
  for (let second = 0; second < 2; second++) {
    clock.advance(1_000);
    await balances.tick();
  }
  assert.deepEqual(renewals, [false, true]);
});

Deno.test("a balance that the store hangs at holds up the next tick for a second at most", async () => {
  const { balances, store, timers } = await setUp(usd, {
    over: (real) => ({
      take: (request) => request.accountId === account ? real.take(request) : new Promise(() => {}),
    }),
  });
  const hanging = assert.rejects(balances.reserve(2, cent), { code: "store_unavailable" });
  await balances.reserve(account, cent);
  const ticked = balances.tick();
  await settleDown();
  timers.advance(1_000);
  await ticked;
  timers.advance(30_000);
  void balances.tick();
  await settleDown();
  const [lease] = [...store.leases.values()];
  assert.equal(lease!.expiresMs, timers.clock.monotonicMs() + 150_000);
  await hanging;
});

Deno.test("a balance that the store hangs at holds up the end of the process for five seconds at most", async () => {
  const { balances, store, timers } = await setUp(usd, {
    over: (real) => ({
      release: (back) => back.accountId === account ? real.release(back) : new Promise(() => {}),
    }),
  });
  await store.grant(2, usd);
  for (const id of [2, account]) (await balances.reserve(id, cent)).settle(0n);
  let hasEnded = false;
  void balances.close().then(() => hasEnded = true);
  await settleDown();
  const left = await store.available([account]);
  assert.deepEqual([left.get(account), hasEnded], [usd, false]);
  timers.advance(5_000);
  await settleDown();
  assert.equal(hasEnded, true);
});

Deno.test("a store that hangs at calls under way holds up the end for five seconds at most", async () => {
  const { balances, timers } = await setUp(usd, {
    shared: true,
    over: () => ({ renew: () => new Promise(() => {}) }),
  });
  await balances.reserve(account, cent);
  let hasEnded = false;
  void balances.close().then(() => hasEnded = true);
  await settleDown();
  assert.equal(hasEnded, false);
  timers.advance(5_000);
  await settleDown();
  assert.equal(hasEnded, true);
});

Deno.test("whatever is to go back goes back once the store is there again", async () => {
  let isAway = false;
  const { balances, store, clock } = await setUp(usd, {
    over: (real) => ({
      release: (back) =>
        isAway ? Promise.reject(new Fault("store_unavailable")) : real.release(back),
    }),
  });
  const call = await balances.reserve(account, cent);
  await settleDown();
  isAway = true;
  for (const end of [() => {}, () => call.settle(0n)]) {
    end();
    balances.recall(account);
    await settleDown();
  }
  isAway = false;
  clock.advance(1000);
  await balances.tick();
  await settleDown();
  assert.equal((await store.available([account])).get(account), usd);
});

Deno.test("at the end free credit goes back even if calls under way can't be reported", async () => {
  const { balances, store } = await setUp(usd, {
    shared: true,
    over: () => ({ renew: () => Promise.reject(new Fault("store_unavailable")) }),
  });
  await balances.reserve(account, cent);
  await balances.close();
  assert.equal((await store.available([account])).get(account), usd - cent);
});

Deno.test("at the end what a request without an answer may have brought goes back", async () => {
  let hasFailed = false;
  const { balances, store } = await setUp(usd, {
    over: (real) => ({
      async take(request) {
        const taken = await real.take(request);
        if (hasFailed) return taken;
        hasFailed = true;
        throw new Fault("store_unavailable");
      },
    }),
  });
  await assert.rejects(balances.reserve(account, cent), { code: "store_unavailable" });
  assert.ok((await store.available([account])).get(account)! < usd);
  await balances.close();
  assert.equal((await store.available([account])).get(account), usd);
});

Deno.test("a balance is forgotten once it is unused and its lease has ended", async () => {
  for (const shared of [false, true]) {
    const { balances, clock } = await setUp(usd, { shared });
    const renewedFor = shared ? 0 : 60;
    (await balances.reserve(account, cent)).settle(0n);
    assert.equal(balances.inFlightNanos(2), 0n);
    const passed = async (seconds: number) => {
      for (let second = 0; second < seconds; second++) {
        clock.advance(1000);
        await balances.tick();
        await settleDown();
      }
    };
    await passed(renewedFor + 149);
    assert.deepEqual(balances.ids(), [account]);
    await passed(10);
    assert.deepEqual(balances.ids(), []);
  }
});

Deno.test("a refusal counts the free part of the lease among what is left", async () => {
  const { balances } = await setUp(3n * cent);
  (await balances.reserve(account, cent)).settle(0n);
  await assert.rejects(balances.reserve(account, 5n * cent), {
    message: `needs ${5n * cent}, ${3n * cent} is left`,
  });
});

Deno.test("credit goes back after a refusal, and is taken ahead again for the calls after it", async () => {
  const { balances, store, clock } = await setUp(usd);
  (await balances.reserve(account, cent)).settle(0n);
  await assert.rejects(balances.reserve(account, 2n * usd), Fault);
  await settleDown();
  assert.equal(store.left(account), usd);
  (await balances.reserve(account, cent)).settle(0n);
  clock.advance(1000);
  await balances.tick();
  await settleDown();
  assert.ok(store.left(account) < usd - cent);
});

Deno.test("while the store is away it is asked ahead of need once a second, and at once for a call", async () => {
  let takes = 0;
  let isAway = false;
  const { balances, clock } = await setUp(usd, {
    over: (real) => ({
      take: async (request) => {
        takes++;
        if (isAway) throw new Fault("store_unavailable");
        return await real.take(request);
      },
    }),
  });
  const tick = async (ms: number) => {
    takes = 0;
    clock.advance(ms);
    await balances.tick();
    await settleDown();
    return takes;
  };
  (await balances.reserve(account, cent)).settle(cent);
  await settleDown();
  isAway = true;
  await assert.rejects(balances.reserve(account, usd / 2n), Fault);
  assert.equal(await tick(999), 0);
  assert.equal(await tick(1), 1);
  assert.equal(await tick(999), 0);
  takes = 0;
  await assert.rejects(balances.reserve(account, usd / 2n), Fault);
  assert.equal(takes, 1);
});

Deno.test("while the store takes its time, calls that the lease covers don't wait for one that it doesn't", async () => {
  const gate = Promise.withResolvers<void>();
  let isSlow = false;
  const { balances, timers } = await setUp(usd, {
    over: (real) => ({
      async take(request) {
        if (isSlow) await gate.promise;
        return await real.take(request);
      },
    }),
  });
  await balances.reserve(account, cent);
  await settleDown();
  isSlow = true;
  const served: string[] = [];
  const call = (name: string, nanos: bigint) =>
    void balances.reserve(account, nanos).then(() => served.push(name));
  call("large", usd / 2n);
  call("second", cent);
  timers.advance(499);
  call("third", cent);
  await settleDown();
  assert.deepEqual(served, [], "in their order, if the store answers soon");
  timers.advance(1);
  await settleDown();
  assert.deepEqual(served, ["second", "third"], "whether or not another call comes");
  call("fourth", cent);
  await settleDown();
  assert.deepEqual(served.splice(0), ["second", "third", "fourth"]);
  gate.resolve();
  await settleDown();
  assert.deepEqual(served, ["large"]);
  assert.equal(timers.pending, 0);
});

Deno.test("a request whose lease would have ended by now is not made again", async () => {
  const leaseIds: string[] = [];
  let isAway = true;
  const { balances, clock } = await setUp(usd, {
    over: (real) => ({
      take: async (request) => {
        leaseIds.push(request.leaseId);
        if (isAway) throw new Fault("store_unavailable");
        return await real.take(request);
      },
    }),
  });
  for (const passedMs of [0, 1_000, 149_000]) {
    clock.advance(passedMs);
    await assert.rejects(balances.reserve(account, cent), Fault);
  }
  isAway = false;
  const { leaseId } = await balances.reserve(account, cent);
  const [first, repeated, other, served] = leaseIds;
  assert.equal(repeated, first);
  assert.notEqual(other, first);
  assert.deepEqual([served, leaseId], [other, other]);
});

Deno.test("after a burst of calls less and less credit is taken ahead", async () => {
  const { balances, store, clock } = await setUp(10n * usd);
  const takenAhead = async () => {
    (await balances.reserve(account, cent)).settle(0n);
    await settleDown();
    return 10n * usd - store.left(account);
  };
  const calls = Array.from({ length: 100 }, () => balances.reserve(account, cent));
  for (const call of await Promise.all(calls)) call.settle(0n);
  assert.ok(await takenAhead() > usd);
  for (let second = 0; second < 140; second++) {
    clock.advance(1000);
    await balances.tick();
    await settleDown();
  }
  assert.ok(await takenAhead() < usd / 2n);
});

Deno.test("while the store is away credit is given back once a second, then when it is there", async () => {
  let releases = 0;
  let isAway = true;
  const { balances, clock, store } = await setUp(usd, {
    over: (real) => ({
      release: async (back) => {
        releases++;
        if (isAway) throw new Fault("store_unavailable");
        return await real.release(back);
      },
    }),
  });
  const call = await balances.reserve(account, cent);
  await settleDown();
  balances.recall(account);
  for (let times = 0; times < 3; times++) await balances.tick();
  assert.equal(releases, 1);
  clock.advance(1_000);
  isAway = false;
  await balances.tick();
  assert.deepEqual([releases, store.left(account)], [2, usd - cent]);
  call.settle(cent);
});
