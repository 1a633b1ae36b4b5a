import assert from "@std/assert";
import OpenAI, { BadRequestError, NotFoundError } from "openai";
import type { InputTokenCountParams } from "openai/resources/responses/input-tokens";
import type { Response, ResponseInputItem } from "openai/resources/responses/responses";
import { anyDatabase } from "../support/any_database.ts";
import { sample } from "../support/sample.ts";
import { shared, startSimulatedService, startTestService } from "../support/service.ts";
import { toolParameters, toolResult } from "./library.ts";
import { responsesFunctions } from "./openai_responses.ts";
import { at } from "./raw_calls.ts";
import { upstreamDialect, vendors } from "./vendors.ts";
import { type Json, streamValues } from "./wire.ts";

const service = shared(() => startSimulatedService({}, { database: "any" }));

function client(path = "/chat/v1", key = service().key): OpenAI {
  return new OpenAI({ baseURL: service().baseUrl + path, apiKey: key, maxRetries: 0 });
}

/** Every way to the responses dialect: the unified family, and the families that offer it. */
const ways = vendors.flatMap(({ label, model, dialects }) => {
  const translated = upstreamDialect({ dialects }, "responses") !== "responses";
  const unified = { label, path: "/chat/v1", model: `${label}/${model}`, translated };
  const own = { label, path: `/${label}/v1`, model, translated };
  return ["vendor-a", "vendor-b", "vendor-e"].includes(label) ? [unified, own] : [unified];
});

/** In the gate each test takes every fourth way, as its name decides; `MATRIX=all` all of them. */
function onWays(name: string, test: (way: typeof ways[number]) => Promise<void>): void {
  const all = Deno.env.get("MATRIX") === "all";
  for (const way of sample(ways, { oneOf: 4, salt: name, all })) {
    Deno.test(`${name} (${way.label}, ${way.path})`, () => test(way));
  }
}

onWays(
  "an answer repeats the id that it continues, in every form",
  async ({ label, path, model }) => {
    const vendorKey = service().simulators.vendors[label].apiKey;
    for (const key of [service().key, `${service().key};${vendorKey}`]) {
      const { responses } = client(path, key);
      const { id } = await responses.create({ model, input: "My name is Ada." });
      for (const store of [true, false]) {
        const next = { model, store, input: "And now?", previous_response_id: id };
        const ids: unknown[] = [(await responses.create(next)).previous_response_id];
        for await (const event of await responses.create({ ...next, stream: true })) {
          if ("response" in event) ids.push(event.response.previous_response_id);
        }
        assert.ok(ids.length >= 3, `${ids.length} ids`);
        assert.deepEqual(new Set(ids), new Set([id]), `store: ${store}`);
      }
    }
  },
);

onWays("a response is read, continued and deleted", async ({ label, path, model, translated }) => {
  const { responses } = client(path);
  const first = await responses.create({
    model,
    input: "My name is Ada.",
    instructions: "Be brief, instructor's word 4711.",
  });
  assert.deepEqual(plain(await responses.retrieve(first.id)), plain(first));
  const second = await responses.create({
    model,
    input: "What is my name?",
    previous_response_id: first.id,
  });
  assert.equal(second.previous_response_id, first.id);
  assert.deepEqual(plain(await responses.retrieve(second.id)), plain(second));
  const sent = JSON.stringify(service().simulators.requests(label).at(-1)!.body);
  for (const said of ["My name is Ada.", "What is my name?", tail(first.output_text)]) {
    assert.ok(sent.includes(JSON.stringify(said).slice(1, -1)), `${said} is not in ${sent}`);
  }
  assert.ok(!sent.includes("4711"), "instructions are of one turn");
  const third = await responses.create({
    model,
    input: "And again?",
    previous_response_id: second.id,
  });
  const all = JSON.stringify(service().simulators.requests(label).at(-1)!.body);
  assert.ok(all.includes("My name is Ada.") && all.includes("What is my name?"));
  const withoutInput = responses.create({ model, previous_response_id: second.id });
  if (!translated) assert.equal((await withoutInput).status, "completed");
  else {
    await assert.rejects(
      withoutInput,
      (thrown: unknown) => thrown instanceof BadRequestError && thrown.param === "input",
    );
  }
  const deleted = await responses.delete(first.id) as unknown;
  assert.deepEqual(deleted, { id: first.id, object: "response", deleted: true });
  await gone(responses, first.id, model);
  // What was continued from it is independent of it.
  assert.equal((await responses.retrieve(third.id)).id, third.id);
  await responses.create({ model, input: "Still there?", previous_response_id: second.id });
});

