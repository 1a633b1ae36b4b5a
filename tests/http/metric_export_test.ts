/** Metrics as a collector gets them: what `/metrics` shows (interface.md §2 and §9). */
import assert from "@std/assert";
import { type Collector, type ReceivedMetric, startCollector } from "../support/collector.ts";
import {
  type ScriptedService,
  startScriptedService,
  streamEvents,
  wholeAnswer,
} from "../support/service_scripted.ts";

function start(collector: Collector, env: Record<string, string> = {}) {
  return startScriptedService({
    ...{ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_METRIC_EXPORT_INTERVAL: "50" },
    ...env,
  });
}

async function call(service: ScriptedService, stream = false): Promise<void> {
  const { response } = await service.call(
    (exchange) => stream ? exchange.stream(streamEvents) : exchange.answer(200, wholeAnswer),
    { stream },
  );
  await response.text();
}

/** Metrics that change with calls alone, so that two looks at them are the same. */
const ofCalls =
  /^gateway_(calls_total|tokens_total|cost_usd_total|(overhead|vendor|time_to_first_token)_seconds)/;

/** The lines of `/metrics` as name, labels and value. */
function linesOf(text: string): Map<string, number> {
  return new Map(
    text.split("\n").filter((line) => ofCalls.test(line)).map((line) => {
      const at = line.lastIndexOf(" ");
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

/** The same lines out of what the collector got. */
function linesOfExport(metrics: readonly ReceivedMetric[]): Map<string, number> {
  const lines = new Map<string, number>();
  const add = (name: string, labels: Record<string, unknown>, value: number) => {
    const text = Object.entries(labels).map(([label, one]) => `${label}="${one}"`).join(",");
    lines.set(`${name}{${text}}`, value);
  };
  for (const { name, type, points } of metrics) {
    if (!ofCalls.test(name)) continue;
    for (const { attributes, value, counts = [], bounds = [], count = 0 } of points) {
      if (type !== "histogram") add(name, attributes, value);
      else {
        let below = 0;
        for (const [at, le] of [...bounds, "+Inf"].entries()) {
          add(`${name}_bucket`, { le, ...attributes }, below += counts[at]!);
        }
        add(`${name}_sum`, attributes, value);
        add(`${name}_count`, attributes, count);
      }
    }
  }
  return lines;
}

async function until<T>(read: () => T | undefined): Promise<T> {
  for (let look = 0; look < 1_200; look++) {
    const found = read();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error("it never came");
}

function callsIn(metrics: readonly ReceivedMetric[]): number {
  const calls = metrics.find(({ name }) => name === "gateway_calls_total");
  return (calls?.points ?? []).reduce((sum, { value }) => sum + value, 0);
}

for (const protocol of ["http/protobuf", "http/json"]) {
  Deno.test(`a collector gets every metric of /metrics, with its values (${protocol})`, async () => {
    await using collector = startCollector();
    await using service = await start(collector, {
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=a%20b",
      OTEL_SERVICE_NAME: "my-gateway",
    });
    const beganMs = Date.now();
    for (const stream of [false, true, true]) await call(service, stream);
    const { response } = await service.call((exchange) => exchange.answer(400, {}));
    await response.text();
    const { metrics, resource } = await until(() =>
      collector.metrics.find((one) => callsIn(one.metrics) === 4)
    );
    const text = await (await service.fetch("/metrics")).text();
    const shown = linesOf(text);
    assert.deepEqual(linesOfExport(metrics), shown);
    assert.ok(shown.size > 40, `${shown.size} lines`);
    const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) =>
      `${name} ${type === "counter" ? "sum" : type}`
    );
    assert.deepEqual(metrics.map(({ name, type }) => `${name} ${type}`).sort(), types.sort());
    for (const { name, type, temporality, isMonotonic, points } of metrics) {
      if (type !== "gauge") assert.equal(temporality, 2, `${name} is cumulative`);
      if (type === "sum") assert.equal(isMonotonic, true, name);
      for (const { startMs, atMs } of points) {
        assert.ok(startMs <= beganMs && atMs >= beganMs && atMs <= Date.now() + 1, name);
      }
    }
    const { "service.instance.id": instance, ...others } = resource;
    assert.deepEqual(others, { "service.name": "my-gateway" });
    assert.match(String(instance), /^[0-9a-f-]{36}$/);
    const sent = collector.requests.find(({ path }) => path === "/v1/metrics")!;
    assert.equal(sent.headers.get("x-tenant"), "a b");
  });
}

Deno.test("a collector that hangs is asked once at a time; back, it gets what it has missed", async () => {
  const forever = Promise.withResolvers<Response>();
  let hangs = true;
  const collector = startCollector((path) =>
    hangs && path === "/v1/metrics" ? forever.promise : new Response()
  );
  try {
    const startedMs = Date.now();
    await using service = await start(collector, { OTEL_EXPORTER_OTLP_TIMEOUT: "2000" });
    const asked = () => collector.requests.filter(({ path }) => path === "/v1/metrics").length;
    await until(() => asked() > 0 || undefined);
    for (let calls = 0; calls < 5; calls++) await call(service);
    await new Promise((resolve) => setTimeout(resolve, 500));
    // Many intervals passed within the time limit of each request, 2 s.
    const atMost = 1 + Math.floor((Date.now() - startedMs) / 2_000);
    assert.ok(asked() <= atMost, `${asked()} requests, where ${atMost} had the time`);
    const linesOfJob = () => service.log.filter((line) => line.includes("job=metric_export"));
    const line = await until(() => linesOfJob()[0]);
    assert.match(
      line,
      /a background job failed .*reason="the collector of metrics can't be reached"/,
    );
    hangs = false;
    await until(() => collector.metrics.find(({ metrics }) => callsIn(metrics) === 5));
    // The collector has the metrics before the job has its answer.
    await until(() => linesOfJob()[1]);
    const [, recovery, ...further] = linesOfJob();
    assert.match(recovery!, /a background job works again/);
    assert.deepEqual(further, [], "two lines for one outage");
  } finally {
    forever.resolve(new Response());
    await collector[Symbol.asyncDispose]();
  }
});

Deno.test("at a stop the last values are sent", async () => {
  await using collector = startCollector();
  const service = await start(collector, { OTEL_METRIC_EXPORT_INTERVAL: "3600000" });
  await call(service);
  assert.equal(collector.metrics.length, 0);
  await service[Symbol.asyncDispose]();
  assert.deepEqual(collector.metrics.map(({ metrics }) => callsIn(metrics)), [1]);
});
