import assert from "@std/assert";
import { pause } from "../support/raw_connection.ts";
import { Random } from "../support/random.ts";
import { gzipSync } from "node:zlib";
import { securityHeaders } from "../support/scenarios.ts";
import { shared } from "../support/service.ts";
import { postRaw } from "../support/service_raw.ts";
import {
  event,
  scriptedModel,
  startScriptedService,
  streamEvents,
  wholeAnswer,
} from "../support/service_scripted.ts";

const service = shared(() => startScriptedService());

/** An answer that no JSON writer would write like this. */
const odd = `\n{ "zeta":12345678901234567890, "id":"x","object":"chat.completion","created":1.0,` +
  `"model":"m", "choices":[{"index":0,"message":{"role":"assistant","content":"\\u00e9 ü😀 \\/"},` +
  `"finish_reason":"stop","unknown":{"b":1.10,"a":[ ]}}],\t"usage":{"prompt_tokens":10,` +
  `"completion_tokens":5,"total_tokens":15,"x":1e2} }\n`;

/** Headers of the vendor's side: of the connection, of the account, of its network. */
const vendorHeaders = {
  "openai-organization": "org-secret",
  "openai-project": "proj-secret",
  "x-ratelimit-limit-requests": "10000",
  "x-ratelimit-remaining-tokens": "9999",
  "x-request-id": "req-of-the-vendor",
  "request-id": "req-of-the-vendor",
  "set-cookie": "__cf_bm=secret; path=/",
  "cf-ray": "abc-FRA",
  "cf-cache-status": "DYNAMIC",
  via: "1.1 vendor",
  server: "cloudflare",
  "alt-svc": 'h3=":443"',
  "keep-alive": "timeout=5",
  "proxy-authenticate": "Basic",
  trailer: "x-checksum",
  upgrade: "h2c",
  "access-control-allow-origin": "*",
  "strict-transport-security": "max-age=1",
  "x-frame-options": "ALLOWALL",
  "x-inference-cost": "0.1",
  "retry-after": "7",
  location: "https://vendor.example/x",
};

Deno.test("a whole answer's bytes come back unaltered", async () => {
  const { response } = await service().call((exchange) =>
    exchange.answer(200, odd, { "content-type": "application/json; charset=utf-8" })
  );
  assert.equal(response.headers.get("content-type"), "application/json; charset=utf-8");
  assert.deepEqual(
    new Uint8Array(await response.arrayBuffer()),
    new TextEncoder().encode(odd),
  );
});

for (const stream of [false, true]) {
  const kind = stream ? "a stream's" : "an answer's";
  Deno.test(`of ${kind} headers only those that are the caller's business come back`, async () => {
    const { response } = await service().call(
      (exchange) =>
        stream
          ? exchange.stream(streamEvents, vendorHeaders)
          : exchange.answer(200, wholeAnswer, vendorHeaders),
      { stream },
    );
    await response.body?.cancel();
    const names = [...response.headers.keys()].filter((name) => name !== "date").sort();
    const framing = stream
      ? ["transfer-encoding", "x-accel-buffering"]
      : ["content-length", "server-timing", "x-charged-usd", "x-cost-usd"];
    const wanted = [
      ...Object.keys(securityHeaders),
      "cache-control",
      "content-type",
      "x-model",
      "x-ratelimit-limit",
      "x-ratelimit-remaining",
      "x-ratelimit-reset",
      "x-request-id",
      "x-transaction-id",
      "x-vendor-request-id",
      ...framing,
    ].sort();
    const optional = new Set(["vary", "transfer-encoding"]);
    const plain = (list: string[]) => list.filter((name) => !optional.has(name));
    assert.deepEqual(plain(names), plain(wanted));
    for (const [name, value] of Object.entries(securityHeaders)) {
      assert.equal(response.headers.get(name), value);
    }
    assert.equal(response.headers.get("cache-control"), "no-store");
    // The account's own limit, not the vendor's.
    assert.equal(response.headers.get("x-ratelimit-limit"), "1000000");
    assert.equal(response.headers.get("x-vendor-request-id"), "req-of-the-vendor");
    assert.equal(response.headers.get("x-model"), `vendor-b/${scriptedModel}`);
    const own = ["x-vendor-request-id", "x-model", "server-timing"];
    const others = [...response.headers].filter(([name]) => !own.includes(name));
    const all = JSON.stringify(others);
    assert.doesNotMatch(all, /secret|vendor|cloudflare|ALLOWALL/);
  });
}

