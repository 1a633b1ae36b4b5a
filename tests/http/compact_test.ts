/** `POST …/responses/compact`, as the client library calls it. */
import OpenAI from "openai";
import type { CompactedResponse, ResponseInput } from "openai/resources/responses/responses";
import assert from "@std/assert";
import type { FakeExchange } from "../support/fake_vendor.ts";
import { shared } from "../support/service.ts";
import { messagesAnswer, responsesAnswer, startTodaysVendors } from "../support/todays_vendors.ts";
import { callingTool } from "../support/tool_calling_vendor.ts";

const world = shared(startTodaysVendors);

/** A model at a vendor of each dialect; two of the vendors speak the caller's. */
const models = [
  "vendor-a/deepseek-ai/DeepSeek-V4-Flash",
  "vendor-c/claude-haiku-4-5",
  "vendor-d/gemini-2.5-flash",
  "vendor-e/gemini-2.5-flash",
  "vendor-f/openai/gpt-5-mini",
  "acme/acme-1",
  "vendor-g/grok-4.3",
] as const;

const call = { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" } as const;
const conversation = [
  { role: "developer", content: "Be brief." },
  { role: "user", content: "/// APP farm\nMend the fence." },
  { role: "assistant", content: "I look at it." },
  call,
  { type: "function_call_output", call_id: "call_1", output: "Two planks are broken." },
  { role: "user", id: "msg_7", content: [{ type: "input_text", text: "And the gate." }] },
] as ResponseInput;

const openAIs = {
  ...{ id: "resp_compact", object: "response.compaction", created_at: 1_700_000_000 },
  output: [
    { ...conversation[1], type: "message", id: "msg_1", status: "completed" },
    { id: "cmp_1", type: "compaction", encrypted_content: "gAAA" },
  ],
  usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
};

function client(family = "chat", key = world().key): OpenAI {
  return new OpenAI({ baseURL: `${world().baseUrl}/${family}/v1`, apiKey: key, maxRetries: 0 });
}

async function compact(model: string, fields: object, family?: string) {
  const params = { model, ...fields } as OpenAI.Responses.ResponseCompactParams;
  const { data, response } = await client(family).responses.compact(params).withResponse();
  return { data, transactionId: response.headers.get("x-transaction-id") };
}

function userTexts({ output }: CompactedResponse): unknown[] {
  // The library's type has no messages of the user's.
  return output.slice(0, -1).map((item: object) => {
    const { id, type, role, status, content } = item as Record<string, unknown>;
    assert.match(String(id), /^msg_/);
    assert.deepEqual([type, role, status], ["message", "user", "completed"]);
    return content;
  });
}

Deno.test("the library compacts a conversation with a model of any vendor, and goes on at any other", async () => {
  world().play(callingTool(() => undefined));
  for (const model of models) {
    const { data, transactionId } = await compact(model, { input: conversation });
    const asked = world().last().body;
    assert.match(asked, /Mend the fence.*Write a summary of this whole conversation/, model);
    assert.doesNotMatch(asked, /compaction|APP farm/);
    assert.equal(data.object, "response.compaction");
    assert.match(data.id, /^resp_/);
    assert.ok(data.created_at > 1_700_000_000);
    assert.deepEqual([data.usage.input_tokens, data.usage.output_tokens], [10, 5]);
    assert.deepEqual(userTexts(data), [
      [{ type: "input_text", text: "/// APP farm\nMend the fence." }],
      [{ type: "input_text", text: "And the gate." }],
    ]);
    assert.equal(data.output.at(-1)?.type, "compaction");
    const row = await world().row(transactionId);
    assert.deepEqual([row.status, row.output_tokens, row.app], ["completed", 5, "farm"]);
    assert.ok(Number(row.charged_usd) > 0);
    for (const next of [model, "vendor-b/gpt-4.1", "vendor-c/claude-haiku-4-5"]) {
      const input = [...data.output, { role: "user", content: "Go on." }] as ResponseInput;
      await client().responses.create({ model: next, input, store: false });
      const { body } = world().last();
      assert.match(body, /Mend the fence.*And the gate.*replaced by this summary[^"]*Fine\./, next);
      assert.doesNotMatch(body, /compaction|broken/);
    }
  }
  world().play();
});

Deno.test("OpenAI compacts by itself: request and answer pass unchanged", async () => {
  world().play((exchange) => exchange.answer(200, openAIs));
  for (const [family, model] of [["chat", "vendor-b/gpt-4.1"], ["openai", "gpt-4.1"]]) {
    const fields = { input: conversation.slice(2), prompt_cache_key: "k" };
    const { data, transactionId } = await compact(model!, fields, family);
    const { path, body } = world().last();
    assert.equal(path, "/b/responses/compact");
    assert.deepEqual(JSON.parse(body), { model: "gpt-4.1", ...fields });
    assert.deepEqual(data, openAIs as unknown);
    const row = await world().row(transactionId);
    assert.deepEqual([row.status, row.input_tokens, row.output_tokens], ["completed", 10, 5]);
    assert.ok(Number(row.charged_usd) > 0);
  }
  const { usage: _, ...uncounted } = openAIs;
  world().play((exchange) => exchange.answer(200, uncounted));
  const { transactionId } = await compact("vendor-b/gpt-4.1", { input: "Mend the fence." });
  // The user's own messages are not output.
  const row = await world().row(transactionId);
  assert.deepEqual([row.billing_basis, row.output_tokens], ["estimated", 0]);
  world().play();
});

Deno.test("a server without the endpoint is asked for the summary, and keeps its other calls", async () => {
  world().play((exchange) =>
    exchange.request.path.endsWith("/compact")
      ? exchange.answer(404, { error: { message: "Not found" } })
      : callingTool(() => undefined)(exchange)
  );
  const { data } = await compact("vendor-b/gpt-4.1", { input: conversation });
  assert.match(world().last().body, /Write a summary/);
  assert.equal(userTexts(data).length, 2);
  await client().responses.create({ model: "vendor-b/gpt-4.1", input: "Hi" });
  assert.equal(world().last().path, "/b/responses");
  world().play();
});

Deno.test("a stored conversation is compacted by its id; the answer itself is not stored", async () => {
  world().play((exchange) =>
    exchange.request.path.endsWith("/compact")
      ? exchange.answer(200, openAIs)
      : callingTool(() => undefined)(exchange)
  );
  const { responses } = client();
  for (const model of ["vendor-c/claude-haiku-4-5", "vendor-b/gpt-4.1"]) {
    const { id } = await responses.create({ model, input: "Mend the fence." });
    const { data } = await compact(model, { previous_response_id: id, input: "And the gate." });
    assert.equal(data.output.at(-1)?.type, "compaction");
    const { body } = world().last();
    assert.match(body, /Mend the fence.*Fine\..*And the gate/, model);
    assert.doesNotMatch(body, /previous_response_id/);
    const alone = await compact(model, { previous_response_id: id });
    if (model.startsWith("vendor-c")) {
      assert.deepEqual([data, alone.data].map((one) => userTexts(one).length), [2, 1]);
    }
    await assert.rejects(responses.retrieve(data.id), { status: 404 });
    const next = { model, input: "Go on.", previous_response_id: data.id };
    await assert.rejects(responses.create(next), { code: "previous_response_not_found" });
  }
  world().play();
});

/** OpenAI's answer to the request: its user's messages, and what only OpenAI can read. */
function compactedByOpenAI(exchange: FakeExchange) {
  const { input } = JSON.parse(exchange.request.body) as { input: { role?: string }[] };
  const messages = input.filter(({ role }) => role === "user");
  return exchange.answer(200, { ...openAIs, output: [...messages, openAIs.output.at(-1)] });
}

Deno.test("nothing of an erased call is left in a compact call that repeated it", async () => {
  world().play((exchange) => {
    const { path } = exchange.request;
    if (path.endsWith("/compact")) return compactedByOpenAI(exchange);
    if (path === "/b/responses") {
      return exchange.answer(200, { ...responsesAnswer, id: "resp_early" });
    }
    return callingTool(() => undefined)(exchange);
  });
  for (
    const [model, word] of [["vendor-c/claude-haiku-4-5", "zebra"], ["vendor-b/gpt-4.1", "yak"]]
  ) {
    const early = await client().responses.create({ model: model!, input: `Feed the ${word}.` })
      .withResponse();
    const input = "And the gate.";
    const body = { model, previous_response_id: early.data.id, input };
    const ask = async () => {
      const headers = { "x-request-id": early.data.id };
      const response = await world().post("/chat/v1/responses/compact", body, headers);
      return { headers: response.headers, text: await response.text() };
    };
    const first = await ask();
    assert.match(first.text, new RegExp(`Feed the ${word}\\..*And the gate\\.`));
    const { response } = await world().row(first.headers.get("x-transaction-id"));
    const { output, ...rest } = JSON.parse(first.text);
    // The content of the other items is in the records of the calls that sent them.
    const named = (item: Record<string, unknown>) => {
      const { id, type, role, status } = item;
      return JSON.parse(JSON.stringify({ id, type, role, status }));
    };
    const recorded = [...output.slice(0, -1).map(named), output.at(-1)];
    assert.deepEqual(response, { ...rest, output: recorded });
    const again = await ask();
    assert.deepEqual([again.headers.get("x-idempotent-replay"), again.text], ["true", first.text]);

    const transaction_ids = [early.response.headers.get("x-transaction-id")!];
    const erased = await world().api().deleteData({ body: { transaction_ids, confirm: true } });
    assert.equal(erased.body.deleted_count, 1);
    const found = await world().fetch(`/api/v1/interactions?q=${word}`);
    assert.deepEqual((await found.json()).data, []);
    const exported = await world().post("/api/v1/exports", { start_date: "2020-01-01" });
    const rows = await exported.text();
    assert.ok(rows.includes(first.headers.get("x-transaction-id")!) && !rows.includes(word!));
    const gone = await ask();
    assert.equal(gone.headers.get("x-idempotent-replay"), null);
    assert.equal(JSON.parse(gone.text).error.code, "previous_response_not_found");
  }
  world().play();
});

Deno.test("what can't be compacted is refused before a vendor is asked", async () => {
  const before = world().vendor.requests.length;
  const trigger = { type: "compaction_trigger" };
  const wrong: [fields: object, param: string][] = [
    [{}, "input"],
    [{ input: 7 }, "input"],
    [{ input: [null] }, "input[0]"],
    [{ input: [trigger] }, "input[0]"],
    [{ input: [{ type: "function_call_output", call_id: "x", output: "y" }] }, "input[0]"],
    [{ input: "Hi", stream: true }, "stream"],
    [{ input: "Hi", store: true }, "store"],
    [{ input: "Hi", background: true }, "background"],
    [{ input: "Hi", previous_response_id: "resp_x" }, "previous_response_id"],
    [{ input: [{ type: "compaction", encrypted_content: "gAAA" }] }, "input[0]"],
  ];
  for (const [fields, param] of wrong) {
    const body = { model: "vendor-c/claude-haiku-4-5", ...fields };
    const refused = await world().post("/chat/v1/responses/compact", body);
    const { error } = await refused.json();
    assert.deepEqual([refused.status, error.param], [400, param], JSON.stringify(fields));
  }
  const { key } = await world().createKey("--name", "narrow", "--scope", "vendor-b");
  const input = "Hi";
  await assert.rejects(client("chat", key).responses.compact({ model: "gpt-4.1", input }), {
    status: 403,
  });
  await assert.rejects(client("chat", "dmt_x").responses.compact({ model: "gpt-4.1", input }), {
    status: 401,
  });
  assert.equal(world().vendor.requests.length, before);
});

Deno.test("a repeat by its id is answered as before and charged once", async () => {
  world().play(callingTool(() => undefined));
  const ask = async (input: unknown) => {
    const body = { model: "vendor-c/claude-haiku-4-5", input };
    const headers = { "x-request-id": "compact-1" };
    return await world().post("/chat/v1/responses/compact", body, headers);
  };
  const first = await ask(conversation);
  const before = world().vendor.requests.length;
  const second = await ask(conversation);
  assert.equal(second.headers.get("x-idempotent-replay"), "true");
  assert.equal(await second.text(), await first.text());
  assert.equal((await ask("Another.")).status, 409);
  assert.equal(world().vendor.requests.length, before);
  world().play();
});

Deno.test("an answer without a summary and a vendor that fails fail the call", async () => {
  const model = "vendor-c/claude-haiku-4-5";
  const ask = async () => {
    const refused = await world().post("/chat/v1/responses/compact", { model, input: "Hi", tools });
    const row = await world().row(refused.headers.get("x-transaction-id"));
    return { status: refused.status, body: await refused.json(), row };
  };
  const parameters = { type: "object", properties: {} };
  const tools = [{ type: "function", name: "f", parameters }];
  world().play(callingTool(([first]) => first));
  const called = await ask();
  assert.deepEqual([called.status, called.body.error.code], [502, "upstream_invalid_response"]);
  assert.match(called.body.error.message, /no summary/);
  assert.deepEqual([called.row.status, called.row.output_tokens], ["failed", 5]);
  assert.ok(Number(called.row.charged_usd) > 0);
  const stopped = (stop_reason: string) => ({ ...messagesAnswer, stop_reason });
  world().play((exchange) => exchange.answer(200, stopped("refusal")));
  assert.equal((await ask()).body.error.code, "upstream_invalid_response");
  // A cut summary is better than none.
  world().play((exchange) => exchange.answer(200, stopped("max_tokens")));
  assert.equal((await ask()).body.output.at(-1).type, "compaction");
  world().play((exchange) => exchange.answer(400, { error: { message: "Too many planks." } }));
  const failed = await ask();
  assert.deepEqual([failed.status, failed.row.charged_usd], [400, "0.000000000"]);
  assert.match(failed.body.error.message, /Too many planks/);
  world().play();
});

Deno.test("a long conversation's answer has the user's messages too", async () => {
  world().play(callingTool(() => undefined));
  const long = "long ".repeat(400_000);
  const output = { type: "function_call_output", call_id: "call_1", output: long };
  const input = [...conversation.slice(0, 4), output, conversation[5]];
  const { data } = await compact("vendor-c/claude-haiku-4-5", { input });
  assert.ok(world().last().body.includes(long));
  assert.equal(userTexts(data).length, 2);
  world().play();
});
