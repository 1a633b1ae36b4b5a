import assert from "@std/assert";
import OpenAI from "openai";
import { type Label, startSimulators } from "./simulators.ts";

const MODELS: Record<string, string> = {
  "vendor-a": "deepseek-ai/DeepSeek-V4-Flash",
  "vendor-b": "gpt-6-luna",
  "vendor-f": "meta-llama/llama-3",
  "vendor-g": "grok-4.7",
};
const LABELS: Label[] = ["vendor-a", "vendor-b", "vendor-f", "vendor-g"];

const WEATHER: OpenAI.ChatCompletionTool = {
  type: "function",
  function: {
    name: "get_weather",
    description: "Get the weather for a location",
    parameters: {
      type: "object",
      properties: {
        location: { type: "string" },
        days: { type: "integer", minimum: 2, maximum: 5 },
      },
      required: ["location", "days"],
    },
  },
};
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Runs the body with a client for each vendor of the chat family. */
async function forEachVendor(
  labels: Label[],
  body: (client: OpenAI, model: string, label: Label) => Promise<void>,
): Promise<void> {
  const simulators = await startSimulators();
  try {
    for (const label of labels) {
      const { baseUrl, apiKey } = simulators.vendors[label];
      const client = new OpenAI({ baseURL: baseUrl, apiKey, maxRetries: 0 });
      await body(client, MODELS[label] ?? "", label);
    }
  } finally {
    await simulators.close();
  }
}

Deno.test("a streamed chat answer joins to the whole one and has the same usage", async () => {
  await forEachVendor(LABELS, async (client, model, label) => {
    const ask = {
      model,
      messages: [{ role: "user" as const, content: `What is the colour of a lemon, ${label}?` }],
    };
    const whole = await client.chat.completions.create(ask);
    const stream = await client.chat.completions.create({
      ...ask,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = "";
    let usage: OpenAI.CompletionUsage | null | undefined;
    let finish: string | null = null;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      finish = chunk.choices[0]?.finish_reason ?? finish;
      if (chunk.usage) usage = chunk.usage;
    }
    assert.equal(text, whole.choices[0]?.message.content);
    assert.match(text, /colour of a lemon/);
    assert.equal(finish, "stop");
    assert.equal(usage?.completion_tokens, whole.usage?.completion_tokens);
    assert.equal(usage?.prompt_tokens, whole.usage?.prompt_tokens);
    assert.ok((usage?.prompt_tokens ?? 0) > 5);
  });
});

Deno.test("without include_usage only the vendors that always report usage send the chunk", async () => {
  await forEachVendor(LABELS, async (client, model, label) => {
    const stream = await client.chat.completions.create({
      model,
      messages: [{ role: "user", content: "Hello" }],
      stream: true,
    });
    let chunks = 0;
    for await (const chunk of stream) if (chunk.usage) chunks++;
    assert.equal(chunks, label === "vendor-f" || label === "vendor-g" ? 1 : 0);
  });
});

Deno.test("two parallel calls are streamed and their results answered with text", async () => {
  await forEachVendor(LABELS, async (client, usual, label) => {
    const model = label === "vendor-b" ? "gpt-5-mini" : usual;
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: "user", content: "What is the weather in Paris and Tokyo?" },
    ];
    const first = await client.chat.completions.stream({ model, messages, tools: [WEATHER] })
      .finalChatCompletion();
    const message = first.choices[0]?.message;
    assert.equal(first.choices[0]?.finish_reason, "tool_calls");
    const calls = message?.tool_calls ?? [];
    const inputs = calls.map((call) =>
      JSON.parse(call.type === "function" ? call.function.arguments : "")
    );
    assert.deepEqual(inputs.map((input) => input.location), ["Paris", "Tokyo"]);
    assert.ok(inputs.every((input) => input.days >= 2 && input.days <= 5));
    assert.equal(new Set(calls.map((call) => call.id)).size, 2);
    messages.push(
      { role: "assistant", tool_calls: calls as OpenAI.ChatCompletionMessageToolCall[] },
      ...calls.map((call, index): OpenAI.ChatCompletionMessageParam => ({
        role: "tool",
        tool_call_id: call.id,
        content: `${20 + index} degrees`,
        // The vendors take the name that LangChain sends.
        ...{ name: "get_weather" },
      })),
    );
    const second = await client.chat.completions.create({ model, messages, tools: [WEATHER] });
    assert.match(second.choices[0]?.message.content ?? "", /20 degrees.*21 degrees/);
    assert.equal(second.choices[0]?.finish_reason, "stop");
    await assert.rejects(
      client.chat.completions.create({ model, messages: messages.slice(0, 3), tools: [WEATHER] }),
      /did not have response messages|400/,
    );
  });
});

