import assert from "@std/assert";
import { type ErrorFields, play, testScenarios } from "../support/scenarios.ts";
import { shared, startSimulatedService } from "../support/service.ts";

const service = shared(() => startSimulatedService());

const hello = [{ role: "user", content: "hello" }];
const permission = { type: "permission_error", code: "permission_denied" };

/** A scope, what it opens, and its paths. */
const scopes: readonly {
  scope: string;
  open: readonly string[];
}[] = [
  { scope: "status", open: ["GET /api/v1/status"] },
  { scope: "exports", open: ["POST /api/v1/exports"] },
  { scope: "cohort", open: ["POST /api/v1/cohort/outcome", "GET /api/v1/cohort/c"] },
  { scope: "images", open: ["POST /imagen/v1/generate"] },
  { scope: "speech", open: ["POST /tts/v1/generate"] },
  { scope: "evals", open: ["POST /api/v1/evals", "GET /api/v1/evals"] },
  {
    scope: "chat",
    open: ["GET /chat/v1/models", "GET /chat/v1/health", "POST /chat/v1/chat/completions"],
  },
  { scope: "vendor-a", open: ["GET /huggingface/v1/models", "POST /vendor-a/v1/chat/completions"] },
  {
    scope: "vendor-b",
    open: ["GET /vendor-b/v1/models", "GET /openai/health", "POST /openai/v1/chat/completions"],
  },
  { scope: "vendor-c", open: ["GET /anthropic/v1/models", "GET /vendor-c/health"] },
  { scope: "vendor-d", open: ["GET /vendor-d/v1beta/models", "GET /google/health"] },
  { scope: "vendor-e", open: ["GET /gemini/v1/models", "GET /vendor-e/vendor-e/health"] },
  { scope: "vendor-f", open: ["POST /openrouter/v1/chat/completions", "GET /vendor-f/health"] },
  { scope: "vendor-g", open: ["GET /vendor-g/v1/models", "POST /xai/v1/chat/completions"] },
];

for (const { scope, open } of scopes) {
  Deno.test(`the scope '${scope}' opens its own endpoints and no others`, async () => {
    const { key } = await service().createKey("--scope", scope);
    for (const endpoint of scopes.flatMap((one) => one.open)) {
      const [method = "", path = ""] = endpoint.split(" ");
      // An empty body: a caller without permission is refused before the body is read.
      const body = method === "POST" ? { body: "" } : {};
      const mine = open.includes(endpoint);
      const wanted = mine
        ? method === "POST" ? { status: 400, error: dialectOf(path, invalidJson) } : { status: 200 }
        : { status: 403, error: dialectOf(path, permission) };
      await play(service(), { name: endpoint, method, path, key, ...body, ...wanted })
        .catch((thrown) => {
          throw new Error(`${endpoint}: ${thrown instanceof Error ? thrown.message : thrown}`);
        });
    }
  });
}

Deno.test("several scopes open what each of them opens", async () => {
  const { key } = await service().createKey("--scope", "status", "--scope", "vendor-b");
  const at = { ...service(), key };
  for (const path of ["/api/v1/status", "/vendor-b/v1/models"]) {
    await play(at, { name: path, path, status: 200 });
  }
  await play(at, {
    name: "another family",
    path: "/vendor-g/v1/models",
    status: 403,
    error: { ...permission, message: /does not have the scope 'vendor-g'/ },
  });
});

Deno.test("an unknown path is 404 for whoever has a key, whatever its scopes", async () => {
  const { key } = await service().createKey("--scope", "status");
  await play(service(), {
    name: "unknown",
    path: "/no/such/path",
    key,
    status: 404,
    error: { type: "not_found_error", code: "endpoint_not_found", dialect: "service" },
  });
});

