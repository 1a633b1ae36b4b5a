import assert from "@std/assert";
import { FakeTimers } from "../../tests/support/fake_timers.ts";
import { FakeClock } from "../base/clock.ts";
import { Fault } from "../shared/fault.ts";
import { createSpendCaps, type SpendStore } from "./spend_cap.ts";

const usd = 1_000_000_000n;

interface Charge {
  keyId: string;
  at: Date;
  nanos: bigint;
}

/** Charges of all processes, in memory. */
class FakeSpend implements SpendStore {
  readonly charges = new Map<string, Charge>();
  reads: { since: Date }[] = [];
  isAway = false;
  hold: Promise<void> | undefined;

  async read({ keyIds, since, day, transactionIds }: Parameters<SpendStore["read"]>[0]) {
    this.reads.push({ since });
    if (this.isAway) throw new Fault("store_unavailable");
    const spent = new Map(keyIds.flatMap((keyId) => {
      const all = [...this.charges.values()].filter((one) =>
        one.keyId === keyId && one.at >= since
      );
      const sum = (some: Charge[]) => some.reduce((total, { nanos }) => total + nanos, 0n);
      if (all.length === 0) return [];
      return [
        [keyId, {
          dayNanos: sum(all.filter(({ at }) => at >= day)),
          beforeNanos: sum(all.filter(({ at }) => at < day)),
        }] as const,
      ];
    }));
    const stored = new Set(transactionIds.filter((id) => this.charges.has(id)));
    await this.hold;
    return { spent, stored };
  }
}

function setUp(caps: { day?: bigint; month?: bigint } = { day: usd }) {
  const timers = new FakeTimers(new FakeClock(new Date("2026-11-21T12:00:00Z")));
  const { clock } = timers;
  const store = new FakeSpend();
  const spend = createSpendCaps({ store, clock, setTimer: timers.later });
  const key = { id: "k", capDayNanos: caps.day ?? null, capMonthNanos: caps.month ?? null };
  let made = 0;
  const reserve = async (upperBoundNanos: bigint, at = clock.now()) => {
    const transactionId = `t${++made}`;
    const hold = await spend.reserve({ key, transactionId, upperBoundNanos, at });
    /** Settles, and writes the charge as the recorder does, some time later. */
    return {
      settle: (nanos: bigint) => hold.settle(nanos),
      write: (nanos: bigint) => void store.charges.set(transactionId, { keyId: "k", at, nanos }),
    };
  };
  const elsewhere = (nanos: bigint, at = clock.now()) =>
    void store.charges.set(`elsewhere ${++made}`, { keyId: "k", at, nanos });
  return { timers, clock, store, spend, reserve, elsewhere };
}

/** Lets everything happen that waits for nothing but its turn. */
async function settleDown(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

function isCapped(thrown: unknown): boolean {
  return thrown instanceof Fault && thrown.code === "spend_cap_exceeded";
}

Deno.test("200 calls at once on a cap that pays for 37: exactly 37, bounds in flight included", async () => {
  const { reserve, store } = setUp({ day: 37n * usd / 10n });
  const outcomes = await Promise.allSettled(Array.from({ length: 200 }, () => reserve(usd / 10n)));
  assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 37);
  assert.ok(outcomes.every((one) => one.status === "fulfilled" || isCapped(one.reason)));
  assert.equal(store.reads.length, 1);
});

Deno.test("the refusal names the cap, its limit and what is spent", async () => {
  for (const [caps, name] of [[{ day: usd }, "daily"], [{ month: usd }, "monthly"]] as const) {
    const { reserve } = setUp(caps);
    (await reserve(usd / 2n)).settle(usd / 4n);
    await reserve(usd / 2n);
    const refused = await reserve(usd / 2n).catch((thrown) => thrown);
    assert.ok(isCapped(refused));
    const next = name === "daily" ? "with the next day" : "with the next month";
    for (
      const part of [name, next, "1.000000000 USD", "0.250000000 USD is spent", "0.500000000 USD"]
    ) {
      assert.ok(refused.message.includes(part), `${part} in ${refused.message}`);
    }
  }
});