Deno.test("a header in which the vendor repeats its key doesn't come back", async () => {
  for (const status of [200, 400]) {
    for (const stream of [false, true]) {
      let key = "";
      const { response } = await service().call((exchange) => {
        key = exchange.request.headers["authorization"]!.slice("Bearer ".length);
        const headers = { "x-request-id": `lb-${key}`, "openai-version": "2020-10-01" };
        if (status === 400) return exchange.answer(400, { error: { message: "no" } }, headers);
        return stream
          ? exchange.stream(streamEvents, headers)
          : exchange.answer(200, wholeAnswer, headers);
      }, { stream });
      await response.body?.cancel();
      assert.equal(response.status, status);
      if (status === 200) assert.equal(response.headers.get("openai-version"), "2020-10-01");
      assert.ok(key.length > 6 && !JSON.stringify([...response.headers]).includes(key));
    }
  }
});

Deno.test("an answer that the vendor compressed all the same is decoded, whole and streamed", async () => {
  const gzip = { "content-encoding": "gzip" };
  const whole = await service().call((exchange) =>
    exchange.answer(200, gzipSync(odd), { "content-type": "application/json", ...gzip })
  );
  assert.equal(whole.response.headers.get("content-encoding"), null);
  assert.equal(await whole.response.text(), odd);
  const streamed = await service().call(
    (exchange) => exchange.stream(pieces(gzipSync(streamEvents.join("")), 7), gzip),
    { stream: true, body: { stream_options: { include_usage: true } } },
  );
  assert.equal(streamed.response.headers.get("content-encoding"), null);
  assert.equal(await streamed.response.text(), streamEvents.join(""));
  const transaction = streamed.response.headers.get("x-transaction-id");
  assert.equal((await service().row(transaction)).total_tokens, 15);
});

Deno.test("an answer isn't compressed on its way to a caller who would take it", async () => {
  for (const stream of [false, true]) {
    let name = "";
    await service().call((exchange) => {
      name = JSON.parse(exchange.request.body).x_script;
      return stream ? exchange.stream(streamEvents) : exchange.answer(200, odd);
    }, { stream });
    const { baseUrl, key } = service();
    const call = await postRaw(baseUrl, "/vendor-b/v1/chat/completions", {
      authorization: `Bearer ${key}`,
      "accept-encoding": "gzip, deflate, br",
    }, JSON.stringify({ model: scriptedModel, messages: [user], x_script: name, stream }));
    const { headers, body } = await call.answer();
    assert.ok(!headers.some(([header]) => header === "content-encoding"));
    const seen = stream ? streamEvents.filter((one) => !one.includes("usage")).join("") : odd;
    assert.equal(new TextDecoder().decode(body), seen);
    for (const name of Object.keys(securityHeaders)) {
      assert.equal(headers.filter(([header]) => header === name).length, 1, `${name} once`);
    }
  }
});

const user = { role: "user", content: "hi" };

/** Streams as different servers write them; the usage event is the one that may be hidden. */
const streams: readonly { name: string; events: readonly string[]; usage: number }[] = [
  { name: "LF", events: streamEvents, usage: 4 },
  {
    name: "CRLF",
    events: streamEvents.map((one) => one.replaceAll("\n", "\r\n")),
    usage: 4,
  },
  { name: "CR", events: streamEvents.map((one) => one.replaceAll("\n", "\r")), usage: 4 },
  { name: "open end", events: [...streamEvents.slice(0, -1), "data: [DONE]"], usage: 4 },
  {
    name: "comments, names, ids, odd spacing, long and multi-byte text",
    events: [
      ": PROCESSING\n\n",
      `event: message\nid: 1\nretry: 5\n${streamEvents[0]}`,
      event({ choices: [{ index: 0, delta: { content: "é 😀 ü".repeat(50) } }], x: 1 }),
      ":\n\n",
      streamEvents[3]!.replace("data: ", "data:").replace("}\n", "}  \n"),
      streamEvents[4]!,
      ": usage was above\n\n",
      "data: [DONE]\n\n",
    ],
    usage: 5,
  },
];

for (const { name, events, usage } of streams) {
  Deno.test(`a stream's bytes come back unaltered wherever they are cut (${name})`, async () => {
    const random = new Random(20_261_121);
    const text = events.join("");
    const bytes = new TextEncoder().encode(text);
    const hidden = events.filter((_, index) => index !== usage).join("");
    const cuts = [
      [...events].map((one) => new TextEncoder().encode(one)),
      [bytes],
      pieces(bytes, 1),
      ...Array.from({ length: 12 }, () => randomPieces(bytes, random)),
    ];
    await Promise.all(cuts.flatMap((chunks) =>
      [true, false].map(async (include) => {
        const { response } = await service().call((exchange) => exchange.stream(chunks), {
          stream: true,
          body: include ? { stream_options: { include_usage: true } } : {},
        });
        assert.equal(response.status, 200);
        assert.equal(await response.text(), include ? text : hidden);
        const row = await service().row(response.headers.get("x-transaction-id"));
        const { status, billing_basis, total_tokens, finish_reason } = row;
        assert.deepEqual({ status, billing_basis, total_tokens, finish_reason }, {
          status: "completed",
          billing_basis: "reported",
          total_tokens: 15,
          finish_reason: "stop",
        });
      })
    ));
  });
}

