import { z } from "@hono/zod-openapi";

const fault = {
  message: z.string().describe("What went wrong, for people. Names the field by its path."),
  type: z.string().describe("Class of the error, such as `invalid_request_error`."),
  code: z.string().describe("What went wrong, for programs, such as `missing_required_field`."),
};

const param = z.string().nullable().describe("Path of the wrong field; null where there is none.");
const chatError = z.strictObject({
  error: z.strictObject({ ...fault, param }).openapi("ChatErrorBody").describe("The error."),
}).openapi("ChatError");

/**
 * Error answers by dialect (spec.md, Errors). `message`, `type` and `code` are always there and
 * strings; a dialect adds its own fields beside them (protocols/translation.md §14.3).
 */
export const errorSchemas = {
  service: z.strictObject({
    error: z.strictObject(fault).openapi("ServiceErrorBody").describe("The error."),
  }).openapi("ServiceError"),
  chat: chatError,
  responses: chatError,
  messages: z.strictObject({
    type: z.literal("error").describe("Always `error`."),
    error: z.strictObject(fault).openapi("MessagesErrorBody").describe(
      "The error; its `type` is of the closed list of this dialect.",
    ),
    request_id: z.string().describe("`X-Request-ID`."),
  }).openapi("MessagesError"),
  generate: z.strictObject({
    error: z.strictObject({
      ...fault,
      status: z.string().describe("Canonical name of the status, such as `NOT_FOUND`."),
    }).openapi("GenerateErrorBody").describe("The error."),
  }).openapi("GenerateError"),
} as const;

/** A block, part or item that says its type; what else it holds is up to its dialect. */
export const typedPart = z.looseObject({
  type: z.string().describe("What it is, such as `text`."),
}).openapi("TypedPart");

/** An RFC 3339 timestamp, with a time zone. */
export const timestampSchema = z.iso.datetime({ offset: true }).openapi({
  format: "date-time",
  example: "2026-11-21T09:00:00Z",
});

/** Means "not set" wherever it is null (protocols/chat-completions.md §1). */
export function optional<T extends z.ZodType>(schema: T) {
  return schema.nullish();
}

/** A part of an answer that has a name in the document, or null; `nullable` would lend it its null. */
export function orNull<T extends z.ZodType>(schema: T) {
  return z.union([schema, z.null()]);
}
