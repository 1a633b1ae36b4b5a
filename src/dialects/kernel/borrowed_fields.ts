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
