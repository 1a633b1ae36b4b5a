/** Marks of what is to be cached: set for callers who have none, and carried where they have. */
import assert from "@std/assert";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import type { Label } from "../../demo/simulators.ts";
import { shared } from "../support/service.ts";
import { costOf, startSearchWorld, type Usd } from "./world.ts";

const service = shared(() => startSearchWorld());

type Json = Record<string, unknown>;

/** About 2,500 tokens. */
function longText(about: string): string {
  return Array.from({ length: 260 }, (_, at) => `Rule ${at} of ${about}: be kind, exact and brief.`)
    .join("\n");
}

const parameters = {
  type: "object",
  properties: { city: { type: "string", description: longText("cities") } },
};

/** A conversation with long tools and system texts, by the official libraries. */
const callers: Readonly<
  Record<
    string,
    (model: string, about: string, question: string, streams: boolean) => Promise<unknown>
  >
> = {
  "openai, chat": async (model, about, question, streams) => {
    const client = openai();
    const body = {
      model,
      max_completion_tokens: 500,
      messages: [
        { role: "system" as const, content: longText(about) },
        { role: "user" as const, content: question },
      ],
      tools: [{ type: "function" as const, function: { name: "get_x", parameters } }],
    };
    if (!streams) return await client.chat.completions.create(body);
    return await Array.fromAsync(await client.chat.completions.create({ ...body, stream: true }));
  },
  "openai, responses": async (model, about, question, streams) => {
    const body = {
      model,
      max_output_tokens: 500,
      instructions: longText(about),
      input: question,
      tools: [{ type: "function" as const, name: "get_x", parameters, strict: false }],
    };
    const { responses } = openai();
    return streams ? await responses.stream(body).finalResponse() : await responses.create(body);
  },
  "@google/genai": async (model, about, question, streams) => {
    const { address: { url, key } } = service();
    const { models } = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: `${url}/chat` } });
    const body = {
      model,
      contents: question,
      config: {
        systemInstruction: longText(about),
        maxOutputTokens: 500,
        tools: [{ functionDeclarations: [{ name: "get_x", parametersJsonSchema: parameters }] }],
      },
    };
    if (!streams) return await models.generateContent(body);
    return await Array.fromAsync(await models.generateContentStream(body));
  },
};

function openai(headers: Record<string, string> = {}): OpenAI {
  const { address: { url, key } } = service();
  return new OpenAI({
    baseURL: `${url}/chat/v1`,
    apiKey: key,
    maxRetries: 0,
    defaultHeaders: headers,
  });
}

/** Where marks stand in a request to vendor-c. */
function marksIn(request: Json): string[] {
  const places: string[] = [];
  const look = (value: unknown, path: string) => {
    if (Array.isArray(value)) value.forEach((one, at) => look(one, `${path}[${at}]`));
    else if (typeof value === "object" && value !== null) {
      for (const [name, held] of Object.entries(value)) {
        if (name === "cache_control" || name === "prompt_cache_breakpoint") places.push(path);
        else if (name !== "input_schema") look(held, path === "" ? name : `${path}.${name}`);
      }
    }
  };
  look(request, "");
  return places;
}

function requestOf(label: Label): Json {
  return JSON.parse(service().asked(label)[0]!.requestText) as Json;
}

const sonnet: Usd = { search: 0, input: 3, read: 0.3, write: 3.75, output: 15 };
const sol: Usd = { search: 0, input: 4, read: 0.4, write: 5, output: 20 };

