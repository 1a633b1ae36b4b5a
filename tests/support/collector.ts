import definitions from "@opentelemetry/otlp-transformer-0";

/** A span as a collector reads it, by the protocol's own definitions. */
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

/** A collector of traces on loopback. */
export interface Collector extends AsyncDisposable {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  readonly requests: readonly { path: string; headers: Headers; bytes: Uint8Array }[];
  /** Waits until it has so many spans. */
  received(count: number): Promise<readonly ReceivedSpan[]>;
}

/** Starts it; `answer` says what it does with a request once it is read: 200 unless told. */
export function startCollector(
  answer: () => Response | Promise<Response> = () => new Response(),
): Collector {
  const spans: ReceivedSpan[] = [];
  const requests: { path: string; headers: Headers; bytes: Uint8Array }[] = [];
  const closing = new AbortController();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {}, signal: closing.signal },
    async (request) => {
      const bytes = new Uint8Array(await request.arrayBuffer());
      const { headers, url } = request;
      requests.push({ path: new URL(url).pathname, headers, bytes });
      const response = await answer();
      if (response.ok) spans.push(...read(headers.get("content-type"), bytes));
      return response;
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    ...{ spans, requests },
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

/** What is generated from the protocol's definitions; it has no types that fit. */
interface Definitions {
  opentelemetry: {
    proto: {
      collector: {
        trace: {
          v1: {
            ExportTraceServiceRequest: {
              decode(bytes: Uint8Array): unknown;
              toObject(message: unknown, options: Record<string, unknown>): Wire;
            };
          };
        };
      };
    };
  };
}

function read(contentType: string | null, bytes: Uint8Array): ReceivedSpan[] {
  const isJson = contentType === "application/json";
  const wire: Wire = isJson ? JSON.parse(new TextDecoder().decode(bytes)) : decode(bytes);
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

function decode(bytes: Uint8Array): Wire {
  const { proto } = (definitions as unknown as Definitions).opentelemetry;
  const { ExportTraceServiceRequest } = proto.collector.trace.v1;
  return ExportTraceServiceRequest.toObject(ExportTraceServiceRequest.decode(bytes), {
    longs: String,
    enums: Number,
  });
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
