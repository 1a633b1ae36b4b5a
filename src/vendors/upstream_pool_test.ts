import assert from "@std/assert";
import net from "node:net";
import { startFakeVendor } from "../../tests/support/fake_vendor.ts";
import { keepConnection, text, until, withVendor } from "../../tests/support/upstream_setup.ts";
import { systemClock } from "../base/clock.ts";
import { systemSetTimer } from "../base/deadline.ts";
import { attempt } from "./upstream_attempt.ts";
import { createConnector } from "./http1/connect.ts";
import { ConnectionPool } from "./upstream_pool.ts";

Deno.test("a connection rests between two calls while another one can be had", async () => {
  await withVendor(async (setup) => {
    await keepConnection(setup);
    await keepConnection(setup);
    assert.equal(setup.vendor.connections, 2);
    setup.timers.advance(10);
    await keepConnection(setup);
    assert.equal(setup.vendor.connections, 2);
  }, { settleMs: 10 });
  await withVendor(async (setup) => {
    await keepConnection(setup);
    await keepConnection(setup);
    assert.equal(setup.vendor.connections, 1, "no other one can be had");
  }, { settleMs: 10, maxConnectionsPerHost: 1 });
});

Deno.test("kept connections that nobody uses are closed, each in its time", async () => {
  await using vendor = await startFakeVendor((exchange) => exchange.answer(200, "a"));
  const connections = new ConnectionPool({
    clock: systemClock,
    connector: createConnector(),
    maxPerHost: 2,
    keepMs: 50,
    // Each call has a connection of its own.
    settleMs: 60_000,
  });
  const deps = { clock: systemClock, setTimer: systemSetTimer, connectMs: 5000, firstByteMs: 5000 };
  const { signal } = new AbortController();
  const request = { url: new URL(vendor.url), method: "GET", headers: {}, body: undefined, signal };
  const ask = async () => {
    const exchange = await attempt({ ...deps, connections }, request);
    const ended = Promise.withResolvers<void>();
    exchange.listen({ data() {}, end: ended.resolve, error: ended.reject });
    exchange.resume();
    await ended.promise;
  };
  for (let round = 1; round <= 2; round++) {
    await ask();
    await ask();
    await until(() => vendor.openConnections === 0);
    assert.equal(vendor.connections, 2 * round);
  }
  connections.close();
});

Deno.test("who waits for a connection gets none from a pool that is closed", () => {
  const pool = new ConnectionPool({
    clock: systemClock,
    connector: createConnector(),
    maxPerHost: 1,
    keepMs: 50,
    settleMs: 0,
  });
  const served: string[] = [];
  pool.take("http://127.0.0.1:1", () => served.push("first"));
  pool.take("http://127.0.0.1:1", () => served.push("second"));
  pool.close();
  assert.deepEqual(served, ["first"]);
});

Deno.test("a vendor's own limit on idle connections is kept to", () =>
  withVendor(async ({ vendor, timers, post }) => {
    const ask = async (keepAlive: string) => {
      const calling = post();
      await (await vendor.next()).answer(200, "a", { "keep-alive": keepAlive });
      await text(await calling);
    };
    // Two seconds are left for what crosses on the way.
    await ask("timeout=5, max=100");
    timers.advance(2_999);
    await ask("timeout=5");
    assert.equal(vendor.connections, 1);
    timers.advance(3_000);
    await ask("timeout=2");
    assert.equal(vendor.connections, 2);
    await ask("timeout=60");
    assert.equal(vendor.connections, 3);
    timers.advance(29_999);
    await ask("timeout=60");
    assert.equal(vendor.connections, 3);
    timers.advance(30_000);
    await ask("timeout=60");
    assert.equal(vendor.connections, 4);
  }));

Deno.test("a body in pieces is written as it is taken; an answer before its end ends its connection", () =>
  withVendor(async ({ vendor, post }) => {
    const pieces = Array.from(
      { length: 40 },
      (_, at) => new Uint8Array(100_000).fill(65 + at % 26),
    );
    const calling = post({ body: pieces });
    const exchange = await vendor.next();
    assert.equal(exchange.request.body.length, 4_000_000);
    assert.equal(exchange.request.body[3_999_999], String.fromCharCode(65 + 39 % 26));
    await exchange.answer(200, "taken");
    assert.equal(await text(await calling), "taken");
    assert.equal(vendor.openConnections, 1);
    const answered = Promise.withResolvers<net.Socket>();
    let taken = 0;
    let isClosed = false;
    const early = net.createServer((socket) => {
      socket.on("error", () => {}).on("close", () => isClosed = true);
      socket.once("data", () => {
        socket.pause();
        socket.write("HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno");
        answered.resolve(socket);
      });
      socket.on("data", (bytes: Uint8Array) => taken += bytes.length);
    });
    await new Promise<void>((resolve) => early.listen(0, "127.0.0.1", resolve));
    const { port } = early.address() as net.AddressInfo;
    const url = `http://127.0.0.1:${port}/v1`;
    const refused = await post({ url, body: Array.from({ length: 5 }, () => pieces).flat() });
    assert.equal(refused.status, 413);
    assert.equal(await text(refused), "no");
    (await answered.promise).resume();
    await until(() => isClosed);
    assert.ok(taken < 20_000_000, "the rest is nobody's");
    await new Promise((resolve) => early.close(resolve));
  }));

Deno.test("a connection that a vendor ends is not used again, and none is left behind", () =>
  withVendor(async ({ vendor, post }) => {
    for (let count = 1; count <= 3; count++) {
      const calling = post();
      const exchange = await vendor.next();
      await exchange.head(200, { connection: "close" }, "close");
      await exchange.write("to the end");
      await exchange.end();
      assert.equal(await text(await calling), "to the end");
      await until(() => vendor.openConnections === 0);
      assert.equal(vendor.connections, count);
    }
  }));

Deno.test("after bytes that nobody asked for each call has a connection of its own, for a minute", () =>
  withVendor(async (setup) => {
    const { vendor, timers } = setup;
    const calling = setup.post();
    const exchange = await vendor.next();
    await exchange.answer(200, "a");
    await text(await calling);
    await exchange.raw("HTTP/1.1 200 OK\r\n\r\n");
    await until(() => vendor.openConnections === 0);
    for (const kept of [false, false, true]) {
      await keepConnection(setup);
      if (kept) assert.equal(vendor.requests.at(-1)?.headers.connection, "keep-alive");
      else await until(() => vendor.openConnections === 0);
      if (vendor.requests.length === 3) timers.advance(60_000);
    }
    assert.equal(vendor.connections, 4);
    assert.equal(vendor.openConnections, 1);
  }));
