/** Spans of calls, as a collector gets them (interface.md §9). */
import assert from "@std/assert";
import { type Collector, type ReceivedSpan, startCollector } from "../support/collector.ts";
import {
  scriptedModel,
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
    assert.equal(answered!.attributes["server.address"], new URL(service.vendorUrl).host);
    for (const span of clients) {
      assert.ok(span.startMs >= server.startMs - 1 && span.endMs <= server.endMs + 1);
      assert.ok(span.endMs >= span.startMs);
    }
    assert.ok(failed!.endMs <= answered!.startMs + 1);
    const [{ path, headers, bytes }] = collector.requests as [Collector["requests"][number]];
    assert.deepEqual([path, headers.get("x-tenant")], ["/v1/traces", "a b"]);
    assert.ok(!new TextDecoder().decode(bytes).includes("secret"), "no text of anybody");
    assert.deepEqual(server.resource, {
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
  const unsampled = await ask(`00-${traceId}-${callerSpan}-00`);
  const last = await ask(traceparent);
  assert.equal(unsampled.trace_id, traceId);
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
    await using service = await start(collector, { OTEL_EXPORTER_OTLP_TIMEOUT: "200" });
    const calls = Number(Deno.env.get("TRACED_CALLS") ?? 1200);
    for (let done = 0; done < calls; done += 8) {
      const answers = await Promise.all(Array.from({ length: 8 }, async () => {
        const { response } = await service.call((exchange) => exchange.answer(200, wholeAnswer));
        await response.text();
        return response.status;
      }));
      assert.ok(answers.every((status) => status === 200), `after ${done} calls`);
    }
    const text = await (await service.fetch("/metrics")).text();
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
