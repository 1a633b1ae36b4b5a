import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import { createLog } from "../base/log.ts";
import { Fault } from "../shared/fault.ts";
import { Line, MemoryLedger } from "../../tests/support/memory_ledger.ts";
import { createReservations, type Reservation, type Reservations } from "./reservations.ts";

const usd = 1_000_000_000n;
const cent = usd / 100n;
const account = 1;

interface Stage {
  clock: FakeClock;
  store: MemoryLedger;
  line: Line;
  reservations: Reservations;
  logged: string[];
  /** Lets time pass with a tick every second, as in production. */
  pass(seconds: number): Promise<void>;
}

async function stage(
  balanceNanos: bigint,
  more: { shared?: boolean; store?: MemoryLedger; clock?: FakeClock; processId?: string } = {},
): Promise<Stage> {
  const clock = more.clock ?? new FakeClock();
  const store = more.store ?? new MemoryLedger(clock);
  if (balanceNanos > 0n) await store.grant(account, balanceNanos);
  const line = new Line(store);
  const logged: string[] = [];
  const reservations = createReservations({
    ledger: line.ledger,
    clock,
    log: createLog((text) => logged.push(text), () => clock.now()),
    newId: () => crypto.randomUUID(),
    processId: more.processId ?? "process-1",
    leaseSeconds: 150,
    shared: more.shared ?? false,
  });
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      clock.advance(1000);
      await reservations.tick().catch(() => {});
      await line.quiet();
    }
  };
  return { clock, store, line, reservations, logged, pass };
}

const isRefused = (thrown: unknown) =>
  thrown instanceof Fault && thrown.code === "insufficient_credits";
const isAway = (thrown: unknown) => thrown instanceof Fault && thrown.code === "store_unavailable";

async function admitted(
  reservations: Reservations,
  calls: number,
  bound: bigint,
): Promise<Reservation[]> {
  const results = await Promise.allSettled(
    Array.from({ length: calls }, () => reservations.reserve(account, bound)),
  );
  return results.flatMap((one) => {
    if (one.status === "fulfilled") return [one.value];
    assert.ok(isRefused(one.reason), String(one.reason));
    return [];
  });
}

Deno.test("while the lease has room no call asks the store", async () => {
  const { store, reservations, line } = await stage(10n * usd);
  (await reservations.reserve(account, cent)).settle(cent / 2n);
  await line.quiet();
  const before = store.requests;
  for (let call = 0; call < 4; call++) {
    (await reservations.reserve(account, cent)).settle(cent / 100n);
  }
  assert.equal(store.requests, before);
});

Deno.test("the lease is enlarged ahead of need, so that steady calls never wait", async () => {
  const { reservations, line } = await stage(100n * usd);
  await reservations.reserve(account, cent);
  let waited = 0;
  for (let call = 0; call < 200; call++) {
    let isThere = false;
    const reserving = reservations.reserve(account, cent).then((one) => (isThere = true, one));
    for (let turn = 0; turn < 3; turn++) await Promise.resolve();
    if (!isThere) waited++;
    (await reserving).settle(cent);
    await line.quiet();
  }
  assert.equal(waited, 0);
});

Deno.test("of 200 calls at once exactly as many are admitted as the balance pays for", async () => {
  const { store, reservations, line } = await stage(37n * cent);
  const calls = await admitted(reservations, 200, cent);
  assert.equal(calls.length, 37);
  await store.post(calls.map(({ leaseId }, at) => {
    calls[at]!.settle(cent);
    return { interactionId: `call-${at}`, accountId: account, leaseId, chargedNanos: cent };
  }));
  await line.quiet();
  assert.equal((await store.show(account)).balanceNanos, 0n);
  assert.equal(store.left(account), 0n);
});

Deno.test("a refusal names what was needed and what is left, lease included", async () => {
  const { reservations } = await stage(3n * cent);
  await reservations.reserve(account, cent);
  await assert.rejects(reservations.reserve(account, 5n * cent), (thrown: unknown) => {
    assert.ok(isRefused(thrown));
    assert.match((thrown as Fault).message, /up to 0\.050000000 USD.* 0\.020000000 USD is left/);
    return true;
  });
});

