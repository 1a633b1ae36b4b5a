import { z } from "@hono/zod-openapi";
import { optional } from "../kernel/common.ts";

/**
 * Events in streams of pictures, sound and transcripts (docs/vendor-paths.md): vendor-b's own,
 * which are forwarded unchanged, and the service's error event for a stream that fails.
 */

const picture = {
  b64_json: z.string().describe("The image as base64."),
  created_at: optional(z.number().int()).describe("Unix time in seconds."),
  size: optional(z.string()).describe("`WIDTHxHEIGHT` in pixels."),
  quality: optional(z.string()).describe("Quality of the image."),
  background: optional(z.string()).describe("`transparent` or `opaque`."),
  output_format: optional(z.string()).describe("`png`, `jpeg` or `webp`."),
};

const tokens = z.looseObject({
  input_tokens: optional(z.number().int()).describe("Tokens of the input."),
  output_tokens: optional(z.number().int()).describe("Tokens of the output."),
  total_tokens: optional(z.number().int()).describe("Sum of both."),
}).openapi("MediaUsage");

const failed = z.looseObject({
  type: z.literal("error").describe("The stream failed and ends here."),
  error: z.looseObject({
    type: z.string().describe("Class of the error."),
    message: z.string().describe("What went wrong, for people."),
    code: optional(z.string()).describe("What went wrong, for programs."),
  }).openapi("MediaErrorBody").describe("The error."),
}).openapi("MediaErrorEvent");

const other = z.looseObject({
  type: z.string().describe("Name of an event that a vendor has added since: ignore it."),
}).openapi("MediaOtherEvent");

export const imageEvent = z.union([
  z.looseObject({
    type: z.enum(["image_generation.partial_image", "image_edit.partial_image"]).describe(
      "A partial image.",
    ),
    ...picture,
    partial_image_index: z.number().int().describe("Index of the partial image, from 0."),
  }).openapi("ImagePartialEvent"),
  z.looseObject({
    type: z.enum(["image_generation.completed", "image_edit.completed"]).describe(
      "A finished image.",
    ),
    ...picture,
    usage: tokens.optional().describe("Tokens of the call so far."),
  }).openapi("ImageCompletedEvent"),
  failed,
  other,
]).openapi("ImageStreamEvent");

export const speechEvent = z.union([
  z.looseObject({
    type: z.literal("speech.audio.delta").describe("A piece of the audio."),
    audio: z.string().describe("The next piece of the file, as base64."),
  }).openapi("SpeechDeltaEvent"),
  z.looseObject({
    type: z.literal("speech.audio.done").describe("The last event."),
    usage: tokens.optional().describe("Tokens of the call."),
  }).openapi("SpeechDoneEvent"),
  failed,
  other,
]).openapi("SpeechStreamEvent");

export const transcriptEvent = z.union([
  z.looseObject({
    type: z.literal("transcript.text.delta").describe("A piece of the transcript."),
    delta: z.string().describe("The next piece of the text."),
  }).openapi("TranscriptDeltaEvent"),
  z.looseObject({
    type: z.literal("transcript.text.done").describe("The last event."),
    text: z.string().describe("Full transcript."),
    usage: tokens.optional().describe("Tokens or seconds of the call."),
  }).openapi("TranscriptDoneEvent"),
  failed,
  other,
]).openapi("TranscriptStreamEvent");
