import assert from "@std/assert";
import { FakeTimers } from "../../../tests/support/fake_timers.ts";
import { isStoreAway } from "../../shared/fault.ts";
import { createBusyTolerantPing } from "./busy_tolerant_ping.ts";

function setUp() {
  const timers = new FakeTimers();
  const asked: PromiseWithResolvers<void>[] = [];
  const ping = createBusyTolerantPing(() => {
    asked.push(Promise.withResolvers());
    return asked.at(-1)!.promise;
  }, { clock: timers.clock, setTimer: timers.later });
  return { timers, asked, ping };
}

Deno.test("a database that is busy is well after a second, for a minute, and is asked once", async () => {
  const { timers, asked, ping } = setUp();
  for (let second = 0; second < 59; second++) {
    const pings = [ping(), ping()];
    timers.advance(1_000);
    await Promise.all(pings);
  }
  const late = ping();
  timers.advance(1_000);
  await assert.rejects(late, isStoreAway);
  assert.equal(asked.length, 1);
  asked[0]!.resolve();
  await asked[0]!.promise;
  const next = ping();
  asked[1]!.resolve();
  await next;
  assert.equal(timers.pending, 0);
});

Deno.test("a database that fails is not well, and is asked again", async () => {
  const { timers, asked, ping } = setUp();
  const refused = ping();
  asked[0]!.reject(new Error("broken"));
  await assert.rejects(refused, /broken/);
  const busy = ping();
  timers.advance(1_000);
  await busy;
  // It breaks while nobody waits for it.
  asked[1]!.reject(new Error("broken"));
  await asked[1]!.promise.catch(() => {});
  const next = ping();
  assert.equal(asked.length, 3);
  asked[2]!.resolve();
  await next;
});
