import assert from "@std/assert";
import { setUpForwarder as setUp } from "../../tests/support/forwarded_stream.ts";
import type { Step } from "../base/heavy_work.ts";
import { Fault } from "../shared/fault.ts";
import type { Ending } from "./ending.ts";
import { OpenStreams } from "./open_streams.ts";
import type { StreamListener } from "./stream_forwarder.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

Deno.test("what comes from the last event on waits until the call's end is recorded", async () => {
  const { recorded, endings, stream, send, end } = setUp();
  send("one ");
  const reader = (await stream).getReader();
  const read = async () => new TextDecoder().decode((await reader.read()).value);
  assert.equal(await read(), "one ");
  send("end");
  end();
  let isRead = false;
  const last = read().finally(() => isRead = true);
  for (let turns = 0; turns < 100; turns++) await Promise.resolve();
  assert.deepEqual([isRead, endings[0]?.status], [false, "completed"]);
  recorded.resolve();
  assert.deepEqual([await last, await read(), (await reader.read()).done], ["end", ".", true]);
});

/** Returns a function that tells whether the answer has begun by now. */
function beginOf(stream: Promise<unknown>): () => Promise<boolean> {
  let hasBegun = false;
  stream.then(() => hasBegun = true);
  return async () => {
    for (let turns = 0; turns < 10; turns++) await Promise.resolve();
    return hasBegun;
  };
}

Deno.test("comments alone begin the answer after five seconds", async () => {
  const { timers, stream, send, end, recorded } = setUp();
  recorded.resolve();
  const begun = beginOf(stream);
  send(": one ");
  timers.advance(5_000);
  send(": two ");
  assert.equal(await begun(), false);
  timers.advance(1);
  send(": three ");
  assert.equal(await begun(), true);
  end();
  assert.equal(await new Response(await stream).text(), ": one : two : three .");
});

Deno.test("comments alone begin the answer once there are more than 64 KiB of them", async () => {
  const { stream, send, end, recorded } = setUp();
  recorded.resolve();
  const begun = beginOf(stream);
  send(`:${"x".repeat(65_535)}`);
  assert.equal(await begun(), false);
  send(":");
  assert.equal(await begun(), true);
  end();
  assert.equal(await new Response(await stream).text(), `:${"x".repeat(65_535)}:.`);
});

for (const onDisconnect of ["cancel", "drain"] as const) {
  Deno.test(`who takes nothing of its stream is cut off, and its vendor too, at once or read to the end: ${onDisconnect}`, async () => {
    const { timers, endings, did, stream, send, end } = setUp({ onDisconnect });
    send("x".repeat(100_000));
    const unread = await stream;
    assert.deepEqual(did.splice(0), ["pause"]);
    timers.advance(999);
    assert.deepEqual([did, endings], [[], []]);
    timers.advance(1);
    await assert.rejects(new Response(unread).text(), /stopped reading its stream/);
    if (onDisconnect === "drain") {
      assert.deepEqual(did.splice(0), ["resume"]);
      send("more");
      end();
    }
    assert.ok(did.includes("destroy"));
    assert.deepEqual(endings.map(({ status }) => status), ["cancelled"]);
    assert.equal(timers.pending, 0);
  });
}

Deno.test("an answer is drained for a quarter of an hour at most", async () => {
  const { timers, endings, did, stream, send } = setUp({ onDisconnect: "drain" });
  send("one ");
  await (await stream).cancel();
  timers.advance(15 * 60_000 - 1);
  assert.deepEqual([did, endings], [["resume"], []]);
  timers.advance(1);
  assert.deepEqual(did, ["resume", "destroy", "part"]);
  assert.deepEqual(endings.map(({ status }) => status), ["cancelled"]);
});

/** What comes behind the finish reason of a vendor that leaves its connection open. */
const open: [string, string[], { afterMs: number; text: string } | "waits"][] = [
  ["nothing", ["finish"], { afterMs: 10_000, text: "finish." }],
  ["comments, which prove nothing", ["finish", ": a"], { afterMs: 6_000, text: "finish: a." }],
  ["usage", ["finish", "finish"], { afterMs: 10_000, text: "finishfinish." }],
  ["another choice", ["finish", "a"], "waits"],
  ["the last event", ["finish", "end"], { afterMs: 100, text: "finishend." }],
];
for (const [what, pieces, expected] of open) {
  Deno.test(`a vendor that leaves its connection open after its finish reason and ${what}`, async () => {
    const { recorded, timers, endings, did, stream, send } = setUp();
    recorded.resolve();
    for (const piece of pieces) {
      timers.advance(4_000);
      send(piece);
    }
    const answer = new Response(await stream).text();
    if (expected === "waits") {
      timers.advance(3_600_000);
      return assert.deepEqual(endings, []);
    }
    timers.advance(expected.afterMs - 1);
    assert.deepEqual(endings, []);
    timers.advance(1);
    assert.equal(await answer, expected.text);
    assert.deepEqual([endings.map(({ status }) => status), did, timers.pending], [
      ...[["completed"], ["whole", "destroy"], 0],
    ]);
  });
}

