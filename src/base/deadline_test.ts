import assert from "@std/assert";
import { starvationTolerantTimeout } from "./deadline.ts";

/** Timers that are looked at when the test says so, with the waits that were asked for. */
function timers() {
  const waits: number[] = [];
  let pending: (() => void) | undefined;
  return {
    waits,
    later(ms: number, run: () => void) {
      waits.push(ms);
      pending = run;
      return () => pending = undefined;
    },
    fire() {
      const run = pending;
      pending = undefined;
      run?.();
    },
    get isWaiting() {
      return pending !== undefined;
    },
  };
}

Deno.test("the wait is as long as was asked for, in slices, and ends once", () => {
  const world = timers();
  let runs = 0;
  starvationTolerantTimeout(5000, () => runs++, world.later);
  for (let looks = 1; looks < 20; looks++) world.fire();
  assert.deepEqual([runs, world.isWaiting], [0, true]);
  world.fire();
  world.fire();
  assert.deepEqual([runs, world.isWaiting], [1, false]);
  assert.equal(world.waits.reduce((sum, ms) => sum + ms), 5000);
});

Deno.test("a wait that was taken back ends never", () => {
  const world = timers();
  const cancel = starvationTolerantTimeout(5000, () => assert.fail(), world.later);
  for (let looks = 0; looks < 7; looks++) world.fire();
  cancel();
  assert.equal(world.isWaiting, false);
});
