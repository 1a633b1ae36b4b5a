import assert from "@std/assert";
import type { DialectName } from "../../contracts/calls/vendors.ts";
import { type FakeExchange, type FakeVendor, startFakeVendor } from "../support/fake_vendor.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { checkGrammar } from "./grammar.ts";
import { answerText, rawRequest } from "./raw_calls.ts";
import { spokenText, vendorWords } from "./vendor_words.ts";

/** A compatible server with two endpoints, of which `script` may refuse one. */
interface World extends AsyncDisposable {
  vendor: FakeVendor;
  service: TestService;
  /** Paths that were asked since the last call of this. */
  asked(): string[];
  charges(): Promise<{ rows: number; charged: number; balance: number }>;
}

type Refusal = { status: number; body: unknown } | undefined;

/** Answers in the endpoint's own dialect, unless the script refuses. */
async function startWorld(
  script: (path: string, body: Record<string, unknown>) => Refusal,
  row: Record<string, unknown> = {},
): Promise<World> {
  const vendor = await startFakeVendor((exchange) => answer(exchange, script));
  const directory = await Deno.makeTempDir({ prefix: "learned-" });
  const write = async (name: string, value: unknown) => {
    await Deno.writeTextFile(`${directory}/${name}`, JSON.stringify(value));
    return `${directory}/${name}`;
  };
  const price = { input: "2", output: "8", max_output_tokens: 1000 };
  const service = await startTestService({
    database: "any",
    env: {
      KEY_OF_X: "x-key-0123456789",
      VENDORS_FILE: await write("vendors.json", [{
        label: "x",
        base_url: `${vendor.url}/v1`,
        api_key_env: "KEY_OF_X",
        dialects: ["chat", "responses"],
        auth: "bearer",
        ...row,
      }]),
      PRICES_FILE: await write("prices.json", { "x/m-1": price, "x/m-2": price }),
    },
  });
  let seen = 0;
  const stop = async () => {
    await service.stop();
    await vendor.close();
    await Deno.remove(directory, { recursive: true });
  };
  return {
    vendor,
    service,
    asked() {
      const fresh = vendor.requests.slice(seen).filter(({ method }) => method === "POST");
      seen = vendor.requests.length;
      return fresh.map(({ path }) => path.slice("/v1/".length));
    },
    async charges() {
      const rows = await service.rows();
      const { json } = await service.admin("credits", "show");
      return {
        rows: rows.length,
        charged: rows.reduce((sum, one) => sum + Math.round(Number(one.charged_usd) * 1e9), 0),
        balance: Math.round(Number((json as { balance_usd: string }).balance_usd) * 1e9),
      };
    },
    [Symbol.asyncDispose]: stop,
  };
}

function answer(
  exchange: FakeExchange,
  script: (path: string, body: Record<string, unknown>) => Refusal,
): unknown {
  const path = exchange.request.path.slice("/v1/".length);
  const body = JSON.parse(exchange.request.body || "{}") as Record<string, unknown>;
  const refusal = script(path, body);
  if (refusal) return exchange.answer(refusal.status, refusal.body);
  const words = vendorWords[path === "responses" ? "responses" : "chat"];
  return body.stream === true
    ? exchange.stream([...words.begin, ...words.end])
    : exchange.answer(200, words.whole);
}

const pointing = (model: unknown) => ({
  status: 400,
  body: {
    error: {
      message:
        `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. Please use /v1/responses instead.`,
      type: "invalid_request_error",
      param: "reasoning_effort",
      code: null,
    },
  },
});
const hasTools = (body: Record<string, unknown>) => Array.isArray(body.tools);
const tools = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }];
const chatPath = "chat/completions";

const ask = (
  { service }: World,
  dialect: DialectName,
  more: Record<string, unknown>,
  headers: Record<string, string> = {},
) => {
  const { model = "x/m-1", stream = false, ...rest } = more;
  const { path, body } = rawRequest(dialect, {
    model: String(model),
    prompt: "How are you?",
    stream: stream === true,
  });
  return service.post(path, { ...body as object, ...rest }, headers);
};

