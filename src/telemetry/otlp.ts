import {
  JsonMetricsSerializer,
  JsonTraceSerializer,
  ProtobufMetricsSerializer,
  ProtobufTraceSerializer,
} from "@opentelemetry/otlp-transformer";
import { parseExactly } from "../base/exact_json.ts";
import type { MetricValue } from "../shared/call_metrics.ts";
import type { MetricSnapshot } from "../shared/metrics.ts";
import type { Span } from "./call_spans.ts";

export type OtlpProtocol = "http/protobuf" | "http/json";

/** The sender of spans and metrics. */
export interface OtlpResource {
  readonly attributes: Readonly<Record<string, string>>;
  readonly version: string;
}

/** A request of the OpenTelemetry protocol. */
export interface OtlpRequest {
  body: Uint8Array;
  contentType: string;
}

type SerializedSpan = Parameters<typeof ProtobufTraceSerializer.serializeRequest>[0][number];
type SerializedMetrics = Parameters<typeof ProtobufMetricsSerializer.serializeRequest>[0];

/** By `SpanKind` of the OpenTelemetry API. */
const kinds = { server: 1, client: 2 } as const;
const statusUnset = 0;
const statusError = 2;

/**
 * Writes spans as a request. This module is loaded only where something is exported: it alone needs
 * OpenTelemetry's packages.
 */
export function writeSpans(
  spans: readonly Span[],
  protocol: OtlpProtocol,
  { attributes, version }: OtlpResource,
): OtlpRequest {
  const resource = resourceOf(attributes);
  const scope = { name: "demeter", version };
  const written = spans.map((span) => serializedSpan(span, resource, scope));
  const serializer = protocol === "http/json" ? JsonTraceSerializer : ProtobufTraceSerializer;
  return requestOf(serializer.serializeRequest(written), protocol);
}

/**
 * Writes the current values of all metrics as a request; counters count since `sinceMs`, Unix time.
 */
export function writeMetrics(
  metrics: readonly MetricSnapshot[],
  protocol: OtlpProtocol,
  { attributes, version }: OtlpResource,
  { sinceMs, atMs }: { sinceMs: number; atMs: number },
): OtlpRequest {
  const times = { startTime: highResolution(sinceMs), endTime: highResolution(atMs) };
  const written = {
    resource: resourceOf(attributes),
    scopeMetrics: [{
      scope: { name: "demeter", version },
      metrics: metrics.map((metric) => serializedMetric(metric, times)),
    }],
  };
  const serializer = protocol === "http/json" ? JsonMetricsSerializer : ProtobufMetricsSerializer;
  return requestOf(serializer.serializeRequest(written as unknown as SerializedMetrics), protocol);
}

function resourceOf(attributes: Readonly<Record<string, string>>) {
  return { attributes, getRawAttributes: () => Object.entries(attributes) };
}

function requestOf(body: Uint8Array | undefined, protocol: OtlpProtocol): OtlpRequest {
  const contentType = protocol === "http/json" ? "application/json" : "application/x-protobuf";
  return { body: body ?? new Uint8Array(), contentType };
}

function serializedSpan(span: Span, resource: object, instrumentationScope: object) {
  const contextOf = (spanId: string, isRemote: boolean) => ({
    ...{ traceId: span.traceId, spanId, traceFlags: 1, isRemote },
  });
  const own = contextOf(span.spanId, false);
  const value: Record<string, unknown> = {
    ...{ name: span.name, kind: kinds[span.kind], attributes: span.attributes },
    spanContext: () => own,
    parentSpanContext: span.parentSpanId === undefined
      ? undefined
      : contextOf(span.parentSpanId, span.isParentRemote),
    startTime: highResolution(span.startMs),
    endTime: highResolution(span.endMs),
    duration: highResolution(span.endMs - span.startMs),
    status: { code: span.isError ? statusError : statusUnset },
    ...{ events: [], links: [], ended: true, resource, instrumentationScope },
    ...{ droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 },
  };
  return value as unknown as SerializedSpan;
}

/** By `DataPointType`, `AggregationTemporality` and `ValueType` of OpenTelemetry's packages. */
const dataPointTypes = { histogram: 0, gauge: 2, counter: 3 } as const;
const cumulative = 1;
const double = 1;

interface Times {
  startTime: [number, number];
  endTime: [number, number];
}

/**
 * The unit is part of the name, as in Prometheus, so that both ways of export give the same series.
 */
function serializedMetric({ name, help, type, values }: MetricSnapshot, times: Times) {
  const kind = type as keyof typeof dataPointTypes;
  const all = (values as readonly MetricValue[]).filter(({ value }) => Number.isFinite(value));
  return {
    descriptor: { name, description: help, unit: "", valueType: double },
    dataPointType: dataPointTypes[kind],
    aggregationTemporality: cumulative,
    isMonotonic: true,
    dataPoints: kind === "histogram"
      ? histogramsOf(name, all).map((point) => ({ ...times, ...point }))
      : all.map(({ labels, value }) => ({ ...times, attributes: labels, value })),
  };
}

/** Prometheus counts the values below each bound, OpenTelemetry those between two bounds. */
function histogramsOf(name: string, values: readonly MetricValue[]) {
  const byLabels = Map.groupBy(
    values,
    ({ labels: { le: _, ...labels } }) => JSON.stringify(labels),
  );
  return [...byLabels].map(([labels, lines]) => {
    const below = lines.filter(({ metricName }) => metricName === `${name}_bucket`);
    const valueOf = (metricName: string) =>
      lines.find((line) => line.metricName === metricName)?.value ?? 0;
    return {
      attributes: parseExactly(labels) as Record<string, string>,
      value: {
        buckets: {
          boundaries: below.flatMap(({ labels: { le } }) => le === "+Inf" ? [] : [Number(le)]),
          counts: below.map(({ value }, at) => value - (below[at - 1]?.value ?? 0)),
        },
        ...{ count: valueOf(`${name}_count`), sum: valueOf(`${name}_sum`) },
      },
    };
  });
}

function highResolution(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}
