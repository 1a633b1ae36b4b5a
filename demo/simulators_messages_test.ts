import assert from "@std/assert";
import Anthropic from "@anthropic-ai/sdk";
import { startSimulators } from "./simulators.ts";

const WEATHER: Anthropic.Tool = {
  name: "get_weather",
  description: "Get the weather for a location",
  input_schema: {
    type: "object",
    properties: { location: { type: "string" } },
    required: ["location"],
  },
};
const OLDER = { "anthropic-version": "2023-06-01" };

async function withClient(
  body: (client: Anthropic, address: { baseUrl: string; apiKey: string }) => Promise<void>,
): Promise<void> {
  const simulators = await startSimulators();
  const address = simulators.vendors["vendor-c"];
  const baseURL = address.baseUrl.replace(/\/v1$/, "");
  try {
    await body(new Anthropic({ baseURL, apiKey: address.apiKey, maxRetries: 0 }), address);
  } finally {
    await simulators.close();
  }
}

function ask(content: Anthropic.MessageParam["content"], more: object = {}) {
  return {
    model: "claude-haiku-4-5",
    max_tokens: 2000,
    messages: [{ role: "user" as const, content }],
    ...more,
  };
}

Deno.test("a streamed message folds to the whole one", async () => {
  await withClient(async (client) => {
    const whole = await client.messages.create(ask("Why is the sky blue?"));
    const streamed = await client.messages.stream(ask("Why is the sky blue?")).finalMessage();
    const text = (message: Anthropic.Message) =>
      message.content.map((block) => block.type === "text" ? block.text : "").join("");
    assert.equal(text(streamed), text(whole));
    assert.match(text(whole), /sky blue/);
    assert.equal(streamed.usage.output_tokens, whole.usage.output_tokens);
    assert.equal(streamed.stop_reason, "end_turn");
  });
});

Deno.test("thinking is signed, and refused when it comes back altered", async () => {
  await withClient(async (client) => {
    const thinking = { type: "enabled" as const, budget_tokens: 1024 };
    const tools = [WEATHER];
    const question = ask("What is the weather in Paris and Tokyo?", { thinking, tools });
    const first = await client.messages.stream(question).finalMessage();
    assert.deepEqual(first.content.map((block) => block.type), [
      "thinking",
      "text",
      "tool_use",
      "tool_use",
    ]);
    assert.equal(first.stop_reason, "tool_use");
    const uses = first.content.filter((block) => block.type === "tool_use");
    assert.deepEqual(uses.map((use) => use.input), [{ location: "Paris" }, { location: "Tokyo" }]);
    const results: Anthropic.ContentBlockParam[] = uses.map((use) => ({
      type: "tool_result",
      tool_use_id: use.id,
      content: "rain",
    }));
    const go = (assistant: Anthropic.ContentBlockParam[], user = results) =>
      client.messages.create({
        ...question,
        messages: [
          ...question.messages,
          { role: "assistant", content: assistant },
          { role: "user", content: user },
        ],
      });
    const content = first.content as Anthropic.ContentBlockParam[];
    const second = await go(content);
    assert.match(JSON.stringify(second.content), /get_weather: rain/);
    // What an agent's own search for tools returns: names of tools.
    const loaded = { type: "tool_reference" as const, tool_name: "get_weather" };
    const references = results.map((result) => ({ ...result, content: [loaded] }));
    assert.equal((await go(content, references as typeof results)).type, "message");
    const altered = content.map((block) =>
      block.type === "thinking" ? { ...block, thinking: "Something else" } : block
    );
    await assert.rejects(go(altered), /Invalid `signature` in `thinking` block/);
    await assert.rejects(go(content.slice(1)), /Expected `thinking`/);
    await assert.rejects(go(content, results.slice(1)), /tool_use` ids were found without/);
    await assert.rejects(
      go(content, [{ type: "text", text: "First this" }, ...results]),
      /tool_use` ids were found without/,
    );
  });
});

Deno.test("newer models refuse their thinking once what precedes it has changed", async () => {
  await withClient(async (client) => {
    const model = "claude-opus-5-5";
    const question = ask("What is the weather in Paris?", { model, tools: [WEATHER], system: "A" });
    const { content } = await client.messages.create(question);
    const [thought, ...rest] = content;
    assert.equal(thought?.type, "thinking");
    const go = async (more: object, assistant = content) => {
      const use = assistant.find((block) => block.type === "tool_use")!;
      const result = { type: "tool_result" as const, tool_use_id: use.id, content: "rain" };
      const answer = await client.messages.create({
        ...question,
        messages: [
          ...question.messages,
          { role: "assistant", content: assistant as Anthropic.ContentBlockParam[] },
          { role: "user", content: [result] },
        ],
        ...more,
      });
      assert.match(JSON.stringify(answer.content), /get_weather: rain/);
    };
    const mark = { cache_control: { type: "ephemeral" } };
    await go({});
    await go({ system: [{ type: "text", text: "A", ...mark }] });
    for (const changed of [{ system: "B" }, { tools: [{ ...WEATHER, description: "" }] }]) {
      await assert.rejects(go(changed), /bound to a different conversation/);
      await go(changed, rest);
      const block_binding = { prefix_mismatch_behavior: "drop_block" };
      await go({ ...changed, thinking: { type: "adaptive", block_binding } });
      // Another model can't read it, and does without.
      await go({ ...changed, model: "claude-sonnet-5-5" });
    }
  });
});

