import { z } from "@hono/zod-openapi";

/**
 * Every error answer (spec.md, Errors). `message`, `type` and `code` are always strings; a dialect
 * adds its own fields beside them (protocols/translation.md §14.3).
 */
export const errorSchema = z.object({
  error: z.object({
    message: z.string().describe("What went wrong, for people. Names the field by its path."),
    type: z.string().describe("Class of the error, such as `invalid_request_error`."),
    code: z.string().describe("What went wrong, for programs, such as `missing_required_field`."),
    param: z.string().nullable().optional().describe(
      "Path of the wrong field (chat and responses dialects).",
    ),
    status: z.string().optional().describe("Canonical name of the status (generate dialect)."),
  }),
  type: z.literal("error").optional().describe("Messages dialect only."),
  request_id: z.string().optional().describe("Messages dialect only."),
}).openapi("Error");

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
