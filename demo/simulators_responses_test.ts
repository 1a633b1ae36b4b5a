import assert from "@std/assert";
import OpenAI from "openai";
import { startSimulators } from "./simulators.ts";

const WEATHER: OpenAI.Responses.FunctionTool = {
  type: "function",
  name: "get_weather",
  description: "Get the weather for a location",
  parameters: {
    type: "object",
    properties: { location: { type: "string" } },
    required: ["location"],
    additionalProperties: false,
  },
  strict: true,
};

const models = {
  "vendor-a": "moonshotai/Kimi-K2.6",
  "vendor-b": "gpt-6-luna",
  "vendor-g": "grok-4.3",
};

async function withClient(
  label: keyof typeof models,
  body: (client: OpenAI, model: string) => Promise<void>,
): Promise<void> {
  const simulators = await startSimulators();
  const { baseUrl, apiKey } = simulators.vendors[label];
  try {
    await body(
      new OpenAI({ baseURL: baseUrl, apiKey, maxRetries: 0 }),
      models[label],
    );
  } finally {
    await simulators.close();
  }
}

Deno.test("a responses stream has gapless numbers and ends in the stored response", async () => {
  for (const label of ["vendor-a", "vendor-b", "vendor-g"] as const) {
    await withClient(label, async (client, model) => {
      const stream = await client.responses.create({
        model,
        input: "How high is Mont Blanc?",
        reasoning: { effort: "low", summary: "auto" },
        stream: true,
      });
      let text = "";
      let expected = 0;
      const types: string[] = [];
      let final: OpenAI.Responses.Response | undefined;
      for await (const event of stream) {
        assert.equal(event.sequence_number, expected++);
        types.push(event.type);
        if (event.type === "response.output_text.delta") text += event.delta;
        if (event.type === "response.completed") final = event.response;
        if (event.type === "response.output_item.added" && event.item.type === "reasoning") {
          // The AI SDK's provider of xAI demands it; OpenAI leaves it out.
          assert.equal(event.item.status, label === "vendor-b" ? undefined : "in_progress");
        }
      }
      assert.equal(types[0], "response.created");
      assert.equal(types.at(-1), "response.completed");
      assert.equal(final?.output[0]?.type, "reasoning");
      assert.ok(
        types.includes(
          label === "vendor-a"
            ? "response.reasoning_text.delta"
            : "response.reasoning_summary_text.delta",
        ),
      );
      const stored = await client.responses.retrieve(final?.id ?? "");
      assert.equal(stored.output_text, text);
      assert.match(text, /Mont Blanc/);
      assert.ok((stored.usage?.output_tokens_details.reasoning_tokens ?? 0) > 0);
      await client.responses.delete(stored.id);
      await assert.rejects(client.responses.retrieve(stored.id), { status: 404 });
    });
  }
});

Deno.test("calls are answered through previous_response_id and through the full list", async () => {
  await withClient("vendor-b", async (client, model) => {
    const input = "What is the weather in Rome and Oslo?";
    const first = await client.responses.create({ model, input, tools: [WEATHER] });
    const calls = first.output.filter((item) => item.type === "function_call");
    assert.equal(calls.length, 2);
    const outputs = calls.map((call) => ({
      type: "function_call_output" as const,
      call_id: call.call_id,
      output: "sunny",
    }));
    const second = await client.responses.create({
      model,
      input: outputs,
      previous_response_id: first.id,
      tools: [WEATHER],
    });
    assert.match(second.output_text, /get_weather: sunny/);
    const third = await client.responses.create({
      model,
      input: [
        { role: "user", content: input },
        ...first.output,
        ...outputs,
      ] as OpenAI.Responses.ResponseInput,
      tools: [WEATHER],
    });
    assert.equal(third.output_text, second.output_text);
    await assert.rejects(client.responses.create({ model, input: outputs }), {
      status: 400,
      message: /No tool call found/,
    });
    await assert.rejects(
      client.responses.create({ model, input: "more", previous_response_id: first.id }),
      /No tool output found/,
    );
    await assert.rejects(
      client.responses.create({ model, input: "x", previous_response_id: "resp_none" }),
      { status: 400, code: "previous_response_not_found" },
    );
    await assert.rejects(
      client.responses.create({ model, input, metadata: { note: "v".repeat(513) } }),
      { status: 400, code: "string_above_max_length", param: "metadata.note" },
    );
  });
});

