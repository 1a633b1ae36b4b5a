/** State in a vendor's account, where many accounts share the service's own key there. */
import assert from "@std/assert";
import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import type { DialectName } from "../../contracts/calls/vendors.ts";
import { shared, startSimulatedService } from "../support/service.ts";
import { hostedAnswer, hostedEvents } from "./hosted_answers.ts";
import { startHostedVendors } from "./hosted_vendors.ts";
import { dialectNames, rawRequest } from "./raw_calls.ts";
import { type Json } from "./wire.ts";

const service = shared(() => startHostedVendors());
const simulated = shared(() => startSimulatedService({}, { database: "any" }));

const models: Readonly<Record<DialectName, string>> = {
  chat: "vendor-b/gpt-5.4",
  responses: "vendor-b/gpt-5.4",
  messages: "vendor-c/claude-sonnet-4-6",
  generate: "vendor-d/gemini-3.8-flash",
};

/** State that a request names, and where; each is the last of its kind to be named otherwise. */
const states: readonly { dialect: DialectName; more: Json; path: string }[] = [
  { dialect: "responses", more: { conversation: "conv_1" }, path: "conversation" },
  { dialect: "responses", more: { conversation: { id: "conv_1" } }, path: "conversation" },
  { dialect: "responses", more: { prompt: { id: "pmpt_1" } }, path: "prompt" },
  {
    dialect: "responses",
    more: { input: [message([{ type: "input_file", file_id: "file_1" }])] },
    path: "input[0].content[0].file_id",
  },
  {
    dialect: "responses",
    more: { input: [message([{ type: "input_image", file_id: "file_1" }])] },
    path: "input[0].content[0].file_id",
  },
  {
    dialect: "responses",
    more: {
      input: [{
        type: "function_call_output",
        call_id: "call_1",
        output: [{ type: "input_file", file_id: "file_1" }],
      }],
    },
    path: "input[0].output[0].file_id",
  },
  {
    dialect: "responses",
    more: {
      input: [
        message([{ type: "input_text", text: "Go on." }]),
        {
          type: "code_interpreter_call",
          id: "ci_1",
          container_id: "cntr_of_another",
          code: "1",
          outputs: [],
          status: "completed",
        },
      ],
    },
    path: "input[1].container_id",
  },
  {
    dialect: "chat",
    more: { messages: [message([{ type: "file", file: { file_id: "file_1" } }])] },
    path: "messages[0].content[0].file.file_id",
  },
  { dialect: "messages", more: { container: "container_1" }, path: "container" },
  {
    dialect: "messages",
    more: { billing_policy: { type: "billing_policy", bill_to: "user_profile" } },
    path: "billing_policy.bill_to",
  },
  {
    dialect: "messages",
    more: {
      messages: [message([{ type: "document", source: { type: "file", file_id: "file_1" } }])],
    },
    path: "messages[0].content[0].source.file_id",
  },
  {
    dialect: "messages",
    more: {
      messages: [message([{
        type: "tool_result",
        tool_use_id: "toolu_1",
        content: [{ type: "image", source: { type: "file", file_id: "file_1" } }],
      }])],
    },
    path: "messages[0].content[0].content[0].source.file_id",
  },
  {
    dialect: "messages",
    more: { messages: [message([{ type: "container_upload", file_id: "file_1" }])] },
    path: "messages[0].content[0].file_id",
  },
  { dialect: "generate", more: { cachedContent: "cachedContents/1" }, path: "cachedContent" },
  { dialect: "generate", more: { cached_content: "cachedContents/1" }, path: "cached_content" },
  ...[
    "https://generativelanguage.googleapis.com/v1beta/files/abc",
    "HTTPS://generativelanguage.googleapis.com./v1beta/files/abc",
    "files/abc",
    "gs://bucket/abc",
  ].map((fileUri) => ({
    dialect: "generate" as const,
    more: { contents: [{ role: "user", parts: [{ fileData: { fileUri } }] }] },
    path: "contents[0].parts[0].fileData.fileUri",
  })),
  {
    dialect: "generate",
    more: {
      contents: [{
        role: "user",
        parts: [{
          function_response: { name: "f", parts: [{ file_data: { file_uri: "files/a" } }] },
        }],
      }],
    },
    path: "contents[0].parts[0].function_response.parts[0].file_data.file_uri",
  },
  // One object in place of a list, and a second spelling beside the first.
  {
    dialect: "generate",
    more: { contents: { parts: { file_data: { file_uri: "files/a" } } } },
    path: "contents[0].parts[0].file_data.file_uri",
  },
  {
    dialect: "generate",
    more: {
      contents: [{
        role: "user",
        parts: [{
          functionResponse: { name: "f", parts: { fileData: { fileUri: "files/a" } } },
        }],
      }],
    },
    path: "contents[0].parts[0].functionResponse.parts[0].fileData.fileUri",
  },
  {
    dialect: "generate",
    more: { tools: { fileSearch: { fileSearchStoreNames: ["fileSearchStores/a"] } } },
    path: "tools[0].fileSearch",
  },
  {
    dialect: "generate",
    more: {
      contents: [{
        role: "user",
        parts: [{
          fileData: { fileUri: "https://example.org/a.pdf", file_uri: "files/a" },
        }],
      }],
    },
    path: "contents[0].parts[0].fileData.file_uri",
  },
];

