import assert from "@std/assert";
import { FakeTimers } from "../../tests/support/fake_timers.ts";
import { FakeClock } from "../base/clock.ts";
import { createLog } from "../base/log.ts";
import { Fault } from "../shared/fault.ts";
import type { LeaseRequest, LeaseReturn, OpenLease } from "./ledger.ts";
import { type CapPeriod, type CapStore, createSpendCaps } from "./spend_cap.ts";

const usd = 1_000_000_000n;

/** One key's cap in the store, in memory: what is charged and what is leased in each period. */
class FakeCaps implements CapStore {
  readonly spent = new Map<string, bigint>();
  readonly leases = new Map<string, { period: string; nanos: bigint }>();
  takes = 0;
  isAway = false;
  /** The stored cap, where it is lower than what processes know. */
  limitNanos = 1n << 60n;

  take(request: LeaseRequest<CapPeriod>, atMost: bigint) {
    this.takes++;
    return this.#reached(() => {
      const period = nameOf(request.accountId);
      const limit = atMost < this.limitNanos ? atMost : this.limitNanos;
      const left = this.#left(period, limit);
      const ahead = request.aheadNanos < left / 4n ? request.aheadNanos : left / 4n;
      const most = request.wantedNanos > ahead ? request.wantedNanos : ahead;
      const grantedNanos = left <= 0n || left < request.atLeastNanos
        ? 0n
        : most < left
        ? most
        : left;
      const before = this.leases.get(request.leaseId);
      if (grantedNanos > 0n) {
        const nanos = (before?.nanos ?? 0n) + grantedNanos;
        this.leases.set(request.leaseId, { period, nanos });
      }
      return { grantedNanos, availableNanos: left - grantedNanos, isNew: !before };
    });
  }

  release({ accountId, leaseId, amountNanos }: LeaseReturn<CapPeriod>) {
    return this.#reached(() => {
      this.draw([leaseId], amountNanos);
      return this.#left(nameOf(accountId), this.limitNanos);
    });
  }

  renew(held: readonly OpenLease<CapPeriod>[]) {
    return this.#reached(() =>
      new Map(
        held.filter(({ leaseId }) => this.leases.has(leaseId)).map((one) => [one.leaseId, true]),
      )
    );
  }

  available(periods: readonly CapPeriod[]) {
    return this.#reached(() => periods.map((one) => this.#left(nameOf(one), this.limitNanos)));
  }

  /** Writes a charge of a day, and takes it out of the leases that held it. */
  charge(nanos: bigint, at: Date, leaseIds: readonly string[] = []) {
    for (const name of [at.toISOString().slice(0, 10), at.toISOString().slice(0, 7)]) {
      this.spent.set(name, (this.spent.get(name) ?? 0n) + nanos);
    }
    this.draw(leaseIds, nanos);
  }

  draw(leaseIds: readonly string[], nanos: bigint) {
    for (const lease of leaseIds.map((id) => this.leases.get(id)!)) {
      lease.nanos = lease.nanos > nanos ? lease.nanos - nanos : 0n;
    }
  }

  #left(period: string, limit: bigint): bigint {
    const leased = [...this.leases.values()].filter((one) => one.period === period)
      .reduce((sum, one) => sum + one.nanos, 0n);
    return limit - (this.spent.get(period) ?? 0n) - leased;
  }

  #reached<T>(answer: () => T): Promise<T> {
    return this.isAway
      ? Promise.reject(new Fault("store_unavailable"))
      : Promise.resolve().then(answer);
  }
}

function nameOf({ per, startsAt }: CapPeriod): string {
  return startsAt.toISOString().slice(0, per === "day" ? 10 : 7);
}

