import { invalidValue, unreadableAnswer } from "../../../../shared/fault.ts";
import { optionalField } from "../../../kernel/fields.ts";
import type { EncodedImages, ImageAnswer, ImageAsk } from "../../../kernel/image_codec.ts";
import { asString, isRecord, recordsIn } from "../../../kernel/json.ts";
import { standardBase64 } from "../../../kernel/media_source.ts";
import { asRatio, notAllowed, type Resolution } from "../../../kernel/picture_shape.ts";
import { withOptions } from "../../../kernel/vendor_options.ts";
import { methodPath } from "../models.ts";

const ratios = ["1:1", "3:4", "4:3", "9:16", "16:9"];
const most = 4;

const decided = ["instances", "parameters.sampleCount", "parameters.imageSize"]
  // An older name of the size.
  .concat("parameters.sampleImageSize");

/** `:predict` of the models for images only. */
export function encodePredict(
  ask: ImageAsk,
  lossesOf: (carried: readonly Carried[]) => EncodedImages["losses"],
): EncodedImages {
  if (ask.references.length > 0) {
    throw invalidValue(
      "images",
      `${ask.model} does not support image editing; gemini image models do`,
    );
  }
  if (ask.format === "webp") {
    throw notAllowed("output_format", "this model supports", ["png", "jpeg"]);
  }
  const { ratio, resolution } = asRatio(ask, { ratios, resolutions: resolutionsOf(ask.model) });
  const type = ask.format ?? (ask.compression === undefined ? undefined : "jpeg");
  const parameters = {
    ...optionalField("aspectRatio", ratio),
    ...optionalField("imageSize", resolution),
    ...optionalField("negativePrompt", ask.negativePrompt),
    ...optionalField("personGeneration", ask.personGeneration),
    ...optionalField("outputMimeType", type && `image/${type}`),
    ...optionalField("outputCompressionQuality", ask.compression),
    // The watermark differs each time, so a seed requires leaving it out.
    ...(ask.seed === undefined ? {} : { seed: ask.seed, addWatermark: false }),
    includeRaiReason: true,
  };
  const counts = Array.from(
    { length: Math.ceil(ask.count / most) },
    (_, index) => Math.min(most, ask.count - index * most),
  );
  return {
    calls: counts.map((count) => ({
      path: methodPath(ask.model, "predict"),
      count,
      body: {
        type: "json",
        value: withOptions(
          {
            instances: [{ prompt: ask.prompt }],
            parameters: { sampleCount: count, ...parameters },
          },
          ask.options,
          decided,
        ),
      },
    })),
    losses: lossesOf(["negativePrompt", "personGeneration", "compression", "seed"]),
    tokensPerImage: 0,
    priced: { size: resolution ?? "1K" },
  };
}

type Carried = "negativePrompt" | "personGeneration" | "compression" | "seed";

function resolutionsOf(model: string): readonly Resolution[] {
  const isSmall = model.includes("fast") || /^imagen-[123]/.test(model);
  return isSmall ? ["1K"] : ["1K", "2K"];
}

/** Reads the images of an answer. Withheld images are missing, or an entry gives the reason. */
export function decodePredict(json: unknown): ImageAnswer {
  if (!isRecord(json)) throw unreadableAnswer("an answer that isn't an object");
  const entries = recordsIn(json.predictions);
  const images = entries.flatMap((entry) => {
    const data = standardBase64(asString(entry.bytesBase64Encoded) ?? "");
    return data ? [{ data, ...optionalField("revisedPrompt", asString(entry.prompt)) }] : [];
  });
  const reason = entries.map((entry) => asString(entry.raiFilteredReason)).find((one) => one);
  if (reason === undefined && images.length === 0) {
    return entries.some(({ bytesBase64Encoded: data }) => asString(data))
      ? { images, failure: "an image that can't be read" }
      : { images, refusal: "All images were withheld." };
  }
  return { images, ...optionalField("refusal", reason) };
}