for (const { dialect, more, path } of states) {
  for (const target of dialectNames) {
    Deno.test(`${dialect} ${path} is refused on ${models[target]}: ${JSON.stringify(more)}`, async () => {
      for (const mode of ["default", "strict", "lenient"]) {
        const before = service().vendor.requests.length;
        const answer = await send(dialect, models[target], more, { "x-translation-mode": mode });
        const text = await answer.text();
        assert.equal(answer.status, 400, text);
        const { error } = JSON.parse(text);
        assert.equal(error.code, "unsupported_parameter");
        assert.ok(error.message.startsWith(`${path}: `), error.message);
        assert.equal(service().vendor.requests.length, before);
      }
    });
  }
  Deno.test(`${dialect} ${path} goes through with a key of one's own: ${JSON.stringify(more)}`, async () => {
    const authorization = `Bearer ${service().key};own-key-of-the-caller`;
    const answer = await send(dialect, models[dialect], more, { authorization });
    assert.equal(answer.status, 200, await answer.text());
    const sent = JSON.parse(service().vendor.requests.at(-1)!.body) as Json;
    for (const [field, value] of Object.entries(more)) assert.deepEqual(sent[field], value);
    assert.ok(!("store" in sent), "nothing is added to it");
  });
}

Deno.test("a vendor's own file isn't reached by its address in another dialect either", async () => {
  const url = "https://generativelanguage.googleapis.com/v1beta/files/abc";
  const content = [
    { type: "text", text: "What is it?" },
    { type: "image_url", image_url: { url } },
  ];
  const chat = await send("chat", models.generate, { messages: [message(content)] });
  assert.equal(chat.status, 400, await chat.text());
  const source = { type: "url", url };
  const image = { messages: [message([{ type: "image", source }])] };
  const messages = await send("messages", models.generate, image);
  assert.equal(messages.status, 400, await messages.text());
});

Deno.test("a public address and a video stay what they are", async () => {
  for (const fileUri of ["https://example.org/a.pdf", "https://www.youtube.com/watch?v=1"]) {
    const contents = [{ role: "user", parts: [{ fileData: { fileUri } }] }];
    const answer = await send("generate", models.generate, { contents });
    assert.equal(answer.status, 200, await answer.text());
  }
});

Deno.test("what a vendor keeps can stand in for a response's input, with a key of one's own", async () => {
  const authorization = `Bearer ${service().key};own-key-of-the-caller`;
  const ask = (fields: Json, model = models.responses) => {
    const script = service().script((exchange) =>
      exchange.answer(200, hostedAnswer("responses", {}))
    );
    const body = { model, instructions: `Be brief. ${script}`, ...fields };
    return service().post("/chat/v1/responses", body, { authorization });
  };
  const prompt = { id: "pmpt_1", variables: { name: "Ada" } };
  for (
    const fields of [
      { prompt },
      { prompt, input: null },
      { conversation: "conv_1" },
    ]
  ) {
    const answer = await ask(fields);
    assert.equal(answer.status, 200, await answer.text());
    const sent = JSON.parse(service().vendor.requests.at(-1)!.body) as Json;
    const { model: _, instructions: __, ...rest } = sent;
    assert.deepEqual(rest, fields);
  }
  const refused = [ask({}), ask({ input: null }), ask({ prompt }, models.messages)];
  for (const answer of await Promise.all(refused)) {
    const { error } = await answer.json();
    assert.deepEqual([answer.status, error.code, error.param], [
      400,
      "missing_required_field",
      "input",
    ]);
  }
});

