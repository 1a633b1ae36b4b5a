import assert from "@std/assert";
import { FakeTimers } from "../../tests/support/fake_timers.ts";
import { KeepAlive } from "./keep_alive.ts";

function start(afterMs: number) {
  const timers = new FakeTimers();
  const said: number[] = [];
  const alive = new KeepAlive({
    afterMs,
    clock: timers.clock,
    setTimer: timers.later,
    send: () => said.push(timers.clock.monotonicMs() - beganMs),
  });
  const beganMs = timers.clock.monotonicMs();
  return { timers, said, alive };
}

Deno.test("silence is broken each time it has lasted long enough", () => {
  const { timers, said, alive } = start(15_000);
  alive.reset();
  timers.advance(46_000);
  assert.deepEqual(said, [15_000, 30_000, 45_000]);
});

Deno.test("a stream with events needs no keep-alive, and no timer for each event", () => {
  const { timers, said, alive } = start(15_000);
  for (let heard = 0; heard < 100; heard++) {
    alive.reset();
    assert.equal(timers.pending, 1);
    timers.advance(1_000);
  }
  assert.deepEqual(said, []);
  timers.advance(14_000);
  assert.deepEqual(said, [114_000]);
});

Deno.test("nothing is sent and no timer is left after the end", () => {
  const { timers, said, alive } = start(15_000);
  alive.reset();
  alive.stop();
  assert.equal(timers.pending, 0);
  alive.reset();
  timers.advance(60_000);
  assert.deepEqual([said, timers.pending], [[], 0]);
});

Deno.test("0 turns it off", () => {
  const { timers, said, alive } = start(0);
  alive.reset();
  timers.advance(60_000);
  assert.deepEqual([said, timers.pending], [[], 0]);
});

Deno.test("an answer that ends while it is being kept alive leaves no timer", () => {
  const timers = new FakeTimers();
  const alive: KeepAlive = new KeepAlive({
    afterMs: 10,
    clock: timers.clock,
    setTimer: timers.later,
    send: () => alive.stop(),
  });
  alive.reset();
  timers.advance(10);
  assert.equal(timers.pending, 0);
});
