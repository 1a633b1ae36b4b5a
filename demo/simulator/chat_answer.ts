import type {
  ChatCompletion,
  ChatCompletionMessage,
} from "openai/resources/chat/completions/completions";
import { type ChatVendor } from "./chat_vendor.ts";
import { type JsonObject } from "./json.ts";
import { type Output } from "./model.ts";
import { pointsBefore } from "./web_search.ts";

/** All that is needed to write one answer, whole or streamed. */
export interface ChatAnswer {
  vendor: ChatVendor;
  id: string;
  created: number;
  model: string;
  outputs: Output[];
  usage: JsonObject;
  isReasoningVisible: boolean;
  /** How many alternatives a token's logprob has; null without logprobs. */
  topLogprobs: number | null;
  /** The request used `functions`, so the answer has `function_call`. */
  isLegacy: boolean;
  callId(): string;
}

/** The finish reason in the vendor's words. */
export function finishReason(
  answer: ChatAnswer,
  output: Output,
): ChatCompletion.Choice["finish_reason"] {
  switch (output.finish) {
    case "tools":
      return answer.isLegacy ? "function_call" : "tool_calls";
    case "refusal":
      return answer.vendor.hasRefusalField ? "stop" : "content_filter";
    default:
      return output.finish;
  }
}

/** Returns the sources of the answer's passages; indices count in characters. */
export function annotationsOf({ text, passages }: Output): ChatCompletionMessage.Annotation[] {
  return passages.flatMap(({ start, end, pages }) =>
    pages.map(({ url, title }) => ({
      type: "url_citation" as const,
      url_citation: {
        url,
        title,
        start_index: pointsBefore(text, start),
        end_index: pointsBefore(text, end),
      },
    }))
  );
}

/** Returns the vendor's members for a piece of reasoning text; none for an empty piece. */
export function reasoningMembers(vendor: ChatVendor, text: string): JsonObject {
  if (text === "") return {};
  if (vendor.reasoning === "content") return { reasoning_content: text };
  return {
    reasoning: text,
    reasoning_details: [{ type: "reasoning.text", text, format: "unknown", index: 0 }],
  };
}
