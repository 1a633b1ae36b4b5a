import type {
  BetaCompactionBlock,
  BetaCompactionContentBlockDelta,
  BetaIterationsUsage,
} from "@anthropic-ai/sdk/resources/beta/messages/messages";
import type {
  ContentBlock,
  Message,
  RawContentBlockDelta,
} from "@anthropic-ai/sdk/resources/messages/messages";
import { asText, type JsonObject } from "./json.ts";
import { invalid } from "./messages_problems.ts";
import type { Prompt } from "./model.ts";
import { isSealOf, seal } from "./seals.ts";

/** Returns the prompt for a summary: nothing but text answers it. */
export function summaryPrompt(prompt: Prompt): Prompt {
  return { ...prompt, tools: [], search: null, json: null, reasoningSentences: 0 };
}

/**
 * Makes a message's text a summary, which is all of it; its tokens count in `iterations` alone. The
 * plain types of messages, blocks and deltas don't have what a beta adds.
 */
export function compacted({ usage, ...message }: Message, text: string): Message {
  const block: BetaCompactionBlock = {
    type: "compaction",
    content: text,
    encrypted_content: null,
    signature: seal("compaction", text),
    tool_changes: [],
  };
  const { input_tokens, output_tokens, cache_creation } = usage;
  const cached = {
    cache_creation_input_tokens: usage.cache_creation_input_tokens ?? 0,
    cache_read_input_tokens: usage.cache_read_input_tokens ?? 0,
  };
  const iterations: BetaIterationsUsage = [
    { type: "compaction", input_tokens, output_tokens, ...cached, cache_creation },
  ];
  const nothing = {
    ...{ input_tokens: 0, output_tokens: 0, output_tokens_details: null },
    ...{ cache_creation_input_tokens: 0, cache_read_input_tokens: 0, cache_creation: null },
  };
  const changed = {
    content: [block],
    stop_reason: "compaction",
    usage: { ...usage, ...nothing, iterations },
  };
  return { ...message, ...changed } as unknown as Message;
}

/** Returns a summary as a stream opens it; undefined for other blocks. */
export function openSummary(block: ContentBlock): ContentBlock | undefined {
  if (!isSummary(block)) return undefined;
  return { ...block as BetaCompactionBlock, content: null } as unknown as ContentBlock;
}

/** Returns the one piece in which a stream has a summary. */
export function* summaryDelta(block: ContentBlock): Generator<RawContentBlockDelta> {
  if (!isSummary(block)) return;
  const { content, encrypted_content } = block;
  const delta: BetaCompactionContentBlockDelta = {
    ...{ type: "compaction_delta", content, encrypted_content },
  };
  yield delta as unknown as RawContentBlockDelta;
}

function isSummary(block: ContentBlock | BetaCompactionBlock): block is BetaCompactionBlock {
  return block.type === "compaction";
}

/** Throws a 400 Problem for a summary that the vendor did not write. */
export function checkSummary({ content, signature }: JsonObject, path: string): void {
  if ((content ?? null) === null || isSealOf(signature, "compaction", asText(content))) return;
  throw invalid(path, "Invalid `signature` in `compaction` block");
}
