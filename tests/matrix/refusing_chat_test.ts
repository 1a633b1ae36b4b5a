import Anthropic from "@anthropic-ai/sdk";
import { type Content, GoogleGenAI, type Part, ThinkingLevel } from "@google/genai";
import assert from "@std/assert";
import OpenAI from "openai";
import { type Received, startSimulators } from "../../demo/simulators.ts";
import { shared, simulatedEnvironment, startTestService } from "../support/service.ts";
import { type Address, toolDescription, toolNames, toolParameters, toolResult } from "./library.ts";
import { PlainClient } from "./plain_client.ts";
import type { Json } from "./wire.ts";

/**
 * Clients of three vendors, with tools and reasoning, on models of vendor-b whose chat endpoint
 * refuses the two together (openai/openai-openapi#541): answered, with their reasoning carried back.
 */
const models = ["gpt-5.6-sol", "gpt-5.4"];
const question = "[steps:2] What are the weather and the time in Paris?";
/** Rounds of tools, and the answer in words. */
const turns = 3;

const world = shared(async () => {
  const simulators = await startSimulators();
  const service = await startTestService({
    env: simulatedEnvironment(simulators),
    database: "any",
  });
  const stop = async () => {
    await service.stop();
    await simulators.close();
  };
  return { simulators, service, stop };
});

interface Conversation {
  name: string;
  /** Gives the last text, after as many turns as the vendor wants. */
  run(address: Address, model: string, stream: boolean): Promise<string>;
}

const conversations: readonly Conversation[] = [
  { name: "@anthropic-ai/sdk", run: withAnthropic },
  { name: "@google/genai", run: withGenai },
  { name: "openai, chat", run: withChat },
];

for (const { name, run } of conversations) {
  for (const model of models) {
    for (const stream of [false, true]) {
      Deno.test(`${name} with tools and reasoning on ${model}, ${stream ? "streamed" : "whole"}`, async () => {
        const { simulators, service } = world();
        const before = simulators.requests("vendor-b").length;
        const rowsBefore = (await service.rows()).length;
        const address = { url: service.baseUrl, key: service.key };
        const text = await run(address, `vendor-b/${model}`, stream);
        assert.match(text, /sunny, 21 °C.*12:30/s);
        checkRequests(simulators.requests("vendor-b").slice(before));
        const rows = (await service.rows()).slice(rowsBefore);
        assert.equal(rows.length, turns, "a row for each call");
        for (const row of rows) {
          assert.deepEqual([row.status, row.attempts, row.billing_basis], [
            "completed",
            null,
            "reported",
          ]);
          assert.ok(Number(row.charged_usd) > 0 && Number(row.reasoning_tokens) > 0);
        }
      });
    }
  }
}

/** One request a turn, each with the sealed reasoning of all turns before it, in its place. */
function checkRequests(requests: readonly Received[]): void {
  assert.equal(requests.length, turns, "one vendor request for each call");
  for (const [index, { path, body }] of requests.entries()) {
    const { store, include, input, tools } = body as Json;
    assert.equal(path, "/v1/responses");
    assert.equal(store, false);
    assert.ok((include as string[]).includes("reasoning.encrypted_content"));
    assert.equal((tools as unknown[]).length, 2);
    const items = input as Json[];
    const kinds = items.map((item) => item.type).filter((type) => type !== "message");
    const round = ["reasoning", "function_call", "function_call"];
    const outputs = ["function_call_output", "function_call_output"];
    assert.deepEqual(kinds, Array.from({ length: index }, () => [...round, ...outputs]).flat());
    const sealed = items.filter((item) => item.type === "reasoning");
    for (const item of sealed) assert.ok(String(item.encrypted_content).length > 40);
    assert.equal(new Set(sealed.map((item) => item.id)).size, index, "each its own");
  }
}

async function withAnthropic(
  { url, key }: Address,
  model: string,
  stream: boolean,
): Promise<string> {
  const client = new Anthropic({ baseURL: `${url}/chat`, apiKey: key, maxRetries: 0 });
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: question }];
  for (;;) {
    const params: Anthropic.MessageCreateParamsNonStreaming = {
      model,
      max_tokens: 8000,
      thinking: { type: "adaptive" },
      messages,
      tools: toolNames.map((name) => ({
        name,
        description: toolDescription(name),
        input_schema: toolParameters,
      })),
    };
    const answer = stream
      ? await client.messages.stream(params).finalMessage()
      : await client.messages.create(params);
    const calls = answer.content.filter((block) => block.type === "tool_use");
    if (calls.length === 0) {
      return answer.content.map((block) => block.type === "text" ? block.text : "").join("");
    }
    messages.push({ role: "assistant", content: answer.content }, {
      role: "user",
      content: calls.map(({ id, name }) => ({
        type: "tool_result" as const,
        tool_use_id: id,
        content: toolResult(name),
      })),
    });
  }
}

