import assert from "@std/assert";
import { otherTurns } from "../../tests/support/racing_clock.ts";
import { Buffer } from "node:buffer";
import { createByteGate } from "../base/byte_gate.ts";
import { freeBytes } from "../base/byte_room.ts";
import { tapStream } from "../base/stream_tap.ts";
import type { CallContext } from "./call_context.ts";
import type { UpstreamAnswer } from "../vendors/upstream.ts";
import type { BodyHandlers } from "../vendors/upstream_body.ts";
import { AnswerRoom } from "./answer_room.ts";

const mebibyte = 1024 * 1024;

/** A body that sends what the test gives it. */
class TestBody {
  handlers: BodyHandlers | undefined;
  isDestroyed = false;
  isPaused = false;
  readonly answer: UpstreamAnswer;

  constructor(announced?: number) {
    this.answer = {
      ...{ status: 200, attempts: 1, attemptLog: [] },
      headers: announced === undefined ? {} : { "content-length": String(announced) },
      body: {
        readAll: () => assert.fail("unused"),
        onData: (handlers) => void (this.handlers = handlers),
        pause: () => void (this.isPaused = true),
        resume: () => void (this.isPaused = false),
        destroy: () => void (this.isDestroyed = true),
      },
    };
  }

  send(...pieces: Uint8Array[]): void {
    for (const piece of pieces) {
      try {
        this.handlers!.data(piece);
      } catch (thrown) {
        return this.handlers!.error(thrown as Error);
      }
    }
  }
}

function setUp(onDisconnect: "cancel" | "drain" = "cancel") {
  const gate = createByteGate({ capacityBytes: 4 * mebibyte });
  const caller = new AbortController();
  const room = new AnswerRoom(gate, {
    principal: { account: { id: 1 }, key: { onDisconnect } },
    signal: caller.signal,
    trace: {},
  } as unknown as CallContext, 96 * mebibyte);
  /** Reads an answer of one MiB. */
  const readOne = async () => {
    const body = new TestBody(mebibyte);
    const reading = room.read(body.answer);
    await settle();
    body.send(new Uint8Array(mebibyte / 2).fill(1), new Uint8Array(mebibyte / 2).fill(2));
    assert.equal(room.isHalfRead, true);
    body.handlers!.end();
    assert.equal(room.isHalfRead, false);
    return await reading;
  };
  return { gate, room, caller, readOne };
}

Deno.test("an answer of up to 64 KiB opens no permit, whatever its length is said to be", async () => {
  const closed = { open: () => assert.fail("a permit"), inside: 0 };
  for (const announced of [freeBytes, undefined]) {
    const room = new AnswerRoom(closed, {} as CallContext, mebibyte);
    const body = new TestBody(announced);
    const reading = room.read(body.answer);
    body.send(new Uint8Array(freeBytes));
    body.handlers!.end();
    const bytes = await reading;
    assert.deepEqual(room.handOver(bytes, {}), { body: bytes, headers: {} });
    room.leave();
  }
  const { gate, room } = setUp();
  const body = new TestBody();
  void room.read(body.answer);
  body.send(new Uint8Array(freeBytes), new Uint8Array(10));
  assert.equal(gate.inside, 10, "a larger one counts from there on");
  room.leave();
});

const settle = () => new Promise((resolve) => setImmediate(resolve));

Deno.test("a large answer holds its memory until its caller has read the reply", async () => {
  const { gate, room, readOne } = setUp();
  const bytes = await readOne();
  assert.deepEqual([bytes.length, bytes[0], bytes.at(-1), room.bytes], [mebibyte, 1, 2, mebibyte]);
  const sent = bytes.slice();
  const { headers, body } = room.handOver(bytes, { "content-type": "image/png" });
  assert.deepEqual(headers, { "content-type": "image/png", "content-length": String(mebibyte) });
  room.leave();
  assert.equal(gate.inside, mebibyte - freeBytes, "the reply has it");
  const pieces = await Array.fromAsync(body as ReadableStream<Uint8Array>);
  assert.ok(pieces.every(({ length }) => length === 64 * 1024));
  assert.ok(Buffer.concat(pieces).equals(sent));
  assert.equal(gate.inside, 0);
  assert.equal(bytes.buffer.byteLength, 0, "they are freed at once");
});

Deno.test("a large answer that is a Buffer arrives whole", async () => {
  const { room, readOne } = setUp();
  const bytes = Buffer.from((await readOne()).buffer);
  const sent = new Uint8Array(bytes);
  const { body } = room.handOver(bytes, {});
  const pieces = await Array.fromAsync(body as ReadableStream<Uint8Array>);
  assert.ok(Buffer.concat(pieces).equals(sent));
});

Deno.test("a large text is encoded as it is read", async () => {
  const { gate, room, readOne } = setUp();
  await readOne();
  const text = `a${"😀".repeat(80 * 1024)}`;
  const { headers, body } = room.handOver(text, {});
  assert.equal(headers["content-length"], String(1 + 4 * 80 * 1024));
  const pieces = await Array.fromAsync(body as ReadableStream<Uint8Array>);
  assert.deepEqual(pieces.map(({ buffer }) => buffer.byteLength < 256 * 1024), [true, true, true]);
  assert.equal(Buffer.concat(pieces).toString(), text);
  assert.equal(gate.inside, 0);
});

