import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Dialect } from "../dialects/kernel/dialect.ts";
import { readTranscript } from "../records/transcript.ts";
import { CallMetrics, type MetricFamily } from "../shared/call_metrics.ts";
import type { SelectableCall } from "../shared/interaction.ts";
import type { Metrics } from "../shared/metrics.ts";
import type { CallDeps } from "../relay/call_deps.ts";
import { providerName } from "../telemetry/call_spans.ts";
import type { PostToCollector } from "../telemetry/collector.ts";
import { createMetricExport, type MetricExport } from "../telemetry/metric_export.ts";
import { createTracing, noTracing, type Tracing } from "../telemetry/tracing.ts";
import type { Upstream } from "../vendors/upstream.ts";
import type { Config } from "./config.ts";
import type { Vendors } from "./vendors.ts";

/** Metrics and traces of settled calls. */
export interface Telemetry extends Required<Pick<CallDeps, "observe" | "traceIdOf">> {
  tracing: Tracing;
  /** Undefined if metrics are only read from `/metrics`. */
  metricExport: MetricExport | undefined;
  callFamilies: readonly MetricFamily[];
}

/** Creates metrics and traces of calls, exported if `OTEL_…` variables say where to. */
export function createTelemetry(
  { telemetry: { traces, metrics, ...settings } }: Config,
  { vendors, dialects, clock, log, version, processId, isErased }: {
    vendors: Vendors;
    dialects: Readonly<Record<string, Dialect>>;
    clock: Clock;
    log: Log;
    version: string;
    /** Distinguishes this process from others that send to the same collector. */
    processId: string;
    /** Whether a call was erased before its span was sent. */
    isErased: (call: SelectableCall) => boolean;
  },
): Telemetry {
  const callMetrics = new CallMetrics();
  const providers = new Map(
    vendors.registry.all.map(({ label, aliases }) => [label, providerName(aliases[0] ?? label)]),
  );
  const resource = { "service.instance.id": processId, ...settings.resource };
  const collector = { ...settings, resource };
  const post = createPost(vendors.upstream);
  const tracing = traces === undefined ? noTracing : createTracing({ ...collector, ...traces }, {
    ...{ post, log, version, isErased },
    names: {
      providerOf: (label) => providers.get(label) ?? label,
      // Images and speech are named as their endpoint's dialect.
      operationOf: (name) => dialects[name]?.spanOperation ?? name,
    },
    readContent: ({ dialect, ...payloads }) => readTranscript(dialects[dialect], payloads),
  });
  return {
    ...{ tracing, callFamilies: callMetrics.families() },
    metricExport: metrics && createMetricExport({ ...collector, ...metrics }, {
      ...{ post, version, clock },
    }),
    traceIdOf: (traceparent) => tracing.traceIdOf(traceparent),
    observe(ended) {
      callMetrics.settled(ended.call, ended.timing);
      tracing.observe(ended);
    },
  };
}

/** Sends what the collector doesn't have yet, for two seconds at most. */
export async function closeTelemetry(
  { tracing, metricExport }: Pick<Telemetry, "tracing" | "metricExport">,
  metrics: Pick<Metrics, "snapshot">,
): Promise<void> {
  const last = metricExport && metrics.snapshot().then((values) => metricExport.sendLast(values));
  await Promise.all([tracing.close(), last]);
}

/** What is read of a collector's answer, so that its connection can be used again. */
const maxAnswerBytes = 64 * 1024;

function createPost(upstream: Upstream): PostToCollector {
  return async (sent) => {
    const answer = await upstream.call({ ...sent, method: "POST", retry: false });
    // Only the status counts: what the collector has accepted must not be sent again.
    await answer.body.readAll(maxAnswerBytes).catch(() => {});
    return answer.status;
  };
}
