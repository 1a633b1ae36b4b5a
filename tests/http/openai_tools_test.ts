import assert from "@std/assert";
import type { ChatCompletionTool } from "openai/resources/chat/completions";
import { shared, startSimulatedService } from "../support/service.ts";
import { chatFamilies, openai } from "../support/service_openai.ts";

const service = shared(() => startSimulatedService());

const tools: ChatCompletionTool[] = ["get_weather", "get_time"].map((name) => ({
  type: "function",
  function: {
    name,
    description: `Tells the ${name.slice(4)} of a city.`,
    parameters: {
      type: "object",
      properties: { city: { type: "string", description: "Name of the city" } },
      required: ["city"],
      additionalProperties: false,
    },
  },
}));

const question = "What are the weather and the time in Paris?";

interface Call {
  id: string;
  type: string;
  function: { name: string; arguments: string };
}

for (const { label, model } of chatFamilies) {
  Deno.test(`openai library: parallel tool calls of ${label}, whole and streamed`, async () => {
    const client = openai(service());
    const request = {
      model: `${label}/${model}`,
      tools,
      parallel_tool_calls: true,
      messages: [{ role: "user" as const, content: question }],
    };
    const whole = await client.chat.completions.create(request).withResponse();
    assert.equal(whole.data.choices[0]!.finish_reason, "tool_calls");
    const wholeCalls = whole.data.choices[0]!.message.tool_calls as Call[];
    check(wholeCalls);
    await checkRow(whole.response, wholeCalls);

    const streamed = await client.chat.completions.create({ ...request, stream: true })
      .withResponse();
    const calls: Call[] = [];
    let finish: string | null = null;
    for await (const chunk of streamed.data) {
      finish = chunk.choices[0]?.finish_reason ?? finish;
      for (const delta of chunk.choices[0]?.delta.tool_calls ?? []) {
        const call = calls[delta.index] ??= emptyCall();
        if (delta.id) call.id = delta.id;
        call.function.name += delta.function?.name ?? "";
        call.function.arguments += delta.function?.arguments ?? "";
      }
    }
    assert.equal(finish, "tool_calls");
    check(calls);
    await checkRow(streamed.response, calls);
  });
}

Deno.test("openai library: the stream helper and a round trip with tool results", async () => {
  const client = openai(service(), "/openai/v1");
  const user = { role: "user" as const, content: question };
  const first = await client.chat.completions
    .stream({ model: "gpt-4.1", tools, messages: [user] }).finalChatCompletion();
  const calls = first.choices[0]!.message.tool_calls as Call[];
  check(calls);
  const message = {
    role: "assistant" as const,
    tool_calls: calls.map(({ id, function: { name, arguments: given } }) => ({
      id,
      type: "function" as const,
      function: { name, arguments: given },
    })),
  };
  const results = message.tool_calls.map(({ id }) => ({
    role: "tool" as const,
    tool_call_id: id,
    content: "sunny, noon",
  }));
  const second = await client.chat.completions
    .create({ model: "gpt-4.1", tools, messages: [user, message, ...results] });
  assert.equal(second.choices[0]!.finish_reason, "stop");
});

function emptyCall(): Call {
  return { id: "", type: "function", function: { name: "", arguments: "" } };
}

function check(calls: Call[] | undefined): void {
  assert.deepEqual(calls?.map((call) => call.function.name), ["get_weather", "get_time"]);
  assert.equal(new Set(calls?.map((call) => call.id)).size, 2);
  for (const call of calls ?? []) {
    assert.ok(call.id);
    assert.equal(typeof JSON.parse(call.function.arguments).city, "string");
  }
}

async function checkRow(response: Response, calls: Call[]): Promise<void> {
  const row = await service().row(response.headers.get("x-transaction-id"));
  assert.equal(row.finish_reason, "tool_calls");
  assert.equal(row.status, "completed");
  assert.notEqual(Number(row.cost_usd), 0);
  const kept = row.response as { choices: { message: { tool_calls: Call[] } }[] };
  const named = kept.choices[0]!.message.tool_calls.map(({ id, type, function: called }) => ({
    id,
    type,
    function: { name: called.name, arguments: called.arguments },
  }));
  assert.deepEqual(named, calls.map((call) => ({ ...call, type: "function" })));
}