Deno.test("a key with --models calls these models, by label or alias, and is 403 for others", async () => {
  const models = ["--models", "vendor-b/gpt-4.1", "xai/grok-4.3"];
  const at = { ...service(), ...await service().createKey(...models) };
  const call = (path: string, model: string) => ({
    name: `${path} ${model}`,
    path: `${path}/chat/completions`,
    body: { model, messages: hello },
  });
  for (
    const [path, model] of [
      ["/chat/v1", "vendor-b/gpt-4.1"],
      ["/chat/v1", "openai/gpt-4.1"],
      ["/openai/v1", "gpt-4.1"],
      ["/vendor-g/v1", "grok-4.3"],
    ] as const
  ) await play(at, { ...call(path, model), status: 200 });
  const called = service().simulators.requests("vendor-b").length;
  for (
    const [path, model] of [
      ["/chat/v1", "vendor-b/gpt-4o-mini"],
      ["/chat/v1", "vendor-f/openai/gpt-4.1"],
      ["/vendor-b/v1", "gpt-4.1-mini"],
      ["/vendor-g/v1", "grok-4.7"],
    ] as const
  ) {
    await play(at, {
      ...call(path, model),
      status: 403,
      error: { ...permission, param: "model", message: /^model: this API key may not call '/ },
      answerHeaders: { "x-transaction-id": null },
    });
  }
  assert.equal(service().simulators.requests("vendor-b").length, called, "no vendor was called");
});

Deno.test("a key with --models is 403 where a request names other models beside its own", async () => {
  const listed = [
    "anthropic/claude-haiku-4-5",
    "openai/gpt-5-mini",
    "openrouter/openai/gpt-5-mini",
  ];
  const { key } = await service().createKey(...listed.flatMap((name) => ["--models", name]));
  const advisor = (model: string) => [{ type: "advisor_20260301", name: "advisor", model }];
  const [haiku, opus] = ["claude-haiku-4-5", "claude-opus-4-8"];
  const messages = { model: haiku, max_tokens: 9, messages: hello };
  const [chat, unified] = [{ model: "openai/gpt-5-mini", messages: hello }, "/chat/v1/responses"];
  const router = { model: "openrouter/openai/gpt-5-mini" };
  const image = [{ type: "image_generation", model: "gpt-image-1" }];
  const any = [{ type: "image_generation" }];
  const refused: [path: string, body: Record<string, unknown>, param: string][] = [
    ["/anthropic/v1/messages", { ...messages, tools: advisor(opus) }, "tools[0]"],
    ["/anthropic/v1/messages", { ...messages, fallbacks: [{ model: opus }] }, "fallbacks[0]"],
    ["/openai/v1/responses", { model: "gpt-5-mini", input: "hi", tools: image }, "tools[0]"],
    ["/openai/v1/responses", { model: "gpt-5-mini", input: "hi", tools: any }, "tools[0].model"],
    ["/openrouter/v1/chat/completions", { ...chat, models: ["openai/gpt-4.1"] }, "models[0]"],
    [unified, { ...router, input: "hi", models: ["openai/gpt-4.1"] }, "models[0]"],
    [unified, { ...router, input: "hi", plugins: [{ id: "fusion" }] }, "plugins[0]"],
    ["/chat/v1/messages", { ...messages, ...router, models: ["openai/gpt-4.1"] }, "models[0]"],
    ["/chat/v1/messages", { ...messages, ...router, plugins: [{ id: "fusion" }] }, "plugins[0]"],
    [unified, { ...router, input: "hi", tools: [{ type: "openrouter:fusion" }] }, "tools[0]"],
  ];
  const requests = () =>
    (["vendor-b", "vendor-c", "vendor-f"] as const).flatMap((label) =>
      service().simulators.requests(label)
    ).filter(({ method }) => method === "POST").length;
  const called = requests();
  for (const [path, body, param] of refused) {
    for (const sent of [key, `${key};sk-own-key-0123456789`]) {
      // Whose key the second one is can't be told on the unified family.
      if (sent !== key && path.startsWith("/chat/")) continue;
      const answer = await service().post(path, body, { authorization: `Bearer ${sent}` });
      const { error } = await answer.json();
      assert.equal(answer.status, 403, `${path} ${param}: ${JSON.stringify(error)}`);
      assert.ok(error.message.startsWith(`${param}: `), error.message);
    }
  }
  assert.equal(requests(), called, "no vendor was called");
  const allowed: [path: string, body: Record<string, unknown>][] = [
    ["/anthropic/v1/messages", { ...messages, tools: advisor(haiku) }],
    [unified, { ...router, input: "hi", tools: [{ type: "openrouter:web_search" }] }],
    ["/chat/v1/messages", { ...messages, ...router, tools: [{ type: "openrouter:datetime" }] }],
  ];
  for (const [path, body] of allowed) {
    const answer = await service().post(path, body, { authorization: `Bearer ${key}` });
    assert.equal(answer.status, 200, `${path}: ${await answer.text()}`);
  }
});

Deno.test("a stream that runs while its key is revoked is completed and charged; the next call is 401", async () => {
  const { id, key } = await service().createKey();
  const headers = { authorization: `Bearer ${key}` };
  const body = { model: "vendor-b/gpt-4.1", messages: [{ role: "user", content: "[drip:20] Hi" }] };
  const answer = await service().post(
    "/chat/v1/chat/completions",
    { ...body, stream: true },
    headers,
  );
  const events = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = (await events.read()).value ?? "";
  await service().admin("key", "revoke", id);
  assert.ok(!text.includes("[DONE]"), "it is still running");
  const next = await service().post("/chat/v1/chat/completions", body, headers);
  assert.deepEqual([next.status, (await next.json()).error.code], [401, "invalid_api_key"]);
  for (let read = await events.read(); !read.done; read = await events.read()) text += read.value;
  assert.match(text, /\[DONE\]/);
  const row = await service().row(answer.headers.get("x-transaction-id"));
  assert.ok(Number(row.charged_usd) > 0);
});

Deno.test("a preset of OpenRouter needs the caller's own vendor key, and a key without a list", async () => {
  const { key: any } = await service().createKey();
  const { key: listed } = await service().createKey("--models", "openrouter/openai/gpt-5-mini");
  const model = "openrouter/openai/gpt-5-mini";
  const messages = { model, max_tokens: 9, messages: hello };
  const own = service().simulators.vendors["vendor-f"].apiKey;
  const calls: [path: string, body: Record<string, unknown>, credential: string, status: number][] =
    [
      ["/chat/v1/chat/completions", { model, messages: hello }, any, 400],
      ["/chat/v1/responses", { model, input: "hi" }, any, 400],
      ["/chat/v1/messages", messages, listed, 400],
      ["/openrouter/v1/chat/completions", { model, messages: hello }, `${any};${own}`, 200],
      ["/openrouter/v1/chat/completions", { model, messages: hello }, `${listed};${own}`, 403],
    ];
  for (const [path, body, credential, status] of calls) {
    const authorization = `Bearer ${credential}`;
    const answer = await service().post(path, { ...body, preset: "fast" }, { authorization });
    const { error } = await answer.json();
    assert.equal(answer.status, status, `${path}: ${JSON.stringify(error)}`);
    if (status !== 200) assert.match(error.message, /^preset: /);
  }
});

testScenarios(
  service,
  ["models", "plugins"].map((name) => ({
    name: `a request with thousands of '${name}' is refused`,
    method: "POST",
    path: "/chat/v1/responses",
    body: { model: "openrouter/openai/gpt-5-mini", input: "hi", [name]: Array(1001).fill("a/b") },
    status: 400,
    error: { type: "invalid_request_error", code: "invalid_value", param: name },
  })),
);

testScenarios(service, [
  ...[
    "GET /no/such/path",
    "GET /",
    "GET /api/v1/status/",
    "POST /api/v1/status",
    "GET /api/v1/exports/no-such-export",
    "DELETE /metrics",
  ].map((endpoint) => notFound(endpoint, "service")),
  ...[
    "GET /chat/v1/chat/completions",
    "PUT /chat/v1/chat/completions",
    "POST /chat/v1/models",
    "GET /chat/v1/no-such-path",
    "GET /vendor-b/v1/no-such-path",
    "DELETE /vendor-b/v1/models",
    "POST /vendor-f/v2/chat/completions",
  ].map((endpoint) => notFound(endpoint, "chat")),
  notFound("GET /vendor-c/v1/no-such-path", "messages"),
  notFound("PATCH /anthropic/health", "messages"),
  notFound("GET /vendor-d/v2/models", "generate"),
  {
    ...notFound("POST /chat/v1/files", "messages"),
    headers: { "anthropic-version": "2023-06-01" } as Record<string, string>,
  },
  ...[
    { model: "no-such-model", why: "a model that no vendor has as its own" },
    { model: "vendor-z/gpt-4.1", why: "an unknown provider" },
    { model: "vendor-b/", why: "a provider without a model" },
    { model: "/gpt-4.1", why: "an empty provider" },
    { model: "Vendor-B/gpt-4.1", why: "a provider in another case" },
  ].map(({ model, why }) => ({
    name: `404 for ${why}`,
    path: "/chat/v1/chat/completions",
    body: { model, messages: hello },
    status: 404,
    error: {
      type: "not_found_error",
      code: "model_not_found",
      param: "model",
      message: /Use '<provider>\/<model_name>'.*GET \/chat\/v1\/models/,
    },
    answerHeaders: { "x-transaction-id": null },
  })),
  {
    name: "404 for a model without a price in managed mode, saying so, before the vendor is called",
    path: "/chat/v1/chat/completions",
    body: { model: "vendor-b/no-such-model", messages: hello },
    status: 404,
    error: {
      type: "not_found_error",
      code: "model_not_found",
      param: "model",
      message: /^model: no price is known for 'openai\/no-such-model'.*PRICES_FILE/,
    },
    answerHeaders: { "x-transaction-id": null },
  },
]);

Deno.test("with an own vendor key an unknown model is the vendor's own 404, and a row", async () => {
  const { key, simulators, row } = service();
  const answer = await play(service(), {
    name: "own key",
    path: "/chat/v1/chat/completions",
    key: `${key};${simulators.vendors["vendor-b"].apiKey}`,
    body: { model: "vendor-b/no-such-model", messages: hello },
    status: 404,
    error: {
      type: "not_found_error",
      code: "model_not_found",
      message: /The model 'no-such-model' does not exist/,
    },
    unexpected: [simulators.vendors["vendor-b"].apiKey],
    answerHeaders: { "x-transaction-id": /^\S{36}$/ },
  });
  const stored = await row(answer.headers.get("x-transaction-id"));
  const { status, http_status, error_code, mode, cost_usd, charged_usd } = stored;
  assert.deepEqual(
    { status, http_status, error_code, mode, cost_usd, charged_usd },
    {
      status: "failed",
      http_status: 404,
      error_code: "model_not_found",
      mode: "dual_key",
      cost_usd: "0.000000000",
      charged_usd: "0.000000000",
    },
  );
});

const invalidJson = { type: "invalid_request_error", code: "invalid_json" };

function dialectOf(path: string, error: ErrorFields): ErrorFields {
  if (path.startsWith("/api/")) return { ...error, dialect: "service" };
  if (/^\/(vendor-c|anthropic)\//.test(path)) return { ...error, dialect: "messages" };
  if (/^\/(vendor-d|google)\//.test(path)) {
    return { ...error, dialect: "generate", status: "PERMISSION_DENIED" };
  }
  return { ...error, dialect: "chat" };
}

function notFound(endpoint: string, dialect: NonNullable<ErrorFields["dialect"]>) {
  const [method = "", path = ""] = endpoint.split(" ");
  return {
    name: `404 for ${endpoint}`,
    method,
    path,
    status: 404,
    error: {
      type: "not_found_error",
      code: "endpoint_not_found",
      dialect,
      ...(dialect === "generate" ? { status: "NOT_FOUND" } : {}),
      message: new RegExp(`^No such endpoint: ${method} ${RegExp.escape(path)}(\\. |$)`),
    },
  };
}
