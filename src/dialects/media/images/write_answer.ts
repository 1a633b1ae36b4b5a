import { Buffer } from "node:buffer";
import { nanosToUsd } from "../../../base/money.ts";
import { type PictureFacts, pictureFacts } from "../../../base/picture_facts.ts";
import { mapInSteps, type Steps } from "../../../base/steps.ts";
import { writeJson } from "../../../base/write_json.ts";
import { optionalField } from "../../kernel/fields.ts";
import type { JsonRecord } from "../../kernel/json.ts";
import type { GeneratedImage } from "../../kernel/image_codec.ts";
import type { BillableUsage } from "../../../pricing/pricing.ts";

export interface ImageAnswerFacts {
  created: number;
  provider: string;
  model: string;
  images: readonly GeneratedImage[];
  /** Images requested and not generated. */
  missing: number;
  usage: BillableUsage;
  costNanos: bigint | null;
}

export type ImageSource = { readonly b64_json: string } | { readonly url: string | undefined };

/** Writes the answer as JSON in steps. `sources` has one for each image. */
export function* writeImageAnswer(
  facts: ImageAnswerFacts,
  sources: readonly ImageSource[],
): Steps<string> {
  const described = yield* mapInSteps(facts.images, describe, 1);
  return yield* writeJson({
    created: facts.created,
    provider: facts.provider,
    model: facts.model,
    data: sources.map((source, index) => ({ ...source, ...described[index], index })),
    filtered_count: facts.missing,
    usage: usageOf(facts),
    ...optionalField(
      "cost_usd",
      facts.costNanos === null ? undefined : nanosToUsd(facts.costNanos),
    ),
  });
}

export function imageSource({ data, url }: GeneratedImage): ImageSource {
  return data === undefined ? { url } : { b64_json: data };
}

/** An image's header is at its start, though in a JPEG a preview may precede it. */
const headChars = 256 * 1024;

function describe(image: GeneratedImage): JsonRecord {
  const { mimeType, ...size } = factsOf(image);
  return {
    ...optionalField("mime_type", mimeType),
    ...size,
    ...optionalField("revised_prompt", image.revisedPrompt),
  };
}

function factsOf({ data, file }: GeneratedImage): Partial<PictureFacts> {
  if (file) return pictureFacts(file.content) ?? {};
  if (data === undefined) return {};
  return pictureFacts(Buffer.from(data.slice(0, headChars), "base64")) ??
    pictureFacts(Buffer.from(data, "base64")) ?? {};
}

/** A superset of the usage that image clients read. */
function usageOf({ usage, images }: ImageAnswerFacts) {
  const { input, output, imageInput, imageOutput } = usage;
  return {
    images: images.length,
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    ...(imageInput === undefined ? {} : {
      input_tokens_details: {
        text_tokens: Math.max(0, input - imageInput),
        image_tokens: imageInput,
      },
    }),
    ...(imageOutput === undefined || output === 0 ? {} : {
      output_tokens_details: {
        text_tokens: Math.max(0, output - imageOutput),
        image_tokens: imageOutput,
      },
    }),
  };
}
