import assert from "@std/assert";
import type { FakeExchange } from "../support/fake_vendor.ts";
import { shared } from "../support/service.ts";
import { untilAdmitted } from "../support/until_admitted.ts";
import { scriptedLabel, startScriptedVendors } from "./scripted_vendors.ts";
import { spokenText, vendorWords } from "./vendor_words.ts";

const chat = scriptedLabel("chat");
const messages = scriptedLabel("messages");
const names = Array.from({ length: 80 }, (_, index) => `m${index}`);

let taken = 0;

/** Models that no other test has used: one that fails often is passed over. */
function fresh(count: number): string[] {
  taken += count;
  assert.ok(taken <= names.length);
  return names.slice(taken - count, taken);
}

/** Models of the chat and the messages vendor, at the same price but for the dear one. */
async function start(env: Record<string, string> = {}) {
  const path = await Deno.makeTempFile({ suffix: ".json" });
  const price = { input: "2", output: "8" };
  const rows = [chat, messages].flatMap((label) =>
    names.map((name) => [`${label}/${name}`, price] as const)
  );
  const dear = { input: "200", output: "8000" };
  await Deno.writeTextFile(
    path,
    JSON.stringify(Object.fromEntries([...rows, [`${chat}/dear`, dear]])),
  );
  const started = await startScriptedVendors({ PRICES_FILE: path, ...env });
  const stop = async () => {
    await started.stop();
    await Deno.remove(path);
  };
  return { ...started, stop, [Symbol.asyncDispose]: stop };
}

const service = shared(() => start());

type Service = Awaited<ReturnType<typeof start>>;
type Act = (exchange: FakeExchange, model: string) => unknown;

interface Asked {
  response: Response;
  text: string;
  /** Models that were asked, in order, with what was sent. */
  asked: { model: string; body: Record<string, unknown> }[];
}

const answered: Act = (exchange) => exchange.answer(200, vendorWords[dialectOf(exchange)].whole);
const busy: Act = (exchange) => exchange.answer(503, { error: { message: "Busy." } });

function dialectOf({ request: { path } }: FakeExchange): "chat" | "messages" {
  return path.startsWith("/messages") ? "messages" : "chat";
}

/** A chat call; `models` say what each of them does. */
async function ask(
  at: Pick<Service, "script" | "post">,
  options: {
    model: string;
    acts: Readonly<Record<string, Act>>;
    headers?: Record<string, string>;
    body?: Record<string, unknown>;
    path?: string;
  },
): Promise<Asked> {
  const asked: Asked["asked"] = [];
  const word = at.script((exchange) => {
    const body = JSON.parse(exchange.request.body) as Record<string, unknown>;
    const model = String(body.model);
    asked.push({ model, body });
    return (options.acts[model] ?? answered)(exchange, model);
  });
  const body = {
    model: options.model,
    max_tokens: 100,
    messages: [{ role: "user", content: word }],
    ...options.body,
  };
  const path = options.path ?? "/chat/v1/chat/completions";
  const response = await untilAdmitted(() => at.post(path, body, options.headers));
  return { response, text: await response.text(), asked };
}

const modelsOf = ({ asked }: Asked) => asked.map(({ model }) => model);

Deno.test("fallbacks of the header go before those of the body; neither reaches a vendor", async () => {
  const [a, b, c, d] = fresh(4) as [string, string, string, string];
  const models = [`${chat}/${c}`, `${chat}/${d}`];
  const called = await ask(service(), {
    model: `${chat}/${a}`,
    acts: { [a]: busy, [b]: busy, [c]: busy },
    headers: { "X-Fallback-Models": ` ${messages}/${b} , ${chat}/${c},${messages}/${b} ` },
    body: { models, x_own: [1] },
  });
  assert.equal(called.response.status, 200, called.text);
  assert.deepEqual(modelsOf(called), [a, b, c, d]);
  for (const { body } of called.asked) assert.ok(!("models" in body), JSON.stringify(body));
  assert.deepEqual(called.asked.map(({ body }) => body.x_own), [[1], undefined, [1], [1]]);
  assert.equal(called.response.headers.get("x-model"), `${chat}/${d}`);
  assert.equal(called.response.headers.get("x-attempts"), "4");
  const row = await service().row(called.response.headers.get("x-transaction-id"));
  assert.deepEqual((row.request as Record<string, unknown>).models, models);
  assert.deepEqual((row.attempts as unknown[]).length, 4);
});