for (const stream of [false, true]) {
  const how = stream ? "streamed" : "whole";
  Deno.test(`a chat refusal that points to responses is followed, once and then always, ${how}`, async () => {
    await using world = await startWorld((path, body) =>
      path === chatPath && hasTools(body) ? pointing(body.model) : undefined
    );
    const first = await ask(world, "chat", { tools, stream });
    const text = await first.text();
    assert.equal(first.status, 200, text);
    assert.equal(answerText("chat", text, stream), spokenText);
    if (stream) assert.equal(checkGrammar("chat", text).ending, "finished");
    assert.deepEqual(world.asked(), [chatPath, "responses"]);
    const row = await world.service.row(first.headers.get("x-transaction-id"));
    const attempts = row.attempts as { http_status: number; error_code: string | null }[];
    assert.deepEqual(
      attempts.map((one) => ({ ...one, ms: 0 })),
      [
        { http_status: 400, error_code: "invalid_request" },
        { http_status: 200, error_code: null },
      ].map((one) => ({ vendor: "x", model: "m-1", ...one, ms: 0 })),
    );
    assert.deepEqual([row.status, row.dialect, row.billing_basis], [
      "completed",
      "chat",
      "reported",
    ]);
    assert.deepEqual([row.input_tokens, row.output_tokens], [10, 5]);

    const second = await ask(world, "chat", { tools, stream, reasoning_effort: "low" });
    assert.equal(answerText("chat", await second.text(), stream), spokenText);
    assert.deepEqual(world.asked(), ["responses"], "known from now on");
    assert.equal((await world.service.row(second.headers.get("x-transaction-id"))).attempts, null);
    // Translated callers profit by what was learned, and a call without tools isn't moved.
    await (await ask(world, "messages", {
      stream,
      tools: [{ name: "f", input_schema: { type: "object" } }],
    })).text();
    await (await ask(world, "chat", { stream })).text();
    await (await ask(world, "chat", { stream, model: "x/m-2", tools })).text();
    assert.deepEqual(world.asked(), ["responses", chatPath, chatPath, "responses"]);

    const { rows, charged, balance } = await world.charges();
    assert.deepEqual([rows, charged], [5, 5 * (10 * 2000 + 5 * 8000)]);
    assert.equal(balance, 10e9 - charged, "each call is charged once");
  });

  Deno.test(`a server without the endpoint of translate_to is asked in its next dialect, ${how}`, async () => {
    const missing = stream
      ? { status: 410, body: { error: "The endpoint was removed. Please migrate to chat." } }
      : { status: 404, body: { detail: "Not Found" } };
    await using world = await startWorld(
      (path) => path === "responses" ? missing : undefined,
      { translate_to: "responses" },
    );
    for (const [index, dialect] of (["messages", "generate", "responses"] as const).entries()) {
      const answered = await ask(world, dialect, { stream });
      assert.equal(answerText(dialect, await answered.text(), stream), spokenText);
      assert.deepEqual(world.asked(), index === 0 ? ["responses", chatPath] : [chatPath]);
      const row = await world.service.row(answered.headers.get("x-transaction-id"));
      const statuses = (row.attempts as { http_status: number }[] | null)
        ?.map(({ http_status }) => http_status);
      assert.deepEqual(statuses, index === 0 ? [missing.status, 200] : undefined);
    }
    const { rows, charged, balance } = await world.charges();
    assert.deepEqual([rows, balance], [3, 10e9 - charged]);
  });
}

Deno.test("an endpoint that has answered isn't missing after a single 404", async () => {
  let refuses = false;
  await using world = await startWorld((path) =>
    path === chatPath && refuses ? { status: 404, body: "not found" } : undefined
  );
  await (await ask(world, "chat", {})).text();
  refuses = true;
  const moved = await ask(world, "chat", {});
  assert.equal(answerText("chat", await moved.text(), false), spokenText);
  refuses = false;
  await (await ask(world, "chat", {})).text();
  assert.deepEqual(world.asked(), [chatPath, chatPath, "responses", chatPath]);
});