Deno.test("a call that cost less, or nothing, gives the rest back, once", async () => {
  const { reserve } = setUp();
  const first = await reserve(usd);
  first.settle(usd / 4n);
  first.settle(usd);
  const second = await reserve(3n * usd / 4n);
  await assert.rejects(reserve(1n), isCapped);
  second.settle(0n);
  await reserve(3n * usd / 4n);
});

Deno.test("a call that costs nothing is not refused, and keys without a cap never read", async () => {
  const { reserve, elsewhere } = setUp();
  elsewhere(5n * usd);
  await assert.rejects(reserve(1n), isCapped);
  await reserve(0n);
  const free = setUp({});
  await free.reserve(1000n * usd);
  assert.equal(free.store.reads.length, 0);
});

Deno.test("a charge is counted once, before, while and after it is written", async () => {
  const { clock, spend, reserve, store } = setUp();
  const first = await reserve(usd / 2n);
  const expectRoom = async (nanos: bigint) => {
    await assert.rejects(reserve(nanos + 1n), isCapped);
    (await reserve(nanos)).settle(0n);
  };
  first.settle(usd / 2n);
  await expectRoom(usd / 2n);
  await spend.refresh();
  await expectRoom(usd / 2n);
  // A sum that was taken before the write arrives after it.
  const gate = Promise.withResolvers<void>();
  store.hold = gate.promise;
  const refreshed = spend.refresh();
  await settleDown();
  first.write(usd / 2n);
  gate.resolve();
  await refreshed;
  await expectRoom(usd / 2n);
  await spend.refresh();
  await expectRoom(usd / 2n);
  clock.advance(5000);
  await expectRoom(usd / 2n);
  assert.equal(store.charges.size, 1);
});

Deno.test("a charge that is settled and written while sums are taken is counted once", async () => {
  const { spend, reserve, store } = setUp();
  const call = await reserve(usd / 2n);
  const gate = Promise.withResolvers<void>();
  call.write(usd / 2n);
  store.hold = gate.promise;
  const refreshed = spend.refresh();
  await settleDown();
  call.settle(usd / 2n);
  gate.resolve();
  await refreshed;
  await assert.rejects(reserve(usd / 2n + 1n), isCapped);
  await reserve(usd / 2n);
});

Deno.test("an old sum that comes late does not undo a newer one", async () => {
  const { spend, reserve, store } = setUp();
  const call = await reserve(usd / 2n);
  call.settle(usd / 2n);
  const gate = Promise.withResolvers<void>();
  store.hold = gate.promise;
  const late = spend.refresh();
  await settleDown();
  call.write(usd / 2n);
  store.hold = undefined;
  const newer = spend.refresh();
  await settleDown();
  gate.resolve();
  await Promise.all([late, newer]);
  await assert.rejects(reserve(usd / 2n + 1n), isCapped);
  await reserve(usd / 2n);
});

Deno.test("what is charged to a day that is over stays in the month's sum once it is written", async () => {
  const { clock, reserve, spend } = setUp({ month: usd });
  clock.advance(12 * 3_600_000 - 1000);
  const late = await reserve(usd);
  clock.advance(2000);
  (await reserve(0n)).settle(0n);
  late.settle(usd);
  late.write(usd);
  await spend.refresh();
  await assert.rejects(reserve(1n), isCapped);
});

Deno.test("what other processes charged counts within two seconds, with or without the job", async () => {
  for (const hasJob of [true, false]) {
    const { clock, spend, reserve, elsewhere } = setUp();
    (await reserve(usd)).settle(0n);
    elsewhere(usd);
    clock.advance(hasJob ? 1000 : 2001);
    if (hasJob) await spend.refresh();
    await assert.rejects(reserve(1n), isCapped);
  }
});

Deno.test("caps start over with each UTC day and month; a month's cap spans its days", async () => {
  const { clock, reserve } = setUp({ day: usd, month: 3n * usd / 2n });
  const first = await reserve(usd);
  first.settle(usd);
  first.write(usd);
  await assert.rejects(reserve(1n), /daily/);
  clock.advance(12 * 3_600_000);
  const second = await reserve(usd / 2n);
  second.settle(usd / 2n);
  second.write(usd / 2n);
  await assert.rejects(reserve(1n), /monthly/);
  clock.advance(9 * 24 * 3_600_000);
  assert.equal(clock.now().toISOString(), "2026-12-01T00:00:00.000Z");
  await reserve(usd);
  await assert.rejects(reserve(1n), /daily/);
});