Deno.test("a refusal names calls in flight only if their credit would cover the call", async () => {
  const { reservations } = await stage(3n * cent);
  const refusal = async (bound: bigint) => {
    const thrown = await reservations.reserve(account, bound).then(() => undefined, (one) => one);
    assert.ok(isRefused(thrown));
    return (thrown as Fault).message;
  };
  assert.doesNotMatch(await refusal(4n * cent), /in flight/, "nothing is");
  const call = await reservations.reserve(account, 2n * cent);
  assert.match(
    await refusal(3n * cent),
    /Calls in flight reserve 0\.020000000 USD more until they/,
  );
  assert.doesNotMatch(await refusal(4n * cent), /in flight/, "their end wouldn't help");
  call.settle(0n);
  await reservations.reserve(account, 3n * cent);
});

Deno.test("a refusal names no calls in flight whose end would only pay what is overdrawn", async () => {
  const { reservations } = await stage(3n * cent);
  const [dear, other] = [
    await reservations.reserve(account, cent),
    await reservations.reserve(account, 2n * cent),
  ];
  dear.settle(4n * cent);
  await assert.rejects(
    reservations.reserve(account, 2n * cent),
    (thrown: Fault) =>
      isRefused(thrown) && /and 0\.000000000 USD is left/.test(thrown.message) &&
      !/in flight/.test(thrown.message),
  );
  other.settle(0n);
});

Deno.test("what a call did not cost serves the next, once and not more", async () => {
  const { reservations } = await stage(10n * cent);
  const first = await reservations.reserve(account, 10n * cent);
  await assert.rejects(reservations.reserve(account, cent), isRefused);
  first.settle(4n * cent);
  first.settle(0n);
  first.settle(0n);
  assert.equal((await admitted(reservations, 20, cent)).length, 6);
});

Deno.test("a process that refuses gives back what others may use", async () => {
  const { store, reservations, line } = await stage(usd);
  (await reservations.reserve(account, cent)).settle(0n);
  await line.quiet();
  assert.notEqual(store.left(account), usd);
  await assert.rejects(reservations.reserve(account, 2n * usd), isRefused);
  await line.quiet();
  assert.equal(store.left(account), usd);
});

Deno.test("what one process holds unused goes back when others have emptied the balance", async () => {
  const clock = new FakeClock();
  const one = await stage(40n * cent, { shared: true, clock });
  const other = await stage(0n, { shared: true, clock, store: one.store, processId: "process-2" });
  (await one.reservations.reserve(account, cent)).settle(0n);
  assert.equal((await admitted(other.reservations, 40, cent)).length, 30);
  await one.pass(1);
  assert.equal((await admitted(other.reservations, 40, cent)).length, 10);
});

Deno.test("an idle process gives its lease back after five seconds, one alone after a minute", async () => {
  for (const [shared, seconds] of [[true, 5], [false, 60]] as const) {
    const { store, reservations, pass } = await stage(10n * usd, { shared });
    const call = await reservations.reserve(account, cent);
    call.settle(0n);
    await pass(seconds - 1);
    assert.notEqual(store.left(account), 10n * usd);
    await pass(1);
    assert.equal(store.left(account), 10n * usd);
  }
});

Deno.test("a call that takes long keeps its lease until it ends", async () => {
  const { store, reservations, pass } = await stage(usd);
  const call = await reservations.reserve(account, cent);
  await pass(400);
  await store.sweepExpired();
  assert.equal(store.left(account), usd - cent);
  call.settle(cent);
  await store.post([{
    interactionId: "call",
    accountId: account,
    leaseId: call.leaseId,
    chargedNanos: cent,
  }]);
  await pass(400);
  await store.sweepExpired();
  assert.equal(store.left(account), usd - cent);
  assert.equal(store.leases.size, 0, "an empty lease is not prolonged for ever");
});

Deno.test("a store that is away for a minute stops nobody who holds a lease", async () => {
  const { store, reservations, line, pass } = await stage(10n * usd);
  (await reservations.reserve(account, cent)).settle(cent / 10n);
  await pass(1);
  line.mode = "away";
  for (let second = 0; second < 60; second++) {
    const call = await reservations.reserve(account, cent);
    await pass(1);
    call.settle(cent / 100n);
  }
  line.mode = "fine";
  (await reservations.reserve(account, cent)).settle(cent / 100n);
  await pass(10);
  await store.post([]);
  assert.equal(store.left(account) > 9n * usd, true);
});

