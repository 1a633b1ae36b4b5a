/** Spans of calls, as a collector gets them (interface.md §9). */
import assert from "@std/assert";
import { type Collector, type ReceivedSpan, startCollector } from "../support/collector.ts";
import {
  scriptedModel,
  type ScriptedService,
  startScriptedService,
  streamEvents,
  wholeAnswer,
} from "../support/service_scripted.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const callerSpan = "b7ad6b7169203331";
const traceparent = `00-${traceId}-${callerSpan}-01`;

function start(collector: Collector, env: Record<string, string> = {}) {
  return startScriptedService({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...env });
}

/** Without the id of the process, which differs. */
function ownResource({ resource: { "service.instance.id": instance, ...resource } }: ReceivedSpan) {
  assert.match(String(instance), /^[0-9a-f-]{36}$/);
  return resource;
}

function byKind(spans: readonly ReceivedSpan[]): { server: ReceivedSpan; clients: ReceivedSpan[] } {
  const servers = spans.filter(({ kind }) => kind === 2);
  assert.equal(servers.length, 1);
  return { server: servers[0]!, clients: spans.filter(({ kind }) => kind === 3) };
}

for (const protocol of ["http/protobuf", "http/json"]) {
  Deno.test(`a call is a span by the GenAI conventions, with one per vendor request (${protocol})`, async () => {
    await using collector = startCollector();
    await using service = await start(collector, {
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=a%20b",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
      OTEL_SERVICE_NAME: "my-gateway",
    });
    const { response, tries } = await service.call(
      (exchange, attempt) =>
        attempt === 1
          ? exchange.answer(503, { error: { message: "secret-of-the-vendor" } })
          : exchange.stream(streamEvents),
      {
        stream: true,
        headers: { traceparent },
        body: { messages: [{ role: "user", content: "secret-of-the-prompt" }] },
      },
    );
    await response.text();
    assert.equal(tries.length, 2);
    assert.ok(tries.every(({ headers }) => headers.traceparent === undefined));
    const { server, clients } = byKind(await collector.received(3));
    const id = response.headers.get("x-transaction-id")!;
    assert.equal(server.name, `chat ${scriptedModel}`);
    assert.deepEqual([server.traceId, server.parentSpanId], [traceId, callerSpan]);
    const { "gateway.cost_usd": cost, ...attributes } = server.attributes;
    assert.deepEqual(attributes, {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": scriptedModel,
      "gen_ai.response.model": wholeAnswer.model,
      "gen_ai.usage.input_tokens": 10,
      "gen_ai.usage.output_tokens": 5,
      "gen_ai.response.finish_reasons": ["stop"],
      "http.request.method": "POST",
      "http.route": "/vendor-b/v1/chat/completions",
      "http.response.status_code": 200,
      "gateway.transaction_id": id,
    });
    const row = await service.row(id);
    assert.deepEqual([row.cost_usd, row.trace_id], [cost, traceId]);
    assert.equal(server.status, 0);
    const [failed, answered] = clients;
    assert.deepEqual(clients.map(({ parentSpanId, traceId: trace }) => [parentSpanId, trace]), [
      [server.spanId, traceId],
      [server.spanId, traceId],
    ]);
    assert.deepEqual([failed!.status, failed!.attributes["http.response.status_code"]], [2, 503]);
    assert.equal(failed!.attributes["error.type"], "upstream_overloaded");
    assert.equal(failed!.attributes["gen_ai.usage.input_tokens"], undefined);
    assert.deepEqual([answered!.status, answered!.attributes["gen_ai.usage.output_tokens"]], [
      0,
      5,
    ]);
    const { "server.address": host, "server.port": port } = answered!.attributes;
    assert.equal(`http://${host}:${port}`, new URL(service.vendorUrl).origin);
    for (const span of clients) {
      assert.ok(span.startMs >= server.startMs - 1 && span.endMs <= server.endMs + 1);
      assert.ok(span.endMs >= span.startMs);
    }
    assert.ok(failed!.endMs <= answered!.startMs + 1);
    const [{ path, headers, bytes }] = collector.requests as [Collector["requests"][number]];
    assert.deepEqual([path, headers.get("x-tenant")], ["/v1/traces", "a b"]);
    assert.ok(!new TextDecoder().decode(bytes).includes("secret"), "no text of anybody");
    assert.deepEqual(ownResource(server), {
      "service.name": "my-gateway",
      "deployment.environment.name": "test",
    });
  });
}