const aboutTheCall: readonly [string, { status: number; body: unknown }][] = [
  ["names the model", { status: 404, body: { error: { message: "m-1: not found" } } }],
  ["speaks of the model", { status: 404, body: { error: { message: "No such model." } } }],
  ["has a code for it", {
    status: 404,
    body: { error: { message: "?", code: "model_not_found" } },
  }],
  ["names a parameter", { status: 404, body: { error: { message: "?", param: "file_id" } } }],
  ["removes a field", {
    status: 410,
    body: { error: "Live search is deprecated. Please switch to the Agent Tools API." },
  }],
  ["retires the model at its endpoint", {
    status: 410,
    body: { error: "m-1 is no longer served by this endpoint." },
  }],
];
for (const [name, refusal] of aboutTheCall) {
  Deno.test(`a ${refusal.status} that ${name} is the caller's, and nothing is learned of it`, async () => {
    let isRefused = true;
    await using world = await startWorld(
      (path) => path === "responses" && isRefused ? refusal : undefined,
      { translate_to: "responses" },
    );
    const refused = await ask(world, "messages", {});
    assert.equal(refused.status, refusal.status === 410 ? 400 : refusal.status);
    await refused.body?.cancel();
    assert.deepEqual(world.asked(), ["responses"]);
    isRefused = false;
    await (await ask(world, "messages", {})).text();
    assert.deepEqual(world.asked(), ["responses"]);
  });
}

Deno.test("where no endpoint answers, nothing is learned and the caller gets the last refusal", async () => {
  let isDown = true;
  await using world = await startWorld(
    () => isDown ? { status: 404, body: "no" } : undefined,
    { translate_to: "responses" },
  );
  const refused = await ask(world, "messages", {});
  assert.equal(refused.status, 404);
  await refused.body?.cancel();
  assert.deepEqual(world.asked(), ["responses", chatPath]);
  isDown = false;
  await (await ask(world, "messages", {})).text();
  assert.deepEqual(world.asked(), ["responses"]);
  const [failed] = (await world.service.rows()).filter((row) => row.status === "failed");
  assert.deepEqual([failed!.charged_usd, (failed!.attempts as unknown[]).length], [
    "0.000000000",
    2,
  ]);
});

Deno.test("a prompt that speaks of the other endpoint moves no call", async () => {
  await using world = await startWorld(() => ({
    status: 400,
    body: { error: { message: "Invalid value: 'please use /v1/responses instead'." } },
  }));
  const refused = await ask(world, "chat", { tools });
  assert.equal(refused.status, 400);
  await refused.body?.cancel();
  assert.deepEqual(world.asked(), [chatPath]);
});

Deno.test("what the other endpoint can't carry is refused in the vendor's own words", async () => {
  await using world = await startWorld((path, body) =>
    path === chatPath && hasTools(body) ? pointing(body.model) : undefined
  );
  const refused = await ask(world, "chat", { tools, n: 2 });
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /Please use \/v1\/responses instead/);
  assert.deepEqual(world.asked(), [chatPath]);
  const known = await ask(world, "chat", { tools });
  assert.equal(known.status, 200);
  await known.text();
});

Deno.test("a rerouted call is replayed, and refused in strict mode as any other", async () => {
  await using world = await startWorld((path, body) =>
    path === chatPath && hasTools(body) ? pointing(body.model) : undefined
  );
  const headers = { "x-request-id": "once-1" };
  const first = await (await ask(world, "chat", { tools }, headers)).text();
  const again = await ask(world, "chat", { tools }, headers);
  assert.equal(again.headers.get("x-idempotent-replay"), "true");
  assert.equal(await again.text(), first);
  assert.deepEqual(world.asked(), [chatPath, "responses"]);
  assert.equal((await world.charges()).rows, 1);
  const strict = await ask(world, "chat", { tools, seed: 7, model: "x/m-2" }, {
    "x-translation-mode": "strict",
  });
  assert.equal(strict.status, 400);
  await strict.body?.cancel();
});

