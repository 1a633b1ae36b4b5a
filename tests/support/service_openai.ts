import OpenAI from "openai";

/** A vendor of the chat dialect, with its alias and a priced model that the simulator has. */
export interface ChatFamily {
  label: "vendor-a" | "vendor-b" | "vendor-f" | "vendor-g";
  alias: string;
  model: string;
}

export const chatFamilies: readonly ChatFamily[] = [
  { label: "vendor-a", alias: "huggingface", model: "deepseek-ai/DeepSeek-V4-Flash" },
  { label: "vendor-b", alias: "openai", model: "gpt-4.1" },
  { label: "vendor-f", alias: "openrouter", model: "meta-llama/llama-3" },
  { label: "vendor-g", alias: "xai", model: "grok-4.3" },
];

/** A base path and a model name by which a vendor's model can be called. */
export interface ChatWay {
  family: ChatFamily;
  /** Path below the service's address, for `baseURL`. */
  path: string;
  model: string;
}

/**
 * Returns every way to call a vendor's model: by the unified path and by the vendor's own, by label
 * and by alias, and on its own paths with and without a prefix of the model.
 */
export function waysOf(family: ChatFamily): ChatWay[] {
  const names = [family.label, family.alias];
  return [
    ...names.map((name) => ({ family, path: "/chat/v1", model: `${name}/${family.model}` })),
    ...names.flatMap((name) =>
      ["", ...names.map((prefix) => `${prefix}/`)].map((prefix) => ({
        family,
        path: `/${name}/v1`,
        model: prefix + family.model,
      }))
    ),
  ];
}

/** Returns a client of the unmodified library; only its base URL differs. */
export function openai(
  at: { baseUrl: string; key: string },
  path = "/chat/v1",
  options: { maxRetries?: number } = {},
): OpenAI {
  return new OpenAI({ baseURL: at.baseUrl + path, apiKey: at.key, ...options });
}
