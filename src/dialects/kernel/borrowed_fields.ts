import { asRecord } from "./json.ts";

/**
 * Fields that callers bring from another dialect and rely on, and where their own has them. Left
 * out, the answer would be another one, or have no limit to its cost.
 */
export const borrowedFields = {
  chat: {
    system: "a message with the role 'system'",
    instructions: "a message with the role 'system'",
    max_output_tokens: "max_completion_tokens",
    stop_sequences: "stop",
  },
  responses: {
    response_format: "text.format",
    max_tokens: "max_output_tokens",
    max_completion_tokens: "max_output_tokens",
  },
  messages: {
    response_format: "output_config.format",
    instructions: "system",
    stop: "stop_sequences",
  },
} as const;

/**
 * Whether a field of another dialect changes nothing: it asks for plain text, or repeats `own`, the
 * value of the dialect's own field.
 */
export function isRedundant(name: string, value: unknown, own: unknown): boolean {
  if (name === "response_format") return asRecord(value).type === "text";
  if (!Array.isArray(value) || !Array.isArray(own)) return value === own;
  return value.length === own.length && value.every((one, index) => one === own[index]);
}
