import assert from "@std/assert";
import { Fault } from "../shared/fault.ts";
import { createFlushRecords } from "./flush_records.ts";
import type { Recorder } from "./recorder.ts";

function setup(drain: Recorder["drain"]) {
  const timers: { run: () => void; ms: number; cancelled: boolean }[] = [];
  const setTimer = (ms: number, run: () => void) => {
    const timer = { run, ms, cancelled: false };
    timers.push(timer);
    return () => void (timer.cancelled = true);
  };
  return { timers, flushRecords: createFlushRecords({ recorder: { drain }, setTimer }) };
}

Deno.test("a read waits for what is recorded, and leaves no timer", async () => {
  const written = Promise.withResolvers<void>();
  const { flushRecords, timers } = setup(() => written.promise);
  let done = false;
  const read = flushRecords({ timeoutMs: 50 }).then(() => done = true);
  await Promise.resolve();
  assert.equal(done, false);
  written.resolve();
  await read;
  assert.deepEqual(timers.map(({ ms, cancelled }) => [ms, cancelled]), [[50, true]]);
});

Deno.test("a store that can't keep up, or is away, is store_unavailable", async () => {
  let isLate = () => false;
  const slow = setup((_, signal) => {
    isLate = () => signal!.aborted;
    return new Promise(() => {});
  });
  const waiting = slow.flushRecords();
  assert.equal(isLate(), false);
  slow.timers[0]!.run();
  const away = setup(() => Promise.reject(new Fault("store_unavailable")));
  for (const read of [waiting, away.flushRecords()]) {
    await assert.rejects(read, (thrown: unknown) => (thrown as Fault).code === "store_unavailable");
  }
  assert.equal(away.timers[0]!.cancelled, true);
  assert.equal(isLate(), true, "a read that was refused is still waited for");
});

Deno.test("a read of an account waits for its records only, those of other workers too", async () => {
  const asked: unknown[] = [];
  const note = (...of: unknown[]) => Promise.resolve(void asked.push(of));
  const flushRecords = createFlushRecords({
    recorder: { drain: (accounts) => note(accounts) },
    flushOthers: note,
  });
  await flushRecords({ timeoutMs: Infinity, accountId: 7 });
  // Others need not go on for longer than the read waits.
  await flushRecords({ accountId: 8 });
  await flushRecords({ timeoutMs: Infinity, freeOnly: true });
  assert.deepEqual(asked, [
    ...[[7], [{ accountId: 7 }]],
    ...[[8], [{ accountId: 8, timeoutMs: 10_000 }]],
    ...[["free"], [{ freeOnly: true }]],
  ]);
});

Deno.test("reads wait ten seconds unless they say otherwise; without a limit no timer is set", async () => {
  const { flushRecords, timers } = setup(() => Promise.resolve());
  await flushRecords();
  assert.deepEqual(timers.map(({ ms }) => ms), [10_000]);
  await flushRecords({ timeoutMs: Infinity });
  assert.equal(timers.length, 1);
});