Deno.test("a call over midnight is counted to the day on which it arrived", async () => {
  const { clock, reserve, spend } = setUp({ day: usd, month: 2n * usd });
  clock.advance(12 * 3_600_000 - 1000);
  const late = await reserve(usd);
  clock.advance(2000);
  await assert.rejects(reserve(1n), isCapped, "in flight it counts whatever the day");
  late.settle(usd);
  (await reserve(usd)).settle(0n);
  late.write(usd);
  await spend.refresh();
  await spend.refresh();
  const last = await reserve(usd);
  last.settle(usd);
  clock.advance(24 * 3_600_000);
  await assert.rejects(reserve(1n), /monthly/);
});

Deno.test("a call that arrives at midnight is of the day, and the month, that begin with it", async () => {
  for (const caps of [{ day: usd }, { month: usd }]) {
    const { clock, reserve, spend } = setUp(caps);
    clock.advance(Date.parse("2026-12-01T00:00:00Z") - clock.now().getTime());
    (await reserve(usd)).settle(usd);
    await assert.rejects(reserve(1n), isCapped);
    await spend.refresh();
    await assert.rejects(reserve(1n), isCapped, "its charge isn't stored yet");
  }
});

Deno.test("a month's sum has the days before, also once only the day was read again", async () => {
  const { clock, reserve, spend, elsewhere, store } = setUp({ month: usd });
  elsewhere(usd / 2n, new Date("2026-11-20T12:00:00Z"));
  await reserve(0n);
  clock.advance(3000);
  store.reads = [];
  await spend.refresh();
  assert.deepEqual(store.reads, [{ since: new Date("2026-11-21T00:00:00Z") }]);
  await assert.rejects(reserve(usd / 2n + 1n), /monthly.* 0\.500000000 USD is spent/);
});

Deno.test("a call of the day before counts in the month once it is written, whenever that is", async () => {
  for (const settlesLate of [false, true]) {
    const { clock, reserve, spend, store } = setUp({ month: usd });
    const before = await reserve(usd / 2n);
    clock.advance(12 * 3_600_000);
    const today = await reserve(usd / 4n);
    today.settle(usd / 4n);
    if (!settlesLate) before.settle(usd / 2n);
    before.write(usd / 2n);
    today.write(usd / 4n);
    clock.advance(3000);
    const gate = Promise.withResolvers<void>();
    store.hold = gate.promise;
    const read = spend.refresh();
    await settleDown();
    before.settle(usd / 2n);
    gate.resolve();
    await read;
    await assert.rejects(reserve(usd / 4n + 1n), /monthly.* 0\.750000000 USD is spent/);
  }
});

Deno.test("while the store is away what is known counts; of what is unknown nothing is allowed", async () => {
  const { clock, reserve, store } = setUp();
  store.isAway = true;
  await assert.rejects(
    reserve(1n),
    (thrown: unknown) => thrown instanceof Fault && thrown.code === "store_unavailable",
  );
  store.isAway = false;
  (await reserve(usd / 2n)).settle(usd / 2n);
  store.isAway = true;
  clock.advance(60_000);
  await assert.rejects(reserve(usd / 2n + 1n), isCapped);
  (await reserve(usd / 2n)).settle(usd / 2n);
  clock.advance(24 * 3_600_000);
  await reserve(usd);
});

