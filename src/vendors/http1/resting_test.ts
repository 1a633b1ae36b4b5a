import assert from "@std/assert";
import { FakeTimers } from "../../../tests/support/fake_timers.ts";
import { paceMs, Resting } from "./resting.ts";

/** Readers that read on as often as they may, each read taking `tookMs`. */
function setUp(count: number, tookMs: number) {
  const timers = new FakeTimers();
  const resting = new Resting(timers.later);
  let reads = 0;
  const readers = Array.from({ length: count }, () => {
    const reader = {
      readOn() {
        if (resting.isDue) return resting.wait(reader, tookMs);
        reads++;
        if (resting.count(tookMs, timers.clock.monotonicMs())) resting.add(reader, tookMs);
      },
    };
    return reader;
  });
  const takeReads = () => [reads, reads = 0][0];
  return { timers, resting, readers, takeReads };
}

Deno.test("short reads of many take no more than eight milliseconds together, then all rest", () => {
  const { timers, resting, readers, takeReads } = setUp(40, 0.5);
  for (const reader of readers) reader.readOn();
  // The one that exceeds the time is the last.
  assert.equal(takeReads(), 17);
  assert.equal(readers.filter((one) => resting.has(one)).length, 24);
  timers.advance(paceMs);
  assert.equal(takeReads(), 17);
  assert.equal(readers.filter((one) => resting.has(one)).length, 8);
  timers.advance(paceMs);
  assert.equal(takeReads(), 8);
  assert.deepEqual([resting.isDue, timers.pending], [false, 0]);
});

Deno.test("reads that are far apart don't add up, and a long one rests by itself", () => {
  const { timers, resting } = setUp(0, 0);
  for (let read = 0; read < 40; read++) {
    timers.advance(20);
    assert.equal(resting.count(0.9, timers.clock.monotonicMs()), false);
  }
  assert.equal(resting.count(1.1, timers.clock.monotonicMs()), true);
  assert.equal(resting.isDue, false);
});

Deno.test("at a tick, brief reads go on whatever the others take, and one timer serves all", () => {
  const timers = new FakeTimers();
  const resting = new Resting(timers.later);
  const did: string[] = [];
  const add = (name: string, tookMs: number) =>
    resting.add({ readOn: () => did.push(name) }, tookMs);
  for (const name of ["a", "b", "c"]) add(name, 5);
  add("brief", 0.05);
  assert.equal(timers.pending, 1);
  timers.advance(paceMs);
  assert.deepEqual(did, ["a", "b", "brief"]);
  assert.equal(timers.pending, 1);
  timers.advance(paceMs);
  assert.deepEqual(did, ["a", "b", "brief", "c"]);
  assert.equal(timers.pending, 0);
});

Deno.test("a read postpones the tick, who only waits doesn't", () => {
  const timers = new FakeTimers();
  const resting = new Resting(timers.later);
  const did: string[] = [];
  resting.add({ readOn: () => did.push("first") }, 5);
  timers.advance(paceMs - 1);
  resting.add({ readOn: () => did.push("second") }, 5);
  timers.advance(paceMs - 1);
  resting.wait({ readOn: () => did.push("third") }, 5);
  assert.deepEqual(did, []);
  timers.advance(1);
  assert.deepEqual(did, ["first", "second"]);
});
