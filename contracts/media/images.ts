import { z } from "@hono/zod-openapi";
import { callErrors } from "../kernel/call_errors.ts";
import { optional } from "../kernel/common.ts";
import { defineContract, ofRecords } from "../kernel/contract.ts";
import { imageEvent } from "./media_stream.ts";

export const providerField = optional(z.string().min(1).max(100)).describe(
  "Vendor that makes it: a label or an alias (`vendor-b`, `openai`). Default: the provider in front of `model`, else `vendor-b`. Must not contradict the provider in front of `model`.",
).openapi({ example: "vendor-b" });

export const mediaModelField = optional(z.string().min(1).max(300)).describe(
  "The vendor's own name, or `<provider>/<model_name>`. Default: a current, priced model of the provider. `provider` or `model` must be given.",
);

export const providerOptions = optional(
  z.record(z.string().max(100), z.record(z.string(), z.unknown())),
).describe(
  "Vendor-specific fields by the vendor's label or alias, passed on unchanged; those of other vendors are ignored. Fields that decide the price are refused here: use this body's own.",
).openapi({ example: { "vendor-b": { moderation: "low" } } });

export const endUserField = optional(z.string().min(1).max(256)).describe(
  "The end user, recorded as `user_id`. No default.",
);

/** Its values depend on the model; the error for an invalid one lists them. */
const pixels = z.string().min(1).max(32);

/** `POST /imagen/v1/generate` (docs/images-and-speech.md). */
export const imageRequest = z.strictObject({
  provider: providerField,
  model: mediaModelField,
  prompt: z.string().min(1).max(100_000).refine(
    (text) => text.trim() !== "",
    "expected more than white space",
  ).describe(
    "What the image should show; at most 32,000 characters, fewer for some models. Tag lines at its start tag the call.",
  ),
  n: optional(z.number().int().min(1).max(10)).describe("How many images, 1 to 10. Default 1."),
  size: optional(pixels).describe(
    "`auto` or pixels such as `1536x1024`. Vendors that have aspect ratios get the one within 2 %. Default `auto`.",
  ),
  aspect_ratio: optional(
    z.string().regex(/^[1-9]\d{0,3}:[1-9]\d{0,3}$/, "expected a ratio such as 16:9"),
  ).describe(
    "Such as `16:9`. Vendors that have sizes get the nearest. Must not contradict `size`. No default.",
  ),
  resolution: optional(z.enum(["1K", "2K", "4K"])).describe(
    "About 1, 4 or 16 megapixels. Default: the vendor's.",
  ),
  quality: optional(z.enum(["auto", "low", "medium", "high"])).describe(
    "Dropped and reported in `X-Translation-Loss` where the vendor has no such setting. Default `auto`.",
  ),
  response_format: optional(z.enum(["b64_json", "url"])).describe(
    "`url`: a signed URL that needs no key and is valid for an hour. Default `b64_json`.",
  ),
  output_format: optional(z.enum(["png", "jpeg", "webp"])).describe(
    "File format; one that the vendor doesn't offer is a 400. Default: the vendor's, usually `png`.",
  ),
  output_compression: optional(z.number().int().min(0).max(100)).describe(
    "Quality of JPEG and WEBP files in percent. Default: the vendor's.",
  ),
  background: optional(z.enum(["auto", "transparent", "opaque"])).describe("Default `auto`."),
  style: optional(z.enum(["vivid", "natural"])).describe("No default."),
  moderation: optional(z.enum(["auto", "low"])).describe("Default `auto`."),
  seed: optional(z.number().int().min(0).max(4_294_967_295)).describe(
    "The same seed gives a similar image. Default: random.",
  ),
  negative_prompt: optional(z.string().min(1).max(10_000)).describe(
    "What should not appear in the image. No default.",
  ),
  person_generation: optional(z.enum(["dont_allow", "allow_adult", "allow_all"])).describe(
    "Whether people may appear. Default: the vendor's.",
  ),
  images: optional(z.array(z.string().min(1)).min(1).max(16)).describe(
    "Images to edit as the prompt says, as `data:` or `https:` URLs. No default.",
  ),
  stream: optional(z.boolean()).describe(
    "Server-sent events with partial images; only for models of vendor-b that support it. Default false.",
  ),
  partial_images: optional(z.number().int().min(0).max(3)).describe(
    "Partial images that a stream sends, 0 to 3. Default 0.",
  ),
  user: endUserField,
  provider_options: providerOptions,
}).openapi("GenerateImageRequest");

