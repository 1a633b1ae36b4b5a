import assert from "@std/assert";
import { Fault } from "../shared/fault.ts";
import { createFlushRecords } from "./flush_records.ts";

function setup(drain: () => Promise<void>) {
  const timers: { run: () => void; ms: number; cancelled: boolean }[] = [];
  const later = (ms: number, run: () => void) => {
    const timer = { run, ms, cancelled: false };
    timers.push(timer);
    return () => void (timer.cancelled = true);
  };
  return { timers, caughtUp: createFlushRecords({ recorder: { drain }, later, limitMs: 50 }) };
}

Deno.test("a read waits for what is recorded, and leaves no timer", async () => {
  const written = Promise.withResolvers<void>();
  const { caughtUp: flushRecords, timers } = setup(() => written.promise);
  let done = false;
  const read = flushRecords().then(() => done = true);
  await Promise.resolve();
  assert.equal(done, false);
  written.resolve();
  await read;
  assert.deepEqual(timers.map(({ ms, cancelled }) => [ms, cancelled]), [[50, true]]);
});

Deno.test("a store that can't keep up, or is away, is store_unavailable", async () => {
  const slow = setup(() => new Promise(() => {}));
  const waiting = slow.caughtUp();
  slow.timers[0]!.run();
  const away = setup(() => Promise.reject(new Fault("store_unavailable")));
  for (const read of [waiting, away.caughtUp()]) {
    await assert.rejects(read, (thrown: unknown) => (thrown as Fault).code === "store_unavailable");
  }
  assert.equal(away.timers[0]!.cancelled, true);
});
