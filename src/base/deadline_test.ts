import assert from "@std/assert";
import { CoarseTimers, starvationTolerantTimeout, within } from "./deadline.ts";

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

Deno.test("coarse timers run once each, not before their time, and not when they are cancelled", async () => {
  const timers = new CoarseTimers(1);
  const ran: string[] = [];
  /** Resolves when the timer runs. On a busy machine, one sweep may find all of them due. */
  const run = (name: string, ms: number, act?: () => void) => {
    const begunMs = performance.now();
    return new Promise<void>((resolve) =>
      timers.set(ms, () => {
        assert.ok(performance.now() - begunMs >= ms, name);
        ran.push(name);
        act?.();
        resolve();
      })
    );
  };
  const late = run("late", 25);
  const next = Promise.withResolvers<void>();
  const early = run("early", 5, () => {
    cancelledByEarly();
    run("set by early", 0).then(next.resolve);
  });
  const cancelledByEarly = timers.set(5, () => ran.push("cancelled by early"));
  timers.set(5, () => ran.push("cancelled"))();
  await Promise.all([late, early, next.promise]);
  assert.deepEqual(ran.sort(), ["early", "late", "set by early"]);
});

Deno.test("coarse timers of which none is left hold nothing up", async () => {
  const timers = new CoarseTimers(1);
  const first = timers.set(1000, () => assert.fail());
  timers.set(1000, () => assert.fail())();
  first();
  // The test's own sanitizer finds a timer that is left.
  await new Promise<void>((resolve) => timers.set(1, resolve));
});

Deno.test("work within a time gives its result or its failure, and leaves no timer; late work isn't waited for", async () => {
  let run = () => {};
  let left = 0;
  const setTimer = (_ms: number, late: () => void) => {
    run = late;
    left++;
    return () => void left--;
  };
  const hangs = Promise.withResolvers<string>();
  assert.equal(await within(5, Promise.resolve("done"), "late", setTimer), "done");
  await assert.rejects(within(5, Promise.reject(new Error("failed")), "late", setTimer), /failed/);
  const late = within(5, hangs.promise, "late", setTimer);
  run();
  assert.equal(await late, "late");
  assert.equal(left, 0);
  // Nobody is notified.
  hangs.reject(new Error("failed later"));
});