const made = z.strictObject({
  b64_json: z.string().optional().describe("The file as base64, for `b64_json`."),
  url: z.string().optional().describe("URL of the image, for `url`."),
  mime_type: z.string().optional().describe("Media type, detected from the file."),
  width: z.number().int().optional().describe("In pixels, read from the file."),
  height: z.number().int().optional().describe("In pixels, read from the file."),
  revised_prompt: z.string().optional().describe("The prompt as the vendor rewrote it."),
  index: z.number().int().describe("Position, from 0."),
}).openapi("MadeImage");

const imageUsage = z.strictObject({
  images: z.number().int().describe("Images generated."),
  input_tokens: z.number().int().describe("Tokens of prompt and input images; 0 if not reported."),
  output_tokens: z.number().int().describe("Tokens of the generated images; 0 if not reported."),
  total_tokens: z.number().int().describe("Sum of both."),
  input_tokens_details: z.strictObject({
    text_tokens: z.number().int().describe("Of the prompt."),
    image_tokens: z.number().int().describe("Of the input images."),
  }).optional().describe("Breakdown of `input_tokens`, if the vendor reports it."),
  output_tokens_details: z.strictObject({
    text_tokens: z.number().int().describe("Tokens of text beside the images, reasoning included."),
    image_tokens: z.number().int().describe("Of the images."),
  }).optional().describe("Breakdown of `output_tokens`, if the vendor reports it."),
}).openapi("ImageUsage");

const imageAnswer = z.strictObject({
  created: z.number().int().describe("Unix time in seconds."),
  provider: z.string().describe("Label of the vendor that made them."),
  model: z.string().describe("The model, as the vendor calls it."),
  data: z.array(made).describe("The images; at least one."),
  filtered_count: z.number().int().describe(
    "Requested images that are missing: withheld by the vendor's safety rules, or failed.",
  ),
  usage: imageUsage.describe("Usage of the call."),
  cost_usd: z.string().optional().describe("What the call costs; absent when no price is known."),
}).openapi("ImageAnswer");

export const generateImage = defineContract({
  method: "post",
  path: "/imagen/v1/generate",
  operationId: "generateImage",
  summary: "Generate images",
  description:
    "One body for all vendors; `provider` chooses. A field that the vendor can't carry is 400, a hint is dropped and named in `X-Translation-Loss`. Images that the vendor withholds are counted in `filtered_count`. If it withholds all, the answer is 400 `content_policy_violation` and costs what the vendor charges for it, usually nothing.",
  tag: "images",
  scope: "images",
  dialect: "chat",
  body: imageRequest,
  answer: imageAnswer,
  media: { "text/event-stream": imageEvent },
  interaction: true,
  errors: callErrors,
});

/** `GET /api/v1/media/{sha256}`: media that was taken out of a stored payload. */
export const getMedia = defineContract({
  ...ofRecords(undefined, "get", "/api/v1/media/{sha256}", "getMedia"),
  summary: "Download media of a recorded call",
  description:
    "Media above `MEDIA_INLINE_BYTES` stands in stored payloads as `{sha256, bytes, mime_type, url}`; `url` is this path. Any key of the account whose payload names it may read it, and, without a key, whoever has a signed URL (valid for an hour). It is deleted with the last payload that names it. Types that a browser would execute are sent as attachments.",
  params: z.object({
    sha256: z.string().describe("SHA-256 of the bytes, 64 lower-case hex digits."),
  }),
  query: z.object({
    expires: z.string().optional().describe(
      "Of a signed URL: Unix time at which it expires.",
    ),
    signature: z.string().optional().describe("Of a signed URL: its signature."),
  }),
  media: {
    "*/*": z.string().openapi({ format: "binary" }).describe(
      "The bytes, with the type that the payload gave as `Content-Type`.",
    ),
  },
  errors: ["media_not_found"],
});