Deno.test("on a vendor's own path `models` is its own field, and goes on as it was", async () => {
  const [a, b] = fresh(2) as [string, string];
  const models = ["one/two", { any: "thing" }];
  const called = await ask(service(), {
    path: `/${chat}/v1/chat/completions`,
    model: a,
    acts: { [a]: busy },
    body: { models },
    headers: {
      "X-Fallback-Models": `${chat}/${b}`,
      // With the service's own key each of them would need a price.
      authorization: `Bearer ${service().key};own-vendor-key`,
    },
  });
  assert.equal(called.response.status, 503, called.text);
  assert.deepEqual(new Set(modelsOf(called)), new Set([a]));
  assert.deepEqual(called.asked[0]!.body.models, models);
});

/** What is sent, what the message begins with, and the status. */
interface WrongNames {
  header?: string;
  models?: unknown;
  message: string;
  status: number;
}

const eleven = Array.from({ length: 11 }, () => `${chat}/m1`);
const wrongNames: Readonly<Record<string, WrongNames>> = {
  "a header's unknown model": {
    ...{
      header: "no-such-thing",
      message: "X-Fallback-Models: unknown model 'no-such-thing'",
      status: 404,
    },
  },
  "a body's unknown model": {
    ...{
      models: [`${chat}/m1`, "no-such"],
      message: "models[1]: unknown model 'no-such'",
      status: 404,
    },
  },
  "a text in place of a list": {
    ...{ models: `${chat}/m1`, message: "models: expected an array", status: 400 },
  },
  "a number among the names": {
    ...{ models: [`${chat}/m1`, 4], message: "models[1]: expected the name", status: 400 },
  },
  "a list of eleven names": { models: eleven, message: "models: at most 10", status: 400 },
  "a header of eleven names": {
    ...{ header: eleven.join(), message: "X-Fallback-Models: at most 10", status: 400 },
  },
};

for (const [what, { header, models, message, status }] of Object.entries(wrongNames)) {
  Deno.test(`${what} is a clear error, and no vendor is asked`, async () => {
    const called = await ask(service(), {
      model: `${chat}/m0`,
      acts: {},
      ...(header === undefined ? {} : { headers: { "X-Fallback-Models": header } }),
      ...(models === undefined ? {} : { body: { models } }),
    });
    assert.equal(called.response.status, status, called.text);
    assert.ok(called.text.includes(message), called.text);
    assert.deepEqual(called.asked, []);
  });
}

Deno.test("at most five vendor requests a call, and none of a target twice while another is left", async () => {
  const all = Object.fromEntries(names.map((name) => [name, busy]));
  const many = fresh(11);
  const [first, ...others] = many.map((name) => `${chat}/${name}`);
  const called = await ask(service(), { model: first!, acts: all, body: { models: others } });
  assert.equal(called.response.status, 503, "the last failure");
  assert.deepEqual(modelsOf(called), many.slice(0, 5));
  const [a, b, c] = fresh(3) as [string, string, string];
  const two = await ask(service(), {
    ...{ model: `${chat}/${a}`, acts: all, body: { models: [`${chat}/${b}`] } },
  });
  const [asFirst, ...rest] = modelsOf(two);
  assert.equal(asFirst, a);
  assert.ok(rest.length <= 4 && rest.every((model) => model === b), rest.join());
  const alone = await ask(service(), { acts: all, model: `${chat}/${c}` });
  assert.ok(alone.asked.length >= 2 && alone.asked.length <= 5, "an only target is retried");
});

