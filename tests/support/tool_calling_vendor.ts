import type { FakeExchange } from "./fake_vendor.ts";

/**
 * Returns the script of a vendor that calls the tool which `name` chooses from the request's tools,
 * and answers with a text once the request ends with the tool's result. It answers in any of the
 * four dialects, by the path, and whole or streamed as requested.
 */
export function callingTool(name: (tools: readonly string[]) => string | undefined) {
  let issued = 0;
  return (exchange: FakeExchange) => {
    const { path } = exchange.request;
    const request = JSON.parse(exchange.request.body);
    const chosen = endsWithResult(request) ? undefined : name(toolNames(request));
    const isStream = request.stream === true || path.includes("streamGenerateContent");
    const number = ++issued;
    const play = path.includes("enerateContent")
      ? generate
      : path.endsWith("/messages")
      ? messages
      : path.endsWith("/responses")
      ? responses
      : chat;
    const { whole, events } = play(chosen, number);
    if (!isStream) return exchange.answer(200, whole);
    const frames = events.map((event) =>
      typeof event === "string"
        ? `data: ${event}\n\n`
        : `${event.type ? `event: ${event.type}\n` : ""}data: ${JSON.stringify(event)}\n\n`
    );
    return exchange.stream(frames, { "content-type": "text/event-stream" });
  };
}

/** Returns the names of a request's tools, in any of the dialects. */
export function toolNames(request: Record<string, unknown>): string[] {
  const tools = (request.tools ?? []) as Record<string, unknown>[];
  return tools.flatMap((tool) => {
    const declared = tool.functionDeclarations as { name: string }[] | undefined;
    const nested = tool.function as { name: string } | undefined;
    return declared?.map((one) => one.name) ?? [nested?.name ?? String(tool.name)];
  });
}

function endsWithResult(request: Record<string, unknown>): boolean {
  const list = (request.messages ?? request.input ?? request.contents) as unknown[];
  return /"(tool_result|function_call_output|functionResponse)"|"role":"tool"/
    .test(JSON.stringify(list.at(-1)));
}

interface Played {
  whole: unknown;
  events: (string | ({ type?: string } & Record<string, unknown>))[];
}

function chat(tool: string | undefined, number: number): Played {
  const call = {
    id: `call_${number}`,
    type: "function",
    function: { name: tool, arguments: "{}" },
  };
  const said = tool === undefined ? { content: "Fine." } : { content: null, tool_calls: [call] };
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const base = { id: `chatcmpl-${number}`, created: 1_700_000_000, model: "m-2026" };
  const finish_reason = tool === undefined ? "stop" : "tool_calls";
  const delta = tool === undefined
    ? { role: "assistant", ...said }
    : { role: "assistant", tool_calls: [{ index: 0, ...call }] };
  const chunk = (fields: object) => ({ ...base, object: "chat.completion.chunk", ...fields });
  return {
    whole: {
      ...base,
      object: "chat.completion",
      choices: [{ index: 0, message: { role: "assistant", ...said }, finish_reason }],
      usage,
    },
    events: [
      chunk({ choices: [{ index: 0, delta }] }),
      chunk({ choices: [{ index: 0, delta: {}, finish_reason }] }),
      chunk({ choices: [], usage }),
      "[DONE]",
    ],
  };
}

function messages(tool: string | undefined, number: number): Played {
  const block = tool === undefined
    ? { type: "text", text: "Fine." }
    : { type: "tool_use", id: `toolu_${number}`, name: tool, input: {} };
  const stop_reason = tool === undefined ? "end_turn" : "tool_use";
  const message = {
    id: `msg_${crypto.randomUUID().replaceAll("-", "")}`,
    type: "message",
    role: "assistant",
    model: "claude-2026",
    content: [block],
    stop_reason,
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 5 },
  };
  const start = { ...message, content: [], stop_reason: null };
  const empty = tool === undefined ? { type: "text", text: "" } : block;
  const delta = tool === undefined
    ? { type: "text_delta", text: "Fine." }
    : { type: "input_json_delta", partial_json: "{}" };
  return {
    whole: message,
    events: [
      { type: "message_start", message: start },
      { type: "content_block_start", index: 0, content_block: empty },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      {
        type: "message_delta",
        delta: { stop_reason, stop_sequence: null },
        usage: { output_tokens: 5 },
      },
      { type: "message_stop" },
    ],
  };
}

function responses(tool: string | undefined, number: number): Played {
  const item = tool === undefined
    ? {
      type: "message",
      id: `msg_${number}`,
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "Fine.", annotations: [] }],
    }
    : {
      type: "function_call",
      id: `fc_${number}`,
      call_id: `call_${number}`,
      name: tool,
      arguments: "{}",
      status: "completed",
    };
  const response = {
    id: `resp_${number}`,
    object: "response",
    created_at: 1_700_000_000,
    status: "completed",
    model: "gpt-2026",
    output: [item],
    usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
  };
  return {
    whole: response,
    events: [
      {
        type: "response.created",
        sequence_number: 0,
        response: { ...response, status: "in_progress", output: [] },
      },
      { type: "response.output_item.added", sequence_number: 1, output_index: 0, item },
      { type: "response.output_item.done", sequence_number: 2, output_index: 0, item },
      { type: "response.completed", sequence_number: 3, response },
    ],
  };
}

function generate(tool: string | undefined, number: number): Played {
  const part = tool === undefined ? { text: "Fine." } : { functionCall: { name: tool, args: {} } };
  const whole = {
    responseId: `g_${number}`,
    modelVersion: "gemini-2026",
    candidates: [{ index: 0, content: { role: "model", parts: [part] }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
  };
  return { whole, events: [whole] };
}
