import { countMarked } from "./breakpoints.ts";
import { type Exchange } from "./exchange.ts";
import { asArray, asNumber, asObject, asText, compact, type JsonObject } from "./json.ts";
import { type Output } from "./model.ts";
import { type ChatModel } from "./openai_models.ts";
import { invalid } from "./openai_problems.ts";
import { Problem } from "./problem.ts";
import { countPromptTokens } from "./tokens.ts";

/** Token counts of one answer, before a vendor puts them into its own shape. */
export interface Counts {
  /** Whole prompt, cached part included. */
  input: number;
  cached: number;
  /** Written to the cache by marks. */
  written: number;
  /** The vendor's own searches. */
  searches: number;
  /** Without reasoning. */
  output: number;
  reasoning: number;
}

/** How one vendor of the chat family differs from the others. */
export interface ChatVendor {
  label: string;
  basePath: string;
  models: readonly ChatModel[];
  /** Embedding models: in the model list, but not usable for chat. */
  otherModels: readonly ChatModel[];
  /** Unknown fields are refused, and schemas and reasoning models' parameters checked. */
  isStrict: boolean;
  /** Where reasoning text shows: nowhere, `reasoning_content`, or `reasoning` with its details. */
  reasoning: "hidden" | "content" | "details";
  /** The stream's usage chunk: only when asked for, or always. */
  usageChunk: "asked" | "always";
  /** A repeated prompt of at least this many tokens is reported as cached. */
  cachesFromTokens: number;
  idPrefix: string;
  /** Members beside the standard ones on every answer and chunk. */
  extras: Readonly<Record<string, unknown>>;
  /** Safety blocks come as `message.refusal` instead of finish `content_filter`. */
  hasRefusalField: boolean;
  hasObfuscation: boolean;
  /** A streamed function call comes in one chunk instead of fragments. */
  streamsWholeCalls: boolean;
  /** Comment lines between the events of a stream. */
  comment: string | null;
  /** `[midstream-error]` on a whole answer is HTTP 200 with an error in the body. */
  hidesErrors: boolean;
  /** Fields that this vendor's reasoning models refuse; a listed default is let through. */
  refusedWhenReasoning: Readonly<Record<string, number | null>>;
  /** At the responses endpoint reasoning comes as plain text, as servers of open models give it. */
  hasRawReasoning?: true;
  /** The chat endpoint refuses OpenAI's custom tools. */
  lacksCustomTools?: boolean;
  /** The name of one of its own tools: it refuses any function with that name. */
  reservedTool?: string;
  /** Types of the tools that the responses endpoint knows; absent: all. */
  responsesTools?: readonly string[];
  /** At the responses endpoint, reasoning has a status, as other items have. */
  hasReasoningStatus?: true;
  usage(counts: Counts, model: ChatModel): JsonObject;
  /** Members of the responses endpoint's usage beside the standard ones. */
  responsesUsage?(counts: Counts, model: ChatModel): JsonObject;
  errorBody(problem: Problem): JsonObject;
  modelRow(model: ChatModel): JsonObject;
}

/** The usage members that all vendors of the family share. Reasoning is inside `output`. */
export function usageOf(counts: Counts): JsonObject {
  const completion = counts.output + counts.reasoning;
  return {
    prompt_tokens: counts.input,
    completion_tokens: completion,
    total_tokens: counts.input + completion,
    prompt_tokens_details: {
      cached_tokens: counts.cached,
      ...(counts.written > 0 ? { cache_write_tokens: counts.written } : {}),
      audio_tokens: 0,
    },
    completion_tokens_details: {
      reasoning_tokens: counts.reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

const SENTENCES: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 1,
  low: 1,
  medium: 2,
  high: 4,
  xhigh: 6,
  max: 8,
};

/** Returns how much reasoning a request asks for, and whether its text may be shown. */
export function reasoningWish(
  body: JsonObject,
  model: ChatModel,
): { sentences: number; isVisible: boolean } {
  const wish = asObject(body.reasoning);
  const budget = asNumber(wish?.max_tokens);
  const effort = asText(body.reasoning_effort) || asText(wish?.effort) ||
    (budget === null ? "medium" : budget < 2048 ? "low" : "high");
  const isOff = !model.isReasoning || wish?.enabled === false;
  return {
    sentences: isOff ? 0 : SENTENCES[effort] ?? 2,
    isVisible: wish?.exclude !== true && body.include_reasoning !== false,
  };
}

/** The vendor's model of that name. Throws the vendor's 404 Problem. */
export function findModel(vendor: ChatVendor, name: unknown): ChatModel {
  const model = vendor.models.find((row) => row.id === name);
  if (model) return model;
  throw new Problem(404, `The model '${name}' does not exist or you do not have access to it.`, {
    code: "model_not_found",
  });
}

/** Token counts with the vendor's own prompt cache. */
export function countAll(
  exchange: Exchange,
  vendor: ChatVendor,
  prompt: JsonObject,
  outputs: readonly Output[],
): Counts {
  const marked = countMarked(prompt, exchange.state, asText(prompt.model));
  const { messages, tools, functions, response_format, input, instructions } = prompt;
  const parts = compact({ messages, tools, functions, response_format, input, instructions });
  const tokens = countPromptTokens(parts);
  const isRepeated = exchange.state.isCached(JSON.stringify(parts));
  const isCached = isRepeated && tokens >= vendor.cachesFromTokens;
  const step = vendor.cachesFromTokens > 1 ? 128 : 1;
  return {
    input: tokens,
    cached: marked
      ? Math.min(marked.read, tokens)
      : isCached
      ? Math.floor((tokens - 1) / step) * step
      : 0,
    written: marked ? Math.max(0, Math.min(marked.written, tokens - marked.read)) : 0,
    searches: outputs.reduce((sum, output) => sum + output.searches.length, 0),
    output: outputs.reduce((sum, output) => sum + output.tokens, 0),
    reasoning: outputs.reduce((sum, output) => sum + output.reasoning.tokens, 0),
  };
}

/** Throws a 400 Problem for a parameter that the vendor's reasoning models don't take. */
export function refuseForReasoning(body: JsonObject, vendor: ChatVendor): void {
  const effort = body.reasoning_effort ?? asObject(body.reasoning)?.effort;
  if (effort === "none") return;
  for (const [field, accepted] of Object.entries(vendor.refusedWhenReasoning)) {
    const value = body[field];
    if (value == null || value === false || value === accepted) continue;
    if (accepted === null) {
      throw invalid(
        field,
        "unsupported_parameter",
        `Unsupported parameter: '${field}' is not supported with this model.`,
      );
    }
    throw invalid(
      field,
      "unsupported_value",
      `Unsupported value: '${field}' does not support ${value} with this model. Only the default ` +
        `(${accepted}) value is supported.`,
    );
  }
}

/**
 * Throws the vendor's 400 Problem for tools that a model accepts at the responses endpoint alone:
 * if the request asks for reasoning, or, for models that reason by default, doesn't turn it off.
 */
export function refuseTools(body: JsonObject, model: ChatModel): void {
  const hasTools = [body.tools, body.functions].some((list) => asArray(list).length > 0);
  if (model.chatRefuses === undefined || !hasTools || body.reasoning_effort === "none") return;
  const isOlder = model.chatRefuses === "tools_with_reasoning";
  if (isOlder && body.reasoning_effort == null) return;
  throw new Problem(
    400,
    `Function tools with reasoning_effort are not supported for ${model.id} in ` +
      `/v1/chat/completions. ${
        isOlder
          ? "Please use /v1/responses instead."
          : "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
      }`,
    { param: "reasoning_effort" },
  );
}
