import type { SseEvent } from "../../src/base/sse.ts";
import { finish } from "../../src/base/steps.ts";
import type { CanonicalAnswer, CanonicalEvent } from "../../src/dialects/kernel/canonical.ts";
import type { AnswerContext, DialectQuirks } from "../../src/dialects/kernel/dialect.ts";
import { foldEvents } from "../../src/dialects/kernel/fold.ts";
import { decodeRequest } from "../../src/dialects/text/responses/request_decoder.ts";
import { createStreamDecoder } from "../../src/dialects/text/responses/stream_decoder.ts";
import { createStreamEncoder } from "../../src/dialects/text/responses/stream_encoder.ts";

/** Returns a context for a request body, which makes consecutive ids. */
export function contextOf(body: Record<string, unknown> = {}): AnswerContext {
  const request = { model: "m", input: "hi", ...body };
  let minted = 0;
  return {
    id: (prefix) => `${prefix}${++minted}`,
    created: 1_700_000_000,
    now: () => 1_700_000_007,
    model: "vendor-model",
    request: finish(decodeRequest(request)),
    body: request,
    showUsage: true,
    inputTokens: 11,
  };
}

/** Returns the whole stream that an encoder writes. */
export function encodeStream(
  events: readonly CanonicalEvent[],
  context: AnswerContext = contextOf(),
): string {
  const encoder = createStreamEncoder(context);
  return events.map((event) => encoder.encode(event)).join("") + encoder.end();
}

/** Returns an SSE event with this data. */
export function sse(data: unknown): SseEvent {
  return {
    bytes: new Uint8Array(0),
    data: typeof data === "string" ? data : JSON.stringify(data),
    terminated: true,
  };
}

/** Returns everything that a decoder makes of the events, and whether the answer ended. */
export function decodeStream(
  wire: readonly unknown[],
  quirks: DialectQuirks = {},
): { events: CanonicalEvent[]; complete: boolean; answer: CanonicalAnswer } {
  const decoder = createStreamDecoder(quirks);
  const events = wire.flatMap((one) => decoder.decode(sse(one)).events);
  const { events: rest, complete } = decoder.end();
  events.push(...rest);
  return { events, complete, answer: foldEvents(events) };
}