Deno.test("limits, stop sequences, candidates, logprobs and schemas are honoured", async () => {
  await forEachVendor(["vendor-b"], async (client) => {
    const ask = (content: string, more: Partial<OpenAI.ChatCompletionCreateParams>) =>
      client.chat.completions.create({
        model: "gpt-4.1",
        messages: [{ role: "user", content }],
        ...more,
        stream: false,
      });
    const cut = await ask("Tell me a story", { max_tokens: 5 });
    assert.equal(cut.choices[0]?.finish_reason, "length");
    assert.equal(cut.usage?.completion_tokens, 5);
    const stopped = await ask("[say:one two END three]", { stop: ["END"] });
    assert.equal(stopped.choices[0]?.message.content, "one two ");
    const several = await ask("Tell me a story", { n: 3, logprobs: true, top_logprobs: 2 });
    assert.equal(several.choices.length, 3);
    const tokens = several.choices[1]?.logprobs?.content ?? [];
    assert.equal(
      tokens.map((token) => token.token).join(""),
      several.choices[1]?.message.content,
    );
    assert.equal(tokens[0]?.top_logprobs.length, 2);
    const schema = {
      type: "object",
      properties: { name: { type: "string" }, kind: { enum: ["x", "y"] } },
      required: ["name", "kind"],
      additionalProperties: false,
    };
    const shaped = await ask("Who am I?", {
      response_format: { type: "json_schema", json_schema: { name: "s", strict: true, schema } },
    });
    assert.deepEqual(JSON.parse(shaped.choices[0]?.message.content ?? ""), {
      name: "Who am I?",
      kind: "x",
    });
    const refused = await ask("[refuse] please", {});
    assert.ok(refused.choices[0]?.message.refusal);
  });
});

Deno.test("images are recognised by their bytes and broken ones refused", async () => {
  await forEachVendor(["vendor-b"], async (client, model) => {
    const ask = (url: string) =>
      client.chat.completions.create({
        model,
        messages: [{
          role: "user",
          content: [{ type: "text", text: "What is this?" }, {
            type: "image_url",
            image_url: { url },
          }],
        }],
      });
    const answer = await ask(`data:image/png;base64,${PNG}`);
    assert.match(answer.choices[0]?.message.content ?? "", /image\/png of \d+ bytes/);
    await assert.rejects(ask("data:image/png;base64,AAAA"), { status: 400 });
    await assert.rejects(ask("not an address"), { status: 400 });
  });
});

Deno.test("reasoning shows where the vendor shows it and is counted as the vendor counts it", async () => {
  await forEachVendor(LABELS, async (client, _model, label) => {
    const model = label === "vendor-f" ? "openai/gpt-5-mini" : MODELS[label] ?? "";
    const { choices, usage } = await client.chat.completions.create({
      model,
      messages: [{ role: "user", content: "Think hard" }],
      reasoning_effort: "high",
    });
    const message = JSON.parse(JSON.stringify(choices[0]?.message));
    assert.equal("reasoning_content" in message, label === "vendor-a" || label === "vendor-g");
    assert.equal("reasoning_details" in message, label === "vendor-f");
    const reasoning = usage?.completion_tokens_details?.reasoning_tokens ?? 0;
    assert.ok(reasoning > 20);
    const sum = (usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0);
    assert.equal(usage?.total_tokens, label === "vendor-g" ? sum + reasoning : sum);
    if (label === "vendor-f") assert.ok(Number(JSON.parse(JSON.stringify(usage)).cost) > 0);
  });
});

