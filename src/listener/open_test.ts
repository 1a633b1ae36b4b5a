import assert from "@std/assert";
import { openTestListener as open } from "../../tests/support/listener.ts";
import { dial, get, listenersOf, pause } from "../../tests/support/raw_connection.ts";
import {
  certificateFiles,
  testCertificate,
  testCertificateKey,
} from "../../tests/support/service_certificate.ts";
import { within } from "../../tests/support/within.ts";

Deno.test("a connection without a request does not hold up the end, a request under way does", async () => {
  const answer = Promise.withResolvers<Response>();
  const asked = Promise.withResolvers<void>();
  const listener = await open(() => {
    asked.resolve();
    return answer.promise;
  });
  using silent = await Deno.connect({ hostname: "127.0.0.1", port: listener.port });
  const fetched = fetch(`http://127.0.0.1:${listener.port}/`).then((response) => response.text());
  await asked.promise;
  let drained = false;
  const startedMs = performance.now();
  const draining = listener.drain(60_000).then(() => drained = true);
  assert.equal(await silent.read(new Uint8Array(1)), null, "it is closed");
  assert.equal(drained, false, "the request is answered first");
  answer.resolve(new Response("late"));
  assert.equal(await fetched, "late");
  await draining;
  assert.ok(performance.now() - startedMs < 30_000, "nobody was waited for in vain");
});

/** Sends text as it is; gives what comes back until the connection is closed. */
async function exchange(port: number, ...pieces: string[]): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  for (const piece of pieces) await connection.write(new TextEncoder().encode(piece));
  return await new Response(connection.readable).text();
}

Deno.test("a head that can't be read is refused in the service's own words", async () => {
  const listener = await open(() => {
    return new Response("fine");
  });
  const long = `GET / HTTP/1.1\r\nhost: x\r\nx-a: ${"a".repeat(20_000)}\r\n\r\n`;
  const said = await exchange(listener.port, long);
  assert.match(said, /^HTTP\/1\.1 431 .*\r\n/);
  assert.match(
    said,
    /\r\nx-why: too_large\r\ncontent-length: 10\r\nconnection: close\r\n\r\ntoo_large!$/,
  );
  assert.match(await exchange(listener.port, "GARBAGE\r\n\r\n"), /^HTTP\/1\.1 400 .*malformed!$/s);
  const twoLengths =
    "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab";
  assert.match(await exchange(listener.port, twoLengths), /^HTTP\/1\.1 400 .*malformed!$/s);
  await listener.drain(1000);
});

Deno.test("heads that stall get a 408, silent connections are closed, others are not", async () => {
  const ended: string[] = [];
  const listener = await open(() => new Response("fine"), { headMs: 300 });
  listener.setListeners(listenersOf(ended));
  using silent = await dial(listener.port);
  using slow = await dial(listener.port);
  using second = await dial(listener.port);
  using kept = await dial(listener.port);
  for (const one of [second, kept]) {
    await one.send(get);
    assert.match(await one.piece(), /^HTTP\/1\.1 200 /);
  }
  const dripping = drip(slow, "GET / HTTP/1.1\r\nhost: x\r\n", "a: b\r\n");
  const drippingToo = drip(second, "GET / HTTP/1.1\r\nhost: x\r\n", "a: b\r\n");
  assert.equal(await silent.rest(), "");
  assert.match(await slow.rest(), /^HTTP\/1\.1 408 .*too_slow!$/s);
  assert.match(await second.rest(), /^HTTP\/1\.1 408 .*too_slow!$/s);
  await Promise.all([dripping, drippingToo]);
  await kept.send(get);
  assert.match(await kept.piece(), /^HTTP\/1\.1 200 /, "an idle one has its own time");
  assert.deepEqual(ended.sort(), ["slow_head", "slow_head", "slow_head"]);
  await listener.drain(1000);
});

Deno.test("a connection that is idle too long is closed without a word", async () => {
  const listener = await open(() => new Response("fine"), { idleMs: 200 });
  using idle = await dial(listener.port);
  await idle.send(get);
  assert.match(await idle.piece(), /200/);
  assert.equal(await idle.rest(), "");
  await listener.drain(1000);
});

