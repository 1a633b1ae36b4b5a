/** When the web search is asked for, left out with a name, or refused; and what later turns need. */
import assert from "@std/assert";
import type { Label } from "../../demo/simulators.ts";
import { shared } from "../support/service.ts";
import { startSearchWorld } from "./world.ts";

/** No price for searches. */
const unpriced = { input: "1", output: "5", cache_read: "0.1", cache_write: "1.25" };

const service = shared(() => startSearchWorld({ "vendor-c/claude-haiku-4-5": unpriced }));

type Json = Record<string, unknown>;

const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const weather = { description: "Tells the weather of a city." };

/** The same question in each dialect, with the search and without or with a function beside it. */
const bodies = {
  chat: (model: string, question: string, isAlone: boolean): [string, Json] => [
    "/chat/v1/chat/completions",
    {
      model,
      messages: [{ role: "user", content: question }],
      max_completion_tokens: 1000,
      web_search_options: {},
      ...(isAlone ? {} : {
        tools: [{
          type: "function",
          function: { name: "get_weather", ...weather, parameters: schema },
        }],
      }),
    },
  ],
  responses: (model: string, question: string, isAlone: boolean): [string, Json] => [
    "/chat/v1/responses",
    {
      model,
      input: question,
      max_output_tokens: 1000,
      tools: [
        // As Codex sends it: out of its cache only.
        { type: "web_search", external_web_access: true },
        ...(isAlone
          ? []
          : [{ type: "function", name: "get_weather", ...weather, parameters: schema }]),
      ],
    },
  ],
  messages: (model: string, question: string, isAlone: boolean): [string, Json] => [
    "/chat/v1/messages",
    {
      model,
      max_tokens: 1000,
      messages: [{ role: "user", content: question }],
      tools: [
        { type: "web_search_20260209", name: "web_search" },
        ...(isAlone ? [] : [{ name: "get_weather", ...weather, input_schema: schema }]),
      ],
    },
  ],
  generate: (model: string, question: string, isAlone: boolean): [string, Json] => [
    `/chat/v1/models/${model}:generateContent`,
    {
      contents: [{ parts: [{ text: question }] }],
      tools: [
        { googleSearch: {} },
        ...(isAlone
          ? []
          : [{ functionDeclarations: [{ name: "get_weather", ...weather, parameters: schema }] }]),
      ],
      generationConfig: { maxOutputTokens: 1000 },
    },
  ],
} as const;

const searchPath = {
  chat: "web_search_options",
  responses: "tools[0]",
  messages: "tools[0]",
  generate: "tools[0].googleSearch",
} as const;

type Caller = keyof typeof bodies;

/** Whom none can ask to search: a vendor without, a model without beside functions, no price. */
const unable: readonly { label: Label; model: string; callers: Caller[]; alone: boolean }[] = [
  {
    label: "vendor-a",
    model: "deepseek-ai/DeepSeek-V4-Flash",
    callers: ["messages", "generate"],
    alone: true,
  },
  {
    label: "vendor-c",
    model: "claude-haiku-4-5",
    callers: ["chat", "responses", "generate"],
    alone: true,
  },
  {
    label: "vendor-d",
    model: "gemini-2.5-flash",
    callers: ["chat", "responses", "messages"],
    alone: false,
  },
];

for (const { label, model, callers, alone } of unable) {
  for (const caller of callers) {
    const path = searchPath[caller];
    Deno.test(`${caller} on ${label}/${model}: a search beside functions is left out and named`, async () => {
      const [endpoint, body] = bodies[caller](`${label}/${model}`, "Search the web.", false);
      service().silence();
      const answer = await service().post(endpoint, body);
      const text = await answer.text();
      assert.equal(answer.status, 200, text);
      assert.equal(answer.headers.get("x-translation-loss"), path);
      const [sent] = service().asked(label);
      assert.doesNotMatch(sent!.requestText, /web_search|googleSearch/);
      assert.match(sent!.requestText, /get_weather/);
      const strict = await service().post(endpoint, body, { "x-translation-mode": "strict" });
      assert.equal(strict.status, 400);
      assert.equal(((await strict.json()) as { error: Json }).error.param ?? path, path);
    });
    if (!alone) continue;
    Deno.test(`${caller} on ${label}/${model}: a search alone is refused by name`, async () => {
      const [endpoint, body] = bodies[caller](`${label}/${model}`, "Search the web.", true);
      service().silence();
      const answer = await service().post(endpoint, body);
      const { error } = await answer.json() as { error: { code: string; message: string } };
      assert.equal(answer.status, 400);
      assert.equal(error.code, "unsupported_parameter");
      assert.ok(error.message.startsWith(`${path}: `), error.message);
      assert.deepEqual(service().asked(label), []);
      const lenient = await service().post(endpoint, body, { "x-translation-mode": "lenient" });
      assert.equal(lenient.status, 200, await lenient.text());
      assert.equal(lenient.headers.get("x-translation-loss"), path);
    });
  }
}