async function withGenai({ url, key }: Address, model: string, stream: boolean): Promise<string> {
  const ai = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: `${url}/chat` } });
  const contents: Content[] = [{ role: "user", parts: [{ text: question }] }];
  const config = {
    // What the vendor's own command line always sends.
    thinkingConfig: { includeThoughts: true, thinkingLevel: ThinkingLevel.LOW },
    tools: [{
      functionDeclarations: toolNames.map((name) => ({
        name,
        description: toolDescription(name),
        parametersJsonSchema: toolParameters,
      })),
    }],
  };
  for (;;) {
    const params = { model, contents, config };
    const answers = stream
      ? await Array.fromAsync(await ai.models.generateContentStream(params))
      : [await ai.models.generateContent(params)];
    const parts = answers.flatMap((one): Part[] => one.candidates?.[0]?.content?.parts ?? []);
    const calls = parts.flatMap(({ functionCall }) => functionCall ? [functionCall] : []);
    if (calls.length === 0) {
      return parts.map((part) => part.thought ? "" : part.text ?? "").join("");
    }
    contents.push({ role: "model", parts }, {
      role: "user",
      parts: calls.map(({ id = "", name = "" }) => ({
        functionResponse: { id, name, response: { output: toolResult(name) } },
      })),
    });
  }
}

/** It carries nothing back but what the dialect's first version had: our vault has the rest. */
async function withChat(address: Address, model: string, stream: boolean): Promise<string> {
  const client = new PlainClient(model, question);
  let finish: string | undefined;
  for (let turn = 0; turn < turns; turn++) finish = await client.turn(address, stream);
  assert.equal(finish, "stop");
  return client.lastText;
}

Deno.test("without tools, or with reasoning turned off, chat callers stay on the chat endpoint", async () => {
  const { simulators, service } = world();
  const client = new OpenAI({
    baseURL: `${service.baseUrl}/chat/v1`,
    apiKey: service.key,
    maxRetries: 0,
  });
  const messages = [{ role: "user" as const, content: "What is the weather in Paris?" }];
  const tools = [{
    type: "function" as const,
    function: { name: "get_weather", parameters: toolParameters },
  }];
  const pathFor = async (
    model: string,
    more: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>,
  ) => {
    await client.chat.completions.create({ model: `vendor-b/${model}`, messages, ...more });
    return simulators.requests("vendor-b").at(-1)!.path.slice("/v1".length);
  };
  const chat = "/chat/completions";
  assert.equal(await pathFor("gpt-5.6-sol", {}), chat);
  assert.equal(await pathFor("gpt-5.6-sol", { reasoning_effort: "high" }), chat);
  assert.equal(await pathFor("gpt-5.6-sol", { tools, reasoning_effort: "none" }), chat);
  assert.equal(await pathFor("gpt-5.6-sol", { tools }), "/responses");
  assert.equal(await pathFor("gpt-5.4", { tools }), chat);
  assert.equal(await pathFor("gpt-5.4", { tools, reasoning_effort: "low" }), "/responses");
  assert.equal(await pathFor("gpt-5-mini", { tools, reasoning_effort: "low" }), chat);
});

Deno.test("what the responses endpoint can't carry goes by chat where chat takes it", async () => {
  const { simulators, service } = world();
  const body = { max_tokens: 99, messages: [{ role: "user", content: "Count to ten." }] };
  const send = (model: string, more: object, headers = {}) =>
    service.post("/chat/v1/messages", { model: `vendor-b/${model}`, ...body, ...more }, headers);
  const stopped = await send("gpt-4.1", { stop_sequences: ["five"] });
  assert.deepEqual([stopped.status, stopped.headers.get("x-translation-loss")], [200, null]);
  assert.equal(simulators.requests("vendor-b").at(-1)!.path, "/v1/chat/completions");
  const plain = await send("gpt-4.1", {}, { "x-translation-mode": "strict" });
  assert.equal(plain.status, 200);
  assert.equal(simulators.requests("vendor-b").at(-1)!.path, "/v1/responses");
});
