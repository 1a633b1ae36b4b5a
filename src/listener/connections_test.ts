import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { wideLimits } from "../../tests/support/listener.ts";
import { FakeClock } from "../base/clock.ts";
import { ConnectionEvents } from "./connection_events.ts";
import { Connections, type ConnectionsDeps } from "./connections.ts";
import type { OpenSocket } from "./web_socket.ts";

/** The service's end of a connection that nobody is at. */
class TestSocket extends Duplex {
  bytesRead = 0;
  bytesWritten = 0;
  sent = "";

  constructor(readonly remoteAddress: string) {
    super();
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.sent += chunk;
    done();
  }

  /** The caller closes its end when it has read everything. */
  override _final(done: () => void): void {
    done();
    this.push(null);
  }

  destroySoon(): void {
    this.destroy();
  }
}

class TestAnswer extends EventEmitter {
  shouldKeepAlive = true;
  writableEnded = false;
  headersSent = false;
}

function setup(limits: Partial<ConnectionsDeps["limits"]> = {}) {
  const clock = new FakeClock(new Date(0));
  const events = new ConnectionEvents(clock);
  const ended: string[] = [];
  const lines: string[] = [];
  const seen = { open: 0 };
  const log = (message: string) => void lines.push(message);
  events.setListeners({
    log: { info: log, warn: log, error: log },
    count: (reason) => void ended.push(reason),
    changed: (by) => void (seen.open += by),
  });
  const connections = new Connections({
    limits: { ...wideLimits, ...limits },
    clock,
    events,
    refuse: (why) => ({ status: 503, headers: {}, body: why }),
  });
  const dial = (peer = "10.0.0.1") => {
    const socket = new TestSocket(peer);
    const isTaken = connections.admit(socket as unknown as Socket, false);
    assert.equal(isTaken, connections.peerOf(socket as unknown as Socket) === peer);
    if (isTaken) connections.ready(socket as unknown as Socket);
    return socket;
  };
  /** A request of the connection begins; what is returned ends its answer. */
  const ask = (socket: TestSocket, state: Partial<TestAnswer> = {}) => {
    const answer = Object.assign(new TestAnswer(), state);
    const request = { socket, headers: {}, complete: true } as unknown as IncomingMessage;
    assert.ok(connections.requestArrived(request, answer as unknown as ServerResponse, () => {}));
    return () => answer.emit("close");
  };
  /** Time in which this process listened. */
  const pass = (ms: number) => {
    for (let passedMs = 0; passedMs < ms; passedMs += 100) {
      clock.advance(100);
      connections.check();
    }
  };
  return {
    connections,
    clock,
    pass,
    dial,
    ask,
    ended,
    lines,
    seen,
    [Symbol.dispose]: () => connections.close(),
  };
}

const closed = (socket: Duplex) => new Promise((resolve) => socket.once("close", resolve));

Deno.test("connections are counted from their beginning to their end", async () => {
  using world = setup();
  const [one, two] = [world.dial(), world.dial()];
  assert.deepEqual([world.connections.size, world.seen.open], [2, 2]);
  one.destroy();
  await closed(one);
  assert.deepEqual([world.connections.size, world.seen.open], [1, 1]);
  two.destroy(new Error("reset by peer"));
  await closed(two);
  assert.deepEqual([world.connections.size, world.seen.open, world.connections.accepted], [
    0,
    0,
    2,
  ]);
});

Deno.test("of one address a silent connection makes room, one that was served does not", async () => {
  using world = setup({ maxPerPeer: 2 });
  const [served, silent] = [world.dial(), world.dial()];
  world.ask(served)();
  const next = world.dial();
  assert.ok(silent.destroyed);
  world.ask(next)();
  const refused = world.dial();
  await closed(refused);
  assert.match(refused.sent, /^HTTP\/1\.1 503 .*full$/s);
  assert.ok(!served.destroyed && !next.destroyed);
  assert.ok(!world.dial("10.0.0.2").destroyed);
  served.destroy();
  await closed(served);
  const again = world.dial();
  assert.ok(!again.destroyed, "it has room again");
  world.ask(again);
  await closed(world.dial());
  assert.deepEqual(world.ended, ["made_room", "peer_full", "peer_full"]);
});

Deno.test("when all are in use silent ones make room, then idle ones, busy ones never", async () => {
  using world = setup({ most: 3 });
  const peers = ["10.0.0.1", "10.0.0.2", "10.0.0.3"];
  const [busy, idle, silent] = peers.map((peer) => world.dial(peer)) as [
    TestSocket,
    TestSocket,
    TestSocket,
  ];
  const end = world.ask(busy);
  world.ask(idle)();
  const fourth = world.dial();
  assert.deepEqual([busy.destroyed, idle.destroyed, silent.destroyed], [false, false, true]);
  world.ask(fourth);
  const fifth = world.dial();
  assert.ok(idle.destroyed);
  world.ask(fifth);
  const refused = world.dial();
  await closed(refused);
  assert.match(refused.sent, /full$/);
  end();
  const sixth = world.dial();
  assert.ok(busy.destroyed, "it was idle by now");
  assert.ok(!sixth.destroyed);
  assert.deepEqual(world.ended, ["made_room", "made_room", "full", "made_room"]);
});