Deno.test("a search that is demanded beside functions is refused where none can be had", async () => {
  const model = "vendor-c/claude-haiku-4-5";
  const [endpoint, body] = bodies.responses(model, "Search the web.", false);
  const demanded = { ...body, tool_choice: { type: "web_search" } };
  const answer = await service().post(endpoint, demanded);
  assert.equal(answer.status, 400);
  assert.match(await answer.text(), /tools\[0\]/);
  const none = await service().post(endpoint, { ...body, tool_choice: "none" });
  assert.equal(none.status, 200);
  // What may not be used is not lost.
  assert.equal(none.headers.get("x-translation-loss"), null);
  await none.body?.cancel();
});

Deno.test("with a vendor key of the caller's own no price is needed for a search", async () => {
  const [endpoint, body] = bodies.chat("vendor-c/claude-haiku-4-5", "[search:1] News?", true);
  const { key, vendorKeys } = service();
  const answer = await service().post(endpoint, body, {
    authorization: `Bearer ${key};${vendorKeys["vendor-c"]}`,
  });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  assert.equal(answer.headers.get("x-translation-loss"), null);
  assert.match(text, /url_citation/);
});

Deno.test("a caller's own function with the search's name is distinguished from it", async () => {
  const [endpoint] = bodies.responses("", "", true);
  service().silence();
  const answer = await service().post(endpoint, {
    model: "vendor-c/claude-sonnet-4-6",
    input: "call the web_search function",
    tools: [
      { type: "web_search" },
      { type: "function", name: "web_search", description: "Mine.", parameters: schema },
    ],
    tool_choice: { type: "function", name: "web_search" },
  });
  const { output } = await answer.json() as { output: { type: string; name?: string }[] };
  assert.equal(output.find(({ type }) => type === "function_call")?.name, "web_search");
  const sent = JSON.parse(service().asked("vendor-c")[0]!.requestText) as { tools: Json[] };
  assert.equal(new Set(sent.tools.map(({ name }) => name)).size, 2);
});

/** Rounds of a function's call among searches, which the vendors bind their thoughts to. */
const rounds: readonly { label: Label; model: string; needs: RegExp }[] = [
  {
    label: "vendor-c",
    model: "claude-sonnet-4-6",
    needs: /"server_tool_use".*"web_search_tool_result".*encrypted_content/,
  },
  { label: "vendor-b", model: "gpt-5.6-sol", needs: /"type":"reasoning".*"web_search_call"/ },
];

for (const { label, model, needs } of rounds) {
  Deno.test(`chat on ${label}: searches before a function's call come back with its result`, async () => {
    const [endpoint, asked] = bodies.chat(
      `${label}/${model}`,
      "[search:1] What is the weather in Oslo?",
      false,
    );
    const body: Json = { ...asked, max_completion_tokens: 8000, reasoning_effort: "low" };
    const first = await service().post(endpoint, body);
    const { choices } = await first.json() as { choices: { message: Json }[] };
    const { message } = choices[0]!;
    const [call] = message.tool_calls as [{ id: string }];
    service().silence();
    const second = await service().post(endpoint, {
      ...body,
      messages: [
        ...body.messages as Json[],
        message,
        { role: "tool", tool_call_id: call.id, content: "sunny" },
      ],
    });
    const text = await second.text();
    assert.equal(second.status, 200, text);
    assert.match(text, /get_weather: sunny/);
    assert.match(service().asked(label)[0]!.requestText, needs);
  });
}

Deno.test("a responses caller's own thoughts come back with the searches that stood among them", async () => {
  const [endpoint, body] = bodies.responses(
    "vendor-c/claude-sonnet-4-6",
    "[search:1] What is the weather in Oslo?",
    false,
  );
  const asked = { ...body, max_output_tokens: 8000, reasoning: { effort: "low", summary: "auto" } };
  const first = await service().post(endpoint, asked);
  const { output } = await first.json() as { output: Json[] };
  assert.deepEqual(output.map(({ type }) => type), [
    "reasoning",
    "web_search_call",
    "message",
    "function_call",
  ]);
  const result = { type: "function_call_output", call_id: output[3]!.call_id, output: "sunny" };
  const second = await service().post(endpoint, {
    ...asked,
    input: [{ role: "user", content: body.input }, ...output, result],
  });
  const text = await second.text();
  assert.equal(second.status, 200, text);
  assert.match(text, /get_weather: sunny/);
});

Deno.test("earlier searches of a messages caller are named where another vendor goes on", async () => {
  const [endpoint, body] = bodies.messages("vendor-c/claude-sonnet-4-6", "[search:1] News?", true);
  const first = await service().post(endpoint, body);
  const { content } = await first.json() as { content: Json[] };
  assert.deepEqual(content.slice(0, 2).map(({ type }) => type), [
    "server_tool_use",
    "web_search_tool_result",
  ]);
  const messages = [
    ...body.messages as Json[],
    { role: "assistant", content },
    { role: "user", content: "And then?" },
  ];
  const own = await service().post(endpoint, { ...body, messages });
  assert.equal(own.status, 200, await own.text());
  assert.equal(own.headers.get("x-translation-loss"), null);
  for (const model of ["vendor-b/gpt-5.6-sol", "vendor-d/gemini-3.8-flash"]) {
    const answer = await service().post(endpoint, { ...body, model, messages });
    assert.equal(answer.status, 200, await answer.text());
    assert.equal(
      answer.headers.get("x-translation-loss"),
      "messages[1].content[0],messages[1].content[1]",
    );
  }
});
