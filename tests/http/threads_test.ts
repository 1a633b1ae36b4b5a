/** Message threads, which the gateway keeps: each request sends new messages only. */
import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import assert from "@std/assert";
import { shared } from "../support/service.ts";
import { callingTool } from "../support/tool_calling_vendor.ts";
import { startTodaysVendors } from "../support/todays_vendors.ts";

const world = shared(startTodaysVendors);

/** A model at a vendor of each dialect; the first is asked in the caller's own. */
const models = [
  "vendor-c/claude-haiku-4-5",
  "vendor-b/gpt-5.6-sol",
  "vendor-d/gemini-2.5-flash",
  "acme/acme-1",
] as const;

type Json = Record<string, unknown>;

/** A messages call as a caller of HTTP sees it. */
async function ask(body: Json, headers: Record<string, string> = {}) {
  const answer = await world().post("/chat/v1/messages", {
    model: models[0],
    max_tokens: 99,
    ...body,
  }, headers);
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text, json: JSON.parse(text) };
}

const create = { type: "create" };
const goOn = (previous_message_id: unknown) => ({ type: "continue", previous_message_id });

Deno.test("the official runner's tool loop sends new messages only, and every vendor gets the whole conversation", async () => {
  for (const model of models) {
    for (const stream of [false, true]) {
      world().play(callingTool(([first]) => first));
      const begin = world().vendor.requests.length;
      const sent: Json[] = [];
      let runs = 0;
      const lookup = betaTool({
        name: "lookup",
        description: "Looks a word up.",
        inputSchema: { type: "object", properties: {}, additionalProperties: false },
        run: () => `a word, ${++runs}`,
      });
      const anthropic = new Anthropic({
        baseURL: `${world().baseUrl}/chat`,
        apiKey: world().key,
        maxRetries: 0,
        fetch: (url, init) => {
          sent.push(JSON.parse(String(init?.body)));
          return fetch(url, init);
        },
      });
      const runner = anthropic.beta.messages.toolRunner({
        model,
        max_tokens: 99,
        system: "You know words.",
        tools: [lookup],
        messages: [{ role: "user", content: "What does it mean?" }],
        stream,
      });
      const last = await runner.runUntilDone();
      const at = `${model}, stream ${stream}`;
      assert.deepEqual(last.content.map((block) => block.type), ["text"], at);
      assert.equal(runs, 1, at);
      // The client has nobody's history but the thread's, and no request was refused.
      assert.deepEqual(sent.map(({ thread }) => (thread as Json | undefined)?.type), [
        "create",
        "continue",
      ], at);
      assert.ok(!("system" in sent[1]!) && !("tools" in sent[1]!), at);
      assert.ok(!JSON.stringify(sent[1]!.messages).includes("What does it mean?"), at);
      const received = world().vendor.requests.slice(begin).filter(({ method }) =>
        method === "POST"
      );
      assert.equal(received.length, 2, at);
      for (
        const part of ["You know words.", "What does it mean?", "a word, 1", "Looks a word up."]
      ) {
        assert.ok(received[1]!.body.includes(part), `${at}: ${part} in ${received[1]!.body}`);
      }
      assert.ok(!received.some(({ body }) => body.includes('"thread"')), at);
    }
  }
});

Deno.test("tools that the official runner adds and removes on its way reach vendors of every dialect", async () => {
  const toolOf = (name: string, run: () => string) =>
    betaTool({ name, description: "", inputSchema: { type: "object", properties: {} }, run });
  for (const model of models.slice(1)) {
    world().play(callingTool(([first]) => first));
    const anthropic = new Anthropic({
      ...{ baseURL: `${world().baseUrl}/chat`, apiKey: world().key, maxRetries: 0 },
    });
    const runner = anthropic.beta.messages.toolRunner({
      ...{ model, max_tokens: 99, messages: [{ role: "user", content: "What does it mean?" }] },
      tools: [toolOf("lookup", () => {
        runner.addTools(toolOf("translate", () => "ein Wort"));
        runner.removeTools("lookup");
        return "a word";
      })],
    });
    const last = await runner.runUntilDone();
    assert.deepEqual(last.content.map((block) => block.type), ["text"], model);
    const { tools } = JSON.parse(world().last().body);
    assert.match(JSON.stringify(tools), /"translate"/, model);
    assert.doesNotMatch(JSON.stringify(tools), /"lookup"/, model);
  }
});