Deno.test("a heavy request is read again for the other endpoint, with what its path says", async () => {
  await using world = await startWorld(
    (path) => path === "responses" ? { status: 404, body: { detail: "Not Found" } } : undefined,
    { translate_to: "responses" },
  );
  const text = "a word ".repeat(600_000);
  const contents = Array.from({ length: 99 }, () => ({ role: "user", parts: [{ text: "word" }] }));
  const answered = await world.service.post("/chat/v1/models/x/m-1:generateContent", {
    contents: [...contents, { role: "user", parts: [{ text }] }],
  });
  assert.equal(answerText("generate", await answered.text(), false), spokenText);
  const [first, second] = world.vendor.requests.filter(({ method }) => method === "POST");
  assert.deepEqual(world.asked(), ["responses", chatPath]);
  for (const { body } of [first!, second!]) {
    assert.ok(body.includes(text) && JSON.parse(body).model === "m-1");
  }
});

Deno.test("a caller who leaves while the second endpoint works is charged nothing", async () => {
  const held = Promise.withResolvers<void>();
  const vendor = await startFakeVendor((exchange) => {
    const { path, body } = exchange.request;
    if (path.endsWith("chat/completions")) {
      const { status, body: refusal } = pointing(JSON.parse(body).model);
      return exchange.answer(status, refusal);
    }
    held.resolve();
    return exchange.closed;
  });
  const directory = await Deno.makeTempDir({ prefix: "learned-" });
  const write = async (name: string, value: unknown) => {
    await Deno.writeTextFile(`${directory}/${name}`, JSON.stringify(value));
    return `${directory}/${name}`;
  };
  const service = await startTestService({
    database: "any",
    env: {
      VENDOR_B_BASE_URL: `${vendor.url}/v1`,
      VENDOR_B_API_KEY: "sk-0123456789",
      PRICES_FILE: await write("prices.json", { "vendor-b/m-1": { input: "2", output: "8" } }),
    },
  });
  const leave = new AbortController();
  const call = service.fetch("/vendor-b/v1/chat/completions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "m-1", messages: [{ role: "user", content: "Hi" }], tools }),
    signal: leave.signal,
  }).catch(() => undefined);
  await held.promise;
  leave.abort();
  await call;
  let rows = await service.rows();
  while (rows.length === 0) rows = await service.rows();
  assert.deepEqual(rows.map((row) => [row.status, row.charged_usd, row.http_status]), [
    ["cancelled", "0.000000000", null],
  ]);
  const { json } = await service.admin("credits", "show");
  assert.equal((json as { reserved_usd: string }).reserved_usd, "0.000000000");
  await service.stop();
  await vendor.close();
  await Deno.remove(directory, { recursive: true });
});

Deno.test("what we ask for on our own and the vendor refuses is left out, and the call answered", async () => {
  const refusals: Record<string, Refusal> = {
    "x/m-1": {
      status: 400,
      body: {
        error: {
          message: "Your organization must be verified to generate reasoning summaries.",
          param: "reasoning.summary",
          code: "unsupported_value",
        },
      },
    },
    "x/m-2": {
      status: 400,
      body: { error: { message: "Encrypted content is not supported with this model." } },
    },
  };
  const seals: Record<string, unknown> = {
    gAAA: { error: { message: "The encrypted content gAAA could not be verified." } },
    // xAI's words.
    gBBB: { code: "invalid-argument", error: "Could not decrypt the provided encrypted_content." },
    gCCC: { code: "invalid-argument", error: "Could not decode the compaction blob." },
  };
  await using world = await startWorld((path, { model, include, reasoning, input }) => {
    const unreadable = Object.keys(seals).find((seal) => JSON.stringify(input).includes(seal));
    if (unreadable !== undefined) return { status: 400, body: seals[unreadable] };
    if (path === "responses/input_tokens") return { status: 200, body: { input_tokens: 7 } };
    const hasSummary = (reasoning as { summary?: string } | undefined)?.summary !== undefined;
    const isRefused = model === "m-1" ? hasSummary : JSON.stringify(include).includes("encrypted");
    return isRefused ? refusals[`x/${model}`] : undefined;
  }, { translate_to: "responses" });
  const askBoth = async (requests: readonly string[]) => {
    for (const model of ["x/m-1", "x/m-2"]) {
      const thinking = { type: "adaptive", display: "summarized" };
      const answered = await ask(world, "messages", { model, max_tokens: 4000, thinking });
      assert.equal(answerText("messages", await answered.text(), false), spokenText);
      assert.deepEqual(world.asked(), requests, model);
    }
  };
  await askBoth(["responses", "responses"]);
  const sealed = world.vendor.requests.at(-3)!.body;
  assert.ok(sealed.includes("reasoning.encrypted_content"), "only what was refused is left out");
  // The next ones are asked without it at once.
  await askBoth(["responses"]);
  // Reasoning that another vendor sealed; a summary makes the call a translated one.
  const said = { role: "assistant", content: "Hello." };
  const question = { role: "user", content: "Hi." };
  for (const seal of Object.keys(seals)) {
    const thought = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: seal };
    // The second call is passed on, as most are.
    for (const last of [[{ type: "compaction_trigger" }], [question]]) {
      const continued = await world.service.post("/chat/v1/responses", {
        ...{ model: "x/m-1", input: [question, thought, said, ...last] },
      });
      assert.equal(continued.status, 200, await continued.text());
      assert.deepEqual(world.asked(), ["responses", "responses"], seal);
    }
    const counted = await world.service.post("/chat/v1/responses/input_tokens", {
      ...{ model: "x/m-1", input: [question, thought, said, question] },
    });
    assert.equal((await counted.json()).input_tokens, 7);
    assert.equal(world.asked().length, 2);
  }
});