Deno.test("while the store is away days and months go on with what is known of those before", async () => {
  const { clock, reserve, store, spend, elsewhere } = setUp({ day: usd, month: 2n * usd });
  elsewhere(usd / 4n, new Date("2026-11-20T12:00:00Z"));
  elsewhere(usd / 2n);
  await reserve(0n);
  store.isAway = true;
  clock.advance(3000);
  await assert.rejects(
    reserve(usd / 2n + 1n),
    /daily.* 0\.500000000 USD is spent/,
    "today's stays",
  );
  clock.advance(3000);
  await assert.rejects(reserve(usd / 2n + 1n), /daily/, "however often it can't be read");
  clock.advance(24 * 3_600_000);
  (await reserve(usd)).settle(usd);
  await assert.rejects(reserve(1n), /daily/);
  clock.advance(24 * 3_600_000);
  await assert.rejects(reserve(usd / 4n + 1n), /monthly.* 1\.750000000 USD is spent/);
  (await reserve(usd / 4n)).settle(0n);
  clock.advance(8 * 24 * 3_600_000);
  assert.equal(clock.now().toISOString().slice(0, 10), "2026-12-01");
  await assert.rejects(reserve(usd + 1n), /daily.* 0\.000000000 USD is spent/);
  (await reserve(usd)).settle(usd);
  clock.advance(24 * 3_600_000);
  await assert.rejects(reserve(usd + 1n), /daily/);
  (await reserve(usd)).settle(usd);
  await assert.rejects(reserve(1n), /daily/);
  clock.advance(24 * 3_600_000);
  await assert.rejects(reserve(1n), /monthly.* 2\.000000000 USD is spent/);
  await assert.rejects(spend.refresh(), Fault);
});

Deno.test("a read that hangs holds a call up for a second at most, unless nothing is known", async () => {
  const { timers, reserve, store } = setUp();
  (await reserve(usd / 2n)).settle(usd / 2n);
  store.hold = new Promise(() => {});
  timers.advance(3000);
  const ends: unknown[] = [];
  const call = (nanos: bigint) => reserve(nanos).then(() => ends.push("held"), (e) => ends.push(e));
  void call(usd / 2n + 1n);
  await settleDown();
  timers.advance(999);
  await settleDown();
  assert.deepEqual(ends, []);
  timers.advance(1);
  await settleDown();
  assert.ok(isCapped(ends.pop()));
  // Later ones don't wait for the same read again.
  timers.advance(1000);
  void call(usd / 2n);
  await settleDown();
  timers.advance(0);
  await settleDown();
  assert.deepEqual(ends, ["held"]);
  assert.equal(timers.pending, 0);
  const unknown = setUp();
  unknown.store.hold = store.hold;
  void unknown.reserve(1n).then(() => ends.push("held unseen"));
  unknown.timers.advance(3600_000);
  await settleDown();
  assert.deepEqual(ends, ["held"]);
});

Deno.test("a read that began before midnight and ends after it counts no charge twice", async () => {
  const { timers, clock, store, reserve, elsewhere } = setUp({ month: usd });
  elsewhere(usd / 2n);
  (await reserve(0n)).settle(0n);
  timers.advance(12 * 3_600_000 - 3000);
  (await reserve(0n)).settle(0n);
  timers.advance(2900);
  const late = Promise.withResolvers<void>();
  store.hold = late.promise;
  const before = reserve(0n);
  await settleDown();
  timers.advance(1000);
  (await before).settle(0n);
  assert.equal(clock.now().getUTCDate(), 22);
  const next = reserve(0n);
  await settleDown();
  timers.advance(0);
  (await next).settle(0n);
  late.resolve();
  await settleDown();
  store.hold = new Promise(() => {});
  const after = reserve(usd / 2n);
  await settleDown();
  timers.advance(1000);
  (await after).settle(0n);
});

Deno.test("a call after midnight that joins a read from before it is of the new day", async () => {
  const { timers, store, reserve } = setUp({ day: usd });
  (await reserve(usd)).settle(usd);
  timers.advance(Date.parse("2026-11-21T23:59:59.9Z") - timers.clock.now().getTime());
  const gate = Promise.withResolvers<void>();
  store.hold = gate.promise;
  const before = reserve(usd).catch((thrown) => thrown);
  await settleDown();
  timers.advance(200);
  const after = reserve(usd);
  gate.resolve();
  assert.ok(isCapped(await before));
  await after;
});

Deno.test("a call of the day before takes nothing out of the new day's sum", async () => {
  const { timers, clock, store, reserve, elsewhere } = setUp({ day: usd });
  const before = clock.now();
  timers.advance(24 * 3_600_000);
  elsewhere(usd);
  assert.ok(isCapped(await reserve(usd).catch((thrown) => thrown)));
  store.isAway = true;
  (await reserve(0n, before)).settle(0n);
  assert.ok(isCapped(await reserve(usd).catch((thrown) => thrown)));
});