Deno.test("the losses are those of the target that answered", async () => {
  const [a, b, c, d] = fresh(4) as [string, string, string, string];
  const called = await ask(service(), {
    model: `${chat}/${a}`,
    acts: { [a]: busy },
    body: { models: [`${messages}/${b}`], seed: 7 },
  });
  assert.equal(called.response.status, 200, called.text);
  assert.match(called.response.headers.get("x-translation-loss")!, /seed/);
  const carried = await ask(service(), {
    model: `${messages}/${c}`,
    acts: { [c]: busy },
    body: { models: [`${chat}/${d}`], seed: 7 },
  });
  assert.equal(carried.response.headers.get("x-model"), `${chat}/${d}`);
  assert.equal(carried.response.headers.get("x-translation-loss"), null);
});

Deno.test("a target that strict mode refuses is skipped, as first one or as fallback", async () => {
  const [a, b, c] = fresh(3) as [string, string, string];
  const headers = { "X-Translation-Mode": "strict" };
  const asFirst = await ask(service(), {
    ...{ model: `${messages}/${a}`, acts: {}, headers },
    body: { models: [`${chat}/${b}`], seed: 7 },
  });
  assert.equal(asFirst.response.status, 200, asFirst.text);
  assert.deepEqual(modelsOf(asFirst), [b]);
  const asFallback = await ask(service(), {
    ...{ model: `${chat}/${c}`, acts: { [c]: busy }, headers },
    body: { models: [`${messages}/${a}`, `${chat}/${b}`], seed: 7 },
  });
  assert.deepEqual(modelsOf(asFallback), [c, b]);
});

Deno.test("targets that the key may not call are skipped", async () => {
  const [a, b, c] = fresh(3) as [string, string, string];
  const { key } = await service().createKey("--models", `${chat}/${a}`, "--models", `${chat}/${c}`);
  const called = await ask(service(), {
    model: `${chat}/${a}`,
    acts: { [a]: busy },
    headers: { authorization: `Bearer ${key}` },
    body: { models: [`${chat}/${b}`, `${chat}/${c}`] },
  });
  assert.deepEqual(modelsOf(called), [a, c]);
});

Deno.test("a call with a vendor key reaches only that vendor", async () => {
  const [a, b, c] = fresh(3) as [string, string, string];
  const called = await ask(service(), {
    model: `${chat}/${a}`,
    acts: { [a]: busy },
    headers: { authorization: `Bearer ${service().key};own-vendor-key` },
    body: { models: [`${messages}/${b}`, `${chat}/${c}`] },
  });
  assert.deepEqual(modelsOf(called), [a, c]);
  const row = await service().row(called.response.headers.get("x-transaction-id"));
  assert.deepEqual([row.mode, row.charged_usd], ["dual_key", "0.000000000"]);
});

Deno.test("a target that fails five times in a row is passed over while another one is left", async () => {
  const [a, b] = fresh(2) as [string, string];
  const failing = () =>
    ask(service(), {
      ...{ model: `${chat}/${a}`, acts: { [a]: busy }, body: { models: [`${chat}/${b}`] } },
    });
  for (let index = 0; index < 5; index++) {
    assert.deepEqual(modelsOf(await failing()), [a, b]);
  }
  const passed = await failing();
  assert.deepEqual(modelsOf(passed), [b]);
  assert.equal(passed.response.headers.get("x-attempts"), null);
  const row = await service().row(passed.response.headers.get("x-transaction-id"));
  assert.deepEqual([row.model, row.requested_model], [b, `${chat}/${a}`]);
  const metrics = await (await service().fetch("/metrics")).text();
  assert.match(metrics, new RegExp(`gateway_target_cooling\\{vendor="${chat}",model="${a}"\\} 1`));
  assert.match(metrics, new RegExp(`gateway_fallbacks_total\\{vendor="${chat}"\\} [1-9]`));
  const health = await (await service().fetch(`/${chat}/health`)).json();
  assert.notEqual(health.status, "ok");
  // Alone it is asked all the same.
  const alone = await ask(service(), { model: `${chat}/${a}`, acts: {} });
  assert.deepEqual(modelsOf(alone), [a]);
  assert.deepEqual(modelsOf(await failing()), [a, b], "an answer ends it");
});

