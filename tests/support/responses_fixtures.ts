import assert from "@std/assert";
import type { SseEvent } from "../../src/base/sse.ts";
import { finish } from "../../src/base/steps.ts";
import type { CanonicalAnswer, CanonicalEvent } from "../../src/dialects/kernel/canonical.ts";
import type { CanonicalRequest } from "../../src/dialects/kernel/canonical_request.ts";
import type { AnswerContext, DialectQuirks } from "../../src/dialects/kernel/dialect.ts";
import { foldEvents } from "../../src/dialects/kernel/fold.ts";
import { encodeAnswer } from "../../src/dialects/text/responses/answer_encoder.ts";
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

/** Returns the context of a caller who asked for sealed reasoning. */
export function sealedContext(): AnswerContext {
  return contextOf({ include: ["reasoning.encrypted_content"] });
}

/** Returns the whole stream that an encoder writes. */
export function encodeStream(
  events: readonly CanonicalEvent[],
  context: AnswerContext = contextOf(),
): string {
  const encoder = createStreamEncoder(context);
  return events.map((event) => encoder.encode(event)).join("") + encoder.end();
}

/** Returns the events of an answer that is one call, whose arguments come in pieces. */
export function callEvents(name: string, pieces: readonly string[]): CanonicalEvent[] {
  const block = { choice: 0, block: 0 };
  const content = { kind: "tool-call", id: "call_1", name, custom: false } as const;
  return [
    { type: "start", id: "x", model: "m", created: 0 },
    { type: "block-start", ...block, content },
    ...pieces.map((text) => ({ type: "block-delta" as const, ...block, text })),
    { type: "block-end", ...block },
    { type: "finish", choice: 0, reason: "tool_calls", raw: "tool_calls" },
  ];
}

/**
 * Checks that a model's call of the request's first tool is the item `call`, in a whole answer and
 * in a stream, whose first event has the item with `opened` instead. `pieces`: the arguments, as the
 * model wrote them. Returns the stream.
 */
export function checkCall(
  request: CanonicalRequest,
  pieces: readonly string[],
  { call, opened }: { call: object; opened: object },
): string {
  const events = callEvents(request.tools[0]!.name, pieces);
  const context = { ...contextOf(), id: (prefix: string) => `${prefix}1`, request };
  const whole = encodeAnswer(foldEvents(events), context) as { output: unknown[] };
  assert.deepEqual(whole.output, [call]);
  const frames = encodeStream(events, context);
  const sent = [...frames.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json!));
  assert.deepEqual(
    sent.filter(({ item }) => item !== undefined).map(({ type, item }) => [type, item]),
    [
      ["response.output_item.added", { ...call, status: "in_progress", ...opened }],
      ["response.output_item.done", call],
    ],
  );
  return frames;
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