/** Sends a piece every 50 ms until nobody takes it. */
async function drip(
  one: { send(text: string): Promise<boolean> },
  first: string,
  piece: string,
): Promise<void> {
  await one.send(first);
  for (let times = 0; times < 100; times++) {
    await pause(50);
    if (!await one.send(piece)) return;
  }
}

const post = (length: number) => `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n`;
const bodyLimits = { bodyMs: 300, rateSpanMs: 600, bodyBytesPerSecond: 1024 };

Deno.test("bodies that stall or drip get a 408; one that makes progress is not cut", async () => {
  const listener = await open(
    async (request) => new Response(`${(await request.text()).length}`),
    bodyLimits,
  );
  const ended: string[] = [];
  listener.setListeners(listenersOf(ended));
  using silent = await dial(listener.port);
  using dripping = await dial(listener.port);
  using honest = await dial(listener.port);
  await silent.send(post(1000) + "a");
  const sending = drip(dripping, post(100_000), "a");
  await honest.send(post(60_000));
  const uploading = (async () => {
    for (let piece = 0; piece < 40; piece++) {
      await pause(40);
      await honest.send("a".repeat(1500));
    }
  })();
  assert.match(await silent.rest(), /^HTTP\/1\.1 408 .*too_slow!$/s);
  assert.match(await dripping.rest(), /^HTTP\/1\.1 408 .*too_slow!$/s);
  await sending;
  await uploading;
  assert.match(await honest.piece(), /^HTTP\/1\.1 200 .*60000$/s);
  assert.deepEqual(ended, ["slow_body", "slow_body"], "each once");
  await listener.drain(1000);
});

Deno.test("a body that we don't read is not cut for our slowness", async () => {
  const mayRead = Promise.withResolvers<void>();
  const listener = await open(async (request) => {
    const reader = request.body!.getReader();
    let length = (await reader.read()).value?.length ?? 0;
    await mayRead.promise;
    for (let part; !(part = await reader.read()).done;) length += part.value.length;
    return new Response(`${length}`);
  }, bodyLimits);
  using caller = await dial(listener.port);
  const length = 16 * 1024 * 1024;
  const sending = caller.send(post(length) + "a".repeat(length));
  await pause(1500);
  mayRead.resolve();
  assert.equal(await sending, true);
  assert.match(await caller.piece(), new RegExp(`^HTTP/1\\.1 200 .*${length}$`, "s"));
  await listener.drain(1000);
});

for (const isTls of [false, true]) {
  Deno.test(`a caller can send no more of a body that we don't read than the system holds${isTls ? ", under TLS too" : ""}`, async () => {
    const mayRead = Promise.withResolvers<void>();
    const mebibytes = 200;
    const listener = await open(
      async (request) => {
        await mayRead.promise;
        let length = 0;
        for await (const piece of request.body!) length += piece.length;
        return new Response(`${length}`);
      },
      {},
      isTls ? { tls: { cert: testCertificate, key: testCertificateKey } } : {},
    );
    const to = { hostname: "localhost", port: listener.port };
    using caller =
      await (isTls ? Deno.connectTls({ ...to, caCerts: [testCertificate] }) : Deno.connect(to));
    let sent = 0;
    const write = async (bytes: Uint8Array) => {
      for (let at = 0; at < bytes.length;) at += await caller.write(bytes.subarray(at));
    };
    const sending = (async () => {
      await write(new TextEncoder().encode(post(mebibytes * 1024 * 1024)));
      for (const part = new Uint8Array(1024 * 1024); sent < mebibytes; sent++) await write(part);
    })();
    for (let before = -1; sent === 0 || sent > before;) {
      before = sent;
      await pause(500);
    }
    const held = sent;
    mayRead.resolve();
    await sending;
    const answer = new Uint8Array(4096);
    const length = await caller.read(answer);
    assert.ok(held < 100, `${held} MiB`);
    assert.match(
      new TextDecoder().decode(answer.subarray(0, length!)),
      new RegExp(`^HTTP/1\\.1 200 .*${mebibytes * 1024 * 1024}$`, "s"),
    );
    await listener.drain(1000);
  });
}

