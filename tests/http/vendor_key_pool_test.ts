import assert from "@std/assert";
import { type FakeExchange, startFakeVendor } from "../support/fake_vendor.ts";
import { type Environment, startTestService } from "../support/service.ts";
import { scriptedModel, streamEvents, wholeAnswer } from "../support/service_scripted.ts";
import { untilAdmitted } from "../support/until_admitted.ts";

const keys = ["key-number-one", "key-number-two", "key-number-three"] as const;
type Key = typeof keys[number];
type Act = (exchange: FakeExchange) => unknown;

/** What the vendor does with each key; those that aren't there are answered. */
type Behaviour = Partial<Record<Key, Act>>;

/** A service with three keys of vendor-b, and the keys that the vendor saw. */
async function start(behaviour: Behaviour, env: Environment = {}) {
  const seen: Key[] = [];
  const vendor = await startFakeVendor((exchange) => {
    const { request } = exchange;
    if (request.method === "GET") return exchange.answer(200, { object: "list", data: [] });
    const key = request.headers.authorization!.slice("Bearer ".length) as Key;
    seen.push(key);
    const act = behaviour[key];
    if (act) return act(exchange);
    return request.body.includes('"stream":true')
      ? exchange.stream(streamEvents)
      : exchange.answer(200, wholeAnswer);
  });
  const service = await startTestService({
    database: "any",
    env: { VENDOR_B_BASE_URL: `${vendor.url}/v1`, VENDOR_B_API_KEY: keys.join(", "), ...env },
  });
  const stop = async () => {
    await service.stop();
    await vendor.close();
  };
  const call = async (stream = false, headers: Record<string, string> = {}) => {
    const body = {
      ...{ model: `vendor-b/${scriptedModel}`, stream },
      messages: [{ role: "user", content: "Hello" }],
    };
    const response = await untilAdmitted(() =>
      service.post("/chat/v1/chat/completions", body, headers)
    );
    return { response, text: await response.text() };
  };
  return { ...service, seen, call, [Symbol.asyncDispose]: stop };
}

async function restingKeys(service: { fetch: (path: string) => Promise<Response> }) {
  const metrics = await (await service.fetch("/metrics")).text();
  const paused = metrics.matchAll(/key_resting\{vendor="vendor-b",key="(#\d)"\} 1/g);
  return [...paused].map(([, key]) => key);
}

const limited: Act = (exchange) =>
  exchange.answer(429, { error: { message: "Slow down." } }, {
    // About the key that was used; the caller's next try has another one.
    ...{ "retry-after": "200", "x-should-retry": "false" },
  });
const refused: Act = (exchange) =>
  exchange.answer(401, { error: { message: "Incorrect API key: key-number-one" } });