for (const [name, call] of Object.entries(callers)) {
  for (const streams of [false, true]) {
    const way = streams ? "streamed" : "whole";
    Deno.test(`${name} on vendor-c, ${way}: a long prompt is marked, and read from the cache next time`, async () => {
      const about = `${name} ${way}`;
      const rows = [];
      const before = await service().balance();
      for (const question of ["Who are you?", "And who am I?"]) {
        service().silence();
        await call("vendor-c/claude-sonnet-4-6", about, question, streams);
        assert.deepEqual(marksIn(requestOf("vendor-c")), [
          "tools[0]",
          "system[0]",
          "messages[0].content[0]",
        ]);
        const [seen] = service().callers.take().filter(({ method }) => method === "POST");
        assert.equal(seen!.headers.get("x-translation-loss"), null);
        rows.push(await service().row(seen!.headers.get("x-transaction-id")));
      }
      const [first, second] = rows;
      assert.ok(Number(first!.cache_write_tokens) > 2000, JSON.stringify(first!.usage_raw));
      assert.ok(Number(second!.cache_read_tokens) > 2000, JSON.stringify(second!.usage_raw));
      // The last turn alone is new.
      assert.ok(Number(second!.cache_write_tokens) < 100);
      for (const row of rows) {
        assert.ok(Math.abs(Number(row.cost_usd) - costOf(row, sonnet, 0)) < 1.1e-9);
        assert.equal(row.charged_usd, row.cost_usd);
      }
      assert.ok(Number(second!.cost_usd) < Number(first!.cost_usd) / 2, "the hit is cheap");
      const lost = before - await service().balance();
      const charged = rows.reduce((sum, row) => sum + Number(row.charged_usd), 0);
      assert.ok(Math.abs(lost - charged) < 1e-9, `the balance lost ${lost} of ${charged}`);
    });
  }
}

const chat = (more: Json): Json => ({
  model: "vendor-c/claude-sonnet-4-6",
  max_completion_tokens: 300,
  messages: [{ role: "system", content: longText("off") }, { role: "user", content: "Hi" }],
  ...more,
});

async function marksOf(
  body: Json,
  headers: Record<string, string> = {},
): Promise<{ marks: string[]; losses: string | null; sent: Json }> {
  service().silence();
  const answer = await service().post("/chat/v1/chat/completions", body, headers);
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  const label = String(body.model).split("/")[0] as Label;
  const sent = requestOf(label);
  return { marks: marksIn(sent), losses: answer.headers.get("x-translation-loss"), sent };
}

Deno.test("the header and the key's own setting leave automatic marks out", async () => {
  const automatic = ["system[0]", "messages[0].content[0]"];
  assert.deepEqual((await marksOf(chat({}))).marks, automatic);
  assert.deepEqual((await marksOf(chat({}), { "x-prompt-cache": "off" })).marks, []);
  const { key } = await service().createKey("--prompt-cache", "off");
  const authorization = `Bearer ${key}`;
  assert.deepEqual((await marksOf(chat({}), { authorization })).marks, []);
  const on = { authorization, "x-prompt-cache": "on" };
  assert.deepEqual((await marksOf(chat({}), on)).marks, automatic);
  const wrong = await service().post("/chat/v1/chat/completions", chat({}), {
    "x-prompt-cache": "never",
  });
  assert.equal(wrong.status, 400);
  assert.match(await wrong.text(), /X-Prompt-Cache: expected 'on' or 'off'/);
});

Deno.test("a short prompt is not marked, nor a longer one on a model that caches none so short", async () => {
  const short = [{ role: "user", content: "Hi" }];
  assert.deepEqual((await marksOf(chat({ messages: short }))).marks, []);
  const haiku = chat({ model: "vendor-c/claude-haiku-4-5" });
  assert.deepEqual((await marksOf(haiku)).marks, []);
});

Deno.test("marks of a chat caller on messages, calls and tools are its only ones", async () => {
  const cache_control = { type: "ephemeral" };
  const call = { id: "call_1", type: "function", function: { name: "get_x", arguments: "{}" } };
  const tool = { type: "function", function: { name: "get_x", parameters: { type: "object" } } };
  const { marks, losses } = await marksOf(chat({
    messages: [
      { role: "system", content: longText("marks"), cache_control },
      { role: "user", content: "Hi" },
      { role: "assistant", content: null, tool_calls: [{ ...call, cache_control }] },
      { role: "tool", tool_call_id: "call_1", content: "x", cache_control: { ...cache_control } },
    ],
    tools: [{ ...tool, cache_control }],
  }));
  assert.deepEqual(marks, [
    "tools[0]",
    "system[0]",
    "messages[1].content[0]",
    "messages[2].content[0]",
  ]);
  assert.equal(losses, null);
});

