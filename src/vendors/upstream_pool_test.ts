import assert from "@std/assert";
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

Deno.test("a kept connection that nobody uses is closed", async () => {
  await using vendor = await startFakeVendor((exchange) => exchange.answer(200, "a"));
  const connections = new ConnectionPool({
    clock: systemClock,
    connector: createConnector(),
    maxPerHost: 2,
    keepMs: 50,
    settleMs: 0,
  });
  const deps = { clock: systemClock, setTimer: systemSetTimer, connectMs: 5000, firstByteMs: 5000 };
  const { signal } = new AbortController();
  const request = { url: new URL(vendor.url), method: "GET", headers: {}, body: undefined, signal };
  const exchange = await attempt({ ...deps, connections }, request);
  const ended = Promise.withResolvers<void>();
  exchange.listen({ data() {}, end: ended.resolve, error: ended.reject });
  exchange.resume();
  await ended.promise;
  assert.equal(vendor.openConnections, 1);
  await until(() => vendor.openConnections === 0);
  connections.close();
});

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
