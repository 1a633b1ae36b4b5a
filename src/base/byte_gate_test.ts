import assert from "@std/assert";
import { createByteGate } from "./byte_gate.ts";
import type { MemoryPermit, PermitOwner } from "./byte_room.ts";
import { FakeClock } from "./clock.ts";

const kib = 1024;
const mib = 1024 * kib;

/** A gate whose time passes only when the test advances it. */
function gateOf(capacityBytes: number) {
  const clock = new FakeClock();
  const timers = new Set<{ atMs: number; run: () => void }>();
  let given = 0;
  const gate = createByteGate({
    capacityBytes,
    clock,
    released: (bytes) => given += bytes,
    setTimer: (ms, run) => {
      const timer = { atMs: clock.monotonicMs() + ms, run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
  });
  const pass = (ms: number) => {
    for (let left = ms; left > 0; left -= 50) {
      clock.advance(50);
      for (const timer of [...timers]) {
        if (timer.atMs > clock.monotonicMs() || !timers.delete(timer)) continue;
        timer.run();
      }
    }
  };
  return { gate, pass, timers, given: () => given };
}

/** A body that is sent piece by piece, as fast as the gate lets it. */
class Sent {
  readonly room: MemoryPermit;
  isWaiting = false;
  refused: unknown;
  constructor(gate: ReturnType<typeof gateOf>["gate"], who: PermitOwner) {
    this.room = gate.open(who);
  }
  begin(): this {
    return this.#follow(this.room.ready());
  }
  take(bytes: number): this {
    return this.#follow(this.room.take(bytes));
  }
  #follow(waiting: Promise<void> | undefined): this {
    this.isWaiting = waiting !== undefined;
    waiting?.then(() => this.isWaiting = false, (thrown) => this.refused = thrown);
    return this;
  }
}

const settled = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

Deno.test("what was announced takes nothing: room goes by what has arrived", () => {
  const { gate } = gateOf(8 * mib);
  for (let one = 0; one < 100; one++) {
    new Sent(gate, { key: `slow ${one % 4}`, bytes: 12 * mib }).take(1);
  }
  assert.equal(gate.inside, 0);
  assert.equal(new Sent(gate, { key: "other", bytes: mib }).take(mib).isWaiting, false);
});

Deno.test("an account alone has a quarter, and each newcomer finds room, however many came before", () => {
  const { gate } = gateOf(8 * mib);
  for (let account = 1; account <= 12; account++) {
    let taken = 0;
    for (let body = 0; body < 200; body++) {
      const sent = new Sent(gate, { key: `account ${account}`, bytes: 96 * kib }).take(96 * kib);
      if (!sent.isWaiting) taken += 32 * kib;
    }
    // The first body that found none is in the place beyond the shares.
    if (account === 1) assert.equal(taken, 2 * mib + 32 * kib);
    const share = 8 * mib * 0.75 ** (account - 1) / 4;
    assert.ok(taken >= share - 32 * kib, `${taken} for account ${account}`);
  }
});

Deno.test("stalled bodies of any number of accounts make way for a megabyte of another within 5 s", async () => {
  const { gate, pass } = gateOf(32 * mib);
  let lost = 0;
  for (let account = 1; account <= 12; account++) {
    for (let body = 0; body < 4; body++) {
      const who = { key: `slow ${account}`, bytes: 8 * mib, lost: () => lost++ };
      const sent = new Sent(gate, who);
      for (let piece = 0; piece < 100 && !sent.isWaiting; piece++) sent.take(64 * kib);
    }
  }
  // Each brings a little now and then.
  pass(60_000);
  for (let other = 1; other <= 3; other++) {
    const sent = new Sent(gate, { key: `other ${other}`, bytes: mib });
    let waitedMs = 0;
    for (let piece = 0; piece < 16; piece++) {
      sent.take(64 * kib);
      for (; sent.isWaiting; waitedMs += 50) {
        pass(50);
        await settled();
      }
    }
    assert.ok(waitedMs <= 5_000, `${waitedMs} ms`);
  }
  assert.ok(lost < 48, "those within an even share stay");
});

Deno.test("a body larger than the whole room is served, beside an account that has its full share", async () => {
  const { gate } = gateOf(mib);
  const holder = new Sent(gate, { key: "holder", bytes: 256 * kib }).take(256 * kib);
  const large = new Sent(gate, { key: "large", bytes: 30 * mib });
  for (let piece = 0; piece < 30; piece++) {
    large.take(mib);
    await settled();
    assert.equal(large.isWaiting, false);
  }
  assert.equal(new Sent(gate, { key: "third" }).take(150 * kib).isWaiting, false);
  const next = new Sent(gate, { key: "next", bytes: 30 * mib }).take(mib);
  assert.equal(next.isWaiting, true);
  large.room.release();
  await settled();
  assert.equal(next.isWaiting, false);
  holder.room.release();
});

Deno.test("small bodies take room only while they arrive", () => {
  const { gate } = gateOf(8 * mib);
  const small = new Sent(gate, { key: "a", bytes: 200 * kib }).take(200 * kib);
  assert.equal(gate.inside, 136 * kib);
  small.room.complete();
  assert.equal(gate.inside, 0);
});

Deno.test("large bodies of one account wait unread for those that came before", async () => {
  const { gate, pass } = gateOf(8 * mib);
  const open = () => {
    const room = gate.open({ key: "a", bytes: 1.5 * mib });
    const one = { room, isReady: false };
    void Promise.resolve(room.ready()).then(() => one.isReady = true);
    return one;
  };
  const bodies = Array.from({ length: 6 }, open);
  await settled();
  // Two by what they announce, one in the place beyond.
  assert.deepEqual(bodies.filter(({ isReady }) => isReady), bodies.slice(0, 3));
  assert.equal(gate.inside, 0);
  bodies[0]!.room.release();
  await settled();
  assert.deepEqual(bodies.filter(({ isReady }) => isReady), bodies.slice(0, 4));
  // The others bring nothing.
  pass(8_000);
  await settled();
  assert.equal(bodies[5]!.isReady, true);
});

Deno.test("of one account's bodies the older ones come first, and a slow one stops nobody", async () => {
  const { gate, pass } = gateOf(8 * mib);
  const pictures = Array.from({ length: 5 }, () => new Sent(gate, { key: "a", bytes: 900 * kib }));
  for (const sent of pictures) sent.take(128 * kib);
  await settled();
  // Three fit with all that they announce; the fourth has the place beyond.
  assert.deepEqual(pictures.map(({ isWaiting }) => isWaiting), [false, false, false, false, true]);
  pass(8_000);
  await settled();
  // None of those sent more: the room reserved for them is released.
  assert.deepEqual(pictures.map(({ isWaiting }) => isWaiting), [false, false, false, false, false]);
});

Deno.test("a slow body beyond its share goes back into it, or makes way when it can't", async () => {
  const { gate, pass } = gateOf(8 * mib);
  let isLost = false;
  const slow = new Sent(gate, { key: "a", bytes: 20 * mib, lost: () => isLost = true });
  slow.take(mib);
  const next = new Sent(gate, { key: "b", bytes: 20 * mib }).take(mib);
  pass(6_000);
  await settled();
  assert.equal(next.isWaiting, false, "slow with a megabyte");
  next.room.release();
  slow.take(4 * mib);
  await settled();
  assert.equal(slow.isWaiting, false);
  const third = new Sent(gate, { key: "c", bytes: 20 * mib }).take(mib);
  pass(40_000);
  await settled();
  assert.deepEqual([isLost, third.isWaiting], [true, false]);
  assert.match(String(await slow.room.take(1)?.catch((thrown) => thrown)), /dropped for others/);
  assert.equal(gate.inside, mib - 64 * kib);
});

Deno.test("a stalled body that took nothing leaves the place beyond soon, though its account has no share left", async () => {
  const { gate, pass } = gateOf(8 * mib);
  new Sent(gate, { key: "own" }).take(2 * mib).room.complete();
  for (const key of ["a", "b", "c"]) new Sent(gate, { key }).take(mib).room.complete();
  const lost: string[] = [];
  const stalled = new Sent(gate, { key: "own", bytes: 12 * mib, lost: () => lost.push("own") });
  assert.equal(stalled.begin().isWaiting, false, "the place beyond is free");
  stalled.take(1);
  const other = new Sent(gate, { key: "d", bytes: 12 * mib }).begin();
  assert.equal(other.isWaiting, true);
  pass(2_500);
  await settled();
  assert.equal(other.isWaiting, false);
  assert.deepEqual(lost, [], "it goes on within its account's share");
});

Deno.test("a slow body that holds up no other request is not cut, nor is a vendor's answer", async () => {
  const { gate, pass } = gateOf(8 * mib);
  const slow = new Sent(gate, { key: "a", bytes: 20 * mib, lost: () => assert.fail("lost") });
  for (let piece = 0; piece < 300; piece++) {
    pass(1_000);
    assert.equal(slow.take(30 * kib).isWaiting, false);
  }
  slow.room.release();
  const answer = new Sent(gate, { key: "a", bytes: 20 * mib }).take(4 * mib);
  const waiting = new Sent(gate, { key: "b", bytes: 20 * mib }).take(mib);
  pass(60_000);
  await settled();
  assert.deepEqual([answer.refused, waiting.isWaiting], [undefined, true]);
});

Deno.test("a body that only waits for its vendor makes room after a while, within a bound", async () => {
  const { gate, pass } = gateOf(8 * mib);
  const whole = (key: string) => {
    const sent = new Sent(gate, { key, bytes: 3 * mib }).take(3 * mib);
    sent.room.complete();
    return sent;
  };
  const bodies: Sent[] = [];
  for (let one = 0; one < 8; one++) {
    bodies.push(whole("a"));
    pass(11_000);
    await settled();
  }
  // One goes into half of the room again for such, as it is larger than a share; the next waits.
  assert.deepEqual(bodies.map(({ isWaiting }) => isWaiting).indexOf(true), 2);
  assert.ok(gate.inside <= 8 * mib);
  const other = whole("b");
  pass(11_000);
  await settled();
  assert.equal(other.isWaiting, true, "the place beyond is taken");
  for (const { room } of [...bodies, other]) room.release();
  assert.equal(gate.inside, 0);
});

Deno.test("a caller that leaves while waiting frees its turn and gets the reason", async () => {
  const { gate, timers } = gateOf(mib);
  const first = new Sent(gate, { key: "a", bytes: 20 * mib }).take(mib);
  const leaving = new AbortController();
  const left = new Sent(gate, { key: "b", bytes: 20 * mib, signal: leaving.signal }).take(mib);
  const next = new Sent(gate, { key: "c", bytes: 20 * mib }).take(mib);
  leaving.abort(new Error("gone"));
  await settled();
  assert.match(String(left.refused), /gone/);
  const late = new Sent(gate, { key: "d", bytes: 20 * mib, signal: leaving.signal }).take(mib);
  await settled();
  assert.match(String(late.refused), /gone/);
  first.room.release();
  await settled();
  assert.equal(next.isWaiting, false);
  assert.equal(timers.size, 0, "nobody waits, and nothing is looked for");
});

/** A small generator, so that a failure can be run again. */
function randomOf(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 2 ** 32 * below);
  };
}