Deno.test("what stands around the chunks of a body is bounded, small chunks are not cut", async () => {
  const ended: string[] = [];
  const listener = await open(
    async (request) => new Response(`${(await request.text()).length}`),
  );
  listener.setListeners(listenersOf(ended));
  const head = "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
  const taken = async (first: string, piece: string, last: string) => {
    using caller = await dial(listener.port);
    const said = caller.rest();
    await caller.send(head + first);
    let sent = 0;
    while (sent < 96 && await caller.send(piece.repeat(1024 * 1024 / piece.length))) sent++;
    await caller.send(last);
    return { sent, said: await said };
  };
  const extension = await taken("5;a=", "e".repeat(1024), "\r\nhello\r\n0\r\n\r\n");
  assert.ok(extension.sent < 48, `${extension.sent} MiB of a chunk extension were taken`);
  const trailers = await taken("5\r\nhello\r\n0\r\n", "a: bcdefghijkl\r\n", "\r\n");
  assert.ok(trailers.sent < 48, `${trailers.sent} MiB of trailers were taken`);
  assert.doesNotMatch(extension.said + trailers.said, / 200 /);
  assert.ok(ended.length > 0);
  using small = await dial(listener.port);
  await small.send(head + "1\r\na\r\n".repeat(100_000) + "0\r\n\r\n");
  assert.match(await small.piece(), /^HTTP\/1\.1 200 .*100000$/s);
  await listener.drain(1000);
});

for (const isTls of [false, true]) {
  Deno.test(`a body that comes byte by byte is a piece for each read${isTls ? ", under TLS too" : ""}, and others have their turn between them`, async () => {
    let pieces = 0;
    let chunksInTurn = 0;
    let mostInTurn = 0;
    const listener = await open(
      async (request) => {
        let length = 0;
        for await (const piece of request.body!) {
          length += piece.length;
          pieces++;
        }
        return new Response(`${length}`);
      },
      {},
      {
        ...(isTls ? { tls: { cert: testCertificate, key: testCertificateKey } } : {}),
        guard: (handle) => (incoming, outgoing) => {
          const push = incoming.push.bind(incoming);
          incoming.push = (chunk, encoding) => {
            if (chunksInTurn++ === 0) setImmediate(() => chunksInTurn = 0);
            mostInTurn = Math.max(mostInTurn, chunksInTurn);
            return push(chunk, encoding);
          };
          handle(incoming, outgoing);
        },
      },
    );
    const chunks = 100_000;
    using caller = await dial(listener.port, isTls ? testCertificate : undefined);
    await caller.send("POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n");
    await caller.send("1\r\na\r\n".repeat(chunks) + "0\r\n\r\n");
    assert.match(await caller.piece(), new RegExp(`${chunks}$`));
    assert.ok(pieces < 1_000, `${pieces} pieces`);
    // As many as two reads hold.
    assert.ok(mostInTurn < 22_000, `${mostInTurn} chunks in one turn`);
    await listener.abort();
  });
}

for (const isTls of [false, true]) {
  Deno.test(`chunks that wait in the socket are no overhead${isTls ? ", under TLS neither" : ""}`, async () => {
    const asked = Promise.withResolvers<void>();
    const mayRead = Promise.withResolvers<void>();
    const listener = await open(
      async (request) => {
        asked.resolve();
        await mayRead.promise;
        return new Response(`${(await request.text()).length}`);
      },
      {},
      isTls ? { tls: { cert: testCertificate, key: testCertificateKey } } : {},
    );
    using caller = await dial(listener.port, isTls ? testCertificate : undefined);
    await caller.send("POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n");
    await asked.promise;
    const chunks = 100;
    for (let at = 0; at < chunks; at++) {
      await caller.send(`bb8\r\n${"a".repeat(3_000)}\r\n`);
      await pause(1);
      // More waits than the runtime reads of such a body, and less than the system holds.
      if (at === 60) mayRead.resolve();
    }
    await caller.send("0\r\n\r\n");
    assert.match(await caller.piece(), new RegExp(` 200 .*${chunks * 3_000}$`, "s"));
    await listener.abort();
  });
}