Deno.test("encrypted reasoning must come back as it was issued", async () => {
  await withClient("vendor-b", async (client, model) => {
    const first = await client.responses.create({
      model,
      input: "Hello",
      store: false,
      include: ["reasoning.encrypted_content"],
    });
    const again = (items: unknown[]) =>
      client.responses.create({
        model,
        store: false,
        input: [{ role: "user", content: "Hello" }, ...items, {
          role: "user",
          content: "And now?",
        }] as OpenAI.Responses.ResponseInput,
      });
    const answer = await again(first.output);
    assert.match(answer.output_text, /And now\?.*Before that you said: “Hello”/);
    const [reasoning, message] = first.output;
    // As Codex writes it when it sums a session up.
    await again([{ ...reasoning, content: null }, message]);
    // opencode sends no ids.
    const { id: _id, ...unnamed } = reasoning as OpenAI.Responses.ResponseReasoningItem;
    const said = { role: "assistant", content: first.output_text };
    await again([unnamed, said]);
    await assert.rejects(again([{ ...unnamed, encrypted_content: "AAAA" }, said]), {
      code: "invalid_encrypted_content",
    });
    await assert.rejects(again([{ ...reasoning, encrypted_content: "AAAA" }, message]), {
      code: "invalid_encrypted_content",
    });
    await assert.rejects(again([message]), { status: 400, message: /required 'reasoning' item/ });
    const { encrypted_content: _, ...bare } = reasoning as OpenAI.Responses.ResponseReasoningItem;
    await assert.rejects(again([bare, message]), { status: 404 });
  });
});

Deno.test("a conversation is summed up as one item, which must come back as it was issued", async () => {
  const user = { role: "user", content: "Hello" } as const;
  const trigger = { type: "compaction_trigger" } as const;
  await withClient("vendor-b", async (client, model) => {
    const ask = (...input: OpenAI.Responses.ResponseInput) =>
      client.responses.create({ model, store: false, input });
    const { output } = await ask(user, trigger);
    const [item] = output;
    assert.deepEqual(output.map(({ type }) => type), ["compaction"]);
    const { output_text } = await ask(user, item as OpenAI.Responses.ResponseInputItem, user);
    assert.notEqual(output_text, "");
    await assert.rejects(ask({ type: "compaction", encrypted_content: "gwenv1.AAAA" }, user), {
      code: "invalid_encrypted_content",
    });
  });
  await withClient("vendor-a", async (client, model) => {
    await assert.rejects(client.responses.create({ model, input: [user, trigger] }), {
      status: 400,
    });
  });
});

Deno.test("the endpoint for summaries gives the user's messages back before the item", async () => {
  await withClient("vendor-b", async (client, model) => {
    const { id } = await client.responses.create({ model, input: "Hello" });
    const compacted = await client.responses.compact({ model, previous_response_id: id });
    assert.equal(compacted.object, "response.compaction");
    assert.deepEqual(compacted.output.map(({ type }) => type), ["message", "compaction"]);
    const input = compacted.output as OpenAI.Responses.ResponseInput;
    assert.notEqual((await client.responses.create({ model, input })).output_text, "");
    const stored = { model, input, store: false };
    await assert.rejects(client.responses.compact(stored), { status: 400, param: "store" });
  });
  await withClient("vendor-a", async (client, model) => {
    await assert.rejects(client.responses.compact({ model, input: "Hello" }), { status: 404 });
  });
});

Deno.test("a token limit ends in an incomplete response", async () => {
  await withClient("vendor-b", async (client) => {
    const stream = client.responses.stream({
      model: "gpt-4.1",
      input: "Tell me much",
      max_output_tokens: 16,
    });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    const final = await stream.finalResponse();
    assert.equal(types.at(-1), "response.incomplete");
    assert.equal(final.status, "incomplete");
    assert.equal(final.incomplete_details?.reason, "max_output_tokens");
    assert.equal(final.usage?.output_tokens, 16);
  });
});