function setUp(caps: { day?: bigint; month?: bigint } = { day: usd }, store = new FakeCaps()) {
  const timers = new FakeTimers(new FakeClock(new Date("2026-11-21T12:00:00Z")));
  const { clock } = timers;
  const spend = createSpendCaps({
    ...{ store, clock, leaseSeconds: 150, shared: true, processId: "one" },
    log: createLog(() => {}, clock.now),
    newId: () => crypto.randomUUID(),
  });
  const limits = { ...caps };
  /** The call that is admitted; `end` settles it and writes its charge, as the recorder does. */
  const reserve = async (upperBoundNanos: bigint, at = clock.now()) => {
    const key = { id: "k", capDayNanos: limits.day ?? null, capMonthNanos: limits.month ?? null };
    const hold = await spend.reserve(key, { upperBoundNanos, at });
    return {
      ...hold,
      end(nanos: bigint) {
        hold.settle(nanos);
        store.charge(nanos, at, hold.leaseIds);
      },
    };
  };
  return { timers, clock, store, spend, reserve, limits };
}

/** Lets everything happen that waits for nothing but its turn. */
async function settleDown(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
}

function isCapped(thrown: unknown): boolean {
  return thrown instanceof Fault && thrown.code === "spend_cap_exceeded";
}

function isAway(thrown: unknown): boolean {
  return thrown instanceof Fault && thrown.code === "store_unavailable";
}

Deno.test("200 calls at once on a cap that pays for 37: exactly 37, bounds in flight included", async () => {
  const { reserve } = setUp({ day: 37n * usd / 10n });
  const outcomes = await Promise.allSettled(Array.from({ length: 200 }, () => reserve(usd / 10n)));
  assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 37);
  assert.ok(outcomes.every((one) => one.status === "fulfilled" || isCapped(one.reason)));
});

Deno.test("the refusal names the cap, its limit and what is left", async () => {
  for (const [caps, name] of [[{ day: usd }, "daily"], [{ month: usd }, "monthly"]] as const) {
    const { reserve } = setUp(caps);
    (await reserve(usd / 2n)).end(usd / 4n);
    await reserve(usd / 2n);
    const refused = await reserve(usd / 2n).catch((thrown) => thrown);
    assert.ok(isCapped(refused));
    const per = name === "daily" ? "day" : "month";
    assert.equal(
      refused.message,
      `This API key's ${name} spend cap of 1.000000000 USD does not cover this call, which may ` +
        `cost up to 0.500000000 USD: 0.250000000 USD is left. Calls in flight reserve ` +
        `0.500000000 USD more until they end. The cap resets with the next ${per} (UTC).`,
    );
  }
});

Deno.test("a call that cost less, or nothing, gives the rest back, once", async () => {
  const { reserve } = setUp();
  const first = await reserve(usd);
  first.end(usd / 4n);
  first.settle(usd);
  const second = await reserve(3n * usd / 4n);
  await assert.rejects(reserve(1n), isCapped);
  second.settle(0n);
  await reserve(3n * usd / 4n);
});

Deno.test("a call that costs nothing is not refused, and keys without a cap lease nothing", async () => {
  const { reserve, store, clock } = setUp({ day: 0n });
  store.charge(5n * usd, clock.now());
  await assert.rejects(reserve(1n), isCapped);
  assert.deepEqual((await reserve(0n)).leaseIds, []);
  const free = setUp({});
  await free.reserve(1000n * usd);
  assert.equal(free.store.takes, 0);
});

Deno.test("a call that one cap refuses holds nothing under the other", async () => {
  const { reserve, limits } = setUp({ day: usd, month: usd / 2n });
  await assert.rejects(reserve(usd), /monthly/);
  limits.month = 2n * usd;
  const { leaseIds } = await reserve(usd);
  assert.equal(new Set(leaseIds).size, 2);
});

Deno.test("a charge above what was held counts in full", async () => {
  const { reserve } = setUp();
  (await reserve(usd / 2n)).end(3n * usd / 4n);
  await assert.rejects(reserve(usd / 4n + 1n), isCapped);
  (await reserve(usd / 4n)).end(usd / 2n);
  await assert.rejects(reserve(1n), isCapped);
});

