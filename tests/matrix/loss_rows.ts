import type { DialectName } from "../../contracts/calls/vendors.ts";

/** A field of one dialect that the vendors of others can't carry. */
export interface Loss {
  caller: DialectName;
  more: Readonly<Record<string, unknown>>;
  /** The field in the caller's own words. */
  path: string;
  hint?: readonly DialectName[];
  /** Changes what was asked for: refused unless the caller is lenient. */
  meaning?: readonly DialectName[];
}

const tool = { name: "f", description: "A tool.", parameters: { type: "object", properties: {} } };
const chatTool = [{ type: "function", function: tool }];
const blocks = (block: unknown) => ({
  messages: [{ role: "user", content: [{ type: "text", text: "Hello" }, block] }],
});
const pdf = btoa("%PDF-1.4");
const pdfUrl = `data:application/pdf;base64,${pdf}`;
const audio = { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } };
const text = { type: "text", text: "Hello" };

/** translation.md §12, row by row. */
export const losses: readonly Loss[] = [
  { caller: "chat", more: { seed: 7 }, path: "seed", hint: ["responses", "messages"] },
  { caller: "chat", more: { seed: 5_000_000_000 }, path: "seed", hint: ["generate"] },
  {
    caller: "chat",
    more: { frequency_penalty: 0.5 },
    path: "frequency_penalty",
    hint: ["responses", "messages"],
  },
  {
    caller: "chat",
    more: { presence_penalty: 0.5 },
    path: "presence_penalty",
    hint: ["responses", "messages"],
  },
  {
    caller: "chat",
    more: { logit_bias: { "50256": -100 } },
    path: "logit_bias",
    meaning: ["responses", "messages", "generate"],
  },
  { caller: "chat", more: { logprobs: true }, path: "logprobs", meaning: ["messages"] },
  { caller: "chat", more: { n: 2 }, path: "n", meaning: ["responses", "messages"] },
  { caller: "chat", more: { stop: ["END"] }, path: "stop", meaning: ["responses"] },
  { caller: "chat", more: { stop: [..."abcdef"] }, path: "stop", meaning: ["generate"] },
  {
    caller: "chat",
    more: { modalities: ["text", "audio"], audio: { voice: "alloy", format: "wav" } },
    path: "modalities",
    meaning: ["responses", "messages", "generate"],
  },
  {
    caller: "chat",
    more: { web_search_options: {} },
    path: "web_search_options",
    meaning: ["responses", "messages", "generate"],
  },
  {
    caller: "chat",
    more: { prediction: { type: "content", content: "x" } },
    path: "prediction",
    hint: ["responses", "messages", "generate"],
  },
  { caller: "chat", more: { metadata: { k: "v" } }, path: "metadata", hint: ["messages"] },
  { caller: "chat", more: { verbosity: "low" }, path: "verbosity", hint: ["messages", "generate"] },
  { caller: "chat", more: { user: "ada" }, path: "user", hint: ["generate"] },
  {
    caller: "chat",
    more: { parallel_tool_calls: false, tools: chatTool },
    path: "parallel_tool_calls",
    hint: ["generate"],
  },
  {
    caller: "chat",
    more: blocks(audio),
    path: "messages[0].content[1]",
    meaning: ["messages"],
  },
  {
    caller: "chat",
    more: blocks({ type: "file", file: { filename: "a.pdf", file_data: pdfUrl } }),
    path: "messages[0].content[1].file.filename",
    hint: ["generate"],
  },
  {
    caller: "chat",
    more: { x_unheard_of: 1 },
    path: "x_unheard_of",
    hint: ["responses", "messages", "generate"],
  },
  {
    caller: "chat",
    more: { tools: [{ type: "browser_search" }] },
    path: "tools[0]",
    meaning: ["responses", "messages", "generate"],
  },
  {
    caller: "chat",
    more: blocks({ ...text, x_unheard_of: 1 }),
    path: "messages[0].content[1].x_unheard_of",
    hint: ["responses", "messages", "generate"],
  },
  {
    caller: "chat",
    more: { tools: chatTool, tool_choice: { type: "function", function: { name: "f", x: 1 } } },
    path: "tool_choice.function.x",
    hint: ["responses", "messages", "generate"],
  },

  {
    caller: "responses",
    more: { truncation: "auto" },
    path: "truncation",
    hint: ["chat", "messages", "generate"],
  },
  {
    caller: "responses",
    more: { conversation: "conv_1" },
    path: "conversation",
    meaning: ["chat", "messages", "generate"],
  },
  {
    caller: "responses",
    more: { prompt: { id: "pmpt_1" } },
    path: "prompt",
    meaning: ["chat", "messages", "generate"],
  },
  {
    caller: "responses",
    more: { max_tool_calls: 3 },
    path: "max_tool_calls",
    hint: ["chat", "messages", "generate"],
  },
  {
    caller: "responses",
    more: { tools: [{ type: "web_search" }] },
    path: "tools[0]",
    meaning: ["chat", "messages", "generate"],
  },
  {
    caller: "responses",
    more: { include: ["file_search_call.results"] },
    path: "include[0]",
    hint: ["chat", "messages", "generate"],
  },
  {
    caller: "responses",
    more: { include: ["message.output_text.logprobs"], top_logprobs: 2 },
    path: "include",
    meaning: ["messages"],
  },

  {
    caller: "responses",
    more: {
      input: [{
        role: "user",
        content: [
          { type: "input_text", text: "Hello" },
          { type: "input_file", filename: "a.pdf", file_data: pdfUrl },
        ],
      }],
    },
    path: "input[0].content[1].filename",
    hint: ["generate"],
  },

  {
    caller: "responses",
    more: { text: { format: { type: "text", x_unheard_of: 1 } } },
    path: "text.format.x_unheard_of",
    hint: ["chat", "messages", "generate"],
  },

  { caller: "messages", more: { top_k: 5 }, path: "top_k", hint: ["responses"] },
  {
    caller: "messages",
    more: blocks({
      type: "image",
      source: { type: "url", url: "https://pictures.example/a.png", x_unheard_of: 1 },
    }),
    path: "messages[0].content[1].source.x_unheard_of",
    hint: ["chat", "responses"],
  },
  {
    caller: "messages",
    more: { stop_sequences: ["END"] },
    path: "stop_sequences",
    meaning: ["responses"],
  },
  {
    caller: "messages",
    more: { system: [{ ...text, cache_control: { type: "ephemeral" } }] },
    path: "system[0].cache_control",
    hint: ["chat", "responses", "generate"],
  },
  {
    caller: "messages",
    more: blocks({ ...text, cache_control: { type: "ephemeral" } }),
    path: "messages[0].content[1].cache_control",
    hint: ["chat", "responses", "generate"],
  },
  {
    caller: "messages",
    more: blocks({
      type: "document",
      title: "A title",
      source: { type: "base64", media_type: "application/pdf", data: pdf },
    }),
    path: "messages[0].content[1].title",
    hint: ["generate"],
  },
  {
    caller: "messages",
    more: { container: "container_1" },
    path: "container",
    meaning: ["chat", "responses", "generate"],
  },
  {
    caller: "messages",
    more: { mcp_servers: [{ type: "url", url: "https://example.com", name: "x" }] },
    path: "mcp_servers",
    meaning: ["chat", "responses", "generate"],
  },
  {
    caller: "messages",
    more: { tools: [{ type: "web_search_20250305", name: "web_search" }] },
    path: "tools[0]",
    meaning: ["chat", "responses", "generate"],
  },
  {
    caller: "messages",
    more: { system: [{ ...text, x_unheard_of: 1 }] },
    path: "system[0].x_unheard_of",
    hint: ["chat", "responses", "generate"],
  },

  {
    caller: "generate",
    more: { systemInstruction: { parts: [{ text: "S", x_unheard_of: 1 }] } },
    path: "systemInstruction.parts[0].x_unheard_of",
    hint: ["chat", "responses", "messages"],
  },
  {
    caller: "generate",
    more: { safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }] },
    path: "safetySettings",
    hint: ["chat", "responses", "messages"],
  },
  {
    caller: "generate",
    more: { cachedContent: "cachedContents/1" },
    path: "cachedContent",
    meaning: ["chat", "responses", "messages"],
  },
  {
    caller: "generate",
    more: { tools: [{ googleSearch: {} }] },
    path: "tools[0].googleSearch",
    meaning: ["chat", "responses", "messages"],
  },
  {
    caller: "generate",
    more: { generationConfig: { topK: 5 } },
    path: "generationConfig.topK",
    hint: ["responses"],
  },
  {
    caller: "generate",
    more: { generationConfig: { candidateCount: 2 } },
    path: "generationConfig.candidateCount",
    meaning: ["responses", "messages"],
  },
  {
    caller: "generate",
    more: { generationConfig: { responseModalities: ["IMAGE"] } },
    path: "generationConfig.responseModalities",
    meaning: ["chat", "responses", "messages"],
  },
  {
    caller: "generate",
    more: { generationConfig: { seed: 7 } },
    path: "generationConfig.seed",
    hint: ["responses", "messages"],
  },
];
