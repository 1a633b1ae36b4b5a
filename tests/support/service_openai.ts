import OpenAI from "openai";

/** A vendor that speaks chat, its alias, and a model that the simulator has and that has a price. */
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

/** The address and model names under which one family can be called. */
export interface ChatWay {
  family: ChatFamily;
  /** Below the service's address, as `baseURL` takes it. */
  path: string;
  model: string;
}

/** Every way to call a family: unified and its own paths, label and alias, with and without. */
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

/** The unmodified library, with another base address and nothing else. */
export function openai(
  at: { baseUrl: string; key: string },
  path = "/chat/v1",
  options: { maxRetries?: number } = {},
): OpenAI {
  return new OpenAI({ baseURL: at.baseUrl + path, apiKey: at.key, ...options });
}