Deno.test("no connection, and no answer in time, go on to the next target", async () => {
  await using own = await start({
    FIRST_BYTE_TIMEOUT_MS: "1500",
    // Nobody listens there, and no other test may.
    VENDOR_B_BASE_URL: "http://127.0.0.1:1/v1",
    VENDOR_B_API_KEY: "a-key-of-vendor-b",
  });
  const body = { models: [`${messages}/m1`] };
  const unreachable = await ask(own, { model: "vendor-b/gpt-4.1", acts: {}, body });
  assert.equal(unreachable.response.headers.get("x-model"), `${messages}/m1`, unreachable.text);
  const row = await own.row(unreachable.response.headers.get("x-transaction-id"));
  const [failed] = row.attempts as Record<string, unknown>[];
  assert.deepEqual([failed!.http_status, failed!.error_code], [null, "upstream_unreachable"]);
  const silent = await ask(own, { model: `${chat}/m0`, acts: { m0: () => {} }, body });
  assert.equal(silent.response.headers.get("x-model"), `${messages}/m1`, silent.text);
});

Deno.test("200 calls at once with a dear fallback and little credit never over-spend", async () => {
  await using own = await start({ STARTING_CREDIT_USD: "9" });
  // Each may cost more than 0.8 USD at the fallback: about ten fit at once.
  const calls = await Promise.all(Array.from({ length: 200 }, (_, index) => {
    const model = `m${index % names.length}`;
    const body = { models: [`${chat}/dear`] };
    return ask(own, { model: `${chat}/${model}`, acts: { [model]: busy }, body });
  }));
  const statuses = Map.groupBy(calls, ({ response }) => response.status);
  assert.deepEqual(new Set(statuses.keys()), new Set([200, 402]));
  for (const { asked } of statuses.get(402)!) assert.deepEqual(asked, []);
  const rows = await own.rows();
  assert.equal(rows.length, statuses.get(200)!.length);
  for (const row of rows) assert.equal(row.model, "dear");
  const charged = rows.reduce((sum, row) => sum + nanosOf(row.charged_usd), 0n);
  assert.ok(charged <= 9_000_000_000n);
  const shown = await own.admin("credits", "show");
  const { balance_usd, reserved_usd } = shown.json as Record<string, string>;
  assert.equal(9_000_000_000n - nanosOf(balance_usd), charged);
  assert.equal(nanosOf(reserved_usd), 0n);
});

const smart = {
  targets: [{ model: `${chat}/m0`, weight: 3 }, { model: `${messages}/m1`, weight: 1 }],
  fallbacks: [`${chat}/m2`],
  stick_by: "session",
};

/** The model that each of 40 sessions is answered by. */
async function sessionModels(at: Service): Promise<(string | null)[]> {
  const sessions = Array.from({ length: 40 }, (_, index) => `session-${index}`);
  return await Promise.all(sessions.map(async (session) => {
    const { response, text } = await ask(at, {
      ...{ model: "smart", acts: {}, headers: { "X-Session-ID": session } },
    });
    assert.equal(response.status, 200, text);
    return response.headers.get("x-model");
  }));
}

