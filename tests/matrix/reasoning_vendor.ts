import { type FakeExchange, type FakeVendor, startFakeVendor } from "../support/fake_vendor.ts";
import { isRecord } from "../../src/dialects/kernel/json.ts";
import type { Json } from "./wire.ts";

/** Rounds of tool calls before the last words; the second has two calls. */
export const rounds = 3;

/** What a vendor signed in a round; long enough for every reader. */
export function signatureOf(round: number): string {
  return btoa(`signed in round ${round} `.repeat(4));
}

/** Vendors of three dialects that reason before each call, sign it, and see what comes back. */
export interface ReasoningVendor extends FakeVendor {
  /** What a request gives back of the rounds before it, in order. */
  returned(body: unknown): string[];
}

export async function startReasoningVendor(): Promise<ReasoningVendor> {
  const vendor = await startFakeVendor(answer);
  return { ...vendor, requests: vendor.requests, returned };
}

function answer(exchange: FakeExchange): unknown {
  const { path, method } = exchange.request;
  if (method === "GET") return exchange.answer(200, { data: [] });
  const body = JSON.parse(exchange.request.body) as Json;
  const round = turnsWithCalls(body) + 1;
  const calls = round > rounds ? [] : round === 2 ? ["f", "g"] : ["f"];
  const events = path.endsWith("/messages")
    ? messagesEvents(round, calls)
    : path.endsWith("/responses")
    ? responsesEvents(round, calls)
    : generateEvents(round, calls);
  return exchange.stream(
    events.map((one) =>
      `${one.type ? `event: ${one.type}\n` : ""}data: ${JSON.stringify(one)}\n\n`
    ),
  );
}

/** Each round's calls are named after it. */
function turnsWithCalls(body: Json): number {
  const ids = JSON.stringify(body).match(/call-\d-f/g) ?? [];
  return new Set(ids).size;
}

function messagesEvents(round: number, calls: readonly string[]): Json[] {
  const block = (index: number, content_block: Json, ...deltas: Json[]): Json[] => [
    { type: "content_block_start", index, content_block },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
  return [
    {
      type: "message_start",
      message: {
        id: `msg_${round}`,
        type: "message",
        role: "assistant",
        model: "m",
        content: [],
        stop_reason: null,
        usage: { input_tokens: 10, output_tokens: 1 },
      },
    },
    ...block(
      0,
      { type: "thinking", thinking: "", signature: "" },
      { type: "thinking_delta", thinking: `Why ${round}.` },
      { type: "signature_delta", signature: signatureOf(round) },
    ),
    ...(calls.length === 0
      ? block(1, { type: "text", text: "" }, { type: "text_delta", text: "Done." })
      : calls.flatMap((name, at) =>
        block(
          1 + at,
          { type: "tool_use", id: `call-${round}-${name}`, name, input: {} },
          { type: "input_json_delta", partial_json: '{"a":1}' },
        )
      )),
    {
      type: "message_delta",
      delta: { stop_reason: calls.length > 0 ? "tool_use" : "end_turn" },
      usage: { output_tokens: 9 },
    },
    { type: "message_stop" },
  ];
}

function generateEvents(round: number, calls: readonly string[]): Json[] {
  const element = (parts: Json[], more: Json = {}): Json => ({
    candidates: [{ content: { role: "model", parts }, index: 0, ...more }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 9, totalTokenCount: 19 },
    modelVersion: "m",
    responseId: `r${round}`,
  });
  const called = calls.map((name, at) => ({
    functionCall: { id: `call-${round}-${name}`, name, args: { a: 1 } },
    ...(at === 0 ? { thoughtSignature: signatureOf(round) } : {}),
  }));
  return [
    element([{ text: `Why ${round}.`, thought: true }]),
    element(calls.length > 0 ? called : [{ text: "Done." }], { finishReason: "STOP" }),
  ];
}

function responsesEvents(round: number, calls: readonly string[]): Json[] {
  const items: Json[] = [
    {
      type: "reasoning",
      id: `rs_${round}`,
      summary: [{ type: "summary_text", text: `Why ${round}.` }],
      encrypted_content: signatureOf(round),
    },
    ...(calls.length === 0
      ? [{
        type: "message",
        id: `msg_${round}`,
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "Done.", annotations: [] }],
      }]
      : calls.map((name) => ({
        type: "function_call",
        id: `fc_${round}${name}`,
        call_id: `call-${round}-${name}`,
        name,
        arguments: '{"a":1}',
        status: "completed",
      }))),
  ];
  const response = (status: string, output: Json[]): Json => ({
    id: `resp_${round}`,
    object: "response",
    created_at: 1_700_000_000,
    status,
    model: "m",
    output,
    usage: { input_tokens: 10, output_tokens: 9, total_tokens: 19 },
  });
  return [
    { type: "response.created", response: response("in_progress", []) },
    ...items.flatMap((item, output_index) => [
      { type: "response.output_item.added", output_index, item },
      { type: "response.output_item.done", output_index, item },
    ]),
    { type: "response.completed", response: response("completed", items) },
  ].map((event, sequence_number) => ({ ...event, sequence_number }));
}

/** Signatures where the dialect wants them: on thinking, on calls, on reasoning items. */
function returned(body: unknown): string[] {
  if (Array.isArray(body)) return body.flatMap(returned);
  if (!isRecord(body)) return [];
  const isThinking = body.type === "thinking" || body.type === "reasoning" ||
    body.functionCall !== undefined;
  const own = isThinking
    ? [body.signature, body.encrypted_content, body.thoughtSignature].filter((one) =>
      typeof one === "string"
    ) as string[]
    : [];
  return [...own, ...Object.values(body).flatMap(returned)];
}
