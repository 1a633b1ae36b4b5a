import type { z } from "zod";
import type { imageRequest } from "../../../../contracts/media/images.ts";
import { invalidValue } from "../../../shared/fault.ts";
import { cutPromptTags, type PromptTags } from "../../../shared/prompt_tags.ts";
import type { ImageAsk, Reference } from "../../kernel/image_codec.ts";
import type { JsonRecord } from "../../kernel/json.ts";
import { base64Source, mediaSource } from "../../kernel/media_source.ts";
import { isOfRatio, noSize, readAskedSize, readRatio } from "../../kernel/picture_shape.ts";

export type ImageBody = z.output<typeof imageRequest>;

/**
 * Reads a request that has passed the contract, for this model; the options are for its vendor.
 * Throws `invalid_value` for contradicting fields and invalid addresses.
 */
export function readImageRequest(
  body: ImageBody,
  target: { model: string; options: JsonRecord },
): ImageAsk & { readonly tags: PromptTags } {
  const { tags, text: prompt } = cutPromptTags(body.prompt, "prompt");
  const size = body.size == null || body.size === "auto" ? undefined : readAskedSize(body.size);
  const ratio = body.aspect_ratio ?? undefined;
  if (size && size !== noSize && ratio !== undefined && !isOfRatio(size, readRatio(ratio))) {
    throw invalidValue(
      "aspect_ratio",
      `${ratio} contradicts the size ${body.size}; give one of them`,
    );
  }
  return {
    ...target,
    tags,
    prompt,
    count: body.n ?? 1,
    size,
    ratio,
    resolution: body.resolution ?? undefined,
    quality: unlessAuto(body.quality),
    format: body.output_format ?? undefined,
    compression: body.output_compression ?? undefined,
    background: unlessAuto(body.background),
    style: body.style ?? undefined,
    moderation: unlessAuto(body.moderation),
    seed: body.seed ?? undefined,
    negativePrompt: body.negative_prompt ?? undefined,
    personGeneration: body.person_generation ?? undefined,
    references: (body.images ?? []).map(readReference),
    stream: body.stream === true,
    asAddress: body.response_format === "url",
    partialImages: body.partial_images ?? undefined,
    user: body.user ?? undefined,
  };
}

/** The field by which a caller asks for an address in place of the picture. */
export const addressField = "response_format";

/** The value, or undefined if it is null or `auto`, the default. */
function unlessAuto<Value extends string>(
  value: Value | null | undefined,
): Exclude<Value, "auto"> | undefined {
  return value == null || value === "auto" ? undefined : value as Exclude<Value, "auto">;
}

function readReference(address: string, index: number): Reference {
  const param = `images[${index}]`;
  const source = /^(data:|https?:)/i.test(address) ? mediaSource(address) : undefined;
  if (source?.type === "url") return { type: "url", url: source.url };
  const picture = source && base64Source(source.data, source.mimeType);
  if (picture && imageType.test(picture.mimeType)) {
    return { type: "base64", mimeType: picture.mimeType, data: picture.data };
  }
  throw invalidValue(param, "expected a data: URL of an image, or an https: URL");
}

/**
 * The type is written into the header of a part in the vendor's form, where a line break would
 * start another field.
 */
const imageType = /^image\/[\w.+-]+$/;
