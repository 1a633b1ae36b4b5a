import assert from "@std/assert";
import { FakeTimers } from "../../tests/support/fake_timers.ts";
import { settleDown } from "../../tests/support/repeats.ts";
import { pushStream } from "../base/streams.ts";
import { OpenStreams, UnreadLimit } from "./open_streams.ts";

Deno.test("an account has so many streams under way and no more, the free tier a tenth", () => {
  const streams = new OpenStreams({ perAccount: 15, unreadMs: 1000 });
  const enter = (id: number, tier: "free" | "pro", times: number) =>
    Array.from({ length: times }, () => streams.enter({ id, tier }));
  const refused = { name: "Fault", code: "rate_limit_exceeded", retryAfterSeconds: 5 };
  const [first, ...rest] = enter(1, "pro", 15);
  assert.throws(() => enter(1, "pro", 1), { ...refused, message: /already has 15 streams open/ });
  enter(2, "free", 2).forEach((leave) => leave());
  assert.throws(() => enter(2, "free", 3), refused);
  first!();
  first!();
  const again = enter(1, "pro", 1);
  assert.throws(() => enter(1, "pro", 1), refused);
  again.forEach((leave) => leave());
  assert.equal(streams.count, 14 + 2);
  rest.forEach((leave) => leave());
  assert.equal(streams.count, 2);
});

Deno.test("streams that their callers have left are waited for, and cut off after their time", async () => {
  const timers = new FakeTimers();
  const streams = new OpenStreams({ perAccount: 1, unreadMs: 1000 }, timers.later);
  const cut: string[] = [];
  const ends = ["a", "b"].map((name) => streams.readOn(60_000, () => cut.push(name)));
  let drained = false;
  const draining = streams.drain(1000).then(() => drained = true);
  ends[0]!();
  await settleDown();
  assert.equal(drained, false);
  ends[1]!();
  await draining;
  assert.equal(timers.pending, 0);
  await streams.drain(1000);
  streams.readOn(60_000, () => cut.push("c"));
  const late = streams.drain(1000);
  timers.advance(1000);
  await late;
  assert.deepEqual(cut, ["c"]);
});

/** A stream that is pushed into, read piece by piece, and ended after a second of standing still. */
function limited() {
  const timers = new FakeTimers();
  const out = pushStream(4);
  let expired = 0;
  const { unreadMs, setTimer } = new OpenStreams({ perAccount: 1, unreadMs: 1000 }, timers.later);
  const limit = new UnreadLimit(out, { unreadMs, setTimer }, timers.clock, () => expired++);
  out.onDrain(() => limit.drained());
  const reader = out.stream.getReader();
  return {
    timers,
    limit,
    reader,
    push: (length: number) => out.push(new Uint8Array(length)) || limit.behind(),
    expired: () => expired,
  };
}

Deno.test("a stream that stands unread is ended after its time, once", () => {
  const { timers, limit, push, expired } = limited();
  push(3);
  timers.advance(10_000);
  assert.equal(expired(), 0, "who is not behind has all the time");
  push(3);
  timers.advance(999);
  push(1);
  assert.equal(expired(), 0);
  timers.advance(1);
  assert.equal(expired(), 1);
  limit.stop();
  timers.advance(10_000);
  assert.deepEqual([expired(), timers.pending], [1, 0]);
});

Deno.test("a caller that reads, however slowly, is not cut off", async () => {
  const { timers, limit, reader, push, expired } = limited();
  push(200 * 1024);
  for (let pieces = 0; pieces < 3; pieces++) {
    timers.advance(900);
    assert.equal((await reader.read()).value?.length, 64 * 1024);
  }
  assert.equal(expired(), 0);
  assert.equal((await reader.read()).value?.length, 8 * 1024);
  timers.advance(10_000);
  assert.equal(expired(), 0, "it has caught up");
  push(5);
  timers.advance(2_000);
  assert.equal(expired(), 1);
  limit.stop();
});