Deno.test("a caller without a trace gets one, a wrong or unsampled one is not followed", async () => {
  await using collector = startCollector();
  await using service = await start(collector);
  const ask = async (header?: string) => {
    const { response } = await service.call((exchange) => exchange.answer(200, wholeAnswer), {
      headers: header === undefined ? {} : { traceparent: header },
    });
    await response.text();
    return await service.row(response.headers.get("x-transaction-id"));
  };
  const own = await ask();
  const wrong = await ask(`00-${"0".repeat(32)}-${callerSpan}-01`);
  const unsampledId = "5".repeat(32);
  const unsampled = await ask(`00-${unsampledId}-${callerSpan}-00`);
  const last = await ask(traceparent);
  assert.equal(unsampled.trace_id, unsampledId);
  const spans = await collector.received(6);
  const servers = spans.filter(({ kind }) => kind === 2);
  assert.deepEqual(
    servers.map(({ traceId: trace, parentSpanId }) => [trace, parentSpanId]),
    [[own.trace_id, ""], [wrong.trace_id, ""], [last.trace_id, callerSpan]],
  );
  assert.match(String(own.trace_id), /^[0-9a-f]{32}$/);
  assert.notEqual(own.trace_id, wrong.trace_id);
});

Deno.test("a failed call's span says why", async () => {
  await using collector = startCollector();
  await using service = await start(collector);
  const { response } = await service.call((exchange) =>
    exchange.answer(400, { error: { message: "no", code: "context_length_exceeded" } })
  );
  const { error } = await response.json();
  const { server, clients } = byKind(await collector.received(2));
  assert.deepEqual([server.status, server.attributes["error.type"]], [2, error.code]);
  assert.equal(server.attributes["http.response.status_code"], response.status);
  assert.equal(clients[0]!.attributes["http.response.status_code"], 400);
});

Deno.test("a collector that hangs holds nobody up: what is too much is dropped and counted", async () => {
  const forever = Promise.withResolvers<Response>();
  const collector = startCollector(() => forever.promise);
  try {
    await using traced = await start(collector);
    // The least whose spans are more than may wait.
    const calls = Number(longRound ?? 1_104);
    // In turns, so that what else the machine does is in both.
    await using untraced = longRound === undefined ? undefined : await startScriptedService();
    const times = { traced: [] as number[], untraced: [] as number[] };
    for (let done = 0; done < calls; done += 8) {
      times.traced.push(...await eightCalls(traced));
      if (untraced) times.untraced.push(...await eightCalls(untraced));
    }
    // No request was answered, so no call can have waited for one.
    assert.ok(collector.requests.some(({ path }) => path === "/v1/traces"));
    assert.equal(collector.spans.length, 0);
    if (untraced) {
      const slower = [0.5, 0.9].map((part) =>
        quantile(times.traced, part) / quantile(times.untraced, part)
      );
      assert.ok(slower.every((ratio) => ratio < 1.5), `times slower: ${slower}`);
    }
    const text = await (await traced.fetch("/metrics")).text();
    const figure = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
    const [waiting, dropped] = [
      figure("gateway_spans_waiting"),
      figure("gateway_spans_dropped_total"),
    ];
    assert.ok(waiting <= 2048, `${waiting} wait`);
    assert.equal(waiting + dropped, 2 * calls, "two spans a call");
    assert.ok(dropped > 0);
    assert.equal(
      (text.match(/^gateway_calls_total\{.*status="completed"\} (\d+)$/m) ?? [])[1],
      String(calls),
    );
  } finally {
    forever.resolve(new Response());
    await collector[Symbol.asyncDispose]();
  }
});

Deno.test("a collector's status counts, however long its answer is: spans are sent once", async () => {
  const statuses = [400, 200, 200];
  await using collector = startCollector(() =>
    new Response("x".repeat(1_000_000), { status: statuses.shift() ?? 200 })
  );
  await using service = await start(collector);
  const call = async () => {
    const { response } = await service.call((exchange) => exchange.answer(200, wholeAnswer));
    await response.text();
    return response.headers.get("x-transaction-id");
  };
  await call();
  for (let look = 0; look < 1_200 && statuses.length > 2; look++) {
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  const taken = [await call()];
  await collector.received(2);
  taken.push(await call());
  const spans = await collector.received(4);
  const servers = spans.filter(({ kind }) => kind === 2);
  assert.deepEqual(servers.map(({ attributes }) => attributes["gateway.transaction_id"]), taken);
  const text = await (await service.fetch("/metrics")).text();
  assert.match(text, /^gateway_spans_dropped_total 2$/m);
});

/** So many calls; only then are their times compared with those of untraced ones. */
const longRound = Deno.env.get("TRACED_CALLS");

/** How long each of eight calls at once took, in milliseconds. */
async function eightCalls(service: ScriptedService): Promise<number[]> {
  return await Promise.all(Array.from({ length: 8 }, async () => {
    const beganMs = performance.now();
    const { response } = await service.call((exchange) => exchange.answer(200, wholeAnswer));
    await response.text();
    assert.equal(response.status, 200);
    return performance.now() - beganMs;
  }));
}

function quantile(values: readonly number[], part: number): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length * part)]!;
}