Deno.test("three keys, one refused, one limited: no call fails", async () => {
  await using service = await start({ "key-number-one": refused, "key-number-two": limited });
  for (let index = 0; index < 30; index++) {
    const { response, text } = await service.call(index % 2 === 1);
    assert.equal(response.status, 200, text);
    // The first call met both, and was answered by the third key within the same call.
    assert.equal(response.headers.get("x-attempts"), index === 0 ? "3" : null);
    if (index > 0) continue;
    const row = await service.row(response.headers.get("x-transaction-id"));
    const attempts = row.attempts as { error_code: string | null; http_status: number }[];
    assert.deepEqual(attempts.map(({ http_status, error_code }) => [http_status, error_code]), [
      [401, "upstream_authentication_failed"],
      [429, "upstream_rate_limited"],
      [200, null],
    ]);
    assert.equal(row.charged_usd, row.cost_usd);
  }
  const [first, second, ...others] = service.seen;
  assert.deepEqual([first, second], ["key-number-one", "key-number-two"]);
  assert.deepEqual(
    new Set(others),
    new Set(["key-number-three"]),
    "paused ones are left alone",
  );
  const metrics = await (await service.fetch("/metrics")).text();
  assert.match(metrics, /gateway_vendor_key_resting\{vendor="vendor-b",key="#1"\} 1/);
  assert.match(metrics, /gateway_vendor_key_resting\{vendor="vendor-b",key="#2"\} 1/);
  assert.match(metrics, /gateway_vendor_key_resting\{vendor="vendor-b",key="#3"\} 0/);
  const log = service.log.join("\n");
  assert.match(log, /a vendor key is paused.*#1.*refused/);
  assert.doesNotMatch(log + metrics, /key-number/);
});

Deno.test("calls at the same time never fail either, and each is charged once", async () => {
  await using service = await start({ "key-number-one": refused, "key-number-two": limited }, {
    STARTING_CREDIT_USD: "1000",
  });
  const answers = await Promise.all(Array.from({ length: 60 }, () => service.call()));
  for (const { response, text } of answers) assert.equal(response.status, 200, text);
  const rows = await service.rows();
  assert.equal(rows.length, 60);
  for (const row of rows) {
    assert.equal(row.status, "completed");
    assert.ok(((row.attempts as unknown[] | null) ?? []).length <= 3);
  }
});

Deno.test("a limited key is used again once its time is over", async () => {
  const usedMs: number[] = [];
  await using service = await start({
    "key-number-two": (exchange) =>
      usedMs.push(performance.now()) > 1
        ? exchange.answer(200, wholeAnswer)
        : exchange.answer(429, { error: { message: "Slow." } }, { "retry-after": "1" }),
  });
  // Other keys answer until the second has been paused for its second, however long a call takes.
  while (usedMs.length < 2) await service.call();
  const [limitedMs, againMs] = usedMs as [number, number];
  assert.ok(againMs - limitedMs >= 1_000, `again after ${againMs - limitedMs} ms`);
});

Deno.test("an error about the key under a good status pauses the key, and the next is asked", async () => {
  const error = JSON.stringify({ error: { message: "Slow down.", code: 429 } });
  for (const stream of [false, true]) {
    await using service = await start({
      "key-number-one": (exchange) =>
        stream ? exchange.stream([`data: ${error}\n\n`]) : exchange.answer(200, JSON.parse(error)),
    });
    for (let index = 0; index < 6; index++) {
      const { response, text } = await service.call(stream);
      assert.equal(response.status, 200, text);
      assert.doesNotMatch(text, /Slow down/);
      assert.equal(response.headers.get("x-attempts"), index === 0 ? "2" : null);
      if (index > 0) continue;
      const row = await service.row(response.headers.get("x-transaction-id"));
      assert.equal(row.status, "completed");
      assert.equal(row.charged_usd, row.cost_usd);
      const attempts = row.attempts as { error_code: string | null }[];
      assert.deepEqual(attempts.map(({ error_code }) => error_code), [
        ...["upstream_rate_limited", null],
      ]);
    }
    assert.equal(service.seen.filter((key) => key === "key-number-one").length, 1);
  }
});

Deno.test("after another key was asked, a cut answer fails as the response that it began as", async () => {
  const begun = (id: string) =>
    `data: ${
      JSON.stringify({ type: "response.created", response: { id, object: "response" } })
    }\n\n`;
  const delta = { type: "response.output_text.delta", item_id: "m", output_index: 0, delta: "Hi" };
  await using service = await start({
    "key-number-one": (exchange) =>
      exchange.stream([begun("resp_1"), `data: {"type":"error","code":"insufficient_quota"}\n\n`]),
    "key-number-two": (exchange) =>
      exchange.stream([begun("resp_2"), `data: ${JSON.stringify(delta)}\n\n`]),
  });
  const model = `vendor-b/${scriptedModel}`;
  const body = { model, input: "Hello", stream: true };
  const response = await service.post("/chat/v1/responses", body, {
    "x-fallback-models": "vendor-b/gpt-5-mini",
  });
  const text = await response.text();
  assert.deepEqual([service.seen, response.headers.get("x-attempts")], [keys.slice(0, 2), "2"]);
  assert.match(
    text,
    /event: response.failed\ndata: {"type":"response.failed","response":{"id":"resp_2"/,
  );
});

Deno.test("of several pictures asked for at once, the key of the failed answer is paused", async () => {
  const isAskedAgain = Promise.withResolvers<void>();
  let others = 0;
  const broken: Act = async (exchange) => {
    // Four are asked for at once, the fifth once the limited one has failed.
    if (++others === 4) isAskedAgain.resolve();
    await isAskedAgain.promise;
    exchange.answer(200, { error: { message: "Out of order.", code: 500 } });
  };
  let isLimited = false;
  await using service = await start({
    "key-number-one": (exchange) => {
      if (isLimited) return broken(exchange);
      isLimited = true;
      return exchange.answer(200, { error: { message: "Slow down.", code: 429 } });
    },
    ...{ "key-number-two": broken, "key-number-three": broken },
  });
  const response = await service.post("/imagen/v1/generate", {
    ...{ provider: "vendor-b", model: "dall-e-3", prompt: "Five boats", n: 5 },
  });
  await response.text();
  assert.deepEqual(await restingKeys(service), ["#1"]);
});

Deno.test("where other pictures of the call came, the key of the failed answer is paused too", async () => {
  const drawn: Act = (exchange) => exchange.answer(200, { data: [{ b64_json: "AAAA" }] });
  await using service = await start({
    "key-number-one": (exchange) =>
      exchange.answer(200, { error: { message: "Slow down.", code: 429 } }),
    ...{ "key-number-two": drawn, "key-number-three": drawn },
  });
  const response = await service.post("/imagen/v1/generate", {
    ...{ provider: "vendor-b", model: "dall-e-3", prompt: "Three boats", n: 3 },
  });
  assert.equal(response.status, 200, await response.text());
  assert.deepEqual(await restingKeys(service), ["#1"]);
});

Deno.test("what a vendor reported before its error is not charged a second time", async () => {
  const usage = { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 };
  const act: Act = (exchange) =>
    exchange.answer(200, { usage, error: { message: "Slow down.", code: 429 } });
  await using service = await start({ "key-number-one": act });
  const { response } = await service.call();
  assert.equal(response.status, 429);
  const row = await service.row(response.headers.get("x-transaction-id"));
  assert.deepEqual([row.status, row.input_tokens], ["failed", 9]);
  // The key is paused all the same.
  assert.equal((await service.call()).response.status, 200);
  await service.call();
  await service.call();
  assert.equal(service.seen.filter((key) => key === "key-number-one").length, 1);
});

Deno.test("where every key is refused the caller gets that, after one request with each", async () => {
  const [one, two, three] = keys;
  await using service = await start({ [one]: refused, [two]: refused, [three]: refused });
  const { response, text } = await service.call();
  assert.equal(response.status, 502);
  assert.match(text, /upstream_authentication_failed/);
  assert.doesNotMatch(text, /key-number/);
  assert.deepEqual(service.seen, [...keys]);
  // All are paused: the one that resumes first is used, and no other.
  await service.call();
  assert.deepEqual(service.seen.slice(3), [one]);
});

Deno.test("where one key is refused and another limited, the caller is told when to ask again", async () => {
  const [one, two] = keys;
  for (const [first, second] of [[limited, refused], [refused, limited]]) {
    await using service = await start({ [one]: first!, [two]: second! }, {
      VENDOR_B_API_KEY: `${one},${two}`,
    });
    const { response, text } = await service.call();
    assert.deepEqual(service.seen, [one, two]);
    assert.match(text, /upstream_rate_limited/);
    assert.equal(response.status, 429);
    assert.equal(response.headers.get("x-should-retry"), null);
    const seconds = Number(response.headers.get("retry-after"));
    assert.ok(seconds > 0 && seconds <= 200, `${seconds} s`);
    const row = await service.row(response.headers.get("x-transaction-id"));
    const attempts = row.attempts as { error_code: string | null }[];
    assert.deepEqual(attempts.map(({ error_code }) => error_code).sort(), [
      ...["upstream_authentication_failed", "upstream_rate_limited"],
    ]);
    const log = service.log.filter((line) => line.includes("own vendor key does not work"));
    assert.equal(log.length, first === limited ? 1 : 0);
  }
});

Deno.test("what is not about the key is not tried with another one", async () => {
  const region: Act = (exchange) =>
    exchange.answer(403, { error: { message: "Your region is not supported" } });
  const wrong: Act = (exchange) => exchange.answer(400, { error: { message: "Bad request" } });
  for (const act of [region, wrong]) {
    const [one, two, three] = keys;
    await using service = await start({ [one]: act, [two]: act, [three]: act });
    const { response, text } = await service.call();
    assert.ok([400, 403].includes(response.status), text);
    assert.match(text, /region is not supported|Bad request/, "the vendor's words are passed on");
    assert.deepEqual(service.seen, [one]);
  }
});

Deno.test("a caller's own key is used alone, whatever becomes of it", async () => {
  await using service = await start({});
  const { response } = await service.call(false, {
    authorization: `Bearer ${service.key};key-of-the-caller`,
  });
  assert.equal(response.status, 200);
  assert.deepEqual(service.seen as string[], ["key-of-the-caller"]);
});

Deno.test("an only key is never paused", async () => {
  let isRefused = true;
  await using service = await start({
    "key-number-one": (exchange) =>
      isRefused ? refused(exchange) : exchange.answer(200, wholeAnswer),
  }, { VENDOR_B_API_KEY: "key-number-one" });
  assert.equal((await service.call()).response.status, 502);
  isRefused = false;
  assert.equal((await service.call()).response.status, 200);
  assert.doesNotMatch(await (await service.fetch("/metrics")).text(), /key_resting\{/);
});
