/** The models of the vendors that speak chat, with the facts that the simulators need. */

export interface ChatModel {
  id: string;
  /** Produces reasoning tokens, and refuses parameters that reasoning models don't accept. */
  isReasoning: boolean;
  contextTokens: number;
  maxOutputTokens: number;
  /** What its chat endpoint doesn't accept: any tools, or tools together with reasoning. */
  chatRefuses?: "tools" | "tools_with_reasoning";
  /** USD per million tokens: input, cached input, output. Only where the vendor lists prices. */
  prices?: { input: number; cacheRead: number; output: number };
}

function row(
  id: string,
  isReasoning: boolean,
  prices?: [input: number, cacheRead: number, output: number],
): ChatModel {
  const model = { id, isReasoning, contextTokens: 262_144, maxOutputTokens: 65_536 };
  if (prices === undefined) return model;
  const [input, cacheRead, output] = prices;
  return { ...model, prices: { input, cacheRead, output } };
}

export const VENDOR_A_MODELS: readonly ChatModel[] = [
  row("deepseek-ai/DeepSeek-V4-Flash", true, [0.14, 0.0028, 0.28]),
  row("deepseek-ai/DeepSeek-V4-Pro", true, [0.435, 0.003625, 0.87]),
  row("moonshotai/Kimi-K2.6", true, [0.95, 0.16, 4]),
  row("meta-llama/Llama-3.3-70B-Instruct", false, [0.59, 0.59, 0.79]),
];

/** Creates the row of a reasoning model whose chat endpoint refuses something. */
function refusing(id: string, chatRefuses: NonNullable<ChatModel["chatRefuses"]>): ChatModel {
  return { ...row(id, true), chatRefuses };
}

export const VENDOR_B_MODELS: readonly ChatModel[] = [
  refusing("gpt-6-astra", "tools"),
  refusing("gpt-6-sol", "tools"),
  refusing("gpt-6.1-sol", "tools"),
  refusing("gpt-6.1-terra", "tools"),
  refusing("gpt-6-luna", "tools"),
  refusing("gpt-5.6-sol", "tools"),
  refusing("gpt-5.6-terra", "tools"),
  refusing("gpt-5.6-luna", "tools"),
  refusing("gpt-5.5", "tools"),
  refusing("gpt-5.4", "tools_with_reasoning"),
  refusing("gpt-5.4-mini", "tools_with_reasoning"),
  refusing("gpt-5.4-nano", "tools_with_reasoning"),
  row("gpt-5-mini", true),
  row("gpt-4.1", false),
  row("gpt-4o-mini", false),
];

export const HOSTED_EMBEDDING_MODELS: readonly ChatModel[] = [
  row("Qwen/Qwen3-Embedding-8B", false, [0.01, 0.01, 0]),
];

export const AGGREGATED_EMBEDDING_MODELS: readonly ChatModel[] = [
  row("qwen/qwen3-embedding-8b", false, [0.01, 0.01, 0]),
];

export const EMBEDDING_MODELS: readonly ChatModel[] = [
  row("text-embedding-3-small", false),
  row("text-embedding-3-large", false),
];

export const VENDOR_F_MODELS: readonly ChatModel[] = [
  row("meta-llama/llama-3", false, [0.1, 0.1, 0.3]),
  row("meta-llama/llama-3:free", false, [0, 0, 0]),
  row("openai/gpt-5-mini", true, [0.25, 0.025, 2]),
  row("anthropic/claude-sonnet-5-5", true, [2, 0.1, 10]),
  row("google/gemini-3.8-flash", true, [0.75, 0.075, 3.75]),
  row("deepseek/deepseek-v4-flash", true, [0.14, 0.0028, 0.28]),
  row("deepseek/deepseek-v4-flash:free", true, [0, 0, 0]),
];

export const VENDOR_G_MODELS: readonly ChatModel[] = [
  row("grok-4.7", true),
  row("grok-4.6", true),
  row("grok-4.3", true),
  row("grok-4-1-fast-non-reasoning", false),
];
