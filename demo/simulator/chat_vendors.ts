/** The rows of the vendors that speak chat. */
import { type ChatVendor, type Counts, usageOf } from "./chat_vendor.ts";
import { type JsonObject } from "./json.ts";
import {
  AGGREGATED_EMBEDDING_MODELS,
  type ChatModel,
  EMBEDDING_MODELS,
  HOSTED_EMBEDDING_MODELS,
  VENDOR_A_MODELS,
  VENDOR_B_MODELS,
  VENDOR_F_MODELS,
  VENDOR_G_MODELS,
} from "./openai_models.ts";
import { type Problem } from "./problem.ts";

const CREATED = 1_767_225_600;

function plainModelRow(owner: string): (model: ChatModel) => JsonObject {
  return ({ id }) => ({ id, object: "model", created: CREATED, owned_by: owner });
}

/** The error object of the vendor that made the dialect. */
export function openaiError(problem: Problem): JsonObject {
  const types: Readonly<Record<number, string>> = { 429: "rate_limit_error", 503: "overloaded" };
  const isServers = problem.status >= 500;
  return {
    message: problem.message,
    type: types[problem.status] ?? (isServers ? "server_error" : "invalid_request_error"),
    param: problem.param,
    code: problem.code === "simulated"
      ? (problem.status === 429 ? "rate_limit_exceeded" : null)
      : problem.code,
  };
}

export const VENDOR_A: ChatVendor = {
  label: "vendor-a",
  basePath: "/v1",
  models: VENDOR_A_MODELS,
  otherModels: HOSTED_EMBEDDING_MODELS,
  isStrict: false,
  reasoning: "content",
  hasRawReasoning: true,
  lacksCustomTools: true,
  responsesTools: ["function", "mcp"],
  hasReasoningStatus: true,
  usageChunk: "asked",
  cachesFromTokens: 1024,
  idPrefix: "chatcmpl-",
  extras: { system_fingerprint: "" },
  hasRefusalField: false,
  hasObfuscation: false,
  streamsWholeCalls: false,
  comment: null,
  hidesErrors: false,
  refusedWhenReasoning: {},
  usage: usageOf,
  errorBody: (problem) =>
    problem.status === 401
      ? { error: "Invalid username or password." }
      : { error: openaiError(problem) },
  modelRow: ({ id, prices, contextTokens }) => ({
    id,
    object: "model",
    created: CREATED,
    owned_by: id.includes("/") ? id.split("/")[0] : "router",
    architecture: { input_modalities: ["text", "image"], output_modalities: ["text"] },
    providers: [{
      provider: "simulated",
      status: "live",
      context_length: contextTokens,
      pricing: { input: prices?.input, output: prices?.output },
      supports_tools: true,
      supports_structured_output: true,
    }],
  }),
};

export const VENDOR_B: ChatVendor = {
  label: "vendor-b",
  basePath: "/v1",
  models: VENDOR_B_MODELS,
  otherModels: EMBEDDING_MODELS,
  isStrict: true,
  reasoning: "hidden",
  usageChunk: "asked",
  cachesFromTokens: 1024,
  idPrefix: "chatcmpl-",
  extras: { service_tier: "default", system_fingerprint: "fp_simulated01" },
  hasRefusalField: true,
  hasObfuscation: true,
  streamsWholeCalls: false,
  comment: null,
  hidesErrors: false,
  refusedWhenReasoning: {
    temperature: 1,
    top_p: 1,
    logprobs: null,
    top_logprobs: null,
    frequency_penalty: 0,
    presence_penalty: 0,
    logit_bias: null,
    max_tokens: null,
  },
  usage: (counts) => {
    const usage = usageOf(counts);
    return {
      ...usage,
      prompt_tokens_details: {
        cached_tokens: counts.cached,
        cache_write_tokens: 0,
        audio_tokens: 0,
      },
    };
  },
  errorBody: (problem) => ({ error: openaiError(problem) }),
  modelRow: plainModelRow("openai"),
};