Deno.test("tools that an item adds are offered, and an agent's own metadata and messages are taken", async () => {
  await withClient("vendor-b", async (client, model) => {
    const answer = await client.responses.create({
      model,
      client_metadata: { session: "s" },
      input: [
        { type: "additional_tools", role: "developer", tools: [WEATHER] },
        { role: "user", content: "What is the weather in Paris?" },
        {
          ...{ type: "agent_message", author: "/root", recipient: "/root/helper" },
          content: [
            { type: "input_text", text: "Task:" },
            { type: "encrypted_content", encrypted_content: "Answer." },
          ],
        },
      ],
    } as OpenAI.Responses.ResponseCreateParamsNonStreaming);
    assert.ok(answer.output.some((item) => item.type === "function_call"));
    const run = { type: "custom", name: "exec", description: "Runs JavaScript." };
    const inside = { type: "namespace", name: "functions", description: "", tools: [run, WEATHER] };
    const spaced = await client.responses.create({
      model,
      input: [
        { type: "additional_tools", role: "developer", tools: [inside] },
        { role: "user", content: "Use exec, and tell the weather in Paris." },
      ],
    } as OpenAI.Responses.ResponseCreateParamsNonStreaming);
    const calls = spaced.output.filter((item) => "namespace" in item);
    assert.deepEqual(calls.map((item) => [item.type, "name" in item && item.name]), [
      ["custom_tool_call", "exec"],
      ["function_call", "get_weather"],
    ]);
    const search = { call_id: "call_1", execution: "client" as const };
    const found = await client.responses.create({
      model,
      tools: [{ type: "tool_search", execution: "client", parameters: { type: "object" } }],
      input: [
        { role: "user", content: "What is the weather in Paris?" },
        { type: "tool_search_call", ...search, arguments: {} },
        { type: "tool_search_output", ...search, tools: [WEATHER] },
      ],
    });
    assert.ok(found.output.some((item) => item.type === "function_call"));
    await assert.rejects(client.responses.create({ model, input: "x", temperature: 0.3 }), {
      status: 400,
      param: "temperature",
    });
  });
});

Deno.test("an answer that searched counts both of the vendor's tools", async () => {
  await withClient("vendor-b", async (client, model) => {
    const { tool_usage } = await client.responses.create({
      ...{ model, input: "[search:2] Who won?", tools: [{ type: "web_search" }] },
    });
    assert.equal(tool_usage?.web_search.num_requests, 2);
    assert.equal(tool_usage?.image_gen.total_tokens, 0);
  });
});

Deno.test("xAI and Hugging Face refuse the tools, items and fields that only OpenAI has", async () => {
  const search = { type: "web_search", external_web_access: true };
  const patched = { type: "custom_tool_call", call_id: "c", name: "apply_patch", input: "" };
  const refused: [object, number][] = [
    [{ tools: [{ type: "custom", name: "apply_patch" }] }, 422],
    [{ tools: [{ type: "apply_patch" }] }, 422],
    [{ tools: [{ type: "namespace", name: "n", tools: [WEATHER] }] }, 422],
    [{ input: [{ role: "user", content: "Hi" }, patched] }, 422],
    [{ input: [{ type: "reasoning", summary: [], content: null }] }, 422],
  ];
  for (const label of ["vendor-a", "vendor-g"] as const) {
    await withClient(label, async (client, model) => {
      const searches = [{ tools: [search] }, label === "vendor-g" ? 400 : 422] as const;
      for (const [fields, status] of [...refused, searches]) {
        const body = { model, input: "Hi", ...fields };
        await assert.rejects(client.responses.create(body as never), { status });
      }
    });
  }
});

Deno.test("xAI refuses a function that has the name of its own tool search, at both endpoints", async () => {
  await withClient("vendor-g", async (client, model) => {
    const named = { name: "tool_search", parameters: WEATHER.parameters };
    const message = /^400 .*The function name tool_search is reserved/;
    const tool = { ...WEATHER, ...named };
    const asked = client.responses.create({ model, input: "Hi", tools: [tool] });
    await assert.rejects(asked, { message });
    const messages = [{ role: "user" as const, content: "Hi" }];
    const tools = [{ type: "function" as const, function: named as OpenAI.FunctionDefinition }];
    await assert.rejects(client.chat.completions.create({ model, messages, tools }), { message });
  });
});