for (let seed = 1; seed <= 40; seed++) {
  Deno.test(`bodies of any size and pace all end, within the bound (seed ${seed})`, async () => {
    const random = randomOf(seed);
    const capacity = [mib, 4 * mib, 32 * mib][random(3)]!;
    const largest = 20 * mib;
    const { gate, pass, timers, given } = gateOf(capacity);
    const bodies = Array.from({ length: 60 }, () => ({
      bytes: [100 * kib, 300 * kib, mib, 5 * mib, largest][random(5)]! - random(50 * kib),
      pace: [16 * kib, 128 * kib, 2 * mib][random(3)]!,
      workMs: random(2) * random(60_000),
      isAnnounced: random(3) > 0,
      sent: undefined as Sent | undefined,
      arrived: 0,
      doneAtMs: Infinity,
    }));
    let nowMs = 0;
    const done = new Set<object>();
    for (; done.size < bodies.length; nowMs += 500) {
      assert.ok(nowMs < 6 * 3_600_000, `${bodies.length - done.size} bodies never end`);
      for (const body of bodies) {
        if (done.has(body)) continue;
        body.sent ??= new Sent(gate, {
          key: `account ${random(4)}`,
          bytes: body.isAnnounced ? body.bytes : undefined,
          lost: () => done.add(body),
        }).begin();
        for (let left = body.pace / 2; left > 0 && body.arrived < body.bytes; left -= 64 * kib) {
          if (body.sent.isWaiting || done.has(body)) break;
          const piece = Math.min(64 * kib, left, body.bytes - body.arrived);
          body.arrived += piece;
          body.sent.take(piece);
          if (body.arrived >= body.bytes) body.doneAtMs = nowMs + body.workMs;
        }
        if (body.sent.isWaiting || body.arrived < body.bytes || done.has(body)) continue;
        if (body.doneAtMs > nowMs) body.sent.room.complete();
        else {
          body.sent.room.release();
          done.add(body);
        }
      }
      assert.ok(gate.inside <= 3 * capacity + largest, `${gate.inside} bytes inside`);
      pass(500);
      await Promise.resolve();
      await Promise.resolve();
    }
    assert.equal(gate.inside, 0);
    assert.equal(timers.size, 0);
    assert.ok(given() > 0);
  });
}