Deno.test("behind its finish reason a vendor isn't silent while its caller is behind", async () => {
  const { recorded, timers, endings, stream, send, did } = setUp();
  recorded.resolve();
  for (let piece = 0; piece < 20; piece++) send("a".repeat(64 * 1024));
  send("finish");
  const reader = (await stream).getReader();
  for (let seconds = 0; seconds < 15; seconds++) {
    timers.advance(999);
    await reader.read();
  }
  assert.deepEqual([endings, new Set(did)], [[], new Set(["pause"])]);
  for (let left = 6; left > 0; left--) await reader.read();
  const next = reader.read();
  assert.ok(did.includes("resume"));
  timers.advance(10_000);
  assert.deepEqual(endings.map(({ status }) => status), ["completed"]);
  assert.equal(new TextDecoder().decode((await next).value), ".");
});

const reset = new Error("the connection was reset");
const silent = new Fault("upstream_timeout");
const breaks: [string, string, unknown, { text: string; status: string; did: string[] }][] = [
  ["after the last event", "end", reset, { text: "end.", status: "completed", did: ["whole"] }],
  ["where all may have come", "all", reset, { text: "all.", status: "completed", did: ["whole"] }],
  ["in the middle", "a", reset, {
    ...{ text: "aupstream_stream_truncated", status: "truncated", did: ["part"] },
  }],
  ["in silence, with its finish reason", "finish", silent, {
    ...{ text: "finish.", status: "completed", did: ["whole"] },
  }],
  ["in silence", "a", silent, {
    text: "aupstream_timeout",
    status: "failed",
    did: ["part"],
  }],
];
for (const [when, sent, thrown, expected] of breaks) {
  Deno.test(`a vendor's connection that breaks ${when} ends the answer as ${expected.status}`, async () => {
    const { recorded, endings, did, stream, send, fail } = setUp({
      listener: { mayBeWhole: sent === "all" },
    });
    recorded.resolve();
    send(sent);
    fail(thrown);
    assert.equal(await new Response(await stream).text(), expected.text);
    assert.deepEqual(endings.map(({ status }) => status), [expected.status]);
    assert.deepEqual(did.toSorted(), [...expected.did, "destroy"].toSorted());
  });
}

Deno.test("a failure that nothing can tell the caller breaks its connection off", async () => {
  const { recorded, stream, send, fail } = setUp({ listener: { fail: () => undefined } });
  recorded.resolve();
  send("a");
  fail(silent);
  await assert.rejects(new Response(await stream).text(), silent);
});

Deno.test("a failure after the last event comes after it", async () => {
  const incomplete = () => {
    throw silent;
  };
  const { recorded, stream, send, end } = setUp({ listener: { end: incomplete } });
  recorded.resolve();
  send("end");
  end();
  assert.equal(await new Response(await stream).text(), "endupstream_timeout");
});

Deno.test("an answer that the meter can't follow is recorded as cut", async () => {
  const broken = () => {
    throw new Error("a bug");
  };
  const { endings, did, recorded, stream, send, end } = setUp({ listener: { settle: broken } });
  recorded.resolve();
  send("a");
  end();
  assert.equal(await new Response(await stream).text(), "a.");
  assert.deepEqual(endings.map(({ isTruncated }) => isTruncated), [true]);
  assert.ok(did.includes("answer failed"));
});

Deno.test("who has read all that came is waited for, however long the vendor is silent", async () => {
  const { timers, endings, did, stream, send, end, recorded } = setUp();
  const large = "x".repeat(100_000);
  send(large);
  const text = new Response(await stream).text();
  while (!did.includes("resume")) await new Promise((resolve) => setImmediate(resolve));
  timers.advance(60_000);
  assert.deepEqual(endings, []);
  recorded.resolve();
  end();
  assert.equal((await text).length, large.length + 1);
});