Deno.test("an unknown thread is refused in the words that clients recover from, on every lane", async () => {
  const goOn = { thread: { type: "continue", previous_message_id: "msg_of_another" } };
  const own = { authorization: `Bearer ${service().key};own-key-of-the-caller` };
  const targets = [
    [models.messages, {}],
    [models.chat, {}],
    [models.generate, own],
    [models.generate, { "x-translation-mode": "lenient" }],
  ] as const;
  for (const [model, headers] of targets) {
    const unknown = await send("messages", model, goOn, headers);
    assert.equal(unknown.status, 400);
    const refused = await unknown.json();
    assert.equal(refused.type, "error");
    assert.equal(refused.error.type, "invalid_request_error");
    assert.deepEqual(refused.error.details, { error_code: "thread_not_found" });
  }
  // With a key of the caller's own it is its vendor that keeps the thread.
  for (const thread of [{ type: "create" }, goOn.thread]) {
    const passed = await send("messages", models.messages, { thread }, own);
    assert.equal(passed.status, 200, await passed.text());
    assert.deepEqual(JSON.parse(service().vendor.requests.at(-1)!.body).thread, thread);
  }
});

for (const vendor of ["vendor-c", "vendor-d", "vendor-f"] as const) {
  for (const stream of [false, true]) {
    Deno.test(`the official tool runner's thread is kept here (${vendor}, stream ${stream})`, async () => {
      const { simulators, baseUrl, key } = simulated();
      const model = {
        "vendor-c": "claude-sonnet-4-6",
        "vendor-d": "gemini-3.8-flash",
        "vendor-f": "openai/gpt-5-mini",
      }[vendor];
      const client = new Anthropic({ baseURL: `${baseUrl}/chat`, apiKey: key, maxRetries: 0 });
      let runs = 0;
      const weather = betaTool({
        name: "get_weather",
        description: "The weather of a city.",
        inputSchema: {
          type: "object",
          properties: { city: { type: "string" } },
          required: ["city"],
          additionalProperties: false,
        },
        run: () => {
          runs++;
          return "sunny";
        },
      });
      const runner = client.beta.messages.toolRunner({
        model: `${vendor}/${model}`,
        max_tokens: 2000,
        tools: [weather],
        messages: [{ role: "user", content: "What is the weather in Paris?" }],
        stream,
      });
      const last = await runner.runUntilDone();
      const text = last.content.flatMap((block) => block.type === "text" ? [block.text] : []);
      assert.ok(runs > 0 && text.join("") !== "", JSON.stringify(last.content));
      const sent = simulators.requests(vendor).at(-1)!.body as Json;
      const whole = JSON.stringify(sent);
      assert.ok(whole.includes("What is the weather in Paris?"), "the history is whole");
      assert.ok(!("thread" in sent));
    });
  }
}