Deno.test("cache breakpoints are written once and read after, outside input_tokens", async () => {
  await withClient(async (client) => {
    const go = (question: string) =>
      client.messages.create(ask(question, {
        system: [{
          type: "text",
          text: "A long and stable instruction.",
          cache_control: { type: "ephemeral", ttl: "1h" },
        }],
      }));
    const { usage: plain } = await client.messages.create(
      ask("One?", { system: "A long and stable instruction." }),
    );
    const [first, second] = [(await go("One?")).usage, (await go("Two?")).usage];
    assert.ok((first.cache_creation_input_tokens ?? 0) > 0);
    assert.equal(
      first.cache_creation?.ephemeral_1h_input_tokens,
      first.cache_creation_input_tokens,
    );
    assert.equal(first.cache_read_input_tokens, 0);
    assert.equal(second.cache_read_input_tokens, first.cache_creation_input_tokens);
    assert.equal(second.cache_creation_input_tokens, 0);
    assert.equal(second.input_tokens, first.input_tokens);
    assert.equal(
      plain.input_tokens,
      first.input_tokens + (first.cache_creation_input_tokens ?? 0),
    );
  });
});

Deno.test("models and versions refuse what they don't take", async () => {
  await withClient(async (client, { baseUrl, apiKey }) => {
    const cases: [object, RegExp, object?][] = [
      [ask("x", { temperature: 1 }), /temperature: Extra inputs are not permitted/],
      [ask("x", { temperature: 1.5 }), /temperature: Input should be less than or equal/, OLDER],
      [ask("x", { colour: 1 }), /colour: Extra inputs are not permitted/],
      [ask("x", { max_tokens: undefined }), /max_tokens: Field required/],
      [ask("x", { max_tokens: 65_000, stream: true }), /maximum allowed number of output tokens/],
      [ask("x", { metadata: { k: "v" } }), /metadata.k: Extra inputs/],
      [
        ask("x", { model: "claude-opus-5-5", thinking: { type: "disabled" } }),
        /thinking.type.disabled/,
      ],
      [
        ask("x", { model: "claude-opus-5-5", tools: [WEATHER], tool_choice: { type: "any" } }),
        /tool_choice .*any.* is not supported/,
      ],
      [ask([{ type: "text", text: "" }]), /non-empty/],
    ];
    for (const [body, message, headers] of cases) {
      const options = headers ? { headers: headers as Record<string, string> } : {};
      await assert.rejects(client.messages.create(body as never, options), message);
    }
    await client.messages.create(ask("x", { temperature: 0.5 }) as never, { headers: OLDER });
    await assert.rejects(client.messages.create(ask("x", { model: "claude-1" })), { status: 404 });
    const bare = await fetch(`${baseUrl}/messages`, {
      method: "POST",
      headers: { "x-api-key": apiKey, "content-type": "application/json" },
      body: JSON.stringify(ask("x")),
    });
    assert.equal(bare.status, 400);
    assert.match(await bare.text(), /anthropic-version: header is required/);
  });
});

Deno.test("a message of the role system changes the effort, by its beta alone", async () => {
  await withClient(async (client) => {
    const messages = [
      { role: "user", content: "Plan it." },
      { role: "assistant", content: "One, two." },
      { role: "system", content: [], output_config: { effort: "low" } },
      { role: "user", content: "[say:in short]" },
    ];
    const body = { model: "claude-opus-5-5", max_tokens: 1000, messages } as never;
    await assert.rejects(client.messages.create(body), /messages.2.output_config: Extra inputs/);
    const headers = { "anthropic-beta": "x-1, mid-conversation-output-config-2026-07-01" };
    const { content } = await client.messages.create(body, { headers });
    assert.match(JSON.stringify(content), /in short/);
    const wrong = JSON.parse(JSON.stringify(body).replace('"low"', '"tiny"'));
    await assert.rejects(client.messages.create(wrong, { headers }), /output_config.effort/);
  });
});