Deno.test("caps start over with each UTC day and month; a month's cap spans its days", async () => {
  const { clock, reserve } = setUp({ day: usd, month: 3n * usd / 2n });
  (await reserve(usd)).end(usd);
  await assert.rejects(reserve(1n), /daily/);
  clock.advance(12 * 3_600_000);
  (await reserve(usd / 2n)).end(usd / 2n);
  await assert.rejects(reserve(1n), /monthly/);
  clock.advance(9 * 24 * 3_600_000);
  assert.equal(clock.now().toISOString(), "2026-12-01T00:00:00.000Z");
  await reserve(usd);
  await assert.rejects(reserve(1n), /daily/);
});

Deno.test("a call over midnight counts in the day and month in which it arrived", async () => {
  const { clock, reserve } = setUp({ day: usd, month: usd });
  clock.advance(Date.parse("2026-11-30T23:59:59Z") - clock.now().getTime());
  const late = await reserve(usd);
  clock.advance(1000);
  const next = await reserve(usd);
  late.end(usd);
  next.settle(0n);
  (await reserve(usd)).end(usd);
  await assert.rejects(reserve(1n), /daily/);
});

Deno.test("what another process holds is free again once that one is idle", async () => {
  const one = setUp();
  const two = setUp({ day: usd }, one.store);
  (await one.reserve(usd / 10n)).settle(0n);
  await settleDown();
  await assert.rejects(two.reserve(usd), isCapped);
  one.timers.advance(5000);
  await one.spend.tick();
  (await two.reserve(usd)).end(usd);
  await assert.rejects(one.reserve(1n), isCapped);
});

Deno.test("a lowered cap holds at once, a raised one too, and one that was removed holds nothing", async () => {
  const { reserve, limits, store } = setUp();
  (await reserve(usd / 4n)).end(usd / 4n);
  limits.day = usd / 4n;
  await assert.rejects(reserve(1n), isCapped);
  limits.day = usd / 2n;
  (await reserve(usd / 4n)).end(usd / 4n);
  delete limits.day;
  await reserve(5n * usd);
  limits.day = usd;
  // Another process has lowered it, of which this one doesn't know yet.
  store.limitNanos = usd / 2n;
  await assert.rejects(reserve(1n), isCapped);
});

Deno.test("while the store is away a key goes on within its lease, and is not refused as capped", async () => {
  const { reserve, store, timers, spend } = setUp({ day: 4n * usd });
  store.isAway = true;
  await assert.rejects(reserve(1n), isAway);
  store.isAway = false;
  (await reserve(usd)).settle(usd / 2n);
  store.isAway = true;
  (await reserve(usd / 2n)).settle(usd / 2n);
  await assert.rejects(reserve(4n * usd), isAway);
  store.isAway = false;
  timers.advance(1000);
  await spend.tick();
  await settleDown();
  await reserve(usd);
});

Deno.test("a key that is in use does not wait for the store", async () => {
  const { reserve, store, clock, spend } = setUp({ day: 100n * usd, month: 1000n * usd });
  (await reserve(usd / 100n)).end(usd / 100n);
  await settleDown();
  for (let second = 0; second < 30; second++) {
    clock.advance(1000);
    await spend.tick();
    const before = store.takes;
    store.isAway = true;
    for (let call = 0; call < 5; call++) (await reserve(usd / 100n)).end(usd / 100n);
    store.isAway = false;
    await settleDown();
    assert.ok(store.takes - before <= 2, "at most one request ahead for each cap");
  }
});

Deno.test("closing gives back all that no call has reserved", async () => {
  const { reserve, store, spend } = setUp({ day: usd, month: usd });
  (await reserve(usd / 2n)).end(usd / 4n);
  const open = await reserve(usd / 4n);
  await spend.close();
  const leased = [...store.leases.values()].map(({ nanos }) => nanos);
  assert.deepEqual(leased, [usd / 4n, usd / 4n]);
  open.end(usd / 4n);
});