Deno.test("a session has the same target in two processes, after a restart and from call to call", async () => {
  const path = await Deno.makeTempFile({ suffix: ".json" });
  await Deno.writeTextFile(path, JSON.stringify({ smart }));
  const env = { MODELS_FILE: path };
  await using other = await start(env);
  let models: (string | null)[];
  {
    await using first = await start(env);
    models = await sessionModels(first);
    assert.deepEqual(await sessionModels(first), models);
    assert.deepEqual(await sessionModels(other), models);
  }
  await using again = await start(env);
  assert.deepEqual(await sessionModels(again), models);
  assert.deepEqual(new Set(models), new Set([`${chat}/m0`, `${messages}/m1`]));
  // The target of a session fails: the other one answers, then the fallback, and it comes back.
  const headers = { "X-Session-ID": `session-${models.indexOf(`${chat}/m0`)}` };
  const byOther = await ask(again, { model: "smart", acts: { m0: busy }, headers });
  assert.deepEqual(modelsOf(byOther), ["m0", "m1"]);
  const byFallback = await ask(again, { model: "smart", acts: { m0: busy, m1: busy }, headers });
  assert.deepEqual(modelsOf(byFallback), ["m0", "m1", "m2"]);
  const row = await again.row(byFallback.response.headers.get("x-transaction-id"));
  assert.deepEqual([row.requested_model, row.vendor, row.model], ["smart", chat, "m2"]);
  assert.deepEqual(modelsOf(await ask(again, { model: "smart", acts: {}, headers })), ["m0"]);
  const virtual = await ask(again, {
    ...{ model: `${chat}/m3`, acts: {}, body: { models: ["smart"] } },
  });
  assert.equal(virtual.response.status, 400);
  assert.match(virtual.text, /models\[0\]: 'smart' is a virtual model/);
  await Deno.remove(path);
});