Deno.test("a stream whose reader has caught up is kept alive again", async () => {
  const keepAlive = { afterMs: 1, bytes: () => bytesOf("alive") };
  const { timers, stream, send } = setUp({ listener: { keepAlive } });
  send("x".repeat(100_000));
  const open = await stream;
  let last = "";
  // Leaves the stream, and so ends its timer, once it has seen one.
  const reading = (async () => {
    for await (const bytes of open) {
      last = new TextDecoder().decode(bytes);
      if (last === "alive") break;
    }
  })();
  for (let turns = 0; turns < 1_000 && last !== "alive"; turns++) {
    timers.clock.advance(1);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  assert.equal(last.slice(0, 5), "alive");
  await reading;
});

Deno.test("a stream is kept alive while a piece takes its time", async () => {
  const slow = Promise.withResolvers<void>();
  const keepAlive = { afterMs: 1, bytes: () => bytesOf("alive ") };
  const { timers, recorded, stream, send, end } = setUp({
    listener: { keepAlive, take: () => slow.promise },
  });
  recorded.resolve();
  send("slow");
  let text = "";
  const reading = stream.then(async (open) => {
    for await (const bytes of open) text += new TextDecoder().decode(bytes);
  });
  for (let turns = 0; turns < 1_000 && text === ""; turns++) {
    timers.clock.advance(1);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  assert.match(text, /^(alive )+$/);
  end();
  slow.resolve();
  await reading;
  assert.match(text, /^(alive )+\.$/);
});

/** Holds back heavy work until it is told to run it. */
function heldSteps(): { heavyStep: () => Step; run(): void } {
  const jobs: (() => void)[] = [];
  const step = <T>(job: () => T) => new Promise<T>((resolve) => jobs.push(() => resolve(job())));
  return {
    heavyStep: () => Object.assign(step, { inSteps: unused, isHeavy: true }),
    run: () => jobs.splice(0).forEach((job) => job()),
  };
}

const longText = "x".repeat(64 * 1024 + 1);

Deno.test("a long stream that is cut off is settled in its turn, its vendor released at once", async () => {
  const { heavyStep, run } = heldSteps();
  const left = setUp({ heavyStep });
  left.send(longText);
  await (await left.stream).cancel();
  assert.deepEqual([left.did, left.endings], [["pause", "destroy"], []]);
  run();
  assert.deepEqual([left.did.at(-1), left.endings[0]?.status], ["part", "cancelled"]);

  const failed = setUp({ heavyStep });
  failed.recorded.resolve();
  failed.send(longText);
  failed.fail(new Error("connection reset"));
  assert.deepEqual(failed.endings, []);
  run();
  assert.equal(failed.endings.length, 1);
  const text = await new Response(await failed.stream).text();
  assert.equal(text.slice(longText.length), "upstream_stream_truncated");
});

Deno.test("a short stream, and one whose caller waits for its end, are settled at once", async () => {
  const { heavyStep } = heldSteps();
  const short = setUp({ heavyStep });
  short.send(longText.slice(1));
  await (await short.stream).cancel();
  assert.equal(short.endings[0]?.status, "cancelled");
  const whole = setUp({ heavyStep });
  whole.send(longText);
  whole.send("end");
  whole.end();
  assert.equal(whole.endings[0]?.status, "completed");
});

Deno.test("a stop waits for streams that wait for their turn, then settles them, once", async () => {
  const { heavyStep, run } = heldSteps();
  const { timers, send, stream, streams, endings, did } = setUp({ heavyStep });
  send(longText);
  await (await stream).cancel();
  const drained = streams.drain(1_000);
  timers.advance(999);
  assert.deepEqual(endings, []);
  timers.advance(1);
  await drained;
  assert.equal(endings.length, 1);
  run();
  assert.deepEqual([endings.length, did.filter((what) => what === "part").length], [1, 1]);
});

const heavyText = "x".repeat(2 * 1024 * 1024 + 1);

for (
  const [what, meanwhile] of [
    ["nothing happens", () => {}],
    ["its caller leaves", ({ reading }) => reading.cancel()],
    ["the service stops", ({ streams }) => streams.drain(0)],
    ["it fails", ({ prepared }) => prepared.reject(new Error("not today"))],
  ] as const satisfies [string, (world: HeavyStream) => unknown][]
) {
  Deno.test(`the end of a heavy stream is prepared before it is settled, once: meanwhile ${what}`, async () => {
    const { heavyStep, run } = heldSteps();
    const prepared = Promise.withResolvers<void>();
    const prepareEnd = ({ responseText }: Ending) => (did.push(responseText!), prepared.promise);
    const settle = () => ({ recordText: "its text" });
    const heavy = setUp({ heavyStep, prepareEnd, listener: { settle } });
    const { did, endings, recorded, streams, timers, stream, send, end } = heavy;
    recorded.resolve();
    for (const text of [heavyText, "end"]) send(text);
    end();
    run();
    const reading = (await stream).getReader();
    await turns();
    assert.deepEqual([did.at(-1), endings], ["its text", []]);
    void meanwhile({ reading, streams, prepared });
    timers.advance(0);
    await turns();
    prepared.resolve();
    await turns();
    run();
    await turns();
    assert.deepEqual(endings.map(({ status, responseText }) => [status, responseText]), [
      ["completed", "its text"],
    ]);
    assert.equal(timers.pending, 0);
  });
}

interface HeavyStream {
  reading: ReadableStreamDefaultReader<Uint8Array>;
  streams: OpenStreams;
  prepared: PromiseWithResolvers<void>;
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

Deno.test("a stop waits for a piece that takes its time, and for what happened meanwhile", async () => {
  for (const [piece, turns] of [["large", undefined], [longText, heldSteps()]] as const) {
    const pieces: PromiseWithResolvers<void>[] = [];
    const listener: Partial<StreamListener> = {
      take(_, output) {
        output.begin();
        pieces.push(Promise.withResolvers());
        return pieces.at(-1)!.promise;
      },
    };
    const { send, stream, streams, endings } = setUp({ listener, heavyStep: turns?.heavyStep });
    send(piece);
    send(piece);
    await (await stream).cancel();
    const drained = streams.drain(1_000).then(() => endings.length);
    pieces[0]!.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    pieces[1]!.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    turns?.run();
    assert.equal(await drained, 1);
  }
});

function unused(): never {
  throw new Error("not used");
}

Deno.test("what comes while a piece takes its time waits for it, in its order", async () => {
  const took: string[] = [];
  const slow = Promise.withResolvers<void>();
  const { did, endings, recorded, stream, send, end } = setUp({
    listener: {
      take(piece, output) {
        const text = new TextDecoder().decode(piece);
        took.push(text);
        output.begin();
        output.send(piece);
        return text === "slow " ? slow.promise : undefined;
      },
    },
  });
  recorded.resolve();
  const begun = stream.then((body) => new Response(body).text());
  for (const text of ["one ", "slow ", "two ", "three "]) send(text);
  end();
  for (let turns = 0; turns < 10; turns++) await Promise.resolve();
  assert.deepEqual([took, did, endings], [["one ", "slow "], ["pause"], []]);
  slow.resolve();
  assert.equal(await begun, "one slow two three .");
  assert.equal(endings[0]?.status, "completed");
});

Deno.test("a vendor isn't silent behind its finish reason while a piece takes its time", async () => {
  for (const isMore of [true, false]) {
    const slow = Promise.withResolvers<void>();
    const { timers, endings, stream, send } = setUp({
      listener: {
        take(piece, output) {
          output.begin();
          output.mayEnd(true);
          return piece.length === 4 ? slow.promise.then(() => output.mayEnd(!isMore)) : undefined;
        },
      },
    });
    send("finish");
    send("slow");
    await stream;
    timers.advance(15_000);
    slow.resolve();
    await turns();
    timers.advance(9_999);
    assert.deepEqual(endings, []);
    timers.advance(1);
    assert.equal(endings.length, isMore ? 0 : 1);
  }
});

Deno.test("a piece that fails after a while ends the answer, and its caller's leaving waits", async () => {
  const slow = Promise.withResolvers<void>();
  const { did, endings, recorded, stream, send } = setUp({
    listener: {
      take(_piece, output) {
        output.begin();
        return slow.promise;
      },
    },
  });
  recorded.resolve();
  send("slow ");
  const left = (await stream).cancel();
  await Promise.resolve();
  assert.deepEqual(endings, []);
  slow.reject(new Fault("upstream_invalid_response"));
  await left;
  for (let turns = 0; turns < 10; turns++) await Promise.resolve();
  assert.deepEqual(endings.map(({ status, errorCode }) => [status, errorCode]), [
    ["failed", "upstream_invalid_response"],
  ]);
  assert.deepEqual(did, ["pause", "destroy", "part", "resume"]);
});

Deno.test("a caller that left while it was behind doesn't hold up what is read on after a piece that takes its time", async () => {
  const slow = Promise.withResolvers<void>();
  const { did, stream, send } = setUp({
    onDisconnect: "drain",
    listener: {
      take(piece, output) {
        output.begin();
        output.send(piece);
        return piece.length === 4 ? slow.promise : undefined;
      },
    },
  });
  send("x".repeat(100_000));
  await (await stream).cancel();
  send("slow");
  slow.resolve();
  for (let turns = 0; turns < 10; turns++) await Promise.resolve();
  assert.deepEqual(did, ["pause", "resume", "pause", "resume"]);
});