Deno.test("a crowd from several addresses makes room for itself, not a caller's only connection", () => {
  for (const isServed of [false, true]) {
    using world = setup({ most: 50 });
    const dial = (peer: string) => {
      const socket = world.dial(peer);
      if (isServed) world.ask(socket)();
      return socket;
    };
    const only = dial("10.0.0.1");
    const crowd = Array.from({ length: 300 }, (_, at) => dial(`10.0.1.${at % 10}`));
    assert.ok(!only.destroyed);
    const open = crowd.map((socket, at) => socket.destroyed ? -1 : at).filter((at) => at >= 0);
    assert.deepEqual(open, Array.from({ length: 49 }, (_, at) => 251 + at), "the newest stay");
    world.connections.most = 0;
    world.connections.shrink();
    assert.ok(only.destroyed);
  }
});

Deno.test("where fewer may be open, the longest silent ones go", () => {
  using world = setup();
  const [first, second, third] = [world.dial(), world.dial(), world.dial()];
  world.ask(first);
  world.connections.most = 2;
  world.connections.shrink();
  assert.deepEqual([first, second, third].map(({ destroyed }) => destroyed), [false, true, false]);
  world.connections.most = 0;
  world.connections.shrink();
  assert.deepEqual([first, third].map(({ destroyed }) => destroyed), [false, true]);
});

Deno.test("at most sixteen connections at once get the answer that there is no room", async () => {
  using world = setup({ most: 1 });
  world.ask(world.dial());
  const refused = Array.from({ length: 17 }, () => world.dial());
  assert.ok(refused.pop()!.destroyed);
  await Promise.all(refused.map(closed));
  assert.ok(refused.every(({ sent }) => sent.endsWith("full")));
  const later = world.dial();
  await closed(later);
  assert.ok(later.sent.endsWith("full"), "those before it have left");
});

Deno.test("ended connections are logged at the next check, in one line for many", async () => {
  using world = setup({ headMs: 1_000 });
  const sockets = [world.dial(), world.dial(), world.dial()];
  const ending = Promise.all(sockets.map(closed));
  world.pass(900);
  assert.deepEqual(world.lines, []);
  world.pass(100);
  await ending;
  assert.deepEqual(world.ended, ["slow_head", "slow_head", "slow_head"]);
  assert.equal(world.lines.length, 1);
});

Deno.test("a process that stood still holds its pause against nobody", () => {
  using world = setup({ headMs: 8_000 });
  const socket = world.dial();
  world.clock.advance(60_000);
  world.connections.check();
  assert.ok(!socket.destroyed);
  world.pass(8_000);
  assert.ok(socket.destroyed);
});

Deno.test("an answer that ends after its connection makes no room", async () => {
  using world = setup({ most: 1 });
  const gone = world.dial();
  const end = world.ask(gone);
  gone.destroy();
  await closed(gone);
  end();
  world.ask(world.dial());
  const refused = world.dial();
  await closed(refused);
  assert.match(refused.sent, /full$/);
});

Deno.test("a connection that can't be read is logged once, and its answers under way are cut", async () => {
  using world = setup({ headMs: 1_000 });
  const refuse = (socket: TestSocket) =>
    world.connections.refuse(socket as unknown as Socket, "malformed");
  const [waiting, asked, answering] = [world.dial(), world.dial(), world.dial()];
  world.ask(asked);
  world.ask(answering, { headersSent: true });
  for (const socket of [waiting, asked, answering]) {
    refuse(socket);
    refuse(socket);
  }
  world.pass(1_000);
  assert.deepEqual(world.ended, [], "it is over, and not too slow as well");
  await Promise.all([waiting, asked, answering].map(closed));
  assert.match(waiting.sent, /^HTTP\/1\.1 503 [^]*malformed$/);
  assert.equal(asked.sent, waiting.sent);
  assert.equal(answering.sent, "");
});