Deno.test("the format has its former name by its beta alone", async () => {
  await withClient(async (client) => {
    const format = { type: "json_schema", schema: { type: "object", additionalProperties: false } };
    const body = ask("x", { output_format: format });
    const { max_tokens: _, ...counted } = body;
    const refused = /output_format: Extra inputs are not permitted/;
    await assert.rejects(client.messages.create(body), refused);
    await assert.rejects(client.messages.countTokens(counted as never), refused);
    const headers = { "anthropic-beta": "x-1, structured-outputs-2025-11-13" };
    for (const version of [OLDER, {}]) {
      const { content } = await client.messages.create(body, {
        headers: { ...headers, ...version },
      });
      assert.match(JSON.stringify(content), /"text":"\{\}"/);
    }
    const { input_tokens } = await client.messages.countTokens(counted as never, { headers });
    assert.ok(input_tokens > 0);
    const open = ask("x", { output_format: { ...format, schema: { type: "object" } } });
    await assert.rejects(client.messages.create(open, { headers }), /output_config.format.schema/);
  });
});

Deno.test("structured output, stop sequences, refusals and token counts", async () => {
  await withClient(async (client) => {
    const schema = {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    };
    const format = { type: "json_schema" as const, schema };
    const shaped = await client.messages.create(
      ask("A place in Rome", { output_config: { format } }),
    );
    assert.deepEqual(shaped.content.map((block) => block.type === "text" ? block.text : ""), [
      '{"city":"Rome"}',
    ]);
    // All text has the format, so there is none before a call.
    const called = await client.messages.create(
      ask("The weather in Rome?", { output_config: { format }, tools: [WEATHER] }),
    );
    assert.deepEqual(called.content.map(({ type }) => type), ["tool_use"]);
    const stopped = await client.messages.create(
      ask("[say:one two END three]", { stop_sequences: ["END"] }),
    );
    assert.equal(stopped.stop_reason, "stop_sequence");
    assert.equal(stopped.stop_sequence, "END");
    const refused = await client.messages.stream(ask("[refuse]")).finalMessage();
    assert.equal(refused.stop_reason, "refusal");
    assert.equal(refused.content.length, 0);
    const { max_tokens: _, ...counted } = ask("How many tokens?");
    const count = await client.messages.countTokens(counted);
    const { usage } = await client.messages.create(ask("How many tokens?"));
    assert.equal(count.input_tokens, usage.input_tokens);
  });
});

Deno.test("the model list is paged and newest first", async () => {
  await withClient(async (client) => {
    const first = await client.models.list({ limit: 3 });
    assert.equal(first.data.length, 3);
    assert.equal(first.has_more, true);
    const all: string[] = [];
    for await (const model of client.models.list({ limit: 3 })) all.push(model.id);
    assert.equal(all.length, 10);
    assert.equal(new Set(all).size, 10);
    const model = await client.models.retrieve("claude-haiku-4-5");
    assert.equal(model.max_tokens, 64_000);
  });
});

Deno.test("a conversation is compacted by its beta alone, and goes on from the sealed summary", async () => {
  await withClient(async (client) => {
    const beta = client.beta.messages;
    const question = ask("Why is the sky blue?", { tools: [WEATHER] });
    const compaction = { type: "summarize" as const };
    const refused = beta.create({ ...question, compaction });
    await assert.rejects(refused, /compaction: Extra inputs are not permitted/);
    const asked = { ...question, compaction, betas: ["compact-2026-09-04"] };
    const whole = await beta.create(asked);
    const streamed = await beta.stream(asked).finalMessage();
    assert.deepEqual(streamed.content, whole.content);
    assert.deepEqual(streamed.usage.iterations, whole.usage.iterations);
    const block = whole.content[0] as Anthropic.Beta.BetaCompactionBlock;
    assert.deepEqual(whole.content.map(({ type }) => type), ["compaction"]);
    assert.equal(whole.stop_reason, "compaction");
    const next = (signature: string) =>
      beta.create({
        ...ask("Go on."),
        messages: [
          { role: "assistant", content: [{ ...block, signature }] },
          { role: "user", content: "Go on." },
        ],
      });
    assert.equal((await next(block.signature!)).stop_reason, "end_turn");
    await assert.rejects(next(""), /Invalid `signature` in `compaction` block/);
  });
});

Deno.test("a call that is demanded after a result is of another tool, as AI SDK's objects need it", async () => {
  await withClient(async (client) => {
    const json: Anthropic.Tool = { ...WEATHER, name: "json", description: "Respond with JSON." };
    const demand = { tools: [WEATHER, json], tool_choice: { type: "any" } };
    const question = "Get the weather in Oslo.";
    const first = await client.messages.create(ask(question, demand));
    const called = first.content.filter((block) => block.type === "tool_use");
    assert.deepEqual(called.map(({ name }) => name), ["get_weather"]);
    const results = called.map(({ id }) => ({
      ...{ type: "tool_result", tool_use_id: id, content: "rain" },
    }));
    const second = await client.messages.create(ask("", {
      ...demand,
      messages: [
        { role: "user", content: question },
        { role: "assistant", content: first.content },
        { role: "user", content: results },
      ],
    }));
    const [answer] = second.content.filter((block) => block.type === "tool_use");
    assert.equal(answer?.name, "json");
  });
});
