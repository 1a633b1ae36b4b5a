import assert from "@std/assert";
import {
  type ForwardSetting,
  setUpForwarder as setUp,
} from "../../tests/support/forwarded_stream.ts";
import { settleDown } from "../../tests/support/repeats.ts";
import { AnswerBytes } from "../base/answer_bytes.ts";
import { ReadAhead } from "../base/read_ahead.ts";
import { tapStream } from "../base/stream_tap.ts";
import { Fault } from "../shared/fault.ts";
import { isAbort } from "../vendors/upstream.ts";
import { UpstreamAborted } from "../vendors/upstream_failure.ts";
import type { ForwardDeps } from "./stream_forwarder.ts";

const silent = new Fault("upstream_timeout");

Deno.test("a vendor request that is aborted amid its answer is a call that was cancelled", async () => {
  const { endings, did, stream, send, fail } = setUp();
  send("a");
  await stream;
  fail(new UpstreamAborted());
  assert.deepEqual([endings.map(({ status }) => status), did], [["cancelled"], [
    "destroy",
    "part",
  ]]);
});

Deno.test("a vendor request that is aborted once all may have come is a call with its end", async () => {
  const { endings, did, stream, recorded, send, fail } = setUp({ listener: { mayBeWhole: true } });
  recorded.resolve();
  send("a");
  fail(new UpstreamAborted());
  assert.equal(await new Response(await stream).text(), "a.");
  assert.deepEqual([endings.map(({ status }) => status), did], [["completed"], [
    "whole",
    "destroy",
  ]]);
});

Deno.test("what comes behind a caller who has left doesn't complete the call", async () => {
  const taken = Promise.withResolvers<void>();
  const trace: ForwardDeps["trace"] = {};
  let mayBeWhole = false;
  const { endings, stream, send, end } = setUp({
    ...{ onDisconnect: "drain", trace },
    listener: {
      take: (_, output) => {
        output.begin();
        return mayBeWhole ? undefined : taken.promise;
      },
      get mayBeWhole() {
        return mayBeWhole;
      },
    },
  });
  send("a large event, which is taken in turns");
  assert.equal(trace.stream!.isWhole, false);
  await (await stream).cancel();
  mayBeWhole = true;
  taken.resolve();
  await taken.promise.then(() => {}).then(() => {}).then(() => {}).then(() => {});
  end();
  assert.deepEqual(endings.map(({ status }) => status), ["cancelled"]);
});

Deno.test("a call learns at once that its caller has left the copy of its stream", async () => {
  const { endings, stream, recorded, send } = setUp();
  recorded.resolve();
  send("a");
  const connection = new AbortController();
  const broken = Promise.withResolvers<void>();
  tapStream(await stream, {
    piece: (bytes) => bytes,
    readsOn: () => false,
    ended: () => Promise.reject(new Error("it ended in order")),
    broken: broken.resolve,
  }, connection.signal);
  connection.abort();
  // What would complete it comes too late.
  send("end");
  await broken.promise;
  assert.deepEqual(endings.map(({ status }) => status), ["cancelled"]);
});

/** The caller leaves after these pieces; with `drain` the vendor then ends its answer. */
const leaves: [string, string[], ForwardSetting, [status: string, record: string]][] = [
  ["in the middle", ["a"], {}, ["cancelled", "part"]],
  ["after the last event", ["a", "end"], {}, ["cancelled", "whole"]],
  ["with what may be all", ["a"], { listener: { mayBeWhole: true } }, ["completed", "whole"]],
  ["with all to come", ["a"], { onDisconnect: "drain" }, ["cancelled", "whole"]],
  ["and the call goes on", ["a"], { onDisconnect: "drain", trace: { outlivesCaller: true } }, [
    "completed",
    "whole",
  ]],
  ["and the call can't go on", ["a"], { trace: { outlivesCaller: true } }, ["cancelled", "part"]],
];
for (const [when, pieces, more, expected] of leaves) {
  Deno.test(`a caller who leaves ${when}: ${expected.join(", ")}`, async () => {
    const { endings, did, stream, send, end, timers } = setUp(more);
    for (const piece of pieces) send(piece);
    await (await stream).cancel();
    if (more.onDisconnect === "drain") end();
    const [record] = did.filter((one) => one === "whole" || one === "part");
    assert.deepEqual([endings.map(({ status }) => status), record], [[expected[0]], expected[1]]);
    assert.equal(timers.pending, 0);
  });
}

Deno.test("a vendor that fails after its caller has left: the call was cancelled", async () => {
  const { endings, stream, send, fail } = setUp({ onDisconnect: "drain" });
  send("a");
  await (await stream).cancel();
  fail(silent);
  assert.deepEqual(endings.map(({ status, errorCode }) => [status, errorCode]), [
    ["cancelled", "upstream_timeout"],
  ]);
});

