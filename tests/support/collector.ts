import definitions from "@opentelemetry/otlp-transformer-0";

/** A span as a collector decodes it by the protocol's own definitions. */
export interface ReceivedSpan {
  name: string;
  /** 2: SERVER, 3: CLIENT. */
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId: string;
  startMs: number;
  endMs: number;
  /** 2: an error. */
  status: number;
  attributes: Record<string, unknown>;
  resource: Record<string, unknown>;
}

/** A metric as a collector decodes it. */
export interface ReceivedMetric {
  name: string;
  type: "sum" | "gauge" | "histogram";
  /** For a sum and a histogram: 2, cumulative. */
  temporality: number | undefined;
  isMonotonic: boolean | undefined;
  points: {
    attributes: Record<string, unknown>;
    startMs: number;
    atMs: number;
    value: number;
    /** For a histogram, as are `bounds` and `count`; its `value` is the sum. */
    counts?: number[];
    bounds?: number[];
    count?: number;
  }[];
}

/** A collector of traces and metrics on loopback. */
export interface Collector extends AsyncDisposable {
  /** The value for `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** The metrics of each request, with the resource that sent them. */
  readonly metrics: readonly {
    resource: Record<string, unknown>;
    metrics: readonly ReceivedMetric[];
  }[];
  readonly requests: readonly { path: string; headers: Headers; bytes: Uint8Array }[];
  /** Waits until so many spans have arrived; throws after 30 s. */
  received(count: number): Promise<readonly ReceivedSpan[]>;
}

/** Starts a collector; `answer` makes the response to each request, by default status 200. */
export function startCollector(
  answer: (path: string) => Response | Promise<Response> = () => new Response(),
): Collector {
  const spans: ReceivedSpan[] = [];
  const metrics: ReturnType<typeof readMetrics>[] = [];
  const requests: { path: string; headers: Headers; bytes: Uint8Array }[] = [];
  const closing = new AbortController();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {}, signal: closing.signal },
    async (request) => {
      const bytes = new Uint8Array(await request.arrayBuffer());
      const { headers, url } = request;
      const path = new URL(url).pathname;
      requests.push({ path, headers, bytes });
      const response = await answer(path);
      const type = headers.get("content-type");
      if (response.ok && path === "/v1/metrics") metrics.push(readMetrics(type, bytes));
      else if (response.ok) spans.push(...readSpans(type, bytes));
      return response;
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    ...{ spans, metrics, requests },
    async received(count) {
      for (let look = 0; look < 1_200 && spans.length < count; look++) {
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
      if (spans.length < count) throw new Error(`${spans.length} of ${count} spans came`);
      return spans;
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await server.finished;
    },
  };
}

interface Value {
  stringValue?: string | null;
  intValue?: number | string | null;
  doubleValue?: number | null;
  boolValue?: boolean | null;
  arrayValue?: { values: Value[] } | null;
}

type Attributes = { key: string; value: Value }[];

interface WireSpan {
  name: string;
  kind: number;
  traceId: string | Uint8Array;
  spanId: string | Uint8Array;
  parentSpanId?: string | Uint8Array;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  status?: { code?: number };
  attributes: Attributes;
}

interface Wire {
  resourceSpans: { resource: { attributes: Attributes }; scopeSpans: { spans: WireSpan[] }[] }[];
}

interface WirePoint {
  attributes: Attributes;
  startTimeUnixNano: string;
  timeUnixNano: string;
  asDouble?: number;
  sum?: number;
  count?: string;
  bucketCounts?: string[];
  explicitBounds?: number[];
}

type WireMetric =
  & { name: string }
  & Partial<
    Record<
      ReceivedMetric["type"],
      { dataPoints: WirePoint[]; aggregationTemporality?: number; isMonotonic?: boolean }
    >
  >;

interface WireMetrics {
  resourceMetrics: [
    { resource: { attributes: Attributes }; scopeMetrics: [{ metrics: WireMetric[] }] },
  ];
}

interface MessageType {
  decode(bytes: Uint8Array): unknown;
  toObject(message: unknown, options: Record<string, unknown>): unknown;
}

/** Types for the code generated from the protocol's definitions, whose own types don't fit. */
interface Definitions {
  opentelemetry: {
    proto: {
      collector: {
        trace: { v1: { ExportTraceServiceRequest: MessageType } };
        metrics: { v1: { ExportMetricsServiceRequest: MessageType } };
      };
    };
  };
}

const { collector } = (definitions as unknown as Definitions).opentelemetry.proto;

function readSpans(contentType: string | null, bytes: Uint8Array): ReceivedSpan[] {
  const type = collector.trace.v1.ExportTraceServiceRequest;
  const wire = read(type, contentType, bytes) as Wire;
  return wire.resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span): ReceivedSpan => ({
        name: span.name,
        kind: Number(span.kind),
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentSpanId: hex(span.parentSpanId ?? ""),
        startMs: Number(span.startTimeUnixNano) / 1e6,
        endMs: Number(span.endTimeUnixNano) / 1e6,
        status: Number(span.status?.code ?? 0),
        attributes: valuesOf(span.attributes),
        resource: valuesOf(resource.attributes),
      }))
    )
  );
}

function readMetrics(contentType: string | null, bytes: Uint8Array) {
  const type = collector.metrics.v1.ExportMetricsServiceRequest;
  const wire = read(type, contentType, bytes) as WireMetrics;
  const [{ resource, scopeMetrics: [{ metrics }] }] = wire.resourceMetrics;
  return { resource: valuesOf(resource.attributes), metrics: metrics.map(readMetric) };
}

function readMetric(wire: WireMetric): ReceivedMetric {
  const type = (["sum", "gauge", "histogram"] as const).find((each) => wire[each])!;
  const { dataPoints, aggregationTemporality, isMonotonic } = wire[type]!;
  return {
    ...{ name: wire.name, type, temporality: aggregationTemporality, isMonotonic },
    points: (dataPoints ?? []).map((point) => ({
      attributes: valuesOf(point.attributes ?? []),
      startMs: Number(point.startTimeUnixNano) / 1e6,
      atMs: Number(point.timeUnixNano) / 1e6,
      value: point.asDouble ?? point.sum ?? 0,
      ...(type !== "histogram" ? {} : {
        counts: point.bucketCounts!.map(Number),
        bounds: point.explicitBounds!,
        count: Number(point.count),
      }),
    })),
  };
}

function read(type: MessageType, contentType: string | null, bytes: Uint8Array): unknown {
  if (contentType === "application/json") return JSON.parse(new TextDecoder().decode(bytes));
  return type.toObject(type.decode(bytes), { longs: String, enums: Number });
}

function hex(id: string | Uint8Array): string {
  return typeof id === "string" ? id : new Uint8Array(id).toHex();
}

function valuesOf(attributes: Attributes): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]));
}

function valueOf(value: Value): unknown {
  if (value.arrayValue) return value.arrayValue.values.map(valueOf);
  if (value.intValue !== undefined && value.intValue !== null) return Number(value.intValue);
  return value.stringValue ?? value.doubleValue ?? value.boolValue;
}