onWays("the input of a response is listed, with what it continued", async ({ path, model }) => {
  const { responses } = client(path);
  const first = await responses.create({ model, input: "My name is Ada.", instructions: "4711" });
  const second = await responses.create({
    model,
    previous_response_id: first.id,
    input: [
      { role: "assistant", content: "I know." },
      { role: "user", content: [{ type: "input_text", text: "What is my name?" }] },
    ],
  });
  const all = await responses.inputItems.list(second.id, { order: "asc" });
  const listed = all.data.map(({ id: _, ...item }) => item);
  const message = { type: "message", status: "completed" };
  const { id: _, ...answer } = plain(first.output.at(-1)!) as Json;
  assert.deepEqual(listed.filter(({ type }) => type !== "reasoning") as unknown[], [
    { ...message, role: "user", content: [{ type: "input_text", text: "My name is Ada." }] },
    answer,
    {
      ...message,
      role: "assistant",
      content: [{ type: "output_text", text: "I know.", annotations: [] }],
    },
    { ...message, role: "user", content: [{ type: "input_text", text: "What is my name?" }] },
  ]);
  const newest: string[] = [];
  for await (const { id } of responses.inputItems.list(second.id, { limit: 2 })) newest.push(id);
  assert.deepEqual(newest, all.data.map(({ id }) => id).reverse());
  assert.equal(new Set(newest).size, newest.length);
  // What was continued can be deleted: the later response is independent of it.
  await responses.delete(first.id);
  assert.equal((await responses.inputItems.list(second.id)).data.length, newest.length);
  await assert.rejects(async () => await responses.inputItems.list(first.id), NotFoundError);
});

onWays("a streamed response is there at its terminal event", async ({ label, path, model }) => {
  const body = { model, input: "My name is Ada.", stream: true };
  const answer = await service().post(`${path}/responses`, body);
  const terminal = await readTo(answer, "response.completed");
  const whole = terminal.response as Json;
  const kept = await service().fetch(`${path}/responses/${whole.id}`);
  assert.deepEqual(await kept.json(), whole);
  const next = await client(path).responses
    .create({ model, input: "What is my name?", previous_response_id: String(whole.id) });
  assert.equal(next.status, "completed");
  const sent = JSON.stringify(service().simulators.requests(label).at(-1)!.body);
  assert.ok(sent.includes("My name is Ada."));
});

onWays("with store false nothing is kept", async ({ path, model }) => {
  const { responses } = client(path);
  const whole = await responses.create({ model, input: "My name is Ada.", store: false });
  await gone(responses, whole.id, model);
  const streamed = await responses
    .stream({ model, input: "My name is Ada.", store: false }).finalResponse();
  await gone(responses, streamed.id, model);
});

onWays("tool results alone continue a response", async ({ path, model }) => {
  const { responses } = client(path);
  const tools = responsesFunctions();
  let answer: Response = await responses.stream({
    model,
    tools,
    input: "[steps:2] What are the weather and the time in Paris?",
    reasoning: { effort: "low" },
  }).finalResponse();
  for (let round = 0; round < 2; round++) {
    const calls = answer.output.filter((item) => item.type === "function_call");
    assert.equal(calls.length, 2);
    const input = calls.map(({ call_id, name }): ResponseInputItem => ({
      type: "function_call_output",
      call_id,
      output: toolResult(name),
    }));
    answer = await responses.create({
      model,
      tools,
      input,
      reasoning: { effort: "low" },
      previous_response_id: answer.id,
    });
  }
  assert.match(answer.output_text, /get_weather: .*sunny/);
});