Deno.test("usage in the same event as words stays, for it is not ours to cut", async () => {
  const last = event({
    choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
    usage: wholeAnswer.usage,
  });
  const events = [...streamEvents.slice(0, 3), last, "data: [DONE]\n\n"];
  const { response } = await service().call((exchange) => exchange.stream(events), {
    stream: true,
  });
  assert.equal(await response.text(), events.join(""));
  const row = await service().row(response.headers.get("x-transaction-id"));
  assert.equal(row.total_tokens, 15);
});

Deno.test("each event is passed on as it comes, not gathered", async () => {
  const next = Promise.withResolvers<void>();
  const { response } = await service().call(async (exchange) => {
    await exchange.head(200, { "content-type": "text/event-stream" });
    await exchange.write(streamEvents[0]!);
    // The vendor goes on only after the caller has seen the first event.
    await next.promise;
    for (const one of streamEvents.slice(1)) await exchange.write(one);
    await exchange.end();
  }, { stream: true });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  assert.equal((await reader.read()).value, streamEvents[0]);
  next.resolve();
  let rest = "";
  for (let one = await reader.read(); !one.done; one = await reader.read()) rest += one.value;
  assert.ok(rest.endsWith("data: [DONE]\n\n"));
});

Deno.test("a vendor that answers a stream's request with a whole answer is passed on as it is", async () => {
  const { response } = await service().call((exchange) => exchange.answer(200, wholeAnswer), {
    stream: true,
  });
  assert.equal(response.headers.get("content-type"), "application/json");
  assert.deepEqual(await response.json(), wholeAnswer);
  assert.equal((await service().row(response.headers.get("x-transaction-id"))).total_tokens, 15);
});

Deno.test("large whole answers that nobody reads stay with their vendors, and all come once they are read", async () => {
  // More than the system holds for a reader.
  const content = "y".repeat(12 * 1024 * 1024);
  const text = JSON.stringify({
    ...wholeAnswer,
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
  });
  const answered: Response[] = [];
  const calls = Array.from({ length: 5 }, async () => {
    // For the cache they are read ahead of their callers.
    const headers = { "x-cache-ttl": "60" };
    const { response } = await service().call(
      (exchange) => exchange.answer(200, text),
      { headers },
    );
    answered.push(response);
    return response;
  });
  await Promise.race(calls);
  await pause(2_000);
  assert.ok(answered.length <= 2, `${answered.length} of 5 answers are in memory`);
  const lengths = calls.map(async (call) => (await (await call).arrayBuffer()).byteLength);
  assert.deepEqual(await Promise.all(lengths), calls.map(() => text.length));
  for (const { headers } of answered) {
    assert.equal(headers.get("content-length"), String(text.length));
    assert.equal((await service().row(headers.get("x-transaction-id"))).status, "completed");
  }
});

Deno.test("a large whole answer out of the cache has the headers of a whole one", async () => {
  const message = { role: "assistant", content: "y".repeat(400_000) };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  const headers = { "content-type": "application/json", "x-cache-ttl": "3600" };
  const first = await service().call(
    (exchange) => exchange.answer(200, JSON.stringify({ ...wholeAnswer, choices })),
    { headers },
  );
  const text = await first.response.text();
  const path = "/vendor-b/v1/chat/completions";
  const { body } = first.tries[0]!;
  const again = await service().fetch(path, { method: "POST", headers, body });
  assert.equal(await again.text(), text);
  assert.equal(again.headers.get("x-cache"), "HIT");
  assert.equal(again.headers.get("x-charged-usd"), "0.000000000");
});

function pieces(bytes: Uint8Array, size: number): Uint8Array[] {
  const found: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) found.push(bytes.subarray(at, at + size));
  return found;
}

function randomPieces(bytes: Uint8Array, random: Random): Uint8Array[] {
  const found: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    const size = 1 + Math.floor(random.next() ** 3 * 400);
    found.push(bytes.subarray(at, at + size));
    at += size;
  }
  return found;
}