Deno.test("a runner whose thread is gone goes on with the whole history by itself", async () => {
  world().play(callingTool(([first]) => first));
  const asked: unknown[] = [];
  const anthropic = new Anthropic({
    baseURL: `${world().baseUrl}/chat`,
    apiKey: world().key,
    maxRetries: 0,
    // The id of an answer that another account keeps, or that was erased.
    fetch: (url, init) => {
      const body = JSON.parse(String(init?.body));
      const isLost = body.thread?.type === "continue" && !asked.includes("continue");
      if (isLost) body.thread.previous_message_id = "msg_lost";
      asked.push(body.thread?.type);
      return fetch(url, { ...init, body: JSON.stringify(body) });
    },
  });
  const runner = anthropic.beta.messages.toolRunner({
    model: models[2],
    max_tokens: 99,
    tools: [betaTool({
      name: "lookup",
      description: "",
      inputSchema: { type: "object", properties: {} },
      run: () => "a word",
    })],
    messages: [{ role: "user", content: "What does it mean?" }],
  });
  const last = await runner.runUntilDone();
  assert.deepEqual(last.content.map((block) => block.type), ["text"]);
  assert.deepEqual(asked, ["create", "continue", "create"]);
  assert.match(world().last().body, /What does it mean\?.*a word/);
});

Deno.test("a thread of the caller's own dialect: the caller's bytes, system, tools and thinking reach the vendor", async () => {
  const thinking = { type: "thinking", thinking: "Hm.", signature: "c2lnbmVk" };
  const content = [thinking, { type: "text", text: "First." }];
  const id = "msg_of_the_vendor_1";
  world().play((exchange) =>
    exchange.answer(200, {
      id,
      type: "message",
      role: "assistant",
      model: "claude-2026",
      content,
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: { input_tokens: 10, output_tokens: 5 },
    })
  );
  const mark = { cache_control: { type: "ephemeral" } };
  const system = [{ type: "text", text: "/// APP words\nBe brief.", ...mark }];
  const tools = [{ name: "f", input_schema: { type: "object" }, ...mark }];
  const question = { role: "user", content: [{ type: "text", text: "One?", ...mark }] };
  const first = await ask({ system, tools, messages: [question], thread: create });
  assert.equal(first.status, 200, first.text);
  assert.deepEqual(JSON.parse(world().last().body), {
    model: "claude-haiku-4-5",
    max_tokens: 99,
    system: [{ type: "text", text: "Be brief.", ...mark }],
    tools,
    messages: [question],
  });
  const odd = '{"role":"user", "content" : "Two? \\u00e9"}';
  const answer = await world().fetch("/chat/v1/messages", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: `{"thread":{"type":"continue","previous_message_id":"${id}"},"model":"${
      models[0]
    }","messages":[ ${odd} ],"max_tokens":99}`,
  });
  assert.equal(answer.status, 200, await answer.text());
  const { body } = world().last();
  assert.ok(body.includes(odd), body);
  const { messages, ...rest } = JSON.parse(body);
  assert.deepEqual(rest.tools, tools);
  assert.deepEqual(rest.system, [{ type: "text", text: "Be brief.", ...mark }]);
  // Marks of messages that the thread has already would be more than a request may have.
  assert.deepEqual(messages, [
    { role: "user", content: [{ type: "text", text: "One?" }] },
    { role: "assistant", content },
    { role: "user", content: "Two? é" },
  ]);
  const row = await world().row(answer.headers.get("x-transaction-id"));
  assert.equal(row.app, "words");
  // The record holds what the caller sent.
  const { messages: recorded, thread } = row.request as { messages: Json[]; thread: Json };
  assert.deepEqual([recorded.length, thread.previous_message_id], [1, id]);
});

