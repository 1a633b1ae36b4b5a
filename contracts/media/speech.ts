import { z } from "@hono/zod-openapi";
import { callErrors } from "../kernel/call_errors.ts";
import { optional } from "../kernel/common.ts";
import { defineContract } from "../kernel/contract.ts";
import { endUserField, mediaModelField, providerField, providerOptions } from "./images.ts";

const text = z.string().min(1).max(200_000).refine(
  (value) => value.trim() !== "",
  "expected more than white space",
);

const voice = z.union([
  z.string().min(1).max(200),
  z.strictObject({ id: z.string().min(1).max(200).describe("Id of a custom voice.") }),
]);

/** `POST /tts/v1/generate` (docs/images-and-speech.md). */
export const speechRequest = z.strictObject({
  provider: providerField,
  model: mediaModelField,
  input: optional(text).describe(
    "Text to speak; the maximum length depends on the model (4,096 characters for vendor-b). Required, under this name or as `text`. Tag lines at its start tag the call.",
  ),
  text: optional(text).describe("Alias of `input`; if both are set, they must be equal."),
  voice: optional(voice).describe(
    "A voice of the vendor, or `{id}` of a custom one. Default: `alloy`, `Kore` or `eve`, depending on the vendor.",
  ).openapi({ example: "alloy" }),
  instructions: optional(z.string().min(1).max(4096)).describe(
    "How to speak the text, at most 4,096 characters. No default.",
  ),
  response_format: optional(z.enum(["mp3", "opus", "aac", "flac", "wav", "pcm"])).describe(
    "Default `mp3` if the vendor offers it, else `wav`.",
  ),
  speed: optional(z.number().min(0.25).max(4)).describe("0.25 to 4. Default 1."),
  language: optional(
    z.string().regex(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/, "expected a BCP-47 tag such as de-CH"),
  ).describe("BCP-47 tag, if the vendor takes one. Default: detected from the text."),
  sample_rate: optional(z.number().int().min(8000).max(192_000)).describe(
    "In hertz, if the vendor takes one. Default: the vendor's, usually 24,000.",
  ),
  speakers: optional(
    z.array(z.strictObject({
      speaker: z.string().min(1).max(200).describe("Name of the speaker in the text."),
      voice: z.string().min(1).max(200).describe("Voice of this speaker."),
    })).min(1).max(2),
  ).describe("One or two speakers of a dialogue (vendor-d), in place of `voice`. No default."),
  encoding: optional(z.enum(["base64", "binary"])).describe(
    "`binary`: the file itself; also with `Accept: audio/*`. Default `base64`, in JSON.",
  ),
  stream: optional(z.boolean()).describe(
    "The file's bytes as they arrive, always binary. Default false.",
  ),
  user: endUserField,
  provider_options: providerOptions,
}).openapi("GenerateSpeechRequest");

const speechAnswer = z.strictObject({
  provider: z.string().describe("Label of the vendor that generated the speech."),
  model: z.string().describe("The model, as the vendor calls it."),
  audio: z.strictObject({
    data: z.string().describe("The file as base64."),
    format: z.enum(["mp3", "opus", "aac", "flac", "wav", "pcm"]).describe("Its format."),
    mime_type: z.string().describe("Its media type."),
    sample_rate: z.number().int().optional().describe("In hertz, if known."),
  }).openapi("SpeechAudio").describe("The generated speech."),
  usage: z.strictObject({
    characters: z.number().int().describe("Code points of the text."),
    input_tokens: z.number().int().optional().describe("Present if the vendor counts tokens."),
    output_tokens: z.number().int().optional().describe("Present if the vendor counts tokens."),
  }).openapi("SpeechUsage").describe("Usage of the call."),
  cost_usd: z.string().optional().describe("What the call costs; absent when no price is known."),
}).openapi("SpeechAnswer");

/** Content types of sound formats; `pcm` is sent as `audio/L16`. */
export const soundTypes = {
  mp3: "audio/mpeg",
  opus: "audio/ogg",
  aac: "audio/aac",
  flac: "audio/flac",
  wav: "audio/wav",
  pcm: "audio/L16",
} as const;

const sound = z.string().openapi({ format: "binary" }).describe("The file.");

export const generateSpeech = defineContract({
  method: "post",
  path: "/tts/v1/generate",
  operationId: "generateSpeech",
  summary: "Create speech",
  description:
    'Text to speech. One body for all vendors; `provider` chooses. The answer is JSON with base64; with `encoding: "binary"` or `Accept: audio/*` it is the file, with `X-Model` and `X-Audio-Characters`, and with `stream: true` its bytes as they arrive. Errors are JSON always; a failure in the middle of a stream ends the connection.',
  tag: "speech",
  scope: "speech",
  dialect: "chat",
  body: speechRequest,
  answer: speechAnswer,
  media: Object.fromEntries(Object.values(soundTypes).map((type) => [type, sound])),
  interaction: true,
  errors: callErrors,
});
