import assert from "@std/assert";
import { FakeTimers } from "../../tests/support/fake_timers.ts";
import type { CallContext } from "./call_context.ts";
import { cancelSignal, drainLeft } from "./drained_call.ts";
import { OpenStreams } from "./open_streams.ts";

function setUp(onDisconnect: "cancel" | "drain") {
  const timers = new FakeTimers();
  const streams = new OpenStreams({ perAccount: 1, unreadMs: 1000 }, timers.later);
  const connection = new AbortController();
  const caller = {
    principal: { key: { onDisconnect } },
    signal: connection.signal,
    trace: {},
  } as unknown as CallContext;
  return { timers, streams, connection, caller };
}

Deno.test("an answer that is drained is cut off a quarter of an hour after its caller has left", () => {
  const { timers, streams, connection, caller } = setUp("drain");
  const signal = cancelSignal(caller);
  const ended = drainLeft(streams, caller);
  timers.advance(60 * 60_000);
  connection.abort();
  timers.advance(15 * 60_000 - 1);
  assert.equal(signal.aborted, false);
  timers.advance(1);
  assert.deepEqual([signal.aborted, cancelSignal(caller).aborted], [true, true]);
  ended();
});

Deno.test("a stop waits for an answer that is drained, also of a caller who had left before", async () => {
  for (const ends of [true, false]) {
    const { timers, streams, connection, caller } = setUp("drain");
    connection.abort();
    const ended = drainLeft(streams, caller);
    const stopped = streams.drain(1000);
    if (ends) ended();
    else timers.advance(1000);
    await stopped;
    assert.equal(cancelSignal(caller).aborted, !ends);
    ended();
    assert.equal(timers.pending, 0);
  }
});

Deno.test("nothing waits for an answer that has ended, or that ends with its caller", () => {
  const drained = setUp("drain");
  drainLeft(drained.streams, drained.caller)();
  const cancelled = setUp("cancel");
  drainLeft(cancelled.streams, cancelled.caller);
  for (const { connection, timers } of [drained, cancelled]) {
    connection.abort();
    assert.equal(timers.pending, 0);
  }
  assert.equal(cancelSignal(cancelled.caller), cancelled.connection.signal);
});
