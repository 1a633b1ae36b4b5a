import { Buffer } from "node:buffer";
import { sha256Hex } from "../../../base/hash.ts";
import { nanosToUsd } from "../../../base/money.ts";
import { pictureFacts } from "../../../base/picture_facts.ts";
import { mapInSteps, type Steps } from "../../../base/steps.ts";
import { writeJson } from "../../../base/write_json.ts";
import { optionalField } from "../../kernel/fields.ts";
import type { GeneratedImage } from "../../kernel/image_codec.ts";
import { base64Bytes, dataUrl } from "../../kernel/media_source.ts";
import { unreadableAnswer } from "../../../shared/fault.ts";
import type { BillableUsage } from "../../../pricing/pricing.ts";

interface ImageAnswerFacts {
  created: number;
  provider: string;
  model: string;
  images: readonly GeneratedImage[];
  /** Images requested and not generated. */
  missing: number;
  usage: BillableUsage;
  costNanos: bigint | null;
  /** The address of a file with this hash; undefined: images are returned as base64. */
  addressOf: ((sha256: string) => string) | undefined;
}

/**
 * Writes the answer for the caller and for the record, both as JSON text, in steps. Where the caller
 * gets addresses, the record has the data, so that the images are stored.
 */
export function* writeImageAnswer(
  facts: ImageAnswerFacts,
): Steps<{ text: string; recordText: string }> {
  const { addressOf } = facts;
  const described = yield* mapInSteps(facts.images, (image) => ({ image, ...describe(image) }), 1);
  const write = (sources: readonly Readonly<Record<string, string>>[]) =>
    writeJson({
      created: facts.created,
      provider: facts.provider,
      model: facts.model,
      data: described.map(({ image, mimeType, ...size }, index) => ({
        ...sources[index],
        ...optionalField("mime_type", mimeType),
        ...size,
        ...optionalField("revised_prompt", image.revisedPrompt),
        index,
      })),
      filtered_count: facts.missing,
      usage: usageOf(facts),
      ...optionalField(
        "cost_usd",
        facts.costNanos === null ? undefined : nanosToUsd(facts.costNanos),
      ),
    });
  if (!addressOf) {
    const text = yield* write(
      facts.images.map(({ data, url }): Record<string, string> =>
        data === undefined ? { url: url! } : { b64_json: data }
      ),
    );
    return { text, recordText: text };
  }
  const addresses = yield* mapInSteps(facts.images, ({ data, url }) => ({
    url: data === undefined ? url! : addressOf(hashOf(data)),
  }), 1);
  const inline = described.map(({ image: { data, url }, mimeType }) => ({
    url: data === undefined ? url! : dataUrl(mimeType ?? "application/octet-stream", data),
  }));
  return { text: yield* write(addresses), recordText: yield* write(inline) };
}

function hashOf(data: string): string {
  const bytes = base64Bytes(data);
  if (bytes) return sha256Hex(bytes);
  throw unreadableAnswer("an image that isn't base64");
}

/** An image's header is at its start, though in a JPEG a preview may precede it. */
const headChars = 256 * 1024;

function describe(
  { data }: GeneratedImage,
): { mimeType?: string | undefined; width?: number; height?: number } {
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