Deno.test("of callers that send bodies byte by byte one at a time is read", async () => {
  let chunksInTurn = 0;
  let crowdedTurns = 0;
  const listener = await open(
    async (request) => new Response(`${(await request.text()).length}`),
    {},
    {
      guard: (handle) => (incoming, outgoing) => {
        const push = incoming.push.bind(incoming);
        incoming.push = (chunk, encoding) => {
          if (chunksInTurn++ === 0) {
            setImmediate(() => {
              // More than one read holds.
              if (chunksInTurn > 12_000) crowdedTurns++;
              chunksInTurn = 0;
            });
          }
          return push(chunk, encoding);
        };
        handle(incoming, outgoing);
      },
    },
  );
  const chunks = 100_000;
  const callers = await Promise.all(Array.from({ length: 4 }, () => dial(listener.port)));
  await Promise.all(callers.map(async (caller) => {
    await caller.send("POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n");
    await caller.send("1\r\na\r\n".repeat(chunks) + "0\r\n\r\n");
    assert.match(await caller.piece(), new RegExp(`${chunks}$`));
    caller[Symbol.dispose]();
  }));
  // The first reads of all may come together.
  assert.ok(crowdedTurns <= 2, `${crowdedTurns} turns`);
  await listener.abort();
});

Deno.test("an answer of which nothing is taken is ended, and its stream cancelled; a slow reader's is not", async () => {
  const cancelled = Promise.withResolvers<void>();
  const listener = await open((request) => {
    if (request.url.endsWith("/whole")) return new Response("a".repeat(30_000_000));
    return new Response(
      new ReadableStream({
        pull: (controller) => controller.enqueue(new Uint8Array(100_000)),
        cancel: () => cancelled.resolve(),
      }),
    );
  }, { unreadMs: 600, idleMs: 600 });
  using stream = await dial(listener.port);
  using whole = await dial(listener.port);
  using slow = await dial(listener.port);
  await stream.send(get);
  await whole.send("GET /whole HTTP/1.1\r\nhost: x\r\n\r\n");
  await slow.send("GET /whole HTTP/1.1\r\nhost: x\r\n\r\n");
  for (let times = 0; times < 30; times++) {
    await pause(100);
    for (let pieces = 0; pieces < 8; pieces++) assert.notEqual(await slow.piece(), "(closed)");
  }
  await cancelled.promise;
  const rest = await whole.rest();
  assert.ok(rest.length < 30_000_000, `${rest.length} bytes were kept for who reads nothing`);
  const slowRest = await slow.rest();
  assert.ok(!slowRest.includes("(reset)") && slowRest.length > 0);
  await listener.drain(1000);
});

Deno.test("Host stands there once and is a host; the answer is ours", async () => {
  const listener = await open(() => new Response("fine"));
  const said = (head: string) => exchange(listener.port, `${head}\r\nconnection: close\r\n\r\n`);
  for (
    const odd of [
      "GET / HTTP/1.1",
      "GET / HTTP/1.1\r\nhost: a\r\nhost: a",
      "GET / HTTP/1.1\r\nhost: a\r\nHOST: b",
      "GET / HTTP/1.1\r\nhost:",
      "GET / HTTP/1.1\r\nhost: a b",
      "GET / HTTP/1.1\r\nhost: a@b",
      "GET / HTTP/1.1\r\nhost: a/b",
      "GET / HTTP/1.1\r\nhost: a:b",
      "GET / HTTP/1.1\r\nhost: a:99999",
      'GET / HTTP/1.1\r\nhost: a"><script>',
      "GET / HTTP/1.0\r\nhost: a\r\nhost: b",
    ]
  ) assert.match(await said(odd), /^HTTP\/1\.1 400 .*bad_host!$/s, odd);
  for (
    const good of [
      "GET / HTTP/1.1\r\nhost: a",
      "GET / HTTP/1.1\r\nhost: a_b.example:8080",
      "GET / HTTP/1.1\r\nhost: [::1]:80",
      "GET / HTTP/1.1\r\nhost: 127.0.0.1",
      "GET / HTTP/1.0",
    ]
  ) assert.match(await said(good), /^HTTP\/1\.[01] 200 .*fine$/s, good);
  const many = `GET / HTTP/1.1\r\nhost: a\r\n${"a: b\r\n".repeat(300)}`;
  assert.match(await said(many.trimEnd()), /too_many_headers!$/);
  await listener.drain(1000);
});

