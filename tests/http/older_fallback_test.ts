/** Fallbacks and virtual models within one dialect, whose models differ in age. */
import Anthropic from "@anthropic-ai/sdk";
import assert from "@std/assert";
import { startSimulators } from "../../demo/simulators.ts";
import { shared, simulatedEnvironment, startTestService } from "../support/service.ts";

const world = shared(async () => {
  const simulators = await startSimulators();
  const path = await Deno.makeTempFile({ suffix: ".json" });
  const models = {
    small: { targets: ["claude-haiku-4-5"] },
    thinker: { targets: ["openai/gpt-5-mini"] },
  };
  await Deno.writeTextFile(path, JSON.stringify(models));
  const env = {
    ...simulatedEnvironment(simulators),
    ...{ STARTING_CREDIT_USD: "1000", MODELS_FILE: path },
  };
  const service = await startTestService({ env });
  const stop = async () => {
    await service.stop();
    await simulators.close();
    await Deno.remove(path);
  };
  return { simulators, service, stop, [Symbol.asyncDispose]: stop };
});

/** What Claude Code asks of the newest models. */
const asked = (text: string) => ({
  max_tokens: 32_000,
  thinking: { type: "adaptive", display: "omitted" },
  output_config: { effort: "high" },
  system: "Be kind.",
  messages: [
    { role: "user", content: `${text} ${crypto.randomUUID()}` },
    { role: "system", content: "Today is Monday." },
  ],
});

function client(headers: Record<string, string> = {}) {
  const { baseUrl, key } = world().service;
  return new Anthropic({
    ...{ baseURL: `${baseUrl}/chat`, apiKey: null, authToken: key, maxRetries: 0 },
    defaultHeaders: headers,
  });
}

const stream = (body: unknown, headers?: Record<string, string>) =>
  client(headers).messages.stream(body as Anthropic.MessageStreamParams);

/** What Anthropic received: the models, and the last request. */
function received() {
  const bodies = world().simulators.requests("vendor-c").map(({ body }) =>
    body as Record<string, unknown>
  );
  return bodies.slice(-2);
}

Deno.test("an older Claude answers as the fallback of a newer one, in the form that it takes", async () => {
  const headers = { "x-fallback-models": "anthropic/claude-haiku-4-5, openai/gpt-5-mini" };
  const body = { ...asked("Hello [error:529x1]"), model: "anthropic/claude-opus-4-8" };
  const call = stream(body, headers);
  const { data, response } = await call.withResponse();
  const message = await data.finalMessage();
  assert.equal(message.stop_reason, "end_turn");
  assert.equal(response.headers.get("x-model"), "vendor-c/claude-haiku-4-5");
  const [first, second] = received();
  assert.deepEqual([first!.model, second!.model], ["claude-opus-4-8", "claude-haiku-4-5"]);
  // The newer one got the caller's own.
  assert.deepEqual(first!.thinking, { type: "adaptive", display: "omitted" });
  assert.equal((second!.thinking as { type: string }).type, "enabled");
  assert.equal(second!.output_config, undefined);
  assert.match(JSON.stringify(second!.system), /Be kind\..*Today is Monday\./);
  // Its thinking is signed, and so comes back with its text, whoever answers next.
  const again = [
    ...body.messages,
    { role: "assistant", content: message.content },
    { role: "user", content: "And now?" },
  ];
  assert.equal(message.content[0]?.type, "thinking");
  await stream({ ...body, messages: again }, headers).finalMessage();
  assert.equal(received().at(-1)!.model, "claude-opus-4-8");
  await stream({ ...body, messages: again, model: "small" }).finalMessage();
  assert.match(JSON.stringify(received().at(-1)), /"signature":"[^"]/);
  const row = await world().service.row(response.headers.get("x-transaction-id"));
  assert.deepEqual([row.status, row.model], ["completed", "claude-haiku-4-5"]);
});

Deno.test("a virtual model takes what its target doesn't; the target's own name keeps the bytes", async () => {
  const call = stream({ ...asked("Hello"), model: "small" });
  const { data, response } = await call.withResponse();
  await data.finalMessage();
  assert.equal(response.headers.get("x-model"), "vendor-c/claude-haiku-4-5");
  // A setting that it takes changes nothing: the bytes are the caller's.
  const plain = { model: "small", max_tokens: 99, messages: [{ role: "user", content: "Hi" }] };
  await stream(plain).finalMessage();
  assert.deepEqual(received().at(-1), { ...plain, model: "claude-haiku-4-5", stream: true });
  for (
    const [model, headers] of [
      ["anthropic/claude-haiku-4-5", {}],
      ["small", { "x-translation-mode": "strict" }],
    ] as const
  ) {
    const refused = await stream({ ...asked("Hello"), model }, headers).finalMessage().then(
      () => undefined,
      (thrown: InstanceType<typeof Anthropic.APIError>) => thrown,
    );
    assert.equal(refused?.status, 400, model);
    assert.match(refused!.message, /adaptive/);
  }
});

