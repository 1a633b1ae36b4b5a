import { systemSetTimer } from "../base/deadline.ts";
import type { Log } from "../base/log.ts";
import type { Transcript } from "../records/transcript.ts";
import { messageOf } from "../shared/fault.ts";
import type { ObservedCall, SelectableCall } from "../shared/interaction.ts";
import type { Measures } from "../shared/metrics.ts";
import { type CallContent, callSpans, type Span, type SpanNames } from "./call_spans.ts";
import {
  type CollectorSettings,
  type PostToCollector,
  sendToCollector,
  type Sent,
} from "./collector.ts";
import { messageAttributes } from "./message_content.ts";
import { SpanExporter } from "./span_exporter.ts";
import { newTraceId, readTraceparent } from "./trace_context.ts";

export interface TracingSettings extends CollectorSettings {
  /** The full URL that traces are sent to. */
  endpoint: string;
  /** Spans hold prompts and answers too. */
  capturesContent: boolean;
}

export interface Tracing {
  /** Returns the trace id for a call with this header; undefined for a call without a trace. */
  traceIdOf(traceparent: string | undefined): string | undefined;
  observe(ended: ObservedCall): void;
  readonly measures: Measures;
  close(): Promise<void>;
}

/** Exports no traces; the ids of callers' own traces are still recorded. */
export const noTracing: Tracing = {
  traceIdOf: (traceparent) => readTraceparent(traceparent)?.traceId,
  observe() {},
  measures: {},
  close: () => Promise.resolve(),
};

/** Exports the spans of calls. Loads OpenTelemetry's packages when the first ones are sent. */
export function createTracing(
  { endpoint, capturesContent, ...collector }: TracingSettings,
  { post, log, version, names, readContent, isErased }: {
    post: PostToCollector;
    log: Log;
    version: string;
    names: SpanNames;
    /** Reads a call's prompt and answer in any dialect. */
    readContent: (content: CallContent) => Promise<Transcript>;
    /** Whether a call was erased before its span was sent. */
    isErased: (call: SelectableCall) => boolean;
  },
): Tracing {
  const { protocol, resource: attributes } = collector;
  const withContent = async ({ content, ...span }: Span): Promise<Span> => {
    if (!content || isErased(content.call)) return span;
    const messages = messageAttributes(await readContent(content));
    return { ...span, attributes: { ...span.attributes, ...messages } };
  };
  const send = async (spans: readonly Span[]): Promise<Sent> => {
    const { writeSpans } = await import("./otlp.ts");
    const written = await Promise.all(spans.map(withContent));
    const request = writeSpans(written, protocol, { attributes, version });
    return await sendToCollector(endpoint, request, collector, post);
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
      // A caller that doesn't sample its trace wants no spans of ours in it.
      if (traceId === undefined || parent?.isSampled === false) return;
      exporter.add(callSpans({ ...ended, parent, traceId }, names, capturesContent));
    },
    measures: exporter.measures,
    close: () => exporter.close(),
  };
}