Deno.test("a transfer coding other than chunked is refused before the request begins", async () => {
  let asked = 0;
  const listener = await open(async (request) => {
    asked++;
    return new Response(await request.text());
  });
  const said = (coding: string) =>
    exchange(
      listener.port,
      `POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: ${coding}\r\n\r\n2\r\nhi\r\n0\r\n\r\n`,
    );
  for (const odd of ["xchunked", "gzip, chunked", "identity, chunked", "chunked, gzip", "gzip"]) {
    assert.match(await said(odd), /^HTTP\/1\.1 400 .*malformed!$/s, odd);
  }
  // A line for each coding is the same list (RFC 9110 §5.3).
  for (const first of ["identity", "chunked"]) {
    const twice = await said(`${first}\r\ntransfer-encoding: chunked`);
    assert.match(twice, /^HTTP\/1\.1 400 .*malformed!$/s, first);
  }
  assert.equal(asked, 0);
  for (const good of ["chunked", "Chunked"]) assert.match(await said(good), /200 [\s\S]*hi/, good);
  await listener.drain(1000);
});

Deno.test("nothing after a refused head is answered, not even a good request in the same piece", async () => {
  let asked = 0;
  const listener = await open(() => {
    asked++;
    return new Response("fine");
  });
  for (
    const odd of [
      "GET / HTTP/1.1\r\n\r\n",
      "GARBAGE\r\n\r\n",
      `GET / HTTP/1.1\r\nhost: x\r\na: ${"a".repeat(20_000)}\r\n\r\n`,
      "CONNECT example.com:443 HTTP/1.1\r\nhost: example.com:443\r\n\r\n",
    ]
  ) {
    const said = await exchange(listener.port, odd + get, get, get);
    assert.match(said, /^HTTP\/1\.1 4\d\d /, odd);
    assert.equal(said.split("HTTP/1.1").length, 2, odd);
  }
  assert.equal(asked, 0);
  await listener.drain(1000);
});

Deno.test("an upgrade that isn't known is answered in HTTP/1.1", async () => {
  const listener = await open(() => new Response("fine"));
  const upgrade =
    "GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade, close\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n\r\n";
  assert.match(await exchange(listener.port, upgrade), /^HTTP\/1\.1 200 .*fine$/s);
  await listener.drain(1000);
});