Deno.test("a messages caller's marks reach vendor-b as breakpoints, and its cache hits", async () => {
  const rows = [];
  for (const question of ["Who are you?", "And who am I?"]) {
    service().silence();
    const answer = await service().post("/chat/v1/messages", {
      model: "vendor-b/gpt-5.6-sol",
      max_tokens: 500,
      system: [{ type: "text", text: longText("b"), cache_control: { type: "ephemeral" } }],
      messages: [{ role: "user", content: question }],
    });
    assert.equal(answer.status, 200, await answer.text());
    assert.equal(answer.headers.get("x-translation-loss"), null);
    const sent = requestOf("vendor-b");
    assert.deepEqual(marksIn(sent), ["input[0].content[0]"]);
    assert.match(JSON.stringify(sent), /"prompt_cache_breakpoint":\{"mode":"explicit"\}/);
    assert.match(String(sent.prompt_cache_key), /^prefix_[0-9a-f]{32}$/);
    rows.push(await service().row(answer.headers.get("x-transaction-id")));
  }
  const [first, second] = rows;
  assert.ok(Number(first!.cache_write_tokens) > 2000);
  assert.equal(Number(second!.cache_read_tokens), Number(first!.cache_write_tokens));
  for (const row of rows) {
    assert.ok(Math.abs(Number(row.cost_usd) - costOf(row, sol, 0)) < 1.1e-9);
    assert.equal(row.charged_usd, row.cost_usd);
  }
});

Deno.test("a model that caches by itself gets the key alone, and the marks are named", async () => {
  const mark = { type: "ephemeral", ttl: "1h" };
  const { marks, losses, sent } = await marksOf({
    ...chat({ model: "vendor-b/gpt-5-mini", prompt_cache_key: "mine" }),
    messages: [{ role: "system", content: "Be brief.", cache_control: mark }, {
      role: "user",
      content: "Hi",
    }],
  });
  assert.deepEqual(marks, []);
  assert.equal(losses, "messages[0].cache_control");
  assert.equal(sent.prompt_cache_key, "mine");
  const hour = await marksOf({
    ...chat({ model: "vendor-b/gpt-5.6-sol" }),
    messages: [{ role: "user", content: [{ type: "text", text: "Hi", cache_control: mark }] }],
  });
  // The vendor's long lifetime is another, and dearer.
  assert.equal(hour.losses, "messages[0].content[0].cache_control.ttl");
  assert.deepEqual(hour.marks, ["input[0].content[0]"]);
});

Deno.test("a messages caller's marks reach the aggregator as they were set", async () => {
  service().silence();
  const answer = await service().post("/chat/v1/messages", {
    model: "vendor-f/openai/gpt-5-mini",
    max_tokens: 500,
    system: [{ type: "text", text: longText("f"), cache_control: { type: "ephemeral" } }],
    messages: [{ role: "user", content: "Hi" }],
  });
  assert.equal(answer.status, 200, await answer.text());
  assert.equal(answer.headers.get("x-translation-loss"), null);
  assert.deepEqual(marksIn(requestOf("vendor-f")), ["system[0]"]);
});

Deno.test("what is set aside covers a prompt that is written to the cache as a whole", async () => {
  // The prompt's bound at the price of plain input would be less than its real cost.
  const { json } = await service().admin("account", "create", "--name", "poor");
  const account = String((json as { id: number }).id);
  const { key } = await service().createKey("--account", account);
  const headers = { authorization: `Bearer ${key}` };
  const text = "é".repeat(200_000);
  const body = chat({ messages: [{ role: "user", content: text }], max_completion_tokens: 1 });
  const granted = async (usd: string) => {
    await service().admin("credits", "grant", "--usd", usd, "--account", account);
    const answer = await service().post("/chat/v1/chat/completions", body, headers);
    await answer.text();
    return answer.status;
  };
  // 400,000 bytes are no more tokens: 1.20 as plain input, 1.50 as written for five minutes, 2.40
  // as written for an hour, which is the dearest there is.
  assert.equal(await granted("1.45"), 402);
  assert.equal(await granted("1.05"), 200);
});
