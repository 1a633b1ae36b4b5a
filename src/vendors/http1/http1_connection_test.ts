import assert from "@std/assert";
import net from "node:net";
import { Duplex } from "node:stream";
import tls from "node:tls";
import { Random } from "../../../tests/support/random.ts";
import { within } from "../../base/deadline.ts";
import { pause } from "../../../tests/support/raw_connection.ts";
import { testCertificate, testCertificateKey } from "../../../tests/support/service_certificate.ts";
import { ConnectionClosed, createConnector, type ReadPiece } from "./connect.ts";
import { Http1Connection, type RequestHandler } from "./http1_connection.ts";
import { paceMs } from "./resting.ts";

Deno.test("what a vendor sends faster than is worth a turn each is read together", async () => {
  const words = 200;
  // A thread of its own, as its turns would be ours.
  const worker = new Worker(import.meta.resolve("../../../tests/support/fast_vendor_worker.ts"), {
    type: "module",
  });
  const { data: port } = await new Promise<MessageEvent<number>>((resolve) => {
    worker.onmessage = resolve;
    worker.postMessage(words);
  });
  const begunMs = performance.now();
  const pieces = await answerPieces(connectTo(port));
  const ms = performance.now() - begunMs;
  worker.terminate();
  assert.equal(pieces.join(""), "word ".repeat(words));
  // However slow the vendor's thread is: within the pace, a piece and one that comes behind it.
  assert.ok(pieces.length <= 2 + 2 * ms / paceMs, `${pieces.length} pieces in ${ms} ms`);
});

Deno.test("what comes slowly is there when it comes, and what comes in bulk is not held back", async () => {
  const arrived: (() => void)[] = [];
  await using slow = await startVendor(async (socket) => {
    for (let word = 0; word < 20; word++) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      const isThere = new Promise<void>((resolve) => arrived.push(resolve));
      socket.write("5\r\nword \r\n");
      await isThere;
    }
    socket.write("0\r\n\r\n");
  });
  const pieces = await answerPieces(connectTo(slow.port), () => arrived.shift()?.());
  assert.deepEqual(pieces, Array.from({ length: 20 }, () => "word "));
  const bytes = 8 * 1024 * 1024;
  await using bulk = await startVendor((socket) => {
    socket.write(`${bytes.toString(16)}\r\n${"x".repeat(bytes)}\r\n0\r\n\r\n`);
  });
  const large = await answerPieces(connectTo(bulk.port));
  assert.equal(large.join("").length, bytes);
});