onWays(
  "input tokens are counted, with the conversation",
  async ({ label, path, model, translated }) => {
    const { responses } = client(path);
    const isOwn = !["vendor-a", "vendor-f", "vendor-g"].includes(label);
    // The simulated native vendor counts a request's settings too.
    const isExact = isOwn && !["vendor-d", "vendor-e"].includes(label);
    const tools = [{
      type: "function" as const,
      name: "get_weather",
      parameters: toolParameters,
      strict: true,
    }];
    const first = { model, input: "My name is Ada.", instructions: "Be brief.", tools };
    const { id, usage } = await responses.create(first);
    const { data, response } = await responses.inputTokens.count(first).withResponse();
    assert.equal(data.object, "response.input_tokens");
    assert.equal(response.headers.get("x-token-count"), isOwn ? null : "estimated");
    assert.equal(response.headers.get("x-transaction-id"), null, "a count is no interaction");
    if (isExact) assert.equal(data.input_tokens, usage?.input_tokens);
    const next = { model, input: "What is my name?", previous_response_id: id };
    const counted = await responses.inputTokens.count(next);
    const alone = await responses.inputTokens.count({ model, input: next.input });
    assert.ok(counted.input_tokens > alone.input_tokens, "with what it continues");
    const { usage: billed } = await responses.create(next);
    if (isExact) assert.equal(counted.input_tokens, billed?.input_tokens);
    if (!translated) return;
    const bare = responses.inputTokens.count({ model, previous_response_id: id });
    await assert.rejects(
      bare,
      (thrown: unknown) => thrown instanceof BadRequestError && thrown.param === "input",
    );
  },
);

Deno.test("tag lines of each turn are recorded and cut, whether or not it continues another", async () => {
  for (const label of ["vendor-b", "vendor-c"] as const) {
    const { model } = ways.find((way) => way.label === label && way.path === "/chat/v1")!;
    const tagsOf = async (input: string, previous?: string) => {
      const body = { model, input, ...(previous ? { previous_response_id: previous } : {}) };
      const answer = await service().post("/chat/v1/responses", body);
      const { id } = await answer.json() as { id: string };
      const sent = JSON.stringify(service().simulators.requests(label).at(-1)!.body);
      assert.ok(!sent.includes("///"), sent);
      const row = await service().row(answer.headers.get("x-transaction-id"));
      assert.equal((row.request as { input: string }).input, input);
      return { id, tags: [row.app, row.flow, row.cohort_id] };
    };
    const first = await tagsOf("/// APP shop\n/// COHORT c-1\nOne?");
    assert.deepEqual(first.tags, ["shop", null, "c-1"]);
    const second = await tagsOf("/// FLOW pay\n/// COHORT c-2\nTwo?", first.id);
    assert.deepEqual(second.tags, ["shop", "pay", "c-2"]);
    // Those of the first turn hold for the conversation, those of a later one for itself.
    const third = await tagsOf("Three?", second.id);
    assert.deepEqual(third.tags, ["shop", null, "c-1"]);
  }
});

Deno.test("a count has the refusals of its call, and fields of an answer change nothing", async () => {
  const { inputTokens } = client().responses;
  const model = "openai/gpt-5-mini";
  const plain = await inputTokens.count({ model, input: "Hi." });
  const whole = { max_output_tokens: 99, store: false, include: [], metadata: { a: "b" } };
  const more = { model, input: "Hi.", ...whole, prompt_cache_key: "k", user: "u", stream: true };
  assert.deepEqual(await inputTokens.count(more as InputTokenCountParams), plain);
  const refusals = [
    [{ model, input: "Hi.", previous_response_id: "resp_no" }, "previous_response_not_found"],
    [{ model, input: "Hi.", conversation: "conv_1" }, "unsupported_parameter"],
    [{ model: "openai/no-such-model", input: "Hi." }, "model_not_found"],
    [{ model }, "missing_required_field"],
    [{ input: "Hi." }, "missing_required_field"],
  ] as const;
  for (const [body, code] of refusals) {
    await assert.rejects(inputTokens.count(body), (thrown: unknown) => {
      assert.equal((thrown as BadRequestError).code, code, JSON.stringify(body));
      return true;
    });
  }
});

