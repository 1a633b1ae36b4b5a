import type { TokenCountEndpoint } from "../../kernel/dialect.ts";
import { asRecord, count, type JsonRecord } from "../../kernel/json.ts";

/**
 * `POST /messages/count_tokens` takes a request without the fields that concern only its answer.
 */
export const counting: TokenCountEndpoint = {
  path: () => "/messages/count_tokens",
  requestBody: (request, model) => ({
    ...Object.fromEntries(Object.entries(request).filter(([name]) => !answerFields.has(name))),
    model,
  }),
  read: (answer) => count(asRecord(answer).input_tokens),
  requestOf: (body) => body as JsonRecord,
  write: (tokens) => ({ input_tokens: tokens }),
};

/** Fields that limit, shape or store an answer; the endpoint refuses them. */
const answerFields: ReadonlySet<string> = new Set([
  "max_tokens",
  "metadata",
  "service_tier",
  "stop_sequences",
  "stream",
  "temperature",
  "thread",
  "top_k",
  "top_p",
]);