Deno.test("a reply that is read ahead of its caller holds its memory until the caller has it", async () => {
  for (const how of ["reads", "cancels", "leaves"] as const) {
    const { gate, room, readOne } = setUp();
    const bytes = await readOne();
    const sent = bytes.slice();
    const { body, hold } = room.handOver(bytes, {});
    const connection = new AbortController();
    const tap = {
      ...{ aheadBytes: 2 * mebibyte, hold },
      piece: (bytes: Uint8Array) => bytes,
      readsOn: () => true,
      ended: () => Promise.resolve(),
      broken: () => {},
    };
    const inner = tapStream(body as ReadableStream<Uint8Array>, tap, connection.signal);
    const outer = tapStream(inner, tap, connection.signal);
    await settle();
    assert.equal(gate.inside, mebibyte - freeBytes, "all bytes have been read, but not by it");
    if (how === "reads") assert.ok(Buffer.concat(await Array.fromAsync(outer)).equals(sent));
    else if (how === "cancels") await outer.cancel();
    else connection.abort();
    assert.equal(gate.inside, 0, how);
  }
});

Deno.test("a reply that its caller leaves, and a call without a reply, free the memory", async () => {
  const left = setUp();
  await left.readOne();
  const { body, headers } = left.room.handOver("é".repeat(mebibyte), {});
  assert.equal(headers["content-length"], String(2 * mebibyte));
  await (body as ReadableStream<Uint8Array>).cancel();
  assert.equal(left.gate.inside, 0);
  const failed = setUp();
  await failed.readOne();
  assert.equal(failed.gate.inside, mebibyte - freeBytes);
  failed.room.leave();
  assert.equal(failed.gate.inside, 0);
});

Deno.test("a small answer is handed over as it is", async () => {
  const { gate, room } = setUp();
  const empty = new TestBody();
  const readingEmpty = room.read(empty.answer);
  await settle();
  empty.handlers!.end();
  assert.equal((await readingEmpty).length, 0);
  const body = new TestBody();
  const reading = room.read(body.answer);
  await settle();
  body.send(new Uint8Array(0));
  assert.equal(room.isHalfRead, false);
  body.send(new Uint8Array(50_000), new Uint8Array(50_000));
  assert.equal(room.isHalfRead, true);
  body.handlers!.end();
  await reading;
  assert.deepEqual(room.handOver("small", {}), { headers: {}, body: "small" });
  assert.equal(gate.inside, 0);
});

Deno.test("what came of an answer that breaks off is passed on, and one beyond 96 MiB is refused", async () => {
  const { room } = setUp();
  const body = new TestBody();
  const seen: Uint8Array[] = [];
  const reading = room.read(body.answer, (bytes) => seen.push(bytes));
  await settle();
  body.send(Uint8Array.of(1), Uint8Array.of(2));
  body.handlers!.error(new Error("broke off"));
  await assert.rejects(reading, /broke off/);
  assert.deepEqual([seen, room.isHalfRead], [[Uint8Array.of(1, 2)], true]);
  const large = new TestBody();
  const { room: other, gate } = setUp();
  const readingLarge = other.read(large.answer);
  await settle();
  const piece = new Uint8Array(32 * mebibyte);
  large.send(piece, piece, piece, Uint8Array.of(1));
  await assert.rejects(readingLarge, { code: "upstream_invalid_response" });
  other.leave();
  assert.equal(gate.inside, 0);
});

Deno.test("other work has its turns while what came of a large answer is joined", async () => {
  const { room } = setUp();
  const body = new TestBody();
  let length = 0;
  const reading = room.read(body.answer, (bytes) => length = bytes.length);
  await settle();
  for (let pieces = 0; pieces < 64; pieces++) body.send(new Uint8Array(mebibyte));
  const turns = await otherTurns(async () => {
    body.handlers!.error(new Error("broke off"));
    await assert.rejects(reading, /broke off/);
  });
  room.leave();
  assert.equal(length, 64 * mebibyte);
  assert.ok(turns >= 63, `${turns} turns`);
});

Deno.test("while memory is short an answer stays unread; a caller who leaves ends the wait unless the call goes on", async () => {
  for (const onDisconnect of ["cancel", "drain"] as const) {
    const { gate, room, caller } = setUp(onDisconnect);
    const others = gate.open({ key: "2" });
    void others.take(4 * mebibyte);
    const body = new TestBody(3 * mebibyte);
    const reading = room.read(body.answer);
    const outcome = reading.then(() => "read", () => "rejected");
    await settle();
    assert.equal(body.handlers, undefined, "nothing is read yet");
    caller.abort();
    await settle();
    others.release();
    await settle();
    assert.equal(body.isDestroyed, onDisconnect === "cancel");
    if (onDisconnect === "drain") {
      body.send(new Uint8Array(mebibyte));
      body.handlers!.end();
    }
    assert.equal(await outcome, onDisconnect === "cancel" ? "rejected" : "read");
    room.leave();
    assert.equal(gate.inside, 0);
  }
});

Deno.test("an answer that finds no more room pauses, goes on when there is some, and ends with its caller", async () => {
  for (const isLeft of [false, true]) {
    const { gate, room, caller } = setUp();
    const others = gate.open({ key: "2", bytes: 4 * mebibyte });
    await others.take(4 * mebibyte);
    const body = new TestBody();
    const outcome = room.read(body.answer).then(({ length }) => length, () => "rejected");
    await settle();
    body.send(new Uint8Array(2 * mebibyte));
    assert.equal(body.isPaused, true);
    if (isLeft) caller.abort();
    await settle();
    others.release();
    await settle();
    assert.deepEqual([body.isDestroyed, body.isPaused], [isLeft, isLeft]);
    if (!isLeft) body.handlers!.end();
    assert.equal(await outcome, isLeft ? "rejected" : 2 * mebibyte);
    room.leave();
    assert.equal(gate.inside, 0);
  }
});
