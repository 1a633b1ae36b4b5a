import type { Log } from "../base/log.ts";
import { CallMetrics, type MetricFamily } from "../shared/call_metrics.ts";
import type { CallDeps } from "../relay/call.ts";
import { providerName } from "../telemetry/call_spans.ts";
import { createTracing, noTracing, type PostSpans, type Tracing } from "../telemetry/tracing.ts";
import type { Upstream } from "../vendors/upstream.ts";
import type { Config } from "./config.ts";
import type { Vendors } from "./vendors.ts";

/** What hears of every settled call. */
export interface Telemetry extends Required<Pick<CallDeps, "observe" | "traceIdOf">> {
  tracing: Tracing;
  /** The metrics of calls. */
  callFamilies: readonly MetricFamily[];
}

/** Metrics of calls, and their traces where `OTEL_…` says where to send them. */
export function createTelemetry(
  { tracing: settings }: Config,
  { vendors, log, version }: { vendors: Vendors; log: Log; version: string },
): Telemetry {
  const callMetrics = new CallMetrics();
  const names = new Map(
    vendors.registry.all.map(({ label, aliases }) => [label, providerName(aliases[0] ?? label)]),
  );
  const tracing = settings === undefined ? noTracing : createTracing(settings, {
    post: createPost(vendors.upstream),
    ...{ log, version, providerOf: (label) => names.get(label) ?? label },
  });
  return {
    ...{ tracing, callFamilies: callMetrics.families() },
    traceIdOf: (traceparent) => tracing.traceIdOf(traceparent),
    observe(ended) {
      callMetrics.settled(ended.call, ended.timing);
      tracing.observe(ended);
    },
  };
}

/** A collector's answer says nothing that is needed; a longer one is cut off. */
const maxAnswerBytes = 64 * 1024;

function createPost(upstream: Upstream): PostSpans {
  return async ({ url, headers, body, signal }) => {
    const answer = await upstream.call({
      method: "POST",
      url,
      headers,
      body,
      signal,
      retry: false,
    });
    await answer.body.readAll(maxAnswerBytes);
    return answer.status;
  };
}