Deno.test("a store that fails otherwise is no reason to rely on what is known", async () => {
  const { clock, reserve, store } = setUp();
  (await reserve(0n)).settle(0n);
  clock.advance(3000);
  store.hold = Promise.reject(new Error("no such table"));
  await assert.rejects(reserve(1n), /no such table/);
});

Deno.test("a key unused for a minute is not read again, unless a charge of it is not stored", async () => {
  const { clock, reserve, spend, store } = setUp();
  const call = await reserve(usd);
  const reads = async () => {
    store.reads = [];
    await spend.refresh();
    return store.reads.length;
  };
  clock.advance(59_999);
  assert.equal(await reads(), 1);
  clock.advance(1);
  assert.equal(await reads(), 0);
  call.settle(usd);
  assert.equal(await reads(), 1);
  call.write(usd);
  assert.equal(await reads(), 1);
  assert.equal(await reads(), 0);
});

Deno.test("what other processes wrote late to a day that is over counts within a minute", async () => {
  const { clock, reserve, spend, elsewhere } = setUp({ month: usd });
  (await reserve(1n)).settle(0n);
  elsewhere(usd, new Date("2026-11-20T12:00:00Z"));
  for (let second = 0; second < 61; second++) {
    clock.advance(1000);
    await spend.refresh();
    (await reserve(0n)).settle(0n);
  }
  await assert.rejects(reserve(1n), /monthly/);
});

Deno.test("what others charged as a day ended counts two seconds later, whoever called at midnight", async () => {
  const { clock, reserve, elsewhere } = setUp({ month: usd });
  clock.advance(12 * 3_600_000 - 1000);
  (await reserve(0n)).settle(0n);
  elsewhere(usd);
  clock.advance(1500);
  (await reserve(0n)).settle(0n);
  clock.advance(2000);
  await assert.rejects(reserve(1n), /monthly/);
});

Deno.test("what others charged to a new day counts, on a month's first day and in a new process, too", async () => {
  for (const days of [1, 10]) {
    const { clock, reserve, elsewhere } = setUp();
    clock.advance((days - 0.5) * 24 * 3_600_000 - 5000);
    (await reserve(1n)).settle(0n);
    clock.advance(10_000);
    elsewhere(usd);
    await assert.rejects(reserve(1n), isCapped);
    const other = setUp();
    other.clock.advance((days - 0.5) * 24 * 3_600_000);
    other.elsewhere(usd);
    await assert.rejects(other.reserve(1n), isCapped);
  }
});

Deno.test("a key unused for a day is forgotten, unless a call or a charge of it is open", async () => {
  const { clock, reserve, spend, store } = setUp();
  const isKnown = async () => {
    store.isAway = true;
    try {
      (await reserve(1n)).settle(0n);
      return true;
    } catch (thrown) {
      if (thrown instanceof Fault && thrown.code === "store_unavailable") return false;
      throw thrown;
    } finally {
      store.isAway = false;
    }
  };
  const aDay = async () => {
    clock.advance(24 * 3_600_000);
    await spend.refresh();
  };
  const call = await reserve(usd / 2n);
  await aDay();
  assert.equal(await isKnown(), true, "in flight");
  call.settle(usd / 2n);
  await aDay();
  assert.equal(await isKnown(), true, "its charge isn't stored");
  call.write(usd / 2n);
  await spend.refresh();
  assert.equal(await isKnown(), true, "just used");
  clock.advance(24 * 3_600_000 - 1);
  await spend.refresh();
  assert.equal(await isKnown(), true, "not unused for a day yet");
  await aDay();
  assert.equal(await isKnown(), false);
});

Deno.test("the hot path reads nothing while the job runs, and past days are read once a minute", async () => {
  const { clock, reserve, spend, store } = setUp();
  (await reserve(1n)).settle(1n);
  store.reads = [];
  for (let second = 0; second < 59; second++) {
    clock.advance(1000);
    await spend.refresh();
    const before = store.reads.length;
    for (let call = 0; call < 10; call++) (await reserve(1n)).settle(1n);
    assert.equal(store.reads.length, before);
  }
  const whole = store.reads.filter(({ since }) => since.getUTCDate() === 1);
  assert.ok(whole.length <= 1, `${whole.length} of ${store.reads.length} reads`);
});