export const VENDOR_F: ChatVendor = {
  label: "vendor-f",
  basePath: "/api/v1",
  models: VENDOR_F_MODELS,
  otherModels: AGGREGATED_EMBEDDING_MODELS,
  isStrict: false,
  reasoning: "details",
  usageChunk: "always",
  cachesFromTokens: 1024,
  idPrefix: "gen-",
  extras: { provider: "Simulated" },
  hasRefusalField: false,
  hasObfuscation: false,
  streamsWholeCalls: false,
  comment: ": OPENROUTER PROCESSING\n\n",
  hidesErrors: true,
  refusedWhenReasoning: {},
  usage: (counts, model) => ({ ...usageOf(counts), ...costOf(counts, model) }),
  responsesUsage: (counts, model) => costOf(counts, model),
  errorBody: (problem) => ({
    error: {
      message: problem.message,
      code: problem.status,
      metadata: { provider_name: "Simulated", raw: problem.code },
    },
    user_id: "user_simulated",
  }),
  modelRow: ({ id, prices, contextTokens, maxOutputTokens }) => ({
    id,
    canonical_slug: id,
    name: id,
    created: CREATED,
    description: "A simulated model.",
    context_length: contextTokens,
    architecture: {
      modality: "text+image->text",
      input_modalities: ["text", "image"],
      output_modalities: ["text"],
      tokenizer: "Other",
    },
    pricing: {
      prompt: perToken(prices?.input ?? 0),
      completion: perToken(prices?.output ?? 0),
      request: "0",
      image: "0",
      input_cache_read: perToken(prices?.cacheRead ?? 0),
    },
    top_provider: {
      context_length: contextTokens,
      max_completion_tokens: maxOutputTokens,
      is_moderated: false,
    },
    supported_parameters: ["max_tokens", "temperature", "tools", "tool_choice", "reasoning"],
  }),
};

export const VENDOR_G: ChatVendor = {
  label: "vendor-g",
  basePath: "/v1",
  models: VENDOR_G_MODELS,
  otherModels: [],
  isStrict: false,
  reasoning: "content",
  lacksCustomTools: true,
  reservedTool: "tool_search",
  responsesTools: [
    ...["function", "web_search", "x_search", "image_generation", "collections_search", "shell"],
    ...["file_search", "code_execution", "code_interpreter", "mcp"],
  ],
  hasReasoningStatus: true,
  usageChunk: "always",
  cachesFromTokens: 1,
  idPrefix: "",
  extras: { system_fingerprint: "fp_simulated02" },
  hasRefusalField: false,
  hasObfuscation: false,
  streamsWholeCalls: true,
  comment: null,
  hidesErrors: false,
  refusedWhenReasoning: { presence_penalty: 0, frequency_penalty: 0, stop: null },
  usage: (counts) => ({
    prompt_tokens: counts.input,
    completion_tokens: counts.output,
    // Reasoning is additive here: it is in the total and not in completion_tokens.
    total_tokens: counts.input + counts.output + counts.reasoning,
    prompt_tokens_details: {
      text_tokens: counts.input,
      audio_tokens: 0,
      image_tokens: 0,
      cached_tokens: counts.cached,
    },
    completion_tokens_details: {
      reasoning_tokens: counts.reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
    num_sources_used: 0,
  }),
  errorBody: (problem) => ({
    code: problem.status < 500
      ? "Client specified an invalid argument"
      : "The service is currently unavailable",
    error: problem.message,
  }),
  modelRow: plainModelRow("xai"),
};

/** USD per million tokens as USD per token, in the decimal notation of the aggregator. */
function perToken(usdPerMillion: number): string {
  return usdPerMillion === 0 ? "0" : (usdPerMillion / 1e6).toFixed(12).replace(/0+$/, "");
}

const USD_PER_SEARCH = 0.01;

export function costOf(counts: Counts, model: ChatModel): JsonObject {
  const { input = 0, cacheRead = 0, output = 0 } = model.prices ?? {};
  const prompt = ((counts.input - counts.cached) * input + counts.cached * cacheRead) / 1e6;
  const completions = ((counts.output + counts.reasoning) * output) / 1e6;
  const cost = rounded(prompt + completions + counts.searches * USD_PER_SEARCH);
  return {
    cost,
    ...(counts.searches === 0
      ? {}
      : { server_tool_use_details: { web_search_requests: counts.searches } }),
    is_byok: false,
    cost_details: {
      upstream_inference_cost: cost,
      upstream_inference_prompt_cost: rounded(prompt),
      upstream_inference_completions_cost: rounded(completions),
    },
  };
}

function rounded(usd: number): number {
  return Number(usd.toFixed(12));
}