Deno.test("nothing is spent from a lease that has expired", async () => {
  const { reservations, line, clock, store } = await stage(10n * usd);
  (await reservations.reserve(account, cent)).settle(0n);
  line.mode = "away";
  clock.advance(149_000);
  const last = await reservations.reserve(account, cent);
  clock.advance(1000);
  await assert.rejects(reservations.reserve(account, cent), isAway);
  clock.advance(1000);
  await store.sweepExpired();
  line.mode = "fine";
  last.settle(cent);
  await reservations.reserve(account, cent);
  assert.equal(store.leases.size, 1, "a new one");
});

Deno.test("an answer of the store that never came strands nothing and creates nothing", async () => {
  const { reservations, line, store, pass } = await stage(usd, { shared: true });
  line.mode = "mute";
  await assert.rejects(reservations.reserve(account, cent), isAway);
  line.mode = "fine";
  const call = await reservations.reserve(account, cent);
  call.settle(0n);
  line.mode = "mute";
  await pass(8);
  line.mode = "fine";
  await pass(3);
  assert.equal(store.left(account), usd);
  assert.equal((await admitted(reservations, 120, cent)).length, 100);
});

Deno.test("three processes admit what the balance pays for once the refused have retried", async () => {
  const clock = new FakeClock();
  const store = new MemoryLedger(clock);
  await store.grant(account, 37n * cent);
  const stages = await Promise.all(
    [1, 2, 3].map((at) => stage(0n, { shared: true, store, clock, processId: `process-${at}` })),
  );
  let paid = 0;
  const spend = (calls: readonly Reservation[]) => {
    for (const call of calls) {
      call.settle(cent);
      const { leaseId } = call;
      void store.post([{
        interactionId: `call-${paid++}`,
        accountId: account,
        leaseId,
        chargedNanos: cent,
      }]);
    }
  };
  // One after the other, so that each takes ahead and leaves a remainder.
  for (let round = 0; round < 4; round++) {
    for (const { reservations } of stages) spend(await admitted(reservations, 1, cent));
  }
  for (let retry = 0; retry < 3; retry++) {
    spend(await admitted(stages[0]!.reservations, 100, cent));
    assert.ok(paid <= 37);
    for (const { reservations, line } of stages) {
      clock.advance(400);
      await reservations.tick();
      await line.quiet();
    }
  }
  assert.equal(paid, 37);
});

Deno.test("a charge above the bound is carried, and held against no one afterwards", async () => {
  const { reservations, store } = await stage(10n * cent);
  const call = await reservations.reserve(account, cent);
  call.settle(20n * cent);
  await store.post([{
    interactionId: "call",
    accountId: account,
    leaseId: call.leaseId,
    chargedNanos: 20n * cent,
  }]);
  await assert.rejects(reservations.reserve(account, 1n), isRefused);
  await store.grant(account, 15n * cent);
  assert.equal((await admitted(reservations, 9, cent)).length, 5);
});

Deno.test("a lease that the store has forgotten is spent from no more", async () => {
  const { reservations, store, pass } = await stage(usd, { shared: true });
  const before = await reservations.reserve(account, cent);
  store.leases.clear();
  await pass(1);
  const after = await reservations.reserve(account, cent);
  assert.notEqual(after.leaseId, before.leaseId);
  assert.ok(store.leases.has(after.leaseId!));
});

Deno.test("a call that is free needs no credit", async () => {
  const { reservations, store } = await stage(0n);
  const call = await reservations.reserve(account, 0n);
  call.settle(0n);
  assert.equal(call.leaseId, null);
  assert.equal(store.requests, 0);
});

Deno.test("closing gives everything back, and what ends later too", async () => {
  const { reservations, store, line } = await stage(usd);
  const call = await reservations.reserve(account, cent);
  assert.equal((await reservations.show(account)).reservedNanos, cent);
  await reservations.close();
  assert.equal(store.left(account), usd - cent);
  call.settle(0n);
  await line.quiet();
  assert.equal(store.left(account), usd);
  assert.equal((await reservations.show(account)).reservedNanos, 0n);
});

Deno.test("other processes see calls under way within a second", async () => {
  const { reservations, store, pass } = await stage(usd, { shared: true });
  const call = await reservations.reserve(account, cent);
  await pass(1);
  assert.equal((await store.show(account)).reservedNanos, cent);
  assert.equal((await reservations.show(account)).reservedNanos, cent);
  call.settle(cent);
  await pass(1);
  assert.equal((await store.show(account)).reservedNanos, 0n);
});