Deno.test("two additions that one model refuses are both left out, of counts too", async () => {
  const counted: unknown[] = [];
  await using world = await startWorld((path, { include, reasoning }) => {
    const { summary } = (reasoning ?? {}) as { summary?: string };
    const counts = path === "responses/input_tokens";
    const refused = summary !== undefined
      ? { message: "Your organization must be verified.", param: "reasoning.summary" }
      : JSON.stringify(include ?? null).includes("encrypted")
      ? { message: "Encrypted content is not supported with this model." }
      : undefined;
    if (refused !== undefined) return { status: 400, body: { error: refused } };
    if (!counts) return undefined;
    counted.push(reasoning);
    return { status: 200, body: { object: "response.input_tokens", input_tokens: 7 } };
  }, { translate_to: "responses" });
  const thinking = { type: "adaptive", display: "summarized" };
  const requests: number[] = [];
  for (let call = 0; call < 3; call++) {
    const answered = await ask(world, "messages", { max_tokens: 4000, thinking });
    assert.equal(answered.status, 200);
    assert.equal(answerText("messages", await answered.text(), false), spokenText);
    requests.push(world.asked().length);
  }
  assert.deepEqual(requests, [3, 1, 1], "each is refused once, and then both are left out");
  const count = await world.service.post("/chat/v1/messages/count_tokens", {
    ...{ model: "x/m-1", messages: [{ role: "user", content: "How are you?" }], thinking },
  });
  assert.deepEqual(await count.json(), { input_tokens: 7 });
  assert.equal(counted.length, 1);
});

Deno.test("a count is asked again without what is refused of it, and later ones leave it out", async () => {
  await using world = await startWorld((path, { reasoning, model }) => {
    const { summary } = (reasoning ?? {}) as { summary?: string };
    if (summary !== undefined || model === "m-2") {
      const error = { message: "Your organization must be verified.", param: "reasoning.summary" };
      return { status: 400, body: { error } };
    }
    if (path !== "responses/input_tokens") return undefined;
    return { status: 200, body: { object: "response.input_tokens", input_tokens: 7 } };
  }, { translate_to: "responses" });
  const thinking = { type: "adaptive", display: "summarized" };
  const messages = [{ role: "user", content: "How are you?" }];
  const count = (model: string) =>
    world.service.post("/chat/v1/messages/count_tokens", { model, messages, thinking });
  assert.deepEqual(await (await count("x/m-1")).json(), { input_tokens: 7 });
  assert.equal(world.asked().length, 2);
  assert.deepEqual(await (await count("x/m-1")).json(), { input_tokens: 7 });
  const answered = await ask(world, "messages", { max_tokens: 4000, thinking });
  assert.equal(answered.status, 200);
  assert.equal(world.asked().length, 2, "neither asks for it again");
  // What is refused without it as well is refused.
  const refused = await count("x/m-2");
  assert.equal(refused.status, 400);
  await refused.body?.cancel();
  assert.equal(world.asked().length, 2);
});
