import type { Counting } from "../../kernel/dialect.ts";
import { asRecord, count, type JsonRecord } from "../../kernel/json.ts";

/**
 * `POST /messages/count_tokens` takes a request without the fields that concern only its answer.
 */
export const counting: Counting = {
  path: () => "/messages/count_tokens",
  requestBody: (request, model) => ({
    ...Object.fromEntries(Object.entries(request).filter(([name]) => !ofAnswers.has(name))),
    model,
  }),
  read: (answer) => count(asRecord(answer).input_tokens),
  counted: (body) => body as JsonRecord,
  write: (tokens) => ({ input_tokens: tokens }),
};

/** Fields that limit, shape or store an answer; the endpoint refuses them. */
const ofAnswers: ReadonlySet<string> = new Set([
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