Deno.test("over TLS too: handshakes, heads and bodies have their time, odd ones end nothing", async () => {
  const ended: string[] = [];
  const directory = await Deno.makeTempDir({ prefix: "listener-" });
  const files = await certificateFiles(directory);
  const tls = {
    cert: await Deno.readTextFile(files.TLS_CERT_FILE!),
    key: await Deno.readTextFile(files.TLS_KEY_FILE!),
  };
  const listener = await open(
    async (request) => new Response(`${(await request.text()).length}`),
    { headMs: 400, ...bodyLimits },
    { tls },
  );
  listener.setListeners(listenersOf(ended));
  const { port } = listener;
  const dialTls = () =>
    Deno.connectTls({ hostname: "localhost", port, caCerts: [testCertificate] });
  const said = async (...pieces: string[]) => {
    const connection = await dialTls();
    for (const piece of pieces) await connection.write(new TextEncoder().encode(piece));
    // An expired certificate doesn't end TLS where the other side just closes.
    const deps: string[] = [];
    const buffer = new Uint8Array(4096);
    for (;;) {
      const length = await connection.read(buffer).catch(() => null);
      if (length === null) break;
      deps.push(new TextDecoder().decode(buffer.subarray(0, length)));
    }
    connection.close();
    return deps.join("");
  };
  using silent = await dial(port);
  using rubbish = await dial(port);
  await rubbish.send("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  await rubbish.rest();
  assert.match(await said(get.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n")), / 200 .*0$/s);
  assert.match(await said("GET / HTTP/1.1\r\nhost: x\r\n"), / 408 .*too_slow!$/s);
  assert.match(await said(post(10) + "a"), / 408 .*too_slow!$/s);
  assert.match(await said("GARBAGE\r\n\r\n", get, get), / 400 .*malformed!$/s);
  assert.match(await said(`GET / HTTP/1.1\r\nhost: x\r\na: ${"a".repeat(20_000)}`, get), / 431 /);
  assert.match(
    await said(
      "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n",
      "1;a=",
      ..."e".repeat(20).split("").map((letter) => letter.repeat(10_000)),
    ),
    / 400 .*malformed!$/s,
  );
  assert.equal(await silent.rest(), "");
  const { promise: left, resolve } = Promise.withResolvers<void>();
  const late = await dialTls();
  const looking = setInterval(() => listener.connections === 0 && resolve(), 20);
  late.close();
  await left;
  clearInterval(looking);
  assert.ok(ended.includes("slow_handshake") && ended.includes("chunk_overhead"), `${ended}`);
  await listener.drain(1000);
  await Deno.remove(directory, { recursive: true });
});

Deno.test("a drain that cuts requests off resolves when the answers of all have closed", async () => {
  const begun = Promise.withResolvers<void>();
  let underWay = 0;
  const listener = await open(() => new Promise<Response>(() => {}), {}, {
    guard: (listener) => (incoming, outgoing) => {
      if (++underWay === 20) begun.resolve();
      outgoing.once("close", () => underWay--);
      listener(incoming, outgoing);
    },
  });
  const callers = await Promise.all(Array.from({ length: 20 }, () => dial(listener.port)));
  for (const caller of callers) await caller.send(get);
  await begun.promise;
  const idle = await dial(listener.port);
  const logged: unknown[] = [];
  const warn = (_line: string, fields: unknown) => logged.push(fields);
  const ended: string[] = [];
  listener.setListeners({ ...listenersOf(ended), log: { info() {}, warn, error() {} } });
  await listener.drain(0);
  assert.equal(underWay, 0);
  assert.deepEqual(ended, Array(20).fill("stopping"), "those without a request aren't reported");
  assert.deepEqual(logged, [{ reason: "stopping", connections: 20, last_peer: "127.0.0.1" }]);
  idle[Symbol.dispose]();
  for (const caller of callers) caller[Symbol.dispose]();
});

Deno.test("an answer without a body, made in the turn of its request, leaves the connection open", async () => {
  const listener = await open(() => new Response(null, { status: 204 }));
  using caller = await dial(listener.port);
  for (const ask of [get, "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n"]) {
    await caller.send(ask);
    assert.doesNotMatch(await caller.piece(), /^connection:/im);
  }
  await listener.drain(1000);
});

Deno.test("a request that goes on after its answer is its connection's last, and is read to its end", async () => {
  const listener = await open((request) =>
    request.method === "POST" ? new Response("no", { status: 413 }) : new Response("fine")
  );
  using slow = await dial(listener.port);
  await slow.send(get);
  assert.doesNotMatch(await slow.piece(), /^connection:/im);
  await slow.send("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc");
  assert.doesNotMatch(await slow.piece(), /^connection:/im);
  const piece = "x".repeat(100_000);
  await slow.send(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${12 * piece.length}\r\n\r\n`);
  // A proxy that drops the rest would send another caller's request on this connection.
  assert.match(await slow.piece(), /^HTTP\/1\.1 413 [^]+\r\nconnection: close\r\n/i);
  for (let sent = 0; sent < 12; sent++) {
    assert.ok(await slow.send(piece));
    await pause(100);
  }
  await slow.send(get);
  assert.equal(await slow.rest(), "");
  await listener.drain(1000);
});

for (const isTls of [false, true]) {
  Deno.test(`a large answer before the end of a connection's last request comes whole${isTls ? ", over TLS too" : ""}`, async () => {
    const listener = await open(
      () => new Response("x".repeat(400_000)),
      {},
      isTls ? { tls: { cert: testCertificate, key: testCertificateKey } } : {},
    );
    using caller = await dial(listener.port, isTls ? testCertificate : undefined);
    const [piece, pieces] = ["a".repeat(3_000), 30];
    const length = pieces * piece.length;
    await caller.send(
      `POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: ${length}\r\n\r\n`,
    );
    const first = await caller.piece();
    for (let at = 0; at < pieces; at++) {
      await caller.send(piece);
      await pause(1);
    }
    const [, body] = (first + await caller.rest()).split("\r\n\r\n");
    assert.equal(body?.length, 400_000);
    caller[Symbol.dispose]();
    await within(10_000, listener.drain(60_000));
  });
}

Deno.test("of a request that was answered before its end no more than 64 MiB are read", async () => {
  const listener = await open(() => new Response("no", { status: 413 }));
  using endless = await dial(listener.port);
  await endless.send("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000\r\n\r\n");
  assert.match(await endless.piece(), /^HTTP\/1\.1 413 /);
  const piece = "x".repeat(1_000_000);
  let sent = 0;
  while (sent < 200 && await endless.send(piece)) sent++;
  assert.ok(sent >= 64 && sent < 100, `${sent} MB`);
  await listener.drain(1000);
});