Deno.test("over TLS a head has its time from the end of the handshake on", async () => {
  using world = setup({ headMs: 1_000 });
  const [raw, encrypted] = [new TestSocket("10.0.0.1"), new TestSocket("10.0.0.1")];
  const ready = (socket: TestSocket, under: TestSocket) =>
    world.connections.ready(socket as unknown as Socket, under as unknown as Socket);
  assert.ok(world.connections.admit(raw as unknown as Socket, true));
  world.pass(900);
  ready(encrypted, raw);
  world.pass(900);
  assert.ok(!encrypted.destroyed && !raw.destroyed);
  world.ask(encrypted)();
  assert.equal(world.connections.size, 1);
  world.clock.advance(50);
  for (let look = 0; look < 2; look++) world.connections.endWaiting();
  assert.ok(encrypted.destroyed, "it is what the caller talks to");
  await closed(encrypted);
  assert.equal(world.connections.size, 0);
  const late = new TestSocket("10.0.0.1");
  ready(late, raw);
  assert.ok(late.destroyed, "its connection is gone");
});

function upgrade(world: ReturnType<typeof setup>, socket: TestSocket) {
  const upgrading = world.connections.upgrading(socket as unknown as Socket)!;
  const calls: string[] = [];
  const open = () =>
    upgrading.opened({
      receiver: { leave: () => calls.push("leave") },
      check: (nowMs: number) => calls.push(`check ${nowMs}`),
    } as unknown as OpenSocket);
  return { upgrading, open, calls };
}

Deno.test("a refused upgrade is answered, and nothing after it", async () => {
  using world = setup();
  const socket = world.dial();
  const { upgrading } = upgrade(world, socket);
  upgrading.refuse({ status: 429, headers: {}, body: "too many" });
  assert.match(socket.sent, /^HTTP\/1\.1 429 .*too many$/s);
  assert.equal(world.connections.upgrading(socket as unknown as Socket), undefined);
  const request = { socket, headers: {} } as unknown as IncomingMessage;
  assert.equal(
    world.connections.requestArrived(
      request,
      new TestAnswer() as unknown as ServerResponse,
      () => assert.fail(),
    ),
    false,
  );
  await closed(socket);
});

for (const requests of [1, 2]) {
  Deno.test(`a connection with ${requests} unanswered can't become a WebSocket`, () => {
    using world = setup();
    const socket = world.dial();
    for (let at = 0; at < requests; at++) world.ask(socket);
    assert.equal(world.connections.upgrading(socket as unknown as Socket), undefined);
  });
}

Deno.test("a WebSocket is not a silent connection: it makes room for all, not for its own address", async () => {
  using world = setup({ most: 2, maxPerPeer: 1 });
  const socket = world.dial();
  upgrade(world, socket).open();
  await closed(world.dial());
  assert.ok(!socket.destroyed);
  world.ask(world.dial("10.0.0.2"));
  world.dial("10.0.0.3");
  assert.ok(socket.destroyed);
  assert.deepEqual(world.ended, ["peer_full", "made_room"]);
});

Deno.test("a WebSocket makes room while no call of it is under way", async () => {
  using world = setup({ most: 1 });
  const socket = world.dial();
  const { upgrading, open } = upgrade(world, socket);
  world.dial();
  assert.ok(!socket.destroyed, "it is being opened");
  open();
  upgrading.working(true);
  world.dial();
  assert.ok(!socket.destroyed, "a call is under way");
  upgrading.working(false);
  const next = world.dial();
  assert.ok(socket.destroyed);
  // What its call still says makes no room once more.
  upgrading.working(true);
  upgrading.working(false);
  world.ask(next);
  const refused = world.dial();
  await closed(refused);
  assert.match(refused.sent, /full$/);
});

Deno.test("a WebSocket is looked at as one, and has no time for a head", () => {
  using world = setup({ headMs: 1_000, idleMs: 1_000 });
  const socket = world.dial();
  const { open, calls } = upgrade(world, socket);
  world.connections.check();
  assert.deepEqual(calls, [], "it is not open yet");
  open();
  world.pass(2_000);
  assert.equal(calls.length, 20);
  assert.equal(calls.at(-1), "check 2000");
  assert.ok(!socket.destroyed);
});

Deno.test("at the end idle connections are closed, WebSockets asked to leave, busy and just used ones let be", () => {
  using world = setup();
  const [idle, busy, opening, open] = [world.dial(), world.dial(), world.dial(), world.dial()];
  world.ask(busy);
  upgrade(world, opening);
  const webSocket = upgrade(world, open);
  webSocket.open();
  world.clock.advance(50);
  const used = world.dial();
  world.ask(used)();
  world.connections.endWaiting();
  assert.ok(!idle.destroyed, "what it has sent is read first");
  world.connections.endWaiting();
  const sockets = [idle, busy, opening, open, used];
  assert.deepEqual(sockets.map(({ destroyed }) => destroyed), [true, ...Array(4).fill(false)]);
  assert.deepEqual(webSocket.calls, ["leave", "leave"]);
  world.connections.endAll();
  assert.ok(sockets.every(({ destroyed }) => destroyed));
});
