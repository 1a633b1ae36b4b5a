import type {
  ContentBlock,
  Message,
  MessageDeltaUsage,
  RawContentBlockDelta,
  RawMessageStreamEvent,
} from "@anthropic-ai/sdk/resources/messages/messages";
import { type StreamScript } from "./answers.ts";
import { openSummary, summaryDelta } from "./messages_compaction.ts";
import { fragments, type Output } from "./model.ts";

type Event = RawMessageStreamEvent | { type: "ping" };

const FAILURE = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };

/** Creates the stream that builds up a finished message: one block at a time, pings in between. */
export function messagesScript(message: Message, output: Output): StreamScript {
  const events: Event[] = [
    { type: "message_start", message: openMessage(message) },
    { type: "ping" },
  ];
  message.content.forEach((block, index) => {
    events.push({ type: "content_block_start", index, content_block: openBlock(block) });
    for (const delta of deltasOf(block, message, output)) {
      events.push({ type: "content_block_delta", index, delta });
    }
    events.push({ type: "content_block_stop", index });
  });
  const { stop_reason, stop_sequence, stop_details, container } = message;
  events.push({
    type: "message_delta",
    delta: { stop_reason, stop_sequence, stop_details, container },
    usage: deltaUsage(message),
  });
  events.push({ type: "message_stop" });
  return {
    contentType: "text/event-stream; charset=utf-8",
    frames: events.map(frameOf),
    closing: 2,
    errorFrame: frameOf(FAILURE),
  };
}

/** Returns the message as the stream announces it: no content, and one output token counted. */
function openMessage(message: Message): Message {
  return {
    ...message,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    usage: { ...message.usage, output_tokens: 1, output_tokens_details: null },
  };
}

function deltaUsage({ usage }: Message): MessageDeltaUsage {
  return {
    input_tokens: usage.input_tokens,
    cache_creation_input_tokens: usage.cache_creation_input_tokens,
    cache_read_input_tokens: usage.cache_read_input_tokens,
    output_tokens: usage.output_tokens,
    output_tokens_details: usage.output_tokens_details,
    server_tool_use: usage.server_tool_use,
    ...("iterations" in usage ? { iterations: usage.iterations } : {}),
  };
}

function openBlock(block: ContentBlock): ContentBlock {
  switch (block.type) {
    case "text":
      return { ...block, text: "", ...(block.citations ? { citations: [] } : {}) };
    case "server_tool_use":
      return { ...block, input: {} };
    case "thinking":
      return { ...block, thinking: "", signature: "" };
    case "tool_use":
      return { ...block, input: {} };
    default:
      return openSummary(block) ?? block;
  }
}

function* deltasOf(
  block: ContentBlock,
  message: Message,
  output: Output,
): Generator<RawContentBlockDelta> {
  yield* summaryDelta(block);
  if (block.type === "thinking") {
    for (const thinking of block.thinking === "" ? [] : output.reasoning.chunks) {
      yield { type: "thinking_delta", thinking };
    }
    yield { type: "signature_delta", signature: block.signature };
  }
  if (block.type === "text") {
    // Sources come before the text that they support.
    for (const citation of block.citations ?? []) yield { type: "citations_delta", citation };
    const isWhole = block.text === output.text;
    const chunks = isWhole ? output.chunks : fragments(block.text);
    for (const text of chunks) yield { type: "text_delta", text };
  }
  if (block.type === "server_tool_use") {
    yield { type: "input_json_delta", partial_json: "" };
    for (const partial_json of fragments(JSON.stringify(block.input))) {
      yield { type: "input_json_delta", partial_json };
    }
  }
  if (block.type === "tool_use") {
    const uses = message.content.filter((other) => other.type === "tool_use");
    const input = output.calls[uses.findIndex((other) => other.id === block.id)]?.input ?? "";
    yield { type: "input_json_delta", partial_json: "" };
    for (const partial_json of fragments(input)) yield { type: "input_json_delta", partial_json };
  }
}

function frameOf(event: { type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