Deno.test("a streamed answer goes on with what its vendor alone needs back: sources, callers and sets of tools, a sealed summary", async () => {
  const id = "msg_of_the_vendor_2";
  const source = {
    type: "web_search_result_location",
    url: "https://example.com/a",
    title: "A",
    cited_text: "So it says.",
    encrypted_index: "c2VhbGVk",
  };
  const page = {
    type: "page_location",
    document_index: 0,
    cited_text: "Page.",
    end_page_number: 2,
  };
  const caller = { type: "code_execution_20260120", tool_id: "srvtoolu_1" };
  const compaction = { type: "compaction", signature: "c2lnbmVk", tool_changes: [] };
  const text = { type: "text", text: "Found." };
  const click = { type: "tool_use", id: "toolu_1", name: "zoom", toolset_name: "computer" };
  const query = { type: "tool_use", id: "toolu_2", name: "query", caller };
  const blocks: [Json, ...Json[]][] = [
    [{ ...compaction, content: null, encrypted_content: null }, {
      type: "compaction_delta",
      content: "So far.",
      encrypted_content: "c3VtbWFyeQ",
    }],
    [
      { ...text, text: "", citations: [] },
      ...[source, page].map((citation) => ({ type: "citations_delta", citation })),
      { type: "text_delta", text: "Found." },
    ],
    [{ ...click, input: {}, caller: { type: "direct" } }],
    [{ ...query, input: {} }, { type: "input_json_delta", partial_json: '{"q":1}' }],
  ];
  const usage = { input_tokens: 10, output_tokens: 5 };
  const events: Json[] = [
    { type: "message_start", message: { id, type: "message", role: "assistant", usage } },
    ...blocks.flatMap(([content_block, ...deltas], index): Json[] => [
      { type: "content_block_start", index, content_block },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage },
    { type: "message_stop" },
  ];
  world().play((exchange) =>
    exchange.stream(events.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`))
  );
  const first = await world().post("/chat/v1/messages", {
    ...{ model: models[0], max_tokens: 99, stream: true, thread: create },
    messages: [{ role: "user", content: "Look it up." }],
  });
  await first.text();
  const { response } = await world().row(first.headers.get("x-transaction-id"));
  const content = [
    { ...compaction, content: "So far.", encrypted_content: "c3VtbWFyeQ" },
    { ...text, citations: [source, page] },
    { ...click, input: {}, caller: { type: "direct" } },
    { ...query, input: { q: 1 } },
  ];
  assert.deepEqual((response as Json).content, content);
  world().play(callingTool(() => undefined));
  const results = ["toolu_1", "toolu_2"].map((tool_use_id) => ({
    type: "tool_result",
    tool_use_id,
  }));
  const next = await ask({ messages: [{ role: "user", content: results }], thread: goOn(id) });
  assert.equal(next.status, 200, next.text);
  assert.deepEqual(JSON.parse(world().last().body).messages[1], { role: "assistant", content });
});

Deno.test("a thread goes on at another vendor, from any of its answers, and without a new message", async () => {
  world().play(callingTool(() => undefined));
  const first = await ask({ messages: [{ role: "user", content: "One?" }], thread: create });
  const id = first.json.id;
  for (const model of models) {
    const next = await ask({
      model,
      messages: [{ role: "user", content: "Two?" }],
      thread: goOn(id),
    });
    assert.equal(next.status, 200, next.text);
    assert.match(world().last().body, /One\?.*Fine\..*Two\?/);
    const third = await ask({
      messages: [{ role: "user", content: "3?" }],
      thread: goOn(next.json.id),
    });
    assert.equal(third.status, 200, third.text);
    assert.match(world().last().body, /One\?.*Fine\..*Two\?.*Fine\..*3\?/);
  }
  // How a runner resumes an answer that paused.
  const resumed = await ask({ messages: [], thread: goOn(id) });
  assert.equal(resumed.status, 200, resumed.text);
  assert.match(
    world().last().body,
    /"messages":\[\{"role":"user","content":"One\?"\},\{"role":"assistant"[^{]*\{[^}]*\}\]\}\]/,
  );
});

Deno.test("a count of a message that continues a thread counts the conversation too", async () => {
  world().play(callingTool(() => undefined));
  const messages = [{ role: "user", content: `One? ${"Because. ".repeat(200)}` }];
  const { json: { id } } = await ask({ messages, thread: create });
  const next = { messages: [{ role: "user", content: "Two?" }], thread: goOn(id) };
  world().play((exchange) => exchange.answer(200, { input_tokens: 9 }));
  const path = "/chat/v1/messages/count_tokens";
  const counted = await world().post(path, { model: models[0], ...next });
  assert.deepEqual(await counted.json(), { input_tokens: 9 });
  const { messages: sent, thread } = JSON.parse(world().last().body);
  assert.deepEqual([sent.length, thread], [3, undefined]);
  const estimated = await world().post(path, { model: "acme/acme-1", ...next });
  const { input_tokens: tokens } = await estimated.json();
  assert.ok(tokens > 200, `${tokens}`);
  const first = await world().post(path, { model: models[0], messages, thread: create });
  assert.equal(first.status, 200, await first.text());
  assert.equal(JSON.parse(world().last().body).thread, undefined);
  world().play();
});

Deno.test("nobody else continues a thread, no other endpoint reads it, and it is erased with its call", async () => {
  world().play(callingTool(() => undefined));
  const first = await ask({ messages: [{ role: "user", content: "Secret?" }], thread: create });
  const id: string = first.json.id;
  const transaction = first.headers.get("x-transaction-id")!;
  const plain = await ask({ messages: [{ role: "user", content: "Not kept." }] });
  const other = await (async () => {
    const made = await world().admin("account", "create", "--name", "other");
    const { id: account } = made.json as { id: string };
    await world().admin("credits", "grant", "--usd", "5", "--account", String(account));
    return (await world().createKey("--account", String(account))).key;
  })();
  const cases: [string, Json, Record<string, string>][] = [
    ["another account", goOn(id), { authorization: `Bearer ${other}` }],
    ["an answer without a thread", goOn(plain.json.id), {}],
  ];
  for (const [name, thread, headers] of cases) {
    const refused = await ask({ messages: [{ role: "user", content: "?" }], thread }, headers);
    assert.equal(refused.status, 400, name);
    assert.deepEqual(refused.json.error.details, { error_code: "thread_not_found" }, name);
  }
  const responses = await world().post("/chat/v1/responses", {
    model: models[1],
    input: "What did I say?",
    previous_response_id: id,
  });
  assert.equal((await responses.json()).error.code, "previous_response_not_found");
  for (const method of ["GET", "DELETE"]) {
    const found = await world().fetch(`/chat/v1/responses/${id}`, { method });
    assert.equal(found.status, 404, method);
    await found.body?.cancel();
  }
  const second = await ask({ messages: [{ role: "user", content: "And?" }], thread: goOn(id) });
  assert.equal(second.status, 200, second.text);
  const erased = await world().fetch("/api/v1/data", {
    method: "DELETE",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ transaction_ids: [transaction], confirm: true }),
  });
  assert.equal(erased.status, 200, await erased.text());
  // The second answer's thread holds the erased text.
  for (const gone of [id, second.json.id]) {
    const refused = await ask({ messages: [{ role: "user", content: "?" }], thread: goOn(gone) });
    assert.deepEqual(refused.json.error.details, { error_code: "thread_not_found" });
  }
});

Deno.test("a call of which nothing is stored keeps no thread, and the runner goes on without", async () => {
  world().play(callingTool(([first]) => first));
  const metadata = { "x-record": "metadata" };
  const first = await ask({ messages: [{ role: "user", content: "?" }], thread: create });
  for (const thread of [create, goOn(first.json.id)]) {
    const refused = await ask({ messages: [{ role: "user", content: "?" }], thread }, metadata);
    assert.equal(refused.status, 400);
    assert.deepEqual(refused.json.error.details, {
      error_code: "thread_unsupported_request",
      unsupported: ["thread"],
    });
  }
  const anthropic = new Anthropic({
    baseURL: `${world().baseUrl}/chat`,
    apiKey: world().key,
    maxRetries: 0,
    defaultHeaders: metadata,
  });
  const lookup = betaTool({
    name: "lookup",
    description: "",
    inputSchema: { type: "object", properties: {} },
    run: () => "a word",
  });
  const last = await anthropic.beta.messages.toolRunner({
    model: models[2],
    max_tokens: 99,
    tools: [lookup],
    messages: [{ role: "user", content: "What does it mean?" }],
  }).runUntilDone();
  assert.deepEqual(last.content.map((block) => block.type), ["text"]);
  assert.match(world().last().body, /What does it mean\?.*a word/);
});

Deno.test("a wrong thread is an error that names the field", async () => {
  const messages = [{ role: "user", content: "?" }];
  const wrong: [unknown, string][] = [
    [{ type: "resume" }, "thread.type"],
    [{}, "thread.type"],
    [{ type: "continue" }, "thread.previous_message_id"],
    [{ type: "continue", previous_message_id: 5 }, "thread.previous_message_id"],
    ["create", "thread"],
  ];
  for (const [thread, param] of wrong) {
    const refused = await ask({ messages, thread });
    assert.equal(refused.status, 400);
    assert.match(refused.json.error.message, new RegExp(`^${param}: `));
  }
  const empty = await ask({ messages: [], thread: create });
  assert.equal(empty.status, 400);
  assert.match(empty.json.error.message, /^messages: expected at least 1 item/);
});

/** The body of a call with it is processed in steps, and released before the answer. */
const megabyte = "Why? ".repeat(210_000);

Deno.test("large calls begin and continue a thread", async () => {
  world().play(callingTool(() => undefined));
  const messages = [{ role: "user", content: megabyte }];
  const first = await ask({ messages, thread: create });
  assert.equal(first.status, 200, first.text.slice(0, 300));
  const second = await ask({ messages, thread: goOn(first.json.id) });
  assert.equal(second.status, 200, second.text.slice(0, 300));
  const third = await ask({
    messages: [{ role: "user", content: "?" }],
    thread: goOn(second.json.id),
  });
  assert.equal(third.status, 200, third.text.slice(0, 300));
  assert.equal(JSON.parse(world().last().body).messages.length, 5);
});

Deno.test("each turn of a long thread may have a few long ids, all together no more than a call", async () => {
  world().play(callingTool(() => undefined));
  const turn = (text: string, ids: number) => {
    const long = Array.from({ length: ids }, (_, at) => `${text[0]}${at}${"i".repeat(16_000)}`);
    return [
      { role: "user", content: text },
      {
        role: "assistant",
        content: long.map((id) => ({ type: "tool_use", id, name: "f", input: {} })),
      },
      {
        role: "user",
        content: long.map((id) => ({ type: "tool_result", tool_use_id: id, content: "x" })),
      },
    ];
  };
  const first = await ask({ messages: turn(megabyte, 3), thread: create });
  assert.equal(first.status, 200, first.text.slice(0, 300));
  const thread = goOn(first.json.id);
  const second = await ask({ messages: turn("Two?", 2), thread });
  assert.equal(second.status, 200, second.text.slice(0, 300));
  const third = await ask({ messages: turn("Two?", 3), thread });
  const counted = await world().post("/chat/v1/messages/count_tokens", {
    model: models[1],
    messages: turn("Two?", 3),
    thread,
  });
  assert.deepEqual([third.status, counted.status], [400, 400]);
  for (const { error } of [third.json, await counted.json()]) {
    assert.match(error.message, /^messages\[6\]\.content\[1\]\.tool_use_id: expected at most/);
  }
});
