import { z } from "@hono/zod-openapi";
import { maxEntries, optional, upTo } from "../kernel/common.ts";
import { defineContract } from "../kernel/contract.ts";
import { imageEvent } from "./media_stream.ts";
import { endUser, formFile, operationModel, operationPath } from "./operation_paths.ts";
import { summaryOf, type VendorFamily } from "../calls/vendors.ts";

const prompt = z.string().min(1).describe(
  "What the image should show. Tag lines at its start are recorded and removed.",
);

const imageRequest = z.looseObject({
  model: operationModel.openapi({ example: "gpt-image-2" }),
  prompt,
  n: optional(z.number().int().min(1).max(10)).describe("How many images. Default 1."),
  size: optional(z.string()).describe("`auto` or `WIDTHxHEIGHT` in pixels. Default `auto`."),
  quality: optional(z.string()).describe(
    "`auto`, `low`, `medium`, `high`; older models `standard`, `hd`. Default the vendor's.",
  ),
  stream: optional(z.boolean()).describe("Answer as server-sent events. Default false."),
  partial_images: optional(z.number().int().min(0).max(3)).describe(
    "Partial images that a stream sends before the final one. Default 0.",
  ),
  user: endUser,
}).openapi("ImageRequest");

const ignoredField = upTo(maxEntries.others).optional();

const imageEditRequest = imageRequest.extend({
  image: ignoredField.describe(
    'The image to start from; vendor-g takes `{type: "image_url", url}`.',
  ),
  images: ignoredField.describe(
    "The images to start from; vendor-b takes `{image_url}`, vendor-g the same as in `image`.",
  ),
  mask: ignoredField.describe(
    "Image whose transparent areas are to be replaced, as vendor-b's.",
  ),
}).openapi("ImageEditRequest");

/** A number in a form, where it is text. */
const numeral = (least: number, most: number) =>
  optional(
    z.string().refine(
      (text) => /^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most,
      `expected a whole number from ${least} to ${most}`,
    ),
  );

const imageEditForm = z.looseObject({
  model: operationModel.openapi({ example: "gpt-image-2" }),
  prompt,
  image: z.union([formFile, z.array(formFile).max(maxEntries.others)]).optional().describe(
    "The image to start from; several as `image[]`.",
  ),
  "image[]": z.union([formFile, z.array(formFile).max(maxEntries.others)]).optional().describe(
    "The images to start from.",
  ),
  mask: formFile.optional().describe("Image whose transparent areas are to be replaced."),
  n: numeral(1, 10).describe("How many images. Default 1."),
  size: optional(z.string()).describe("`auto` or `WIDTHxHEIGHT` in pixels. Default `auto`."),
  quality: optional(z.string()).describe(
    "`auto`, `low`, `medium` or `high`. Default the vendor's.",
  ),
  stream: optional(z.enum(["true", "false"])).describe(
    "Answer as server-sent events. Default `false`.",
  ),
  partial_images: numeral(0, 3).describe(
    "Partial images that a stream sends before the final one. Default 0.",
  ),
  user: endUser,
}).check(({ value, issues }) => {
  if (value.image !== undefined || value["image[]"] !== undefined) return;
  const missing = { code: "invalid_type", expected: "object", input: undefined } as const;
  issues.push({ ...missing, path: ["image"], message: "expected a file" });
}).openapi("ImageEditForm");

const imageList = z.looseObject({
  created: z.number().int().optional().describe("Unix time in seconds."),
  data: z.array(z.looseObject({
    b64_json: z.string().optional().describe("The image as base64."),
    url: z.string().optional().describe("The vendor's temporary URL of the image."),
    revised_prompt: z.string().optional().describe("The prompt as the vendor rewrote it."),
  })).describe("The images."),
  usage: z.looseObject({
    input_tokens: z.number().int().optional().describe("Tokens of prompt and input images."),
    output_tokens: z.number().int().optional().describe("Tokens of the generated images."),
  }).optional().describe("Tokens; absent if the vendor bills per image."),
}).openapi("ImageList");

const streamed = { "text/event-stream": imageEvent };

/** `POST …/images/generations` of one vendor's family. */
export function familyImages(family: VendorFamily) {
  return defineContract({
    ...operationPath(family, "images/generations", "createImage"),
    summary: summaryOf("Generate images", family),
    description: "As the vendor takes it; fields not listed here are passed on unchanged.",
    body: imageRequest,
    answer: imageList,
    media: streamed,
  });
}

/** `POST …/images/edits` of one vendor's family, as JSON and, for most vendors, as a form. */
export function familyImageEdits(family: VendorFamily) {
  return defineContract({
    ...operationPath(family, "images/edits", "createImageEdit"),
    summary: summaryOf("Edit images", family),
    description: "As the vendor takes it; fields not listed here are passed on unchanged.",
    body: imageEditRequest,
    ...(family.takesNoForms ? {} : { form: imageEditForm }),
    answer: imageList,
    media: streamed,
  });
}
