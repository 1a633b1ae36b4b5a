import assert from "@std/assert";
import { createServer } from "node:http";
import { connect } from "node:net";
import { type PushStream, pushStream } from "../base/streams.ts";
import { within } from "../../tests/support/within.ts";
import { sendPushed } from "./stream_sink.ts";

const encoder = new TextEncoder();

/** A server that answers with a pushed stream, which `act` fills. */
async function serve(act: (pushed: PushStream) => void) {
  const server = createServer((_incoming, outgoing) => {
    const pushed = pushStream();
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    sendPushed(pushed.stream, outgoing);
    act(pushed);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    port,
    url: `http://127.0.0.1:${port}/`,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

/** All that comes over a connection of its own until it ends. */
function raw(port: number, version = "1.1"): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.setEncoding("latin1");
    socket.on("data", (piece: string) => {
      text += piece;
      if (text.endsWith("\r\n0\r\n\r\n")) socket.destroy();
    });
    socket.on("close", () => resolve(text));
    socket.on("error", reject);
    socket.write(`GET / HTTP/${version}\r\nhost: test\r\n\r\n`);
  });
}

const nextTurn = () => new Promise((resolve) => setTimeout(resolve, 5));

Deno.test("what comes in one turn is one chunk, and the end comes with it", async () => {
  await using server = await serve(async (pushed) => {
    for (const text of ["a", "", "bc"]) pushed.push(encoder.encode(text));
    await nextTurn();
    for (const text of ["d", "e".repeat(20), "f"]) pushed.push(encoder.encode(text));
    await nextTurn();
    pushed.push(encoder.encode("last"));
    pushed.close();
  });
  const text = await within(10_000, raw(server.port));
  const [head, ...body] = text.split("\r\n\r\n");
  assert.match(head!, /transfer-encoding: chunked/i);
  assert.equal(
    body.join("\r\n\r\n"),
    `3\r\nabc\r\n16\r\nd${"e".repeat(20)}f\r\n4\r\nlast\r\n0\r\n\r\n`,
  );
});

Deno.test("a caller gets everything up to the break of the connection, and no end", async () => {
  for (const [isSoon, length] of [[true, 60_000], [false, 60_000], [false, 1_000_000]] as const) {
    const said = "s".repeat(length);
    await using server = await serve(async (pushed) => {
      if (!isSoon) await nextTurn();
      pushed.push(encoder.encode(said));
      pushed.error(new Error("out of breath"));
    });
    const text = await within(10_000, raw(server.port));
    const [head = "", ...body] = text.split("\r\n\r\n");
    assert.match(head, /^HTTP\/1.1 200/);
    assert.equal(body.join("").match(/s+/g)?.join(""), said);
    assert.ok(!text.endsWith("\r\n0\r\n\r\n"));
  }
});

Deno.test("a caller of HTTP/1.0 gets the bytes alone, and the connection's end after them", async () => {
  await using server = await serve(async (pushed) => {
    pushed.push(encoder.encode("one "));
    await nextTurn();
    pushed.push(encoder.encode("two"));
    pushed.close();
  });
  const text = await within(10_000, raw(server.port, "1.0"));
  assert.equal(text.split("\r\n\r\n").slice(1).join("\r\n\r\n"), "one two");
});

Deno.test("the head leaves before the first byte does, and a stream may be empty", async () => {
  const end = Promise.withResolvers<void>();
  await using server = await serve((pushed) => void end.promise.then(() => pushed.close()));
  const answer = await within(10_000, fetch(server.url));
  end.resolve();
  assert.equal(await within(10_000, answer.text()), "");
});

Deno.test("bytes of any size arrive in order", async () => {
  const sent: Uint8Array[] = [];
  await using server = await serve(async (pushed) => {
    for (let at = 0; at < 60; at++) {
      const piece = new Uint8Array((at * 7919) % 200_000).fill(at);
      sent.push(piece);
      const drained = new Promise<void>((resolve) => pushed.onDrain(resolve));
      if (!pushed.push(piece)) await drained;
      if (at % 5 === 0) await nextTurn();
    }
    pushed.close();
  });
  const bytes = new Uint8Array(await (await fetch(server.url)).arrayBuffer());
  const expected = new Uint8Array(await new Blob(sent as BlobPart[]).arrayBuffer());
  assert.ok(bytes.length === expected.length && bytes.every((byte, at) => byte === expected[at]));
});

Deno.test("a caller who reads nothing holds the source up, until it reads or leaves", async () => {
  const full = Promise.withResolvers<PushStream>();
  let drained = 0;
  let cancelled = 0;
  await using server = await serve(async (pushed) => {
    pushed.onDrain(() => drained++);
    pushed.onCancel(() => cancelled++);
    // More than the sockets' buffers hold.
    const piece = new Uint8Array(1024 * 1024);
    for (let count = 0; count < 64; count++) {
      if (!pushed.push(piece)) await nextTurn();
      if (drained < count - 8) return full.resolve(pushed);
    }
    full.reject(new Error("never full"));
  });
  const leaving = new AbortController();
  const answer = await fetch(server.url, { signal: leaving.signal });
  const pushed = await within(20_000, full.promise);
  const [takenBefore, drainedBefore] = [pushed.takenBytes, drained];
  const reader = answer.body!.getReader();
  while (drained === drainedBefore) await within(10_000, reader.read());
  assert.ok(pushed.takenBytes > takenBefore);
  assert.equal(cancelled, 0);
  leaving.abort();
  await reader.read().catch(() => {});
  while (cancelled === 0) await nextTurn();
  assert.equal(pushed.push(new Uint8Array(1024 * 1024)), true);
  assert.equal(cancelled, 1);
});

Deno.test("a stream that fails is not a whole answer", async () => {
  await using server = await serve(async (pushed) => {
    pushed.push(encoder.encode("half"));
    await nextTurn();
    pushed.error(new Error("cut"));
  });
  await assert.rejects(fetch(server.url).then((answer) => answer.text()));
});

Deno.test("a kept connection carries one stream after the other", async () => {
  await using server = await serve((pushed) => {
    pushed.push(encoder.encode("x".repeat(100_000)));
    pushed.close();
  });
  for (let count = 0; count < 5; count++) {
    assert.equal((await (await fetch(server.url)).text()).length, 100_000);
  }
});
