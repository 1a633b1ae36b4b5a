import assert from "@std/assert";
import { createServer, type Server } from "node:http";
import { systemClock } from "../base/clock.ts";
import type { Fault } from "../shared/fault.ts";
import type { Reply } from "../relay/reply.ts";
import { within } from "../../tests/support/within.ts";
import type { Endpoint } from "./bind.ts";
import { createDirectCalls } from "./direct_calls.ts";
import { DirectEndpoints } from "./direct_endpoints.ts";

const encoder = new TextEncoder();

/** A server that answers `POST /call` directly, and 418 for whatever isn't taken so. */
async function serve(endpoint: Endpoint) {
  const faults: Fault[] = [];
  const logged: number[] = [];
  const endpoints = new DirectEndpoints();
  endpoints.add("POST", "/call", endpoint);
  endpoints.add("POST", "/own/v1/:model{(?:.|\\s)+:make}", endpoint);
  endpoints.add("POST", "/own/v1/:model", endpoint);
  const direct = createDirectCalls({
    endpoints,
    contexts: { clock: systemClock, newRequestId: () => "r1", trustProxy: true },
    authenticate: () => Promise.resolve(undefined),
    rateCheck: () => Promise.resolve({ headers: { "x-ratelimit-limit": "60" } }),
    accessLog: (_context, _method, status) => void logged.push(status),
    errorDialect: () => "chat",
    onFault: (fault) => void faults.push(fault),
  });
  const server: Server = createServer((incoming, outgoing) => {
    if (!direct(incoming, outgoing)) outgoing.writeHead(418).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const url = `http://127.0.0.1:${port}`;
  const post = (init: RequestInit = {}, path = "/call") =>
    fetch(url + path, { method: "POST", body: "{}", ...init });
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { post, faults, logged, [Symbol.asyncDispose]: close };
}

const text = (body: Reply["body"], headers = {}): Reply => ({ status: 200, headers, body });

Deno.test("only a small body for a known path is taken, without CORS and without a redirect to HTTPS", async () => {
  await using server = await serve(async (request) => {
    const sent = new TextDecoder().decode(await request.body.whole());
    return text(`${sent} ${JSON.stringify(request.queries())}`);
  });
  const statusOf = async (init: RequestInit, path?: string) => {
    const answer = await server.post(init, path);
    await answer.body?.cancel();
    return answer.status;
  };
  const answer = await server.post({ body: "grüße" }, "/call?a=1&a=2&b=%20&c=x?y");
  assert.equal(await answer.text(), 'grüße {"a":["1","2"],"b":[" "],"c":["x?y"]}');
  assert.equal(answer.headers.get("x-ratelimit-limit"), "60");
  assert.equal(answer.headers.get("x-request-id"), "r1");
  assert.equal(await statusOf({ body: "x".repeat(64 * 1024) }), 200);
  assert.equal(await statusOf({ body: "x".repeat(64 * 1024 + 1) }), 418);
  assert.equal(await statusOf({ body: ReadableStream.from([encoder.encode("x")]) }), 418);
  assert.equal(await statusOf({ headers: { origin: "http://a" } }), 418);
  assert.equal(await statusOf({ headers: { "x-forwarded-proto": "http" } }), 418);
  assert.equal(await statusOf({ headers: { "x-forwarded-proto": "https" } }), 200);
  assert.equal(await statusOf({}, "/call/"), 418);
  assert.equal(await statusOf({ method: "PUT" }), 418);
  assert.deepEqual(server.logged, [200, 200, 200]);
});

Deno.test("a method of a model is taken where its path means what it spells", async () => {
  await using server = await serve((request) =>
    Promise.resolve(text(request.params().model ?? ""))
  );
  const answerOf = async (path: string) => {
    const answer = await server.post({}, path);
    const text = await answer.text();
    return answer.status === 200 ? text : answer.status;
  };
  assert.equal(await answerOf("/own/v1/models/a-1.5:make"), "models/a-1.5:make");
  assert.equal(await answerOf("/own/v1/a/b/c:make?alt=sse"), "a/b/c:make");
  for (const odd of ["a%2Fb:make", "a:other", "a//b:make", ".a:make", "a", ":make", "a:b:make"]) {
    assert.equal(await answerOf(`/own/v1/${odd}`), 418, odd);
  }
  assert.equal(await answerOf("/own/v1beta/a:make"), 418);
  assert.equal(await answerOf("/own/a:make"), 418);
});

Deno.test("what is thrown is answered in the path's dialect", async () => {
  await using server = await serve(() => Promise.reject(new Error("broken")));
  const answer = await server.post();
  assert.equal(answer.status, 500);
  assert.equal((await answer.json()).error.code, "internal_error");
  assert.deepEqual(server.faults.map(({ code }) => code), ["internal_error"]);
});

Deno.test("a stream is written as it comes; a caller that leaves ends it and is noticed", async () => {
  const cancelled = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  await using server = await serve(async ({ body, signal }) => {
    await body.whole();
    signal.addEventListener("abort", () => left.resolve());
    let pulls = 0;
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (++pulls > 2) return new Promise<void>(() => {});
        controller.enqueue(encoder.encode(`piece ${pulls} `));
        return undefined;
      },
      cancel: () => cancelled.resolve(),
    }, { highWaterMark: 0 });
    return text(stream, { "content-type": "text/event-stream" });
  });
  const leaving = new AbortController();
  const answer = await server.post({ signal: leaving.signal });
  const reader = answer.body!.getReader();
  let read = "";
  while (!read.includes("piece 2")) read += new TextDecoder().decode((await reader.read()).value);
  leaving.abort();
  await reader.closed.catch(() => {});
  await within(10_000, Promise.all([cancelled.promise, left.promise]));
});

Deno.test("a stream that breaks is not a whole answer, and the caller gets what came before", async () => {
  const half = new Uint8Array(60_000);
  await using server = await serve(async ({ body }) => {
    await body.whole();
    const pieces = [half];
    return text(
      new ReadableStream({
        pull(controller) {
          const piece = pieces.pop();
          if (piece) controller.enqueue(piece);
          else controller.error(new Error("cut"));
        },
      }, { highWaterMark: 0 }),
    );
  });
  const answer = await server.post();
  let bytes = 0;
  await assert.rejects(async () => {
    for await (const piece of answer.body!) bytes += piece.length;
  });
  assert.equal(bytes, half.length);
});

Deno.test("an answer that can't be written ends the connection, not the process", async () => {
  await using server = await serve(() =>
    Promise.resolve(text("fine", { "x-odd": "a\r\nset-cookie: b" }))
  );
  await assert.rejects(server.post().then((answer) => answer.text()));
  assert.equal(server.faults.length, 1);
});