Deno.test("an older Gemini answers a request with a level of thinking, with a budget of its own", async () => {
  const body = {
    contents: [{ role: "user", parts: [{ text: `Hello [error:503x1] ${crypto.randomUUID()}` }] }],
    generationConfig: { thinkingConfig: { thinkingLevel: "HIGH" } },
  };
  const path = "/chat/v1beta/models/google/gemini-3.8-flash:generateContent";
  const headers = { "x-fallback-models": "google/gemini-2.5-flash" };
  const answer = await world().service.post(path, body, headers);
  assert.equal(answer.status, 200, await answer.text());
  assert.equal(answer.headers.get("x-model"), "vendor-d/gemini-2.5-flash");
  assert.equal(answer.headers.get("x-translation-loss"), null);
  // The simulated vendor fails once for each model, and the last one is asked again.
  const [first, , last] = world().simulators.requests("vendor-d").slice(-3)
    .map((one) => one.body as typeof body);
  assert.deepEqual(first!.generationConfig, body.generationConfig);
  const { thinkingConfig } = last!.generationConfig as { thinkingConfig: object };
  assert.deepEqual(Object.keys(thinkingConfig), ["thinkingBudget"]);
});

const chatBody = (model: string, text = "Hello") => ({
  ...{ model, temperature: 0.2, top_p: 0.9, max_tokens: 500 },
  messages: [{ role: "user", content: `${text} ${crypto.randomUUID()}` }],
});
const responsesBody = (model: string, text = "Hello") => ({
  ...{ model, temperature: 0.2, store: false, prompt_cache_key: "k" },
  input: `${text} ${crypto.randomUUID()}`,
});

const openaiPaths = [
  ["/chat/v1/chat/completions", chatBody],
  ["/chat/v1/responses", responsesBody],
] as const;

Deno.test("OpenAI's reasoning models answer for one that takes a temperature, without it", async () => {
  const { service, simulators } = world();
  for (const [path, bodyOf] of openaiPaths) {
    const fallback = { "x-fallback-models": "openai/gpt-5-mini" };
    for (
      const [body, headers] of [
        [bodyOf("openai/gpt-4.1", "Hello [error:503x1]"), fallback],
        [bodyOf("thinker"), undefined],
      ] as const
    ) {
      const answer = await service.post(path, body, headers);
      assert.equal(answer.status, 200, await answer.text());
      assert.equal(answer.headers.get("x-model"), "vendor-b/gpt-5-mini");
      const lost = answer.headers.get("x-translation-loss");
      assert.equal(lost, path.includes("chat/c") ? "temperature,top_p" : "temperature");
      const { body: sent, path: at } = simulators.requests("vendor-b").at(-1)!;
      const { model, temperature, top_p, ...rest } = sent as Record<string, unknown>;
      assert.deepEqual([model, temperature, top_p], ["gpt-5-mini", undefined, undefined]);
      assert.ok(path.endsWith(at.replace("/v1", "")), at);
      if (path.endsWith("responses")) assert.equal(rest.prompt_cache_key, "k");
    }
  }
});

Deno.test("a reasoning effort goes to no OpenAI model without reasoning; its own name gets it", async () => {
  const { service } = world();
  const body = { model: "openai/gpt-5-mini", reasoning_effort: "high" };
  const messages = [{ role: "user", content: `Hi [error:503x1] ${crypto.randomUUID()}` }];
  const path = "/chat/v1/chat/completions";
  const headers = { "x-fallback-models": "openai/gpt-4.1" };
  const answer = await service.post(path, { ...body, messages }, headers);
  assert.equal(answer.status, 200, await answer.text());
  assert.equal(answer.headers.get("x-model"), "vendor-b/gpt-4.1");
  assert.equal(answer.headers.get("x-translation-loss"), "reasoning_effort");
  const named = await service.post(path, { ...chatBody("openai/gpt-5-mini") });
  assert.equal(named.status, 400, await named.text());
  const strict = await service.post(path, chatBody("thinker"), {
    "x-translation-mode": "strict",
  });
  assert.equal(strict.status, 400, await strict.text());
});

Deno.test("tokens of a virtual model are counted in the form that its target takes", async () => {
  const { service, simulators } = world();
  const path = "/chat/v1/messages/count_tokens";
  const body = { ...asked("Hello"), model: "small" };
  const answer = await service.post(path, body);
  assert.equal(answer.status, 200, await answer.text());
  assert.equal(answer.headers.get("x-token-count"), null);
  const { body: sent } = simulators.requests("vendor-c").at(-1)!;
  const { thinking, messages } = sent as { thinking: { type: string }; messages: unknown[] };
  assert.deepEqual([thinking.type, messages.length], ["enabled", 1]);
  const named = await service.post(path, { ...body, model: "anthropic/claude-haiku-4-5" });
  assert.equal(named.status, 400, await named.text());
});

Deno.test("an evaluation repeats a call with a model that refuses its temperature", async () => {
  const { service, simulators } = world();
  const messages = [{ role: "user", content: "/// COHORT warm\nWhat is it? [say:It is fine.]" }];
  const body = { model: "openai/gpt-4.1", temperature: 0.2, messages };
  const call = await service.post("/chat/v1/chat/completions", body);
  assert.equal(call.status, 200, await call.text());
  const made = await service.post("/api/v1/evals", {
    ...{ name: "n", model: "openai/gpt-5-mini", filters: { cohort_id: "warm" } },
    graders: [{ type: "contains", value: "It is fine." }],
  });
  const { eval_run_id } = await made.json();
  const run = await ended(eval_run_id);
  const results = run.results as { passed: boolean; detail: string | null }[];
  assert.deepEqual(results.map(({ passed }) => passed), [true], JSON.stringify(run));
  const { model, temperature } = simulators.requests("vendor-b").at(-1)!.body as typeof body;
  assert.deepEqual([model, temperature], ["gpt-5-mini", undefined]);
});

async function ended(run: string) {
  for (let look = 0; look < 3_000; look++) {
    const json = await (await world().service.fetch(`/api/v1/evals/${run}`)).json();
    if (json.state !== "queued" && json.state !== "running") return json;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("the run does not end");
}
