import type {
  ResponseOutputItem,
  ResponseOutputMessage,
  ResponseOutputText,
  ResponseReasoningItem,
} from "openai/resources/responses/responses";
import { logprobOf } from "./logprobs.ts";
import { type Output } from "./model.ts";
import { seal } from "./seals.ts";
import { tokenize } from "./tokens.ts";
import { pointsBefore } from "./web_search.ts";

export interface OutputOptions {
  hasEncrypted: boolean;
  hasSummary: boolean;
  /** Reasoning as plain `reasoning_text`, as the servers of open models give it. */
  hasRawReasoning: boolean;
  hasReasoningStatus: boolean;
  topLogprobs: number | null;
  /** The pages that a search found. */
  hasSources: boolean;
  /** The output is one item that replaces the conversation. */
  isCompaction: boolean;
  nextId(prefix: string): string;
}

/** The finished items: reasoning, searches, message, calls. */
export function outputItems(output: Output, options: OutputOptions): ResponseOutputItem[] {
  if (options.isCompaction) {
    return [{ type: "compaction", id: options.nextId("cmp_"), encrypted_content: COMPACTED }];
  }
  const items: ResponseOutputItem[] = [];
  if (output.reasoning.tokens > 0) items.push(reasoningItem(output, options));
  for (const { query, pages } of output.searches) {
    const sources = pages.map(({ url }) => ({ type: "url" as const, url }));
    const shown = options.hasSources ? { sources } : {};
    items.push({
      type: "web_search_call",
      id: options.nextId("ws_"),
      status: "completed",
      action: { type: "search", query, queries: [query], ...shown },
    });
  }
  if (output.text !== "" || output.calls.length === 0) items.push(messageItem(output, options));
  const status = output.finish === "length" ? "incomplete" : "completed";
  for (const call of output.calls) {
    const call_id = options.nextId("call_");
    const { name, namespace, input } = call;
    const named = { call_id, name, ...(namespace === undefined ? {} : { namespace }) };
    items.push(
      call.isFreeText
        ? { type: "custom_tool_call", id: options.nextId("ctc_"), ...named, input }
        : {
          type: "function_call",
          id: options.nextId("fc_"),
          ...named,
          arguments: input,
          status,
        },
    );
  }
  return items;
}

/** The encrypted content of an item that replaces a conversation. Its id may be left out later. */
export const COMPACTED = seal("compaction", "");

/** Returns the sources of the text. Indices count in code points, not in UTF-16 units. */
function annotationsOf({ text, passages }: Output): ResponseOutputText["annotations"] {
  return passages.flatMap(({ start, end, pages }) =>
    pages.map(({ url, title }) => ({
      type: "url_citation" as const,
      url,
      title,
      start_index: pointsBefore(text, start),
      end_index: pointsBefore(text, end),
    }))
  );
}

function reasoningItem(output: Output, options: OutputOptions): ResponseReasoningItem {
  const id = options.nextId("rs_");
  const text = output.reasoning.chunks.join("");
  return {
    type: "reasoning",
    id,
    summary: options.hasSummary && !options.hasRawReasoning ? [{ type: "summary_text", text }] : [],
    ...(options.hasRawReasoning ? { content: [{ type: "reasoning_text", text }] } : {}),
    ...(options.hasReasoningStatus ? { status: "completed" as const } : {}),
    ...(options.hasEncrypted ? { encrypted_content: seal("reasoning", id) } : {}),
  };
}

function messageItem(output: Output, options: OutputOptions): ResponseOutputMessage {
  const { topLogprobs } = options;
  const logprobs = topLogprobs === null ? [] : tokenize(output.text).map((token) => {
    const { bytes, ...rest } = logprobOf(token, topLogprobs);
    const top_logprobs = rest.top_logprobs.map((top) => ({ ...top, bytes: top.bytes ?? [] }));
    return { ...rest, bytes: bytes ?? [], top_logprobs };
  });
  return {
    type: "message",
    id: options.nextId("msg_"),
    role: "assistant",
    status: output.finish === "length" ? "incomplete" : "completed",
    content: [
      output.refusal === null
        ? { type: "output_text", text: output.text, annotations: annotationsOf(output), logprobs }
        : { type: "refusal", refusal: output.refusal },
    ],
  };
}