Deno.test("pages of input items: order, bounds, and ids that callers repeat", async () => {
  const { responses } = client();
  const said = (id: string, content: string) => ({ id, role: "user" as const, content });
  const input = [said("a", "1"), said("b", "2"), said("a", "3"), said("", "4")];
  const model = "vendor-c/claude-haiku-5-5";
  const { id } = await responses.create({ model, input: input as ResponseInputItem[] });
  const listed = async (query: Record<string, string>) => {
    const search = new URLSearchParams(query);
    const answer = await service().fetch(`/chat/v1/responses/${id}/input_items?${search}`);
    return [answer.status, await answer.json()] as const;
  };
  const [, { data, ...whole }] = await listed({ order: "asc" });
  const ids = data.map((item: Json) => item.id);
  assert.deepEqual([ids[0], ids[1], new Set(ids).size], ["a", "b", 4]);
  assert.deepEqual(whole, { object: "list", first_id: "a", last_id: ids[3], has_more: false });
  const [, page] = await listed({ limit: "2", after: ids[3] });
  assert.deepEqual(page.data, [data[2], data[1]]);
  assert.deepEqual([page.first_id, page.last_id, page.has_more], [ids[2], "b", true]);
  const [, none] = await listed({ after: "a" });
  assert.deepEqual(none, {
    ...{ object: "list", data: [], first_id: null, last_id: null, has_more: false },
  });
  const wrong = { limit: "101", order: "up", after: "nobody" };
  for (const [name, value] of Object.entries(wrong)) {
    const [status, { error }] = await listed({ [name]: value });
    assert.deepEqual([status, error.code, error.param], [400, "invalid_value", name]);
  }
});

Deno.test("sealed reasoning is listed only where `include` asks for it", async () => {
  const { responses } = client("/openai/v1");
  const first = await responses.create({
    ...{ model: "gpt-5-mini", input: "Think.", reasoning: { effort: "low" } },
    include: ["reasoning.encrypted_content"],
  });
  const { id } = await responses.create({
    ...{ model: "gpt-5-mini", input: "Go on.", previous_response_id: first.id },
  });
  const include = ["reasoning.encrypted_content" as const];
  const sealed = async (query = {}) =>
    (await responses.inputItems.list(id, query)).data
      .filter((item) => item.type === "reasoning").map((item) => item.encrypted_content);
  assert.deepEqual(await sealed(), [undefined]);
  const [content] = await sealed({ include });
  assert.equal(content, (first.output[0] as { encrypted_content?: string }).encrypted_content);
  assert.ok(content);
});

Deno.test("another account can neither read nor delete nor continue a response", async () => {
  const { admin, createKey } = service();
  const made = await admin("account", "create", "--name", "strangers");
  const account = String((made.json as { id: number }).id);
  const stranger = await createKey("--account", account);
  const model = "vendor-c/claude-haiku-5-5";
  const mine = await client().responses.create({ model, input: "My name is Ada." });
  const { responses } = client("/chat/v1", stranger.key);
  await gone(responses, mine.id, model);
  await assert.rejects(async () => await responses.inputItems.list(mine.id), NotFoundError);
  await assert.rejects(responses.delete(mine.id), NotFoundError);
  assert.equal((await client().responses.retrieve(mine.id)).id, mine.id);
  // A second key of the same account is the same account.
  const other = await createKey();
  const again = client("/chat/v1", other.key).responses.retrieve(mine.id);
  assert.equal((await again).id, mine.id);
});

