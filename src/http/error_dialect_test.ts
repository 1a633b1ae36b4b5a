import assert from "@std/assert";
import type { ErrorDialect } from "../../contracts/kernel/contract.ts";
import { vendorFamilies } from "../../contracts/calls/vendors.ts";
import { createErrorDialect } from "./error_dialect.ts";

const dialectOf = createErrorDialect([
  ...vendorFamilies,
  {
    label: "corp",
    name: "corp",
    aliases: ["intern"],
    kind: "custom",
    dialects: ["messages"],
    operations: [],
  },
]);

const paths: [string, ErrorDialect][] = [
  ["/chat/v1/chat/completions", "chat"],
  ["/chat/v1/responses", "responses"],
  ["/chat/v1/responses/resp_1", "responses"],
  ["/chat/v1/messages", "messages"],
  ["/chat/v1/messages/count_tokens", "messages"],
  ["/chat/v1/models", "chat"],
  ["/chat/v1/health", "chat"],
  ["/chat/v1/models/google/gemini:generateContent", "generate"],
  ["/chat/v1beta/models/google/gemini:streamGenerateContent", "generate"],
  ["/chat/v1/models/google%2Fgemini:countTokens", "generate"],
  ["/chat/v1beta/models/google/gemini:embedContent", "generate"],
  ["/chat/v1/models/google/gemini:batchEmbedContents", "generate"],
  ["/chat/v1/models/google/imagen:predict", "generate"],
  ["/chat/v1beta/models", "generate"],
  ["/chat/v1beta/models/openai/gpt-5-mini", "generate"],
  ["/v1beta/models", "generate"],
  ["/chat/upload/v1beta/files", "generate"],
  ["/upload/v1beta/files", "generate"],
  // Their current versions ask for `v1`.
  ["/chat/upload/v1/files", "generate"],
  ["/upload/files", "service"],
  [
    "/chat/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
    "generate",
  ],
  ["/v1/models", "chat"],
  ["/chat", "chat"],
  ["/vendor-a/v1/chat/completions", "chat"],
  ["/huggingface/v1/responses", "responses"],
  ["/vendor-b/v1/models", "chat"],
  ["/openai/nowhere", "chat"],
  ["/vendor-c/v1/messages", "messages"],
  ["/vendor-c/v1/models", "messages"],
  ["/anthropic/vendor-c/health", "messages"],
  ["/vendor-d/v1/models/gemini:generateContent", "generate"],
  ["/vendor-d/v1/models", "generate"],
  ["/google/v1beta/nowhere", "generate"],
  ["/vendor-e/v1/chat/completions", "chat"],
  ["/corp/v1/anything", "messages"],
  ["/intern/v1/chat/completions", "chat"],
  ["/api/v1/status", "service"],
  ["/api/v1/exports", "service"],
  ["/api/v1/messages", "service"],
  ["/imagen/v1/generate", "chat"],
  ["/chatty/v1/messages", "service"],
  ["/vendor-z/v1/chat/completions", "service"],
  ["/constructor/v1/messages", "service"],
  ["/", "service"],
  ["", "service"],
];

for (const [path, dialect] of paths) {
  Deno.test(`an error on '${path}' is written in the ${dialect} dialect`, () => {
    assert.equal(dialectOf(path), dialect);
  });
}

Deno.test("official libraries read their own errors on paths that they share", () => {
  const dialectFor = (path: string, headers: Record<string, string> = {}) =>
    dialectOf(path, (name) => headers[name]);
  const version = { "anthropic-version": "2023-06-01" };
  assert.equal(dialectFor("/chat/v1/files", version), "messages");
  assert.equal(dialectFor("/v1/files", version), "messages");
  assert.equal(dialectFor("/v1/models/claude", version), "messages");
  assert.equal(dialectFor("/vendor-b/v1/models", version), "chat");
  assert.equal(dialectFor("/v1/chat/completions", version), "chat");
  assert.equal(dialectFor("/chat/v1/embeddings", version), "chat");
  assert.equal(dialectFor("/chat/v1/files"), "chat");
  assert.equal(dialectFor("/chat/v1/files", { "x-goog-api-key": "k" }), "generate");
  assert.equal(dialectFor("/api/v1/files", version), "service");
  assert.equal(dialectFor("/chat/v1beta/files", version), "generate");
});