Deno.test("only what was asked for in the caller's stead is taken out; other bytes stay", async () => {
  const odd = '"x_new" : {"float":1.0,"big":12345678901234567890,"esc":"\\u00e9\\/"}';
  const thought = (more: string) =>
    `{"id":"rs_1" , "type":"reasoning",${odd},"summary":[ ]${more},"status":"completed"}`;
  const answer = (more: string, store: string) =>
    ` {"id":"resp_1","object":"response","status":"completed","model":"m","store" : ${store},"output":[${
      thought(more)
    },{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"\\"encrypted_content\\":\\"x\\"","annotations":[]}]}],"usage":{"input_tokens":5,"output_tokens":5,"total_tokens":10}}\n`;
  const sealed = ',"encrypted_content":"c2VhbGVk"';
  const whole = service().script((exchange) =>
    exchange.answer(200, answer(sealed, "false"), { "content-type": "application/json" })
  );
  const got = await send("responses", models.responses, { input: whole });
  assert.equal(await got.text(), answer("", "true"));

  const events = (more: string, store: string, end: string) => [
    `event: response.created${end}data: {"type":"response.created","response":{"id":"resp_1","model":"m","status":"in_progress","store":${store},"output":[]}}${end}${end}`,
    `: a comment${end}${end}`,
    `event: response.output_item.done${end}data: {"type":"response.output_item.done","output_index":0,"item":${
      thought(more)
    }}${end}${end}`,
    `event: response.output_text.delta${end}data:  {"type":"response.output_text.delta","output_index":1,"item_id":"msg_1","content_index":0,"delta":"\\u00e9",${odd}}${end}${end}`,
    `event: response.completed${end}data: {"type":"response.completed","response":${
      answer(more, store).trim()
    }}${end}${end}`,
  ];
  for (const end of ["\n", "\r\n"]) {
    const streamed = service().script((exchange) => exchange.stream(events(sealed, "false", end)));
    const more = { input: streamed, stream: true };
    const stream = await send("responses", models.responses, more);
    assert.equal(await stream.text(), events("", "true", end).join(""));
  }
});

Deno.test("chat completions are stored nowhere either", async () => {
  const answer = await send("chat", models.chat, { store: true, metadata: { a: "b" } });
  assert.equal(answer.status, 200, await answer.text());
  assert.equal(JSON.parse(service().vendor.requests.at(-1)!.body).store, false);
});

Deno.test("a model that has no sealed reasoning isn't asked for it", async () => {
  for (const model of ["vendor-b/gpt-4.1", "vendor-b/gpt-4o-mini"]) {
    const answer = await send("responses", model, {});
    assert.equal(answer.status, 200, await answer.text());
    const sent = JSON.parse(service().vendor.requests.at(-1)!.body) as Json;
    assert.deepEqual([sent.store, "include" in sent], [false, false]);
  }
});

function message(content: unknown) {
  return { role: "user", content };
}

/** Sends a smallest request with these fields; the vendor answers as its dialect has it. */
async function send(
  dialect: DialectName,
  model: string,
  more: Readonly<Json>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const upstream = models[dialect] === model
    ? dialect
    : dialectNames.find((name) => models[name] === model) ?? dialect;
  const stream = more.stream === true;
  const word = service().script((exchange) =>
    stream ? exchange.stream(hostedEvents(upstream, {})) : exchange.answer(
      200,
      hostedAnswer(exchange.request.path.includes("/chat/") ? "chat" : upstream, {}),
    )
  );
  const { path, body } = rawRequest(dialect, { model, prompt: word, stream, more });
  const text = JSON.stringify(body);
  const isScripted = /script-[0-9a-f-]{36}/.test(text);
  const marked = isScripted ? text : text.replace(/\}$/, `,"x_script":"${word}"}`);
  return await service().post(path, marked, headers);
}

Deno.test("files of the account are refused for pictures and for counts of tokens too", async () => {
  const edits = {
    model: "gpt-image-2",
    prompt: "Paint it green.",
    images: [{ file_id: "file_1" }],
  };
  const source = { type: "file", file_id: "file_1" };
  const counted = {
    model: models.messages,
    messages: [message([{ type: "document", source }])],
  };
  const calls = [
    ["/vendor-b/v1/images/edits", edits, "images[0].file_id"],
    ["/chat/v1/messages/count_tokens", counted, "messages[0].content[0].source.file_id"],
  ] as const;
  for (const [path, body, field] of calls) {
    const before = service().vendor.requests.length;
    const answer = await service().post(path, body);
    const text = await answer.text();
    assert.equal(answer.status, 400, text);
    assert.ok(JSON.parse(text).error.message.startsWith(`${field}: `), text);
    assert.equal(service().vendor.requests.length, before);
    const authorization = `Bearer ${service().key};own-key-of-the-caller`;
    await (await service().post(path, body, { authorization })).text();
    assert.ok(service().vendor.requests.length > before, "it went through");
  }
});