Deno.test("an unknown id is 404 to read, and 400 to continue, with the field named", async () => {
  for (const id of ["resp_unknown", "resp_..%2F..", "x".repeat(300)]) {
    await gone(client().responses, id, "vendor-c/claude-haiku-5-5");
  }
});

Deno.test("a response that did not end well is not kept", async () => {
  for (const { path, model } of ways) {
    const body = { model, input: "[cut:clean] My name is Ada.", stream: true };
    const text = await (await service().post(`${path}/responses`, body)).text();
    const id = streamValues(text).map((event) => at(event, "response", "id")).find((one) => one);
    await gone(client(path).responses, String(id), model);
  }
});

Deno.test("a conversation goes on at another vendor, without the first one's sealed reasoning", async () => {
  const { responses } = client();
  let last: string | undefined;
  for (const { label, strictModel } of [...vendors, ...vendors.toReversed()]) {
    const answer = await responses.create({
      model: `${label}/${strictModel}`,
      input: `I am at ${label}.`,
      reasoning: { effort: "low", summary: "auto" },
      ...(last === undefined ? {} : { previous_response_id: last }),
    });
    assert.equal(answer.status, "completed");
    last = answer.id;
  }
  const sent = JSON.stringify(service().simulators.requests("vendor-a").at(-1)!.body);
  for (const { label } of vendors) assert.ok(sent.includes(`I am at ${label}.`));
});

Deno.test("a response outlives the process that made it", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "state-" });
  const { baseUrl, apiKey } = service().simulators.vendors["vendor-g"];
  await using database = await anyDatabase();
  const vendor = { VENDOR_G_BASE_URL: baseUrl, VENDOR_G_API_KEY: apiKey };
  const env = { ...database.env, ...vendor, DATA_DIR: dataDir };
  const model = "vendor-g/grok-4.3";
  let key = "";
  let kept: unknown;
  {
    await using service = await startTestService({ env });
    key = service.key;
    const answer = await service.post("/chat/v1/responses", { model, input: "My name is Ada." });
    kept = await answer.json();
  }
  {
    await using service = await startTestService({ env });
    const headers = { authorization: `Bearer ${key}` };
    const id = String(at(kept, "id"));
    const found = await service.fetch(`/chat/v1/responses/${id}`, { headers });
    assert.deepEqual(await found.json(), kept);
    const body = { model, input: "What is my name?", previous_response_id: id };
    const next = await service.post("/chat/v1/responses", body, headers);
    assert.equal(at(await next.json(), "status"), "completed");
  }
  await Deno.remove(dataDir, { recursive: true });
});

/** Neither read nor continued, with the codes of interface.md §5. */
async function gone(responses: OpenAI["responses"], id: string, model: string): Promise<void> {
  await assert.rejects(responses.retrieve(id), (thrown: unknown) => {
    if (!(thrown instanceof NotFoundError)) throw thrown;
    assert.equal(thrown.code, "response_not_found");
    return true;
  });
  const continuing = responses.create({ model, input: "Go on.", previous_response_id: id });
  await assert.rejects(continuing, (thrown: unknown) => {
    if (!(thrown instanceof BadRequestError)) throw thrown;
    assert.deepEqual(
      [thrown.code, thrown.param],
      ["previous_response_not_found", "previous_response_id"],
    );
    return true;
  });
}

/** Reads a stream up to an event and leaves. */
async function readTo(answer: globalThis.Response, type: string): Promise<Json> {
  let text = "";
  for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += piece;
    const found = text.endsWith("\n\n")
      ? streamValues(text).find((event) => event.type === type)
      : undefined;
    if (found) return found;
  }
  throw new Error(`The stream has no ${type}: ${text}`);
}

/** As it was on the wire, without what the library adds. */
function plain(response: object): unknown {
  const { output_text: _, ...rest } = JSON.parse(JSON.stringify(response));
  return rest;
}

/** The end of a text, long enough to know it by. */
function tail(text: string): string {
  return text.slice(-40);
}