Deno.test("without an endpoint nothing is exported, and a caller's trace is still recorded", async () => {
  await using service = await startScriptedService();
  const { response } = await service.call((exchange) => exchange.answer(200, wholeAnswer), {
    headers: { traceparent },
  });
  await response.text();
  const row = await service.row(response.headers.get("x-transaction-id"));
  assert.equal(row.trace_id, traceId);
  const text = await (await service.fetch("/metrics")).text();
  assert.doesNotMatch(text, /gateway_spans/);
});

const OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT = "true";

const toolCall = (id: string, name: string, text: string) => ({
  ...{ id, type: "function", function: { name, arguments: text } },
});

const toolMessages = [
  { role: "system", content: "Be brief." },
  {
    role: "user",
    content: [
      { type: "text", text: "And here?" },
      { type: "image_url", image_url: { url: "https://example.com/street.png" } },
    ],
  },
  { role: "assistant", tool_calls: [toolCall("call_1", "place", "{")] },
  { role: "tool", tool_call_id: "call_1", content: "Oslo" },
];

const toolAnswer = {
  ...wholeAnswer,
  choices: [{
    index: 0,
    message: {
      ...{ role: "assistant", content: "Let me look." },
      tool_calls: [toolCall("call_2", "weather", '{"city":"Oslo"}')],
    },
    finish_reason: "tool_calls",
  }],
};

Deno.test("messages are in a span where that is enabled, in the form of the conventions", async () => {
  await using collector = startCollector();
  await using service = await start(collector, {
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT,
  });
  const { response } = await service.call((exchange) => exchange.answer(200, toolAnswer), {
    body: { messages: toolMessages },
  });
  await response.text();
  const { server, clients } = byKind(await collector.received(2));
  const content = (attribute: string) => JSON.parse(String(server.attributes[attribute]));
  const text = (said: string) => ({ type: "text", content: said });
  assert.deepEqual(content("gen_ai.system_instructions"), [text("Be brief.")]);
  assert.deepEqual(content("gen_ai.input.messages"), [
    {
      role: "user",
      parts: [
        text("And here?"),
        { type: "uri", modality: "image", uri: "https://example.com/street.png" },
      ],
    },
    {
      role: "assistant",
      parts: [{ type: "tool_call", id: "call_1", name: "place", arguments: "{" }],
    },
    {
      role: "tool",
      parts: [{ type: "tool_call_response", id: "call_1", response: [text("Oslo")] }],
    },
  ]);
  assert.deepEqual(content("gen_ai.output.messages"), [{
    role: "assistant",
    parts: [
      text("Let me look."),
      { type: "tool_call", id: "call_2", name: "weather", arguments: { city: "Oslo" } },
    ],
    finish_reason: "tool_calls",
  }]);
  for (const name of Object.keys(clients[0]!.attributes)) assert.doesNotMatch(name, /messages/);
});

Deno.test("a call of which only usage is recorded has no content in its span, nor has a very long one", async () => {
  await using collector = startCollector();
  await using service = await start(collector, {
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT,
  });
  const say = async (content: string, headers: Record<string, string> = {}) => {
    const { response } = await service.call((exchange) => exchange.answer(200, wholeAnswer), {
      ...{ headers, body: { messages: [{ role: "user", content }] } },
    });
    await response.text();
  };
  await say("secret-of-the-prompt", { "x-record": "metadata" });
  await say(`secret-${"of the prompt ".repeat(20_000)}`);
  await say("not a secret");
  const spans = await collector.received(6);
  const all = collector.requests.map(({ bytes }) => new TextDecoder().decode(bytes)).join();
  assert.ok(!all.includes("secret-"));
  const withContent = spans.filter(({ attributes }) => attributes["gen_ai.input.messages"]);
  assert.deepEqual(withContent.map(({ kind }) => kind), [2], "the third alone");
});

Deno.test("a call that is erased before its span is sent has no content in it", async () => {
  await using collector = startCollector();
  await using service = await start(collector, {
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT,
  });
  const { response } = await service.call(async (exchange) => {
    const erased = await service.fetch("/api/v1/data", {
      method: "DELETE",
      body: JSON.stringify({ confirm: true, session_ids: ["s1"] }),
    });
    assert.equal(erased.status, 200, await erased.text());
    exchange.answer(200, wholeAnswer);
  }, { headers: { "x-session-id": "s1" } });
  await response.text();
  const { server } = byKind(await collector.received(2));
  assert.deepEqual(Object.keys(server.attributes).filter((name) => /messages/.test(name)), []);
});
