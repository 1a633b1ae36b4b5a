import assert from "@std/assert";
import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import type { FrameReceiver } from "../base/frame_channel.ts";
import { createWebSockets, type OpenSocket } from "./web_socket.ts";

/** The service's end of a connection whose caller reads only when it should. */
class TestSocket extends Duplex {
  bytesRead = 0;
  callerReads = true;
  readonly #written: Buffer[] = [];
  #unread: (() => void)[] = [];

  constructor() {
    super({ writableHighWaterMark: 16 * 1024 });
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#written.push(chunk);
    if (this.callerReads) done();
    else this.#unread.push(done);
  }

  /** The caller sends one frame. */
  async receive(frame: Buffer): Promise<void> {
    this.bytesRead += frame.length;
    this.push(frame);
    await turn();
  }

  async readAll(): Promise<void> {
    this.callerReads = true;
    for (const done of this.#unread.splice(0)) done();
    await turn();
  }

  /** What the caller was sent since it was asked last. */
  sent(): Buffer {
    return Buffer.concat(this.#written.splice(0));
  }

  setNoDelay(): void {}
  setTimeout(): void {}
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

const opcodes = { text: 0x1, binary: 0x2, close: 0x8, ping: 0x9, pong: 0xa } as const;

/** A caller's frame; its mask is zero, so that the payload stands in it as it is. */
function frame(kind: keyof typeof opcodes, payload: string): Buffer {
  const head = [0x80 | opcodes[kind], 0x80 | payload.length, 0, 0, 0, 0];
  return Buffer.concat([Buffer.from(head), Buffer.from(payload)]);
}

const isFrame = (sent: Buffer, kind: keyof typeof opcodes) => sent[0] === (0x80 | opcodes[kind]);

async function open() {
  const socket = new TestSocket();
  const events: string[] = [];
  let arrived = 0;
  const receiver: FrameReceiver = {
    arrived: (bytes) => void (arrived += bytes),
    message: (bytes) => void events.push(`message ${Buffer.from(bytes)} of ${arrived}`),
    drained: () => void events.push("drained"),
    closed: () => void events.push("closed"),
    check: (nowMs) => void events.push(`look ${nowMs}`),
    leave() {},
  };
  const request = {
    method: "GET",
    headers: {
      upgrade: "websocket",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      "sec-websocket-version": "13",
    },
  } as unknown as IncomingMessage;
  const working = (isWorking: boolean) => void events.push(`working: ${isWorking}`);
  const options = { receiver, working };
  const opened = createWebSockets(100)
    .open(request, socket as unknown as Socket, Buffer.alloc(0), options)!;
  await turn();
  assert.match(socket.sent().toString(), /^HTTP\/1\.1 101 /);
  return { socket, events, channel: opened.channel, opened, arrived: () => arrived };
}

Deno.test("bytes of a message are counted before it comes, those of control frames never", async () => {
  const { socket, events, arrived } = await open();
  await socket.receive(frame("ping", "there?"));
  await socket.receive(frame("pong", "here"));
  assert.equal(arrived(), 0);
  await socket.receive(frame("text", "hi"));
  assert.deepEqual(events, ["message hi of 8"]);
});

Deno.test("of frames that come together each has a turn of its own, and all of them come", async () => {
  const { socket, events } = await open();
  const frames = 50;
  await socket.receive(Buffer.concat(Array(frames).fill(frame("text", "{}"))));
  assert.ok(events.length <= 2, `${events.length} messages in one turn`);
  for (let turns = 0; turns < 2 * frames && events.length < frames; turns++) await turn();
  assert.equal(events.length, frames);
  const pong = frame("pong", "").length - 4;
  await socket.receive(Buffer.concat(Array(frames).fill(frame("ping", ""))));
  let sent = socket.sent().length;
  assert.ok(sent <= 2 * pong, `${sent / pong} pings in one turn`);
  for (let turns = 0; turns < 2 * frames && sent < frames * pong; turns++) {
    await turn();
    sent += socket.sent().length;
  }
  assert.equal(sent, frames * pong);
});

Deno.test("a send reports that the caller is behind, and is notified once when it has read", async () => {
  const { socket, events, channel } = await open();
  socket.callerReads = false;
  assert.equal(channel.send("a"), true);
  assert.equal(channel.send("b".repeat(70_000)), false);
  await socket.readAll();
  assert.deepEqual(events, ["drained"]);
  socket.callerReads = false;
  await socket.receive(Buffer.concat(Array(200).fill(frame("ping", "x".repeat(120)))));
  await socket.readAll();
  assert.deepEqual(events, ["drained"], "answers to pings keep nobody waiting");
  socket.callerReads = false;
  // Enough for the socket to report that it drained, yet the caller was never behind.
  assert.equal(channel.send("d".repeat(60_000)), true);
  await socket.readAll();
  assert.deepEqual(events, ["drained"]);
});

Deno.test("a caller that is behind is sent neither pings nor answers to its own", async () => {
  const { socket, channel } = await open();
  await socket.receive(frame("ping", "one"));
  assert.ok(isFrame(socket.sent(), "pong"));
  channel.ping();
  assert.ok(isFrame(socket.sent(), "ping"));
  socket.callerReads = false;
  channel.send("x".repeat(70_000));
  channel.ping();
  await socket.receive(frame("ping", "two"));
  await socket.readAll();
  assert.equal(socket.sent().length, 10 + 70_000, "the message with its head, and nothing else");
});

Deno.test("a caller that reads nothing is cut off once four mebibytes wait for it", async () => {
  const { socket, events, channel } = await open();
  socket.callerReads = false;
  for (let mebibytes = 0; mebibytes < 4; mebibytes++) channel.send("x".repeat(1024 * 1024));
  await turn();
  assert.deepEqual(events, []);
  assert.equal(channel.send("one more"), true);
  await turn();
  assert.ok(socket.destroyed);
  assert.deepEqual(events, ["closed"]);
});

const look = (opened: OpenSocket, socket: TestSocket, nowMs: number) => {
  opened.check(nowMs);
  return socket.sent();
};

Deno.test("a silent caller is asked once after 30 s whether it is there, and given up after 75", async () => {
  const { socket, events, opened } = await open();
  assert.equal(look(opened, socket, 1_000).length, 0);
  assert.equal(look(opened, socket, 30_999).length, 0);
  assert.ok(isFrame(look(opened, socket, 31_000), "ping"));
  assert.equal(look(opened, socket, 32_000).length, 0, "asked once");
  await socket.receive(frame("pong", ""));
  assert.equal(look(opened, socket, 40_000).length, 0, "its answer counts");
  assert.equal(look(opened, socket, 69_999).length, 0);
  assert.ok(isFrame(look(opened, socket, 70_000), "ping"), "and it is asked again");
  look(opened, socket, 114_999);
  assert.ok(!socket.destroyed);
  const looks = [1_000, 30_999, 31_000, 32_000, 40_000, 69_999, 70_000, 114_999];
  assert.deepEqual(events, looks.map((atMs) => `look ${atMs}`));
  look(opened, socket, 115_000);
  await turn();
  assert.ok(socket.destroyed);
  assert.equal(events.at(-1), "closed");
});

Deno.test("a caller that isn't read can't be silent", async () => {
  const { socket, events, opened, channel } = await open();
  look(opened, socket, 1_000);
  channel.pause();
  assert.equal(look(opened, socket, 100_000).length, 0);
  channel.resume();
  assert.equal(look(opened, socket, 129_999).length, 0, "its time begins when it is read");
  assert.ok(!socket.destroyed);
  await socket.receive(frame("text", "hi"));
  assert.equal(events.at(-1), "message hi of 8");
});

Deno.test("a binary message and a broken frame end the socket with their code", async () => {
  const unmasked = frame("text", "hi");
  unmasked[1] = 2;
  for (const [wrong, code] of [[frame("binary", "hi"), 1003], [unmasked, 1002]] as const) {
    const { socket, events, channel } = await open();
    await socket.receive(wrong);
    const sent = socket.sent();
    assert.ok(isFrame(sent, "close"));
    assert.equal(sent.readUInt16BE(2), code);
    assert.equal(channel.send("late".repeat(20_000)), true, "there is nobody to wait for");
    channel.ping();
    assert.equal(socket.sent().length, 0, "nothing follows a close frame");
    socket.destroy();
    await turn();
    assert.deepEqual(events, ["closed"]);
  }
});

Deno.test("whether a call is under way is passed on", async () => {
  const { events, channel } = await open();
  channel.working(true);
  channel.working(false);
  assert.deepEqual(events, ["working: true", "working: false"]);
});

Deno.test("a paused socket that is closed sees the caller's close frame", async () => {
  const { socket, events, channel } = await open();
  channel.pause();
  channel.close(1001, "The service stops.");
  assert.equal(socket.sent().readUInt16BE(2), 1001);
  await socket.receive(frame("close", ""));
  socket.push(null);
  await turn();
  await turn();
  assert.deepEqual(events, ["closed"]);
});

Deno.test("what arrives behind a close frame, or behind a caller who has left, isn't passed on", async () => {
  const closings: ((opened: Awaited<ReturnType<typeof open>>) => void)[] = [
    ({ channel }) => channel.close(1001, "The service stops."),
    ({ socket }) => void socket.destroy(),
  ];
  for (const close of closings) {
    const opened = await open();
    const { socket, events } = opened;
    // The first has its turn at once, the others wait for theirs.
    await socket.receive(Buffer.concat(Array(3).fill(frame("text", "{}"))));
    const passedOn = [...events];
    close(opened);
    if (!socket.destroyed) await socket.receive(frame("text", "late"));
    for (let turns = 0; turns < 10; turns++) await turn();
    assert.deepEqual(events.filter((event) => event !== "closed"), passedOn);
    socket.destroy();
  }
});