Deno.test("a caller who reads slowly, without room to be read ahead of, hasn't left", async () => {
  const { timers, endings, stream, send } = setUp();
  const pieces = 40;
  for (let piece = 0; piece < pieces; piece++) send("x".repeat(64 * 1024));
  const tapped = tapStream(await stream, {
    ...{ piece: (bytes) => bytes, aheadBytes: Infinity, ahead: new ReadAhead(2 ** 22).open(1) },
    ...{ readsOn: () => false, ended: () => Promise.resolve(), broken() {} },
  }, new AbortController().signal);
  const reader = tapped.getReader();
  for (let taken = 0; taken < 10; taken++) {
    await settleDown();
    await reader.read();
    timers.advance(600);
  }
  assert.deepEqual(endings, []);
  await reader.cancel();
});

for (const hasBegun of [true, false]) {
  const what = hasBegun ? "has the status that it got" : "has got no status";
  Deno.test(`a caller who leaves ${hasBegun ? "behind" : "before"} the head ${what}`, async () => {
    const left = new AbortController();
    const { endings, stream, send, end } = setUp({ onDisconnect: "drain", signal: left.signal });
    if (hasBegun) send("a");
    left.abort();
    if (!hasBegun) send("a");
    await (await stream).cancel();
    end();
    assert.deepEqual(endings.map(({ status, httpStatus }) => [status, httpStatus]), [
      ["cancelled", hasBegun ? 200 : null],
    ]);
  });
}

/** A stream of which a copy is made for a repeat: when its caller leaves, nobody cancels it. */
async function leaveCopied() {
  const left = new AbortController();
  const world = setUp({
    ...{ onDisconnect: "drain", trace: { outlivesCaller: true }, signal: left.signal },
  });
  world.recorded.resolve();
  world.send("a");
  const copy = new Response(await world.stream).text();
  left.abort();
  world.send("b");
  return { ...world, copy, statuses: () => world.endings.map(({ status }) => status) };
}

Deno.test("a call that goes on has an answer for its repeat, and its caller's status", async () => {
  const { copy, endings, end, timers } = await leaveCopied();
  end();
  assert.equal(await copy, "ab.");
  assert.deepEqual(endings.map(({ status, httpStatus }) => [status, httpStatus]), [
    ["completed", 200],
  ]);
  assert.equal(timers.pending, 0);
});

Deno.test("a call goes on for a quarter of an hour at most", async () => {
  const { copy, did, statuses, timers } = await leaveCopied();
  timers.advance(15 * 60_000 - 1);
  assert.deepEqual([did, statuses()], [["resume"], []]);
  timers.advance(1);
  assert.equal(await copy, "ab");
  assert.deepEqual([did, statuses()], [["resume", "destroy", "part"], ["cancelled"]]);
  assert.equal(timers.pending, 0);
});

Deno.test("a stop waits for a call that goes on, then cuts it off", async () => {
  for (const ends of [true, false]) {
    const { copy, statuses, streams, timers, end } = await leaveCopied();
    const stopped = streams.drain(1000);
    if (ends) end();
    else timers.advance(1000);
    await stopped;
    assert.deepEqual(
      [await copy, statuses()],
      ends ? ["ab.", ["completed"]] : ["ab", ["cancelled"]],
    );
  }
});

Deno.test("a vendor that fails behind the caller of a call that goes on: the call was cancelled", async () => {
  const { copy, statuses, fail } = await leaveCopied();
  fail(silent);
  assert.deepEqual([await copy, statuses()], ["abupstream_timeout", ["cancelled"]]);
});

Deno.test("a call that goes on, and is cut off before its answer has begun, was cancelled", async () => {
  const left = new AbortController();
  const { stream, streams, did, timers } = setUp({
    ...{ onDisconnect: "drain", trace: { outlivesCaller: true }, signal: left.signal },
  });
  left.abort();
  const stopped = streams.drain(1000);
  timers.advance(1000);
  await stopped;
  const ended = stream.then(() => "begun", isAbort);
  assert.deepEqual([await Promise.race([ended, settleDown()]), did], [true, ["resume", "destroy"]]);
  assert.equal(timers.pending, 0);
});

Deno.test("a caller who reads nothing, without room to be read ahead of, leaves the copy to its repeat", async () => {
  const left = new AbortController();
  const trace = { outlivesCaller: true };
  const { endings, recorded, send, stream, end, timers } = setUp({
    ...{ onDisconnect: "drain", trace, signal: left.signal },
  });
  recorded.resolve();
  const copy = new AnswerBytes();
  const ended = Promise.withResolvers<string>();
  for (let piece = 0; piece < 10; piece++) send("x".repeat(64 * 1024));
  tapStream(await stream, {
    ...{ piece: (bytes) => copy.add(bytes), aheadBytes: Infinity },
    ahead: new ReadAhead(0).open(1),
    readsOn: () => true,
    ended: () => Promise.resolve(ended.resolve("ended")),
    broken: () => ended.resolve("broken"),
  }, left.signal);
  await settleDown();
  timers.advance(2000);
  await settleDown();
  left.abort(); // As when the listener ends the connection of such a caller.
  end();
  assert.equal(await Promise.race([ended.promise, settleDown(1000)]), "ended");
  assert.equal(copy.whole()?.length, 10 * 64 * 1024 + 1);
  assert.deepEqual(endings.map(({ status }) => status), ["completed"]);
});
