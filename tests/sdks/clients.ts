import type { DialectName } from "../../contracts/calls/vendors.ts";

/** A library or framework that `deno task sdks` runs by its block of docs/sdks.md. */
export interface Client {
  /** Its block, and its program in `programs/`. */
  readonly name: string;
  readonly language: Language;
  /** As the language's package manager writes a package with its version; the first is shown. */
  readonly packages: readonly string[];
  readonly lanes: readonly Lane[];
}

export type Language = "python" | "node" | "go" | "java";

/** The dialect that a client speaks; `compatible` is chat by a client's second way to speak it. */
export type Lane = DialectName | "compatible";

export const [sol, claude, flash] = [
  "openai/gpt-5.6-sol",
  "anthropic/claude-sonnet-4-6",
  "google/gemini-3.8-flash",
] as const;

/** The vendor's own first, then two others. */
export const modelsOf: Readonly<Record<Lane, readonly string[]>> = {
  chat: [sol, claude, flash],
  compatible: [sol, claude, flash],
  responses: [sol, claude, flash],
  messages: [claude, sol, flash],
  generate: [flash, sol, claude],
};

/** Asked for vectors beside each model; the native endpoint of generate is Google's alone. */
export function embeddingModel(lane: Lane, model: string): string | undefined {
  if (lane === "generate") return model === flash ? "google/gemini-embedding-001" : undefined;
  if (lane !== "chat" && lane !== "compatible") return undefined;
  if (model === sol) return "openai/text-embedding-3-small";
  return model === flash ? "google/gemini-embedding-2" : "huggingface/Qwen/Qwen3-Embedding-8B";
}

const python = (name: string, packages: readonly string[], lanes: readonly Lane[]): Client => ({
  ...{ name, language: "python", packages, lanes },
});
const node = (name: string, packages: readonly string[], lanes: readonly Lane[]): Client => ({
  ...{ name, language: "node", packages: [...packages, "zod@4.6.7"], lanes },
});
const go = (name: string, module: string, lanes: readonly Lane[]): Client => ({
  ...{ name, language: "go", packages: [module], lanes },
});
const java = (name: string, artifact: string, lanes: readonly Lane[]): Client => ({
  ...{ name, language: "java", packages: [artifact], lanes },
});

export const clients: readonly Client[] = [
  python("openai-python", ["openai==3.57.0"], ["chat", "responses"]),
  python("anthropic-python", ["anthropic==2.14.0"], ["messages"]),
  python("google-genai-python", ["google-genai==3.6.1"], ["generate"]),
  python("openai-agents-python", ["openai-agents==0.24.0"], ["responses", "chat"]),
  python("pydantic-ai", ["pydantic-ai-slim[openai,anthropic,google]==2.68.0"], [
    ...["chat", "responses", "messages", "generate"] as const,
  ]),
  python("instructor", ["instructor[anthropic]==1.17.0"], ["chat", "messages"]),
  python("langchain-python", [
    "langchain==1.4.10",
    "langchain-core==1.7.7",
    "langchain-openai==1.7.4",
    "langchain-anthropic==1.7.10",
    "langchain-google-genai==4.4.3",
  ], ["chat", "responses", "messages", "generate"]),
  python("litellm", ["litellm==1.110.2", "mcp==2.3.0"], [
    ...["chat", "responses", "messages", "generate"] as const,
  ]),
  python("google-adk-python", ["google-adk==2.13.0"], ["generate"]),
  python("llama-index-python", [
    "llama-index-llms-openai-like==0.8.1",
    "llama-index-llms-google-genai==0.11.3",
    "llama-index-embeddings-openai-like==0.4.0",
    "llama-index-embeddings-google-genai==0.6.0",
  ], ["chat", "generate"]),
  python("semantic-kernel", ["semantic-kernel[anthropic,google]==1.45.0"], [
    ...["chat", "messages", "generate"] as const,
  ]),
  node("ai-sdk", [
    "ai@7.0.173",
    "@ai-sdk/openai@4.0.118",
    "@ai-sdk/anthropic@4.0.105",
    "@ai-sdk/google@4.0.121",
    "@ai-sdk/openai-compatible@3.0.92",
  ], ["chat", "compatible", "responses", "messages", "generate"]),
  node("langchain-js", [
    "@langchain/openai@1.6.0",
    "@langchain/anthropic@1.5.11",
    "@langchain/google-genai@2.3.2",
    "langchain@1.5.14",
  ], ["chat", "responses", "messages", "generate"]),
  node("llamaindex-js", [
    "llamaindex@0.12.1",
    "@llamaindex/openai@0.4.23",
    "@llamaindex/anthropic@0.3.27",
    "@llamaindex/google@0.4.1",
  ], ["chat", "responses", "messages", "generate"]),
  node("mastra", ["@mastra/core@1.71.0"], ["chat", "responses"]),
  node("openai-agents-js", ["@openai/agents@0.20.0", "openai@7.59.0"], ["responses", "chat"]),
  go("openai-go", "github.com/openai/openai-go/v3@v3.99.0", ["chat", "responses"]),
  go("anthropic-sdk-go", "github.com/anthropics/anthropic-sdk-go@v1.84.0", ["messages"]),
  go("genai-go", "google.golang.org/genai@v1.77.0", ["generate"]),
  java("openai-java", "com.openai:openai-java:4.101.0", ["chat", "responses"]),
  java("anthropic-java", "com.anthropic:anthropic-java:3.14.0", ["messages"]),
  java("google-genai-java", "com.google.genai:google-genai:2.3.0", ["generate"]),
];
