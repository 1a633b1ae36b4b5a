import { JsonTraceSerializer, ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import type { Span } from "./call_spans.ts";

export type OtlpProtocol = "http/protobuf" | "http/json";

/** Who sends the spans. */
export interface OtlpResource {
  readonly attributes: Readonly<Record<string, string>>;
  readonly version: string;
}

type Serialized = Parameters<typeof ProtobufTraceSerializer.serializeRequest>[0][number];

/** By `SpanKind` of the OpenTelemetry API. */
const kinds = { server: 1, client: 2 } as const;
const statusUnset = 0;
const statusError = 2;

/**
 * A request of the OpenTelemetry protocol, and its content type. This module is loaded only where
 * traces are exported: it is the only one that needs OpenTelemetry's packages.
 */
export function writeOtlp(
  spans: readonly Span[],
  protocol: OtlpProtocol,
  { attributes, version }: OtlpResource,
): { body: Uint8Array; contentType: string } {
  const resource = {
    attributes,
    getRawAttributes: () => Object.entries(attributes),
  };
  const scope = { name: "demeter", version };
  const written = spans.map((span) => serializedSpan(span, resource, scope));
  const isJson = protocol === "http/json";
  const serializer = isJson ? JsonTraceSerializer : ProtobufTraceSerializer;
  return {
    body: serializer.serializeRequest(written) ?? new Uint8Array(),
    contentType: isJson ? "application/json" : "application/x-protobuf",
  };
}

function serializedSpan(span: Span, resource: object, instrumentationScope: object): Serialized {
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
  return value as unknown as Serialized;
}

/** Seconds and nanoseconds. */
function highResolution(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}
