import assert from "@std/assert";
import net from "node:net";
import {
  keepConnection,
  rejectsWith,
  text,
  turns,
  until,
  withVendor,
} from "../../tests/support/upstream_setup.ts";
import type { UpstreamBody } from "./upstream.ts";

Deno.test("an unknown host and a failed TLS handshake are upstream_unreachable", () =>
  withVendor(async ({ vendor, post }) => {
    await rejectsWith(
      post({ url: "http://no-such-host.invalid/v1", retry: false }),
      "upstream_unreachable",
    );
    const calling = post({ url: vendor.url.replace("http:", "https:"), retry: false });
    calling.catch(() => {});
    await until(() => vendor.openConnections === 1);
    vendor.closeIdle();
    await rejectsWith(calling, "upstream_unreachable");
  }));

Deno.test("a connection that is not made in time is upstream_unreachable, without retry", async () => {
  const arrived = Promise.withResolvers<net.Socket>();
  const silent = net.createServer((socket) => arrived.resolve(socket));
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const { port } = silent.address() as net.AddressInfo;
  await withVendor(async ({ timers, post }) => {
    // TCP is connected but the TLS handshake is never answered.
    const calling = post({ url: `https://127.0.0.1:${port}/v1` });
    calling.catch(() => {});
    await arrived.promise;
    timers.advance(4999);
    assert.equal(timers.pending, 1);
    timers.advance(1);
    await rejectsWith(calling, "upstream_unreachable");
  });
  (await arrived.promise).destroy();
  await new Promise((resolve) => silent.close(resolve));
});

Deno.test("a vendor that never answers is upstream_timeout, without retry, and is hung up on", () =>
  withVendor(async ({ timers, vendor, post }) => {
    const calling = post();
    calling.catch(() => {});
    const exchange = await vendor.next();
    timers.advance(119_999);
    assert.equal(timers.pending, 1);
    timers.advance(1);
    await rejectsWith(calling, "upstream_timeout");
    await exchange.closed;
    assert.equal(vendor.requests.length, 1);
    await keepConnection({ vendor, post });
    const again = post();
    again.catch(() => {});
    await vendor.next();
    timers.advance(120_000);
    await rejectsWith(again, "upstream_timeout");
    await turns();
    assert.equal(vendor.requests.length, 3, "a kept connection makes no difference");
  }));

Deno.test("a vendor that falls silent in its answer is upstream_timeout", () =>
  withVendor(async ({ timers, vendor, post }) => {
    const calling = post();
    const exchange = await vendor.next();
    await exchange.head(200);
    const answer = await calling;
    let seen = 0;
    const failed = Promise.withResolvers<never>();
    failed.promise.catch(() => {});
    answer.body.onData({ data: () => seen++, end: () => {}, error: failed.reject });
    for (let count = 1; count <= 3; count++) {
      timers.advance(59_999);
      await exchange.write("x");
      await until(() => seen === count);
    }
    timers.advance(60_000);
    await rejectsWith(failed.promise, "upstream_timeout");
    await exchange.closed;
  }));

Deno.test("a vendor that falls silent before its answer's first byte is upstream_timeout", () =>
  withVendor(async ({ timers, vendor, post }) => {
    const calling = post();
    const exchange = await vendor.next();
    await exchange.head(200);
    const reading = (await calling).body.readAll(1000);
    assert.equal(timers.pending, 1);
    timers.advance(60_000);
    await rejectsWith(reading, "upstream_timeout");
    await exchange.closed;
  }));

Deno.test("time in which we paused the vendor is not its idleness, and nothing comes meanwhile", () =>
  withVendor(async ({ timers, vendor, post }) => {
    const calling = post();
    const exchange = await vendor.next();
    await exchange.head(200);
    const answer = await calling;
    let seen = "";
    const failed = Promise.withResolvers<never>();
    failed.promise.catch(() => {});
    answer.body.onData({
      data: (chunk) => seen += new TextDecoder().decode(chunk),
      end: () => {},
      error: failed.reject,
    });
    await exchange.write("a");
    await until(() => seen === "a");
    answer.body.pause();
    await exchange.write("b");
    timers.advance(600_000);
    await turns();
    assert.equal(seen, "a");
    answer.body.resume();
    await until(() => seen === "ab");
    timers.advance(59_999);
    assert.equal(timers.pending, 1);
    timers.advance(1);
    await rejectsWith(failed.promise, "upstream_timeout");
  }));

Deno.test("a cut answer is upstream_stream_truncated, never an end", async () => {
  const cuts: [string, { length: number } | "chunked", "cut" | "reset"][] = [
    ["shorter than its length", { length: 10 }, "cut"],
    ["chunks without the last", "chunked", "cut"],
    ["reset with a length", { length: 10 }, "reset"],
    ["reset between chunks", "chunked", "reset"],
  ];
  for (const [name, framing, how] of cuts) {
    await withVendor(async ({ vendor, post }) => {
      const calling = post();
      const exchange = await vendor.next();
      await exchange.head(200, {}, framing);
      await exchange.write("data");
      const answer = await calling;
      let seen = 0;
      const failed = Promise.withResolvers<unknown>();
      answer.body.onData({
        data: () => seen++,
        end: () => failed.resolve(`${name}: reported as an end`),
        error: failed.reject,
      });
      await until(() => seen > 0);
      exchange[how]();
      await rejectsWith(failed.promise, "upstream_stream_truncated");
    });
  }
});

