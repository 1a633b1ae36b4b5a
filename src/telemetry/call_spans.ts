import { nanosToUsd } from "../base/money.ts";
import { ownText } from "../base/own_text.ts";
import type {
  InteractionStatus,
  ObservedCall,
  SelectableCall,
  SettledCall,
} from "../shared/interaction.ts";
import { newSpanId, type TraceContext } from "./trace_context.ts";

export type SpanAttribute = string | number | boolean | readonly string[];

/** A span that has ended. Times are Unix milliseconds. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  /** The parent is the caller's, in another process. */
  readonly isParentRemote: boolean;
  readonly name: string;
  readonly kind: "server" | "client";
  readonly startMs: number;
  readonly endMs: number;
  readonly isError: boolean;
  readonly attributes: Readonly<Record<string, SpanAttribute>>;
  /** The prompt and answer, where they are captured; become attributes when the span is sent. */
  readonly content?: CallContent;
}

/** The payloads of a call, as they are recorded. */
export interface CallContent {
  readonly call: SelectableCall;
  readonly dialect: string;
  readonly request: string | null;
  readonly response: string | null;
  readonly status: InteractionStatus;
}

export type EndedCall = Omit<ObservedCall, "traceparent"> & {
  /** The caller's span, if it sent one. */
  parent: TraceContext | undefined;
  traceId: string;
};

/** The GenAI conventions' provider names, by a vendor's first alias; for others it is the alias. */
const providerNames: Readonly<Record<string, string>> = {
  google: "gcp.gemini",
  gemini: "gcp.gemini",
  xai: "x_ai",
};

/** Returns the conventions' provider name for a vendor's alias. */
export function providerName(alias: string): string {
  return providerNames[alias] ?? alias;
}

/** The GenAI conventions' names: of a vendor, by its label, and of a dialect's operation. */
export type SpanNames = Readonly<Record<"providerOf" | "operationOf", (name: string) => string>>;

/** Larger payloads of a call (UTF-16 units) don't go with its span. */
export const contentMaxUnits = 256 * 1024;

/**
 * Builds a call's spans by the GenAI semantic conventions: a SERVER span, and below it a CLIENT
 * span for each request to a vendor. Only the SERVER span has prompt and answer, where they are
 * captured and recorded.
 */
export function callSpans(
  ended: EndedCall,
  { providerOf, operationOf }: SpanNames,
  capturesContent = false,
): Span[] {
  const { call, timing, arrivedMs, parent, traceId } = ended;
  const operation = operationOf(call.dialect);
  const startMs = call.createdAt.getTime();
  const at = (monotonicMs: number) => startMs + (monotonicMs - arrivedMs);
  const common = { "gen_ai.operation.name": operation };
  const error = errorTypeOf(call);
  const server: Span = {
    traceId,
    spanId: newSpanId(),
    parentSpanId: parent?.spanId,
    isParentRemote: parent !== undefined,
    name: `${operation} ${call.model}`,
    kind: "server",
    startMs,
    endMs: startMs + timing.totalMs,
    isError: error !== undefined,
    attributes: {
      ...common,
      "gen_ai.provider.name": providerOf(call.vendor),
      "gen_ai.request.model": call.model,
      ...answerAttributes(ended),
      ...(error === undefined ? {} : { "error.type": error }),
      "http.request.method": "POST",
      "http.route": call.endpoint,
      ...(call.httpStatus === null ? {} : { "http.response.status_code": call.httpStatus }),
      "gateway.transaction_id": call.transactionId,
      ...(call.costNanos === null ? {} : { "gateway.cost_usd": nanosToUsd(call.costNanos) }),
      ...(call.cache ? { "gateway.cache": call.cache } : {}),
    },
    ...(capturesContent ? contentOf(call) : {}),
  };
  const clients = ended.requests.map((request, index): Span => ({
    traceId,
    spanId: newSpanId(),
    parentSpanId: server.spanId,
    isParentRemote: false,
    name: `${operation} ${request.model}`,
    kind: "client",
    startMs: at(request.startMs),
    endMs: at(request.endMs),
    isError: request.errorCode !== null,
    attributes: {
      ...common,
      "gen_ai.provider.name": providerOf(request.vendor),
      "gen_ai.request.model": request.model,
      // Usage belongs to the request that answered.
      ...(index === ended.requests.length - 1 ? answerAttributes(ended) : {}),
      ...(request.errorCode === null ? {} : { "error.type": request.errorCode }),
      ...(request.httpStatus === null ? {} : { "http.response.status_code": request.httpStatus }),
      ...serverAttributes(new URL(request.baseUrl)),
    },
  }));
  return [server, ...clients];
}

/** The conventions want the port beside the address; backends group by the address. */
function serverAttributes({ hostname, port, protocol }: URL): Record<string, SpanAttribute> {
  return {
    "server.address": hostname.replace(/^\[|\]$/g, ""),
    "server.port": Number(port) || (protocol === "http:" ? 80 : 443),
  };
}

function answerAttributes({ call, responseModel }: EndedCall): Record<string, SpanAttribute> {
  return {
    ...(responseModel === undefined
      ? {}
      : { "gen_ai.response.model": ownText(responseModel, 256) }),
    ...(call.inputTokens === null ? {} : { "gen_ai.usage.input_tokens": call.inputTokens }),
    ...(call.outputTokens === null ? {} : { "gen_ai.usage.output_tokens": call.outputTokens }),
    ...(call.finishReason === null
      ? {}
      : { "gen_ai.response.finish_reasons": [call.finishReason] }),
  };
}

/** Empty for a call whose content is not recorded, or too large. */
function contentOf(settled: SettledCall): Pick<Span, "content"> {
  const { dialect, status, requestText: request, responseText: response } = settled;
  const units = (request?.length ?? 0) + (response?.length ?? 0);
  if (units === 0 || units > contentMaxUnits) return {};
  // Not the whole call, whose media would be held in memory until the span is sent.
  const { accountId, transactionId, createdAt, sessionId, userId } = settled;
  const call = { accountId, transactionId, createdAt, sessionId, userId };
  return { content: { call, dialect, status, request, response } };
}

function errorTypeOf({ status, errorCode }: SettledCall): string | undefined {
  return status === "completed" ? undefined : errorCode ?? status;
}
