/** Requests of one connection that don't wait for their answers (pipelining). */
import assert from "@std/assert";
import { openTestListener as open } from "../../tests/support/listener.ts";
import { dial, get, listenersOf, pause } from "../../tests/support/raw_connection.ts";
import { testCertificate, testCertificateKey } from "../../tests/support/service_certificate.ts";
import { within } from "../../tests/support/within.ts";
import { turnEnd } from "../base/turns.ts";

Deno.test("requests sent one behind the other begin in turn, each when the one before is answered", async () => {
  const events: string[] = [];
  const listener = await open(async (request) => {
    const { pathname } = new URL(request.url);
    events.push(`begins ${pathname}`);
    // Time in which the next one could begin.
    for (let turn = 0; turn < 10; turn++) await turnEnd();
    const text = await request.text();
    events.push(`ends ${pathname} ${text}`);
    return new Response(pathname);
  });
  using caller = await dial(listener.port);
  const asks = [0, 1, 2].map((at) =>
    `POST /${at} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nb${at}`
  );
  await caller.send(asks.join("") + "GET /3 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  const bodies = (await caller.rest()).match(/\r\n\r\n\/\d/g);
  assert.deepEqual(bodies, [0, 1, 2, 3].map((at) => `\r\n\r\n/${at}`));
  assert.deepEqual(
    events,
    [0, 1, 2, 3].flatMap((at) => [`begins /${at}`, `ends /${at} ${at < 3 ? `b${at}` : ""}`]),
  );
  await listener.drain(1000);
});

Deno.test("between requests that one caller sent together, others have their turn", async () => {
  let ofFlood = 0;
  const atOthers: number[] = [];
  const began = Promise.withResolvers<void>();
  const listener = await open(async (request) => {
    if (request.url.endsWith("/other")) atOthers.push(ofFlood);
    else if (++ofFlood === 1) await began.promise;
    return new Response("fine");
  });
  using flood = await dial(listener.port);
  await flood.send(get.repeat(500));
  using other = await dial(listener.port);
  const ask = "GET /other HTTP/1.1\r\nhost: x\r\n\r\n";
  await other.send(ask);
  assert.match(await other.piece(), / 200 /);
  began.resolve();
  for (let at = 0; at < 3; at++) {
    await other.send(ask);
    await other.piece();
  }
  assert.equal(atOthers[0], 1, "the flood waits for its first answer, others don't");
  assert.ok(atOthers.every((seen) => seen < 500), `${atOthers}`);
  await listener.abort();
});

for (const isTls of [false, true]) {
  Deno.test(`of requests that wait behind another only few are read${isTls ? ", over TLS too" : ""}, and all are answered in the end`, async () => {
    const first = Promise.withResolvers<void>();
    let asked = 0;
    const tls = isTls ? { cert: testCertificate, key: testCertificateKey } : undefined;
    const listener = await open(
      async () => {
        if (++asked === 1) await first.promise;
        return new Response("x".repeat(2_000));
      },
      {},
      tls ? { tls } : {},
    );
    using caller = await dial(listener.port, isTls ? testCertificate : undefined);
    const requests = 40_000;
    // With a head of 1 KiB: 40 MB, far more than the system holds.
    const long = get.replace("host: x", `host: x\r\nx-filler: ${"f".repeat(1_000)}`);
    let sent = 0;
    const sending = (async () => {
      for (; sent < requests; sent += 100) await caller.send(long.repeat(100));
    })();
    for (let before = -1; sent === 0 || sent > before;) {
      before = sent;
      await pause(500);
    }
    assert.ok(sent < requests, "not all were read");
    first.resolve();
    let answers = 0;
    for (let rest = ""; answers < 2_000;) {
      const text = rest + await within(60_000, caller.piece());
      const heads = text.split("HTTP/1.1 200");
      answers += heads.length - 1;
      rest = heads.at(-1)!.slice(-11);
      assert.ok(text !== "(closed)");
    }
    caller[Symbol.dispose]();
    await sending;
    await listener.abort();
  });
}

Deno.test("of a caller that leaves, requests that waited for their turn don't begin", async () => {
  const begun = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  let asked = 0;
  const listener = await open(() => new Promise<Response>(() => {}), {}, {
    guard: (listener) => (incoming, outgoing) => {
      asked++;
      outgoing.once("close", closed.resolve);
      begun.resolve();
      listener(incoming, outgoing);
    },
  });
  const caller = await dial(listener.port);
  await caller.send(get.repeat(3));
  await begun.promise;
  caller[Symbol.dispose]();
  await within(10_000, closed.promise);
  await listener.drain(1000);
  assert.equal(asked, 1);
});

for (const isTls of [false, true]) {
  const tls = isTls ? { tls: { cert: testCertificate, key: testCertificateKey } } : {};
  const over = isTls ? ", over TLS too" : "";
  const last = get.replace("host: x", "host: x\r\nconnection: close");

  Deno.test(`what follows a connection's last request is ignored, and that is answered${over}`, async () => {
    let asked = 0;
    const followed = Promise.withResolvers<void>();
    // More than the system holds.
    const length = 20_000_000;
    const listener = await open(
      async () => {
        asked++;
        await followed.promise;
        return new Response("x".repeat(length));
      },
      {},
      tls,
    );
    const ended: string[] = [];
    listener.setListeners(listenersOf(ended));
    using together = await dial(listener.port, isTls ? testCertificate : undefined);
    using apart = await dial(listener.port, isTls ? testCertificate : undefined);
    await together.send(get + last + get + "junk");
    await apart.send(last);
    for (let sent = 0; sent < 3; sent++) {
      await pause(20);
      await apart.send(get);
    }
    await pause(50);
    followed.resolve();
    const answers = await Promise.all([together, apart].map(async (caller) => {
      const first = await caller.piece();
      await caller.send("more");
      await pause(50);
      return (first + await caller.rest()).split(/HTTP\/1\.1 200 OK[^]+?\r\n\r\n/).slice(1);
    }));
    const lengths = answers.map((bodies) => bodies.map((body) => body.length));
    assert.deepEqual(lengths, [[length, length], [length]]);
    assert.equal(asked, 3);
    assert.deepEqual(ended, []);
    await within(10_000, listener.drain(60_000));
  });

  Deno.test(`what follows an answer that began before its request had arrived does not begin${over}`, async () => {
    for (const isStream of [false, true]) {
      const begun: string[] = [];
      const followed = Promise.withResolvers<void>();
      const listener = await open(
        (request) => {
          begun.push(request.method);
          if (!isStream) return new Response("early", { status: 413 });
          const pieces = async function* () {
            yield new TextEncoder().encode("early ");
            const body = new Uint8Array(await request.arrayBuffer());
            await followed.promise;
            yield body;
          };
          return new Response(ReadableStream.from(pieces()));
        },
        {},
        tls,
      );
      const ended: string[] = [];
      listener.setListeners(listenersOf(ended));
      using caller = await dial(listener.port, isTls ? testCertificate : undefined);
      await caller.send("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\n");
      const first = await caller.piece();
      assert.match(first, /\r\nconnection: close\r\n[^]*early/i);
      // More than are read at once.
      for (const text of ["body" + get, get.repeat(5_000), "junk"]) {
        await caller.send(text);
        await pause(20);
      }
      followed.resolve();
      assert.equal(await caller.rest(), isStream ? "4\r\nbody\r\n0\r\n\r\n" : "");
      assert.deepEqual(begun, ["POST"]);
      assert.deepEqual(ended, []);
      await within(10_000, listener.drain(60_000));
    }
  });

  Deno.test(`what comes once that answer is sent doesn't cut it off${over}`, async () => {
    // The system holds all of it.
    const length = 300_000;
    const listener = await open(() => new Response("x".repeat(length)), {}, tls);
    for (const isEarly of [true, false]) {
      using caller = await dial(listener.port, isTls ? testCertificate : undefined);
      await caller.send(last + (isEarly ? get : ""));
      await pause(50);
      await caller.send(get.repeat(5_000));
      await pause(50);
      const [, body] = (await caller.rest()).split("\r\n\r\n");
      assert.equal(body?.length, length, `early: ${isEarly}`);
    }
    await within(10_000, listener.drain(60_000));
  });

  Deno.test(`a caller that leaves after such bytes is noticed${over}`, async () => {
    const begun = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    const listener = await open(
      (request) => {
        request.signal.addEventListener("abort", () => left.resolve());
        begun.resolve();
        return new Promise<Response>(() => {});
      },
      {},
      tls,
    );
    const caller = await dial(listener.port, isTls ? testCertificate : undefined);
    await caller.send(last);
    await begun.promise;
    await caller.send(get);
    await pause(50);
    caller[Symbol.dispose]();
    await within(10_000, left.promise);
    await listener.drain(1000);
  });
}