Deno.test("a cut that came before anybody read is reported to the reader", () =>
  withVendor(async ({ vendor, post }) => {
    const calling = post();
    const exchange = await vendor.next();
    await exchange.head(200);
    const answer = await calling;
    exchange.reset();
    await turns();
    await rejectsWith(answer.body.readAll(100), "upstream_stream_truncated");
  }));

/** How an answer is cut in the same bytes that begin it. */
const cutAtOnce: [name: string, framing: string, body: string][] = [
  ["in a broken chunk", "transfer-encoding: chunked", "4\r\ndata\r\nno size\r\n"],
  ["before its length", "content-length: 10", "data"],
];

Deno.test("what came with the head of an answer, and before its cut, is handed on first", async () => {
  for (const [name, framing, body] of cutAtOnce) {
    await withVendor(async ({ vendor, post }) => {
      const calling = post();
      const exchange = await vendor.next();
      await exchange.raw(`HTTP/1.1 200 OK\r\n${framing}\r\n\r\n${body}`);
      exchange.cut();
      const answer = await calling;
      const { seen, failed } = readingOf(answer.body);
      await rejectsWith(failed, "upstream_stream_truncated");
      assert.deepEqual(seen, ["data"], name);
    });
  }
});

Deno.test("a cut while the reader has paused is reported after what came before it", () =>
  withVendor(async ({ vendor, post }) => {
    const calling = post();
    const exchange = await vendor.next();
    await exchange.head(200);
    const answer = await calling;
    const { seen, failed } = readingOf(answer.body);
    await exchange.write("a");
    await until(() => seen.length === 1);
    answer.body.pause();
    await exchange.raw("1\r\nb\r\nno size\r\n");
    await exchange.closed;
    await turns();
    assert.deepEqual(seen, ["a"]);
    answer.body.resume();
    await rejectsWith(failed, "upstream_stream_truncated");
    assert.deepEqual(seen, ["a", "b"]);
  }));

function readingOf(body: UpstreamBody): { seen: string[]; failed: Promise<unknown> } {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  promise.catch(() => {});
  const seen: string[] = [];
  body.onData({
    data: (chunk) => void seen.push(new TextDecoder().decode(chunk)),
    end: () => resolve("reported as an end"),
    error: reject,
  });
  return { seen, failed: promise };
}

Deno.test("an answer that is not HTTP is upstream_invalid_response", () =>
  withVendor(async ({ vendor, post }) => {
    const calling = post();
    await (await vendor.next()).raw("SSH-2.0-OpenSSH_9.9\r\n\r\n");
    await rejectsWith(calling, "upstream_invalid_response");
  }));

Deno.test("an answer above the cap is upstream_invalid_response", async () => {
  await withVendor(async ({ vendor, post }) => {
    const calling = post();
    const exchange = await vendor.next();
    await exchange.stream(["x".repeat(60), "x".repeat(60)]);
    await rejectsWith((await calling).body.readAll(1000), "upstream_invalid_response");
    await exchange.closed;
  }, { maxAnswerBytes: 100 });
  await withVendor(async ({ vendor, post }) => {
    const calling = post();
    await (await vendor.next()).answer(200, "x".repeat(11));
    await rejectsWith((await calling).body.readAll(10), "upstream_invalid_response");
  });
});

Deno.test("calls beyond the connections wait, and fail as overloaded when that takes too long", () =>
  withVendor(async ({ timers, vendor, post }) => {
    const first = post();
    const exchange = await vendor.next();
    await exchange.head(200);
    const reading = (await first).body.readAll(100);
    const second = post();
    second.catch(() => {});
    await turns();
    timers.advance(5000);
    await rejectsWith(second, "overloaded");
    const third = post();
    await turns();
    await exchange.end();
    await reading;
    const next = await vendor.next();
    assert.equal(next.connection, exchange.connection);
    await next.answer(200, "third");
    assert.equal(await text(await third), "third");
    assert.equal(vendor.requests.length, 2);
  }, { maxConnectionsPerHost: 1 }));

Deno.test("the time to answer begins when the vendor has taken the whole request", async () => {
  const arrived = Promise.withResolvers<net.Socket>();
  const slow = net.createServer((socket) => arrived.resolve(socket.pause()));
  await new Promise<void>((resolve) => slow.listen(0, "127.0.0.1", resolve));
  const { port } = slow.address() as net.AddressInfo;
  await withVendor(async ({ timers, post }) => {
    const length = 32 * 1024 * 1024;
    const calling = post({ url: `http://127.0.0.1:${port}/v1`, body: new Uint8Array(length) });
    const socket = await arrived.promise;
    await turns();
    timers.advance(80_000);
    let taken = 0;
    socket.on("data", (bytes: Uint8Array) => taken += bytes.length);
    socket.resume();
    await until(() => taken > length);
    await turns();
    timers.advance(80_000);
    socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    assert.equal(await text(await calling), "ok");
  });
  (await arrived.promise).destroy();
  await new Promise((resolve) => slow.close(resolve));
});