Deno.test("a connection that rests can be closed, and what paused it still does", async () => {
  let sent = 0;
  await using vendor = await startVendor(async (socket) => {
    while (!socket.destroyed) {
      socket.write("5\r\nword \r\n");
      sent++;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  });
  const connection = connectTo(vendor.port);
  let pieces = 0;
  const isPaused = new Promise<void>((resolve) =>
    ask(connection, () => {
      if (++pieces !== 5) return;
      connection.pause();
      resolve();
    }, { end: () => {}, error: () => {} })
  );
  await isPaused;
  const seen = pieces;
  const before = sent;
  while (sent < before + 50) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(pieces, seen, "nothing is read while it pauses");
  connection.resume();
  while (pieces < seen + 3) await new Promise((resolve) => setTimeout(resolve, 1));
  connection.destroy();
  const last = pieces;
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(pieces, last, "nothing comes of one that was closed");
});

for (const protocol of ["http:", "https:"] as const) {
  const floods = { long: [4, 4, 100], short: [40, 0.2, 2_000] } as const;
  for (const [what, [count, workMs, most]] of Object.entries(floods)) {
    Deno.test(`${protocol} others have their turn between pieces that take ${what}, of however many connections`, async () => {
      await using vendor = await startVendor((socket) => {
        const bytes = 4 * 1024 * 1024;
        socket.write(`${bytes.toString(16)}\r\n${"x".repeat(bytes)}\r\n`);
      }, protocol);
      await using others = await startExchange();
      const connections = Array.from({ length: count }, () => connectTo(vendor.port, protocol));
      let pieces = 0;
      let before = 0;
      await new Promise<void>((resolve, error) => {
        const take = () => {
          if (pieces++ === 0) before = others.count;
          work(workMs);
          if (pieces === most) resolve();
        };
        for (const connection of connections) ask(connection, take, { end: () => {}, error });
      });
      for (const connection of connections) connection.destroy();
      const exchanges = others.count - before;
      assert.ok(exchanges > 25, `${exchanges} exchanges between ${most} pieces`);
    });
  }

  Deno.test(`${protocol} others have their turn within a read that takes long, too`, async () => {
    const bytes = 256 * 1024;
    await using vendor = await startVendor((socket) => {
      socket.write(`${bytes.toString(16)}\r\n${"x".repeat(bytes)}\r\n0\r\n\r\n`);
    }, protocol);
    const connection = connectTo(vendor.port, protocol);
    let length = 0;
    let inTurn = 0;
    let mostInTurn = 0;
    await new Promise<void>((end, error) =>
      ask(connection, (piece) => {
        length += piece.length;
        if (inTurn === 0) setImmediate(() => inTurn = 0);
        inTurn += piece.length;
        mostInTurn = Math.max(mostInTurn, inTurn);
        work(2);
      }, { end, error })
    );
    connection.destroy();
    assert.equal(length, bytes);
    assert.ok(mostInTurn <= 16 * 1024, `${mostInTurn} bytes in one turn`);
  });

  Deno.test(`${protocol} pieces of all sizes arrive once and in order, whatever pauses them`, async () => {
    const random = new Random(7);
    const parts = Array.from({ length: 400 }, () => {
      const length = random.pick([1, 20, 500, 9_000, 70_000, 200_000]);
      return String.fromCharCode(97 + random.below(26)).repeat(1 + random.below(length));
    });
    await using vendor = await startVendor(async (socket) => {
      for (const [at, part] of parts.entries()) {
        const isRoom = socket.write(`${part.length.toString(16)}\r\n${part}\r\n`);
        if (!isRoom) await new Promise((resolve) => socket.once("drain", resolve));
        else if (at % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      }
      socket.write("0\r\n\r\n");
    }, protocol);
    const connection = connectTo(vendor.port, protocol);
    // What was read before a pause may still come, and end the answer.
    const resumed: Promise<void>[] = [];
    const pieces = await answerPieces(connection, () => {
      if (random.below(4) > 0) return;
      connection.pause();
      resumed.push(pause(random.below(6)).then(() => connection.resume()));
    });
    await Promise.all(resumed);
    assert.ok(pieces.join("") === parts.join(""), "the same bytes");
  });

  Deno.test(`${protocol} a vendor can send no more than the system holds while its reader pauses`, async () => {
    const part = new Uint8Array(1024 * 1024);
    let sent = 0;
    await using vendor = await startVendor(
      async (socket) => {
        while (!socket.destroyed && sent < 200) {
          sent++;
          if (!socket.write(part)) await new Promise((resolve) => socket.once("drain", resolve));
        }
      },
      protocol,
      endless,
    );
    const connection = connectTo(vendor.port, protocol);
    ask(connection, () => connection.pause(), { end: () => {}, error: () => {} });
    for (let before = -1; sent === 0 || sent > before;) {
      before = sent;
      await pause(500);
    }
    connection.destroy();
    assert.ok(sent < 100, `${sent} MiB`);
  });
}

for (const protocol of ["http:", "https:"]) {
  Deno.test(`${protocol} an answer before the end of its request is read, also where the vendor closes at once`, async () => {
    const early = "HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\n";
    const refuse = (socket: net.Socket) => {
      // What nobody has read resets the connection.
      socket.pause();
      socket.write("no", () => socket.destroy());
    };
    await using vendor = await startVendor(refuse, protocol, early);
    const connection = connectTo(vendor.port, protocol);
    const request = { method: "POST", path: "/", headers: {}, keeps: true };
    const body = Array.from({ length: 100 }, () => new Uint8Array(128 * 1024));
    let isSent = false;
    const answer = await new Promise<string>((resolve, error) => {
      let text = "";
      connection.send(request, body, {
        ...{ sending: () => true, sent: () => isSent = true, error },
        head: (status) => text += `${status} `,
        data: (piece) => text += new TextDecoder().decode(piece),
        end: () => resolve(text),
      });
    });
    assert.equal(answer, "413 no");
    assert.ok(!isSent);
    await pause(50);
    assert.ok(!connection.isOpen || !connection.keepsOpen, "it carries no other request");
    connection.destroy();
  });
}

Deno.test("a small request that a socket of TLS has not taken yet leaves no listener on it", async () => {
  const server = tls.createServer({ cert: testCertificate, key: testCertificateKey }, (socket) => {
    socket.on("error", () => {});
    socket.on("data", () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const { port } = server.address() as net.AddressInfo;
  let socket: net.Socket | undefined;
  const connector = createConnector({ ca: testCertificate });
  const connection = new Http1Connection({
    target: { protocol: "https:", host: "vendor", hostname: "localhost", port: String(port) },
    connector: (...to) => socket = connector(...to),
    gone: () => {},
  });
  const request = { method: "POST", path: "/", headers: { "content-length": "2" }, keeps: true };
  for (let call = 0; call < 5; call++) {
    await new Promise<void>((end, error) =>
      connection.send(request, [new TextEncoder().encode("{}")], {
        ...{ sending: () => true, head: () => {}, data: () => {}, end, error },
        sent: () => connection.onSent(() => {}),
      })
    );
  }
  assert.equal(socket?.listenerCount("drain"), 0);
  connection.destroy();
  await new Promise((resolve) => server.close(resolve));
});

Deno.test("an answer without a length ends with its connection, not with a reset, under TLS too", async () => {
  await using vendor = await startVendor((socket) => socket.end("half"), "https:", endless);
  assert.deepEqual(await answerPieces(connectTo(vendor.port, "https:")), ["half"]);
  await using silent = await startVendor((socket) => socket.write("half"), "https:", endless);
  await using front = await startFront(silent.port);
  const reset = () => front.links.forEach((link) => link.resetAndDestroy());
  await assert.rejects(answerPieces(connectTo(front.port, "https:"), reset), ConnectionClosed);
});

Deno.test("a connection whose TLS fails amid an answer is over", async () => {
  await using silent = await startVendor((socket) => socket.write("4\r\nhalf\r\n"), "https:");
  await using front = await startFront(silent.port);
  const record = new Uint8Array([0x17, 3, 3, 0, 40, ...Array(40).fill(7)]);
  const spoil = () => front.links.forEach((link) => link.write(record));
  const connection = connectTo(front.port, "https:");
  const failing = assert.rejects(answerPieces(connection, spoil));
  assert.notEqual(await within(30_000, failing, "still open"), "still open");
  assert.equal(connection.isOpen, false);
});

Deno.test("bytes that the runtime hands over although reading was stopped don't leave it stopped", async () => {
  const resumed = Promise.withResolvers<void>();
  const stream = new Duplex({ read() {}, write: (_bytes, _encoding, done) => done() });
  const socket = Object.assign(stream, {
    resume: () => resumed.resolve(),
  }) as unknown as net.Socket;
  const taking = Promise.withResolvers<ReadPiece>();
  const connection = new Http1Connection({
    target: { protocol: "http:", host: "vendor", hostname: "vendor", port: "" },
    connector(_target, read, done) {
      queueMicrotask(() => done(null, socket));
      taking.resolve(read);
      return socket;
    },
    gone: () => {},
  });
  let length = 0;
  ask(connection, (piece) => length += piece.length, { end: () => {}, error: () => {} });
  const read = await taking.promise;
  await pause(0);
  const bytes = (text: string) => new TextEncoder().encode(text);
  read(bytes(chunked));
  let small = 1;
  while (read(bytes("1\r\na\r\n"))) small++;
  assert.equal(read(bytes(`2710\r\n${"a".repeat(10_000)}\r\n`)), false);
  assert.equal(length, small + 10_000);
  assert.notEqual(await within(30_000, resumed.promise, "unread"), "unread");
  connection.destroy();
});

/** Passes connections on to a port of this machine. */
async function startFront(
  to: number,
): Promise<{ port: number; links: net.Socket[] } & AsyncDisposable> {
  const links: net.Socket[] = [];
  const server = net.createServer((link) => {
    const onward = net.connect(to, "localhost").on("error", () => {});
    links.push(link.on("error", () => {}));
    link.pipe(onward).pipe(link);
  });
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  return {
    ...{ links, port: (server.address() as net.AddressInfo).port },
    async [Symbol.asyncDispose]() {
      for (const link of links) link.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function connectTo(port: number, protocol = "http:"): Http1Connection {
  return new Http1Connection({
    target: { protocol, host: "vendor", hostname: "localhost", port: String(port) },
    connector: createConnector({ ca: testCertificate }),
    gone: () => {},
  });
}

/** Sends a request; what is answered goes to `data`, piece by piece. */
function ask(
  connection: Http1Connection,
  data: (piece: string) => void,
  { end, error }: Pick<RequestHandler, "end" | "error">,
): void {
  const request = { method: "GET", path: "/", headers: {}, keeps: true };
  connection.send(request, undefined, {
    ...{ sending: () => true, sent: () => {}, head: () => {}, end, error },
    data: (piece) => data(new TextDecoder().decode(piece)),
  });
}

async function answerPieces(
  connection: Http1Connection,
  seen: () => void = () => {},
): Promise<string[]> {
  const pieces: string[] = [];
  const ended = Promise.withResolvers<void>();
  const take = (piece: string) => {
    pieces.push(piece);
    seen();
  };
  ask(connection, take, { end: ended.resolve, error: ended.reject });
  await ended.promise;
  connection.destroy();
  return pieces;
}

/** Keeps the processor busy. */
function work(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

/** Two ends of a connection that send each other one byte after the other. */
async function startExchange(): Promise<{ readonly count: number } & AsyncDisposable> {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  const [near, far] = await Promise.all([Deno.connect({ port }), listener.accept()]);
  listener.close();
  let count = 0;
  const echo = async () => {
    for (const byte = new Uint8Array(1); await far.read(byte) !== null;) await far.write(byte);
  };
  const exchange = async () => {
    for (const byte = new Uint8Array(1);; count++) {
      await near.write(byte);
      if (await near.read(byte) === null) return;
    }
  };
  const both = Promise.allSettled([echo(), exchange()]);
  return {
    get count() {
      return count;
    },
    async [Symbol.asyncDispose]() {
      for (const end of [near, far]) end.close();
      await both;
    },
  };
}

const chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
const endless = "HTTP/1.1 200 OK\r\n\r\n";

/** A vendor that answers each request's head with `head` and what `write` writes. */
async function startVendor(
  write: (socket: net.Socket) => unknown,
  protocol = "http:",
  head = chunked,
): Promise<{ port: number } & AsyncDisposable> {
  const sockets = new Set<net.Socket>();
  const serve = (socket: net.Socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    socket.once("data", () => {
      socket.setNoDelay(true);
      socket.write(head);
      write(socket);
    });
  };
  const server = protocol === "https:"
    ? tls.createServer({ cert: testCertificate, key: testCertificateKey }, serve)
    : net.createServer(serve);
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  return {
    port: (server.address() as net.AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