Deno.test("a background call has its fallbacks too", async () => {
  const [a, b] = fresh(2) as [string, string];
  const input = service().script((exchange) => {
    const { model } = JSON.parse(exchange.request.body);
    const { begin, end } = vendorWords.messages;
    return model === a ? busy(exchange, model) : exchange.stream([...begin, ...end]);
  });
  const queued = await service().post("/chat/v1/responses", {
    ...{ model: `${messages}/${a}`, input, background: true, max_output_tokens: 100 },
  }, { "X-Fallback-Models": `${messages}/${b}` });
  const { id } = await queued.json();
  const transaction = queued.headers.get("x-transaction-id");
  for (let time = 0; time < 1_200; time++) {
    const now = await (await service().fetch(`/chat/v1/responses/${id}`)).json();
    if (now.status === "completed") break;
    assert.ok(["queued", "in_progress"].includes(now.status), JSON.stringify(now));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const row = await service().row(transaction);
  const attempts = row.attempts as Record<string, unknown>[];
  assert.deepEqual([row.status, row.model], ["completed", b]);
  assert.deepEqual(attempts.map(({ model }) => model), [a, b]);
});

Deno.test("a token count goes on to the next target too", async () => {
  const [a, b] = fresh(2) as [string, string];
  const word = service().script((exchange) =>
    exchange.request.body.includes(`"${a}"`)
      ? exchange.answer(529, { error: { message: "Busy." } })
      : exchange.answer(200, { input_tokens: 42 })
  );
  const counted = await service().post("/chat/v1/messages/count_tokens", {
    model: `${messages}/${a}`,
    messages: [{ role: "user", content: word }],
  }, { "X-Fallback-Models": `${messages}/${b}` });
  assert.deepEqual(await counted.json(), { input_tokens: 42 });
  assert.equal(counted.headers.get("x-model"), `${messages}/${b}`);
});

Deno.test("a count that all targets refuse doesn't say whether a retry helps, that of one does", async () => {
  const [a, b] = fresh(2).map((model) => `${messages}/${model}`);
  const word = service().script((exchange) =>
    exchange.answer(429, { error: { message: "Slow down." } }, { "x-should-retry": "false" })
  );
  const advice = await Promise.all([{}, { "X-Fallback-Models": b! }].map(async (headers) => {
    const body = { model: a, messages: [{ role: "user", content: word }] };
    const counted = await service().post("/chat/v1/messages/count_tokens", body, headers);
    assert.equal((await counted.json()).error.code, "upstream_rate_limited");
    return counted.headers.get("x-should-retry");
  }));
  assert.deepEqual(advice, ["false", null]);
});

Deno.test("an error under status 200 in place of a token count is the vendor's error", async () => {
  const [model] = fresh(1) as [string];
  const message = "prompt is too long: 9 tokens";
  const word = service().script((exchange) =>
    exchange.answer(200, { type: "error", error: { type: "invalid_request_error", message } })
  );
  const counted = await service().post("/chat/v1/messages/count_tokens", {
    model: `${messages}/${model}`,
    messages: [{ role: "user", content: word }],
  });
  const { error } = await counted.json();
  assert.deepEqual([counted.status, error.code, error.message], [
    ...[400, "context_length_exceeded", message],
  ]);
});

Deno.test("a token count passes over a target without a vendor key, as a call does", async () => {
  const [a] = fresh(1) as [string];
  const word = service().script((exchange) =>
    exchange.request.path.endsWith("/count_tokens")
      ? exchange.answer(200, { input_tokens: 42 })
      : answered(exchange, a)
  );
  const body = {
    ...{ model: "anthropic/claude-haiku-4-5", max_tokens: 100 },
    messages: [{ role: "user", content: word }],
  };
  const fallbacks = { "X-Fallback-Models": `${messages}/${a}` };
  for (const path of ["/chat/v1/messages", "/chat/v1/messages/count_tokens"]) {
    const response = await service().post(path, body, fallbacks);
    const text = await response.text();
    assert.equal(response.status, 200, `${path}: ${text}`);
    assert.equal(response.headers.get("x-model"), `${messages}/${a}`);
    const alone = await service().post(path, body);
    assert.equal((await alone.json()).error.code, "vendor_not_configured", path);
  }
});

Deno.test("embeddings go on to the next target too; a vendor without them is skipped", async () => {
  const [a, b] = fresh(2) as [string, string];
  const answer = {
    object: "list",
    model: b,
    data: [{ object: "embedding", index: 0, embedding: [0.5] }],
    usage: { prompt_tokens: 3, total_tokens: 3 },
  };
  const asked: string[] = [];
  const input = service().script((exchange) => {
    const { model } = JSON.parse(exchange.request.body);
    asked.push(model);
    return model === a ? busy(exchange, model) : exchange.answer(200, answer);
  });
  const embedded = await service().post("/chat/v1/embeddings", { model: `${chat}/${a}`, input }, {
    "X-Fallback-Models": `${messages}/m9, ${chat}/${b}`,
  });
  assert.equal(embedded.status, 200, await embedded.clone().text());
  await embedded.body?.cancel();
  assert.deepEqual(asked, [a, b]);
  assert.equal(embedded.headers.get("x-model"), `${chat}/${b}`);
  assert.equal(embedded.headers.get("x-attempts"), "2");
  const row = await service().row(embedded.headers.get("x-transaction-id"));
  const attempts = row.attempts as Record<string, unknown>[];
  assert.deepEqual([row.model, ...attempts.map(({ model }) => model)], [b, a, b]);
});

Deno.test("a plain call names who answered, and nothing else", async () => {
  const [a] = fresh(1) as [string];
  const { response, text } = await ask(service(), { model: `${chat}/${a}`, acts: {} });
  assert.ok(text.includes(spokenText));
  assert.equal(response.headers.get("x-model"), `${chat}/${a}`);
  assert.equal(response.headers.get("x-attempts"), null);
  const row = await service().row(response.headers.get("x-transaction-id"));
  assert.equal(row.attempts, null);
});

function nanosOf(usd: unknown): bigint {
  const [whole = "0", fraction = ""] = String(usd).split(".");
  return BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, "0").slice(0, 9));
}
