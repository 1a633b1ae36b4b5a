import assert from "@std/assert";
import { CopyRoom } from "../base/copy_room.ts";
import {
  request,
  seen,
  settleDown,
  setUpIdempotency,
  streamRun,
} from "../../tests/support/repeats.ts";

const pieceBytes = 64 * 1024;
const share = 10 * pieceBytes;

/** Streams of which copies are made; their callers may leave, and the calls go on. */
function setUp() {
  const copies = new CopyRoom(4 * share);
  const { one } = setUpIdempotency(["a"], { copies });
  const start = async (accountId: number, requestId: string) => {
    const left = new AbortController();
    const ask = () => request({ accountId, requestId, signal: left.signal });
    const asked = ask();
    asked.trace.outlivesCaller = true;
    const vendor = streamRun(asked.trace, requestId);
    const reply = await one.idempotent(asked, () => Promise.resolve(vendor.reply));
    const say = async (text: string) => {
      vendor.say(text.repeat(pieceBytes));
      await settleDown();
    };
    return { vendor, reply, left, trace: asked.trace, say };
  };
  /** The text of a repeat; undefined where it is a call of its own. */
  const repeat = async (accountId: number, requestId: string) => {
    let isOwn = false;
    const asked = request({ accountId, requestId });
    const reply = await one.idempotent(asked, () => {
      isOwn = true;
      const vendor = streamRun(asked.trace, `${requestId} again`);
      vendor.end();
      return Promise.resolve(vendor.reply);
    });
    const { text, replay } = await seen(reply);
    assert.equal(replay, isOwn ? undefined : "true");
    return isOwn ? undefined : text;
  };
  return { copies, start, repeat };
}

Deno.test("the copies of an account's left streams have bounded bytes; the calls go on", async () => {
  const { copies, start, repeat } = setUp();
  const other = await start(2, "other");
  await other.say("o");
  other.left.abort();
  const streams = [];
  for (let count = 0; count < 40; count++) {
    const stream = await start(1, `r${count}`);
    stream.left.abort();
    streams.push(stream);
  }
  for (const text of "abc") {
    for (const stream of streams) await stream.say(text);
    // A quarter of what the other account leaves, and that account's piece.
    assert.ok(copies.bytes <= share + pieceBytes, `${copies.bytes / pieceBytes} pieces`);
  }
  for (const { vendor } of [...streams, other]) {
    assert.ok(!vendor.left);
    vendor.end();
  }
  await settleDown();
  assert.deepEqual(streams.map(({ trace }) => trace.settled?.status), Array(40).fill("completed"));
  assert.equal(copies.bytes, 0);
  assert.equal(await repeat(2, "other"), "o".repeat(pieceBytes));
  const texts = [];
  for (const index of streams.keys()) texts.push(await repeat(1, `r${index}`));
  const whole = texts.filter((text) => text !== undefined);
  assert.ok(whole.length >= 3 && whole.length < 40, `${whole.length} copies`);
  for (const text of whole) {
    assert.ok(
      text === "abc".replace(/./g, (letter) => letter.repeat(pieceBytes)),
      "the same bytes",
    );
  }
});

Deno.test("a reader gets all of a stream whose copy was dropped, and its id is free again", async () => {
  const { copies, start, repeat } = setUp();
  const { vendor, reply, say } = await start(1, "large");
  const text = seen(reply);
  for (let count = 0; count < 20; count++) await say("x");
  assert.equal(copies.bytes, 0);
  const repeated = repeat(1, "large");
  vendor.end();
  assert.equal((await text).text.length, 20 * pieceBytes);
  assert.equal(await repeated, undefined);
});

Deno.test("a copy is given up with its stream", async () => {
  const { copies, start } = setUp();
  const { vendor, reply, say } = await start(1, "broken");
  await say("x");
  assert.equal(copies.bytes, pieceBytes);
  vendor.fail(new Error("the vendor's connection ended"));
  await assert.rejects(() => seen(reply));
  assert.equal(copies.bytes, 0);
});
