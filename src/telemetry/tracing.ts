import { systemSetTimer } from "../base/deadline.ts";
import type { Log } from "../base/log.ts";
import { messageOf } from "../shared/fault.ts";
import type { Measures } from "../shared/metrics.ts";
import { callSpans, type EndedCall, type Span } from "./call_spans.ts";
import type { OtlpProtocol } from "./otlp.ts";
import { type Sent, SpanExporter } from "./span_exporter.ts";
import { newTraceId, readTraceparent } from "./trace_context.ts";

/** The `OTEL_…` variables. */
export interface TracingSettings {
  /** Where traces go: the whole address. */
  endpoint: string;
  protocol: OtlpProtocol;
  headers: Readonly<Record<string, string>>;
  /** Of one request. */
  timeoutMs: number;
  /** `service.name` among them. */
  resource: Readonly<Record<string, string>>;
}

/** A request to the collector; resolves with its status, rejects where it gets no answer. */
export type PostSpans = (request: {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
  signal: AbortSignal;
}) => Promise<number>;

export interface Tracing {
  /** The trace of a call with this header; undefined where it has none. */
  traceIdOf(traceparent: string | undefined): string | undefined;
  observe(ended: ObservedEnd): void;
  readonly measures: Measures;
  close(): Promise<void>;
}

type ObservedEnd = Omit<EndedCall, "parent" | "traceId"> & { traceparent: string | undefined };

/** Traces are not exported; a caller's own are recorded all the same. */
export const noTracing: Tracing = {
  traceIdOf: (traceparent) => readTraceparent(traceparent)?.traceId,
  observe() {},
  measures: {},
  close: () => Promise.resolve(),
};

/** Exports the spans of calls. Loads OpenTelemetry's packages when the first ones are sent. */
export function createTracing(
  settings: TracingSettings,
  { post, log, version, providerOf }: {
    post: PostSpans;
    log: Log;
    version: string;
    /** The GenAI conventions' name of a vendor, by its label. */
    providerOf: (label: string) => string;
  },
): Tracing {
  const { endpoint: url, protocol, headers, timeoutMs } = settings;
  const resource = { attributes: settings.resource, version };
  const send = async (spans: readonly Span[]): Promise<Sent> => {
    const { writeOtlp } = await import("./otlp.ts");
    const { body, contentType } = writeOtlp(spans, protocol, resource);
    const limit = new AbortController();
    const cancel = systemSetTimer(timeoutMs, () => limit.abort());
    try {
      const status = await post({
        ...{ url, body, signal: limit.signal },
        headers: { ...headers, "content-type": contentType },
      });
      if (status < 300) return "taken";
      return retriedStatuses.has(status) ? "away" : "refused";
    } catch {
      return "away";
    } finally {
      cancel();
    }
  };
  const exporter = new SpanExporter({
    send: (spans) =>
      send(spans).catch((thrown) => {
        log.error("spans could not be written", { reason: messageOf(thrown) });
        return "refused";
      }),
    ...{ log, setTimer: systemSetTimer },
  });
  return {
    traceIdOf: (traceparent) => readTraceparent(traceparent)?.traceId ?? newTraceId(),
    observe({ traceparent, ...ended }) {
      const parent = readTraceparent(traceparent);
      const { traceId } = ended.call;
      // A caller that doesn't sample its trace wants none of ours.
      if (traceId === undefined || parent?.isSampled === false) return;
      exporter.add(callSpans({ ...ended, parent, traceId }, providerOf));
    },
    measures: exporter.measures,
    close: () => exporter.close(),
  };
}

/** By the OpenTelemetry protocol, after these the same request may be sent again. */
const retriedStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);