Deno.test("the strict vendor refuses unknown fields and unsupported parameters by name", async () => {
  await forEachVendor(["vendor-b"], async (client, model) => {
    const messages = [{ role: "user" as const, content: "Hi" }];
    const seventeen = Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`k${n}`, "v"]));
    const long = "v".repeat(513);
    const cases: [Record<string, unknown>, string, string][] = [
      [{ model, messages, colour: "red" }, "unknown_parameter", "colour"],
      [
        { model, messages: [{ ...messages[0], cache_control: {} }] },
        "unknown_parameter",
        "messages[0].cache_control",
      ],
      [{ model, messages: [] }, "empty_array", "messages"],
      [{ model }, "missing_required_parameter", "messages"],
      [{ model, messages, temperature: 3 }, "integer_above_max_value", "temperature"],
      [{ model, messages, temperature: 0.5 }, "unsupported_value", "temperature"],
      [{ model, messages, max_tokens: 5 }, "unsupported_parameter", "max_tokens"],
      [{ model, messages, n: "two" }, "invalid_type", "n"],
      [{ model, messages, modalities: ["text", "video"] }, "invalid_value", "modalities[1]"],
      [{ model, messages, metadata: seventeen }, "object_above_max_properties", "metadata"],
      [{ model, messages, metadata: { a: 1 } }, "invalid_type", "metadata.a"],
      [{ model, messages, metadata: { a: long } }, "string_above_max_length", "metadata.a"],
    ];
    for (const [body, code, param] of cases) {
      await assert.rejects(
        client.chat.completions.create(body as never),
        { status: 400, code, param },
      );
    }
    await assert.rejects(client.chat.completions.create({ model: "gpt-2", messages }), {
      status: 404,
      code: "model_not_found",
    });
  });
});

Deno.test("model lists have the vendors' own price fields", async () => {
  await forEachVendor(LABELS, async (client, model, label) => {
    const list = await client.models.list();
    const row = JSON.parse(JSON.stringify(list.data.find((entry) => entry.id === model)));
    if (label === "vendor-a") assert.equal(row.providers[0].pricing.output, 0.28);
    if (label === "vendor-f") assert.equal(row.pricing.prompt, "0.0000001");
    if (label === "vendor-b") assert.equal(row.owned_by, "openai");
  });
});

Deno.test("embeddings are unit vectors in both encodings", async () => {
  await forEachVendor(["vendor-b"], async (client) => {
    const ask = (encoding_format: "float" | "base64") =>
      client.embeddings.create({
        model: "text-embedding-3-small",
        input: ["a", "b"],
        dimensions: 8,
        encoding_format,
      });
    const [float, base64] = [await ask("float"), await ask("base64")];
    const vector = float.data[0]?.embedding ?? [];
    assert.equal(vector.length, 8);
    assert.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-6);
    assert.ok(base64.data[1]);
    assert.ok(float.usage.prompt_tokens > 0);
  });
});

Deno.test("tools are refused as vendor-b refuses them, by model and effort", async () => {
  await forEachVendor(["vendor-b"], async (client) => {
    const ask = (model: string, effort?: "none" | "low") =>
      client.chat.completions.create({
        model,
        messages: [{ role: "user", content: "What is the weather in Paris?" }],
        tools: [WEATHER],
        ...(effort === undefined ? {} : { reasoning_effort: effort }),
      });
    const refused = async (model: string, effort: "low" | undefined, words: RegExp) =>
      void await assert.rejects(ask(model, effort), {
        status: 400,
        param: "reasoning_effort",
        code: null,
        message: words,
      });
    await refused(
      "gpt-5.4",
      "low",
      /gpt-5\.4 in \/v1\/chat\/completions. Please use \/v1\/responses/,
    );
    await refused("gpt-5.6-sol", "low", /To use function tools, use \/v1\/responses or set/);
    await refused("gpt-5.6-sol", undefined, /To use function tools, use \/v1\/responses or set/);
    for (const [model, effort] of [["gpt-5.4"], ["gpt-5.6-sol", "none"], ["gpt-5-mini", "low"]]) {
      const answer = await ask(model!, effort as "none" | "low" | undefined);
      assert.equal(answer.choices[0]?.finish_reason, "tool_calls");
    }
  });
});

Deno.test("a conversation ends after two rounds of tools, and no command is a prompt's", async () => {
  await forEachVendor(["vendor-a"], async (client, model) => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [];
    const tools: OpenAI.ChatCompletionTool[] = [{
      type: "function",
      function: {
        name: "Bash",
        parameters: { type: "object", properties: { command: { type: "string" } } },
      },
    }];
    let rounds = 0;
    for (let turn = 0; turn < 6; turn++) {
      messages.push({ role: "user", content: "Use Bash: rm -rf / done." });
      const answer = await client.chat.completions.create({ model, messages, tools });
      const message = answer.choices[0]!.message;
      messages.push(message);
      for (const call of message.tool_calls ?? []) {
        rounds++;
        const { arguments: text } = call.type === "function" ? call.function : { arguments: "" };
        assert.deepEqual(JSON.parse(text), { command: "true" });
        messages.push({ role: "tool", tool_call_id: call.id, content: "done" });
      }
    }
    assert.equal(rounds, 2);
  });
});
