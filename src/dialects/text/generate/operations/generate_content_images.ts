import { unreadableAnswer } from "../../../../shared/fault.ts";
import { optionalField } from "../../../kernel/fields.ts";
import type { EncodedImages, ImageAnswer, ImageAsk } from "../../../kernel/image_codec.ts";
import { asRecord, asString, isRecord, type JsonRecord, recordsIn } from "../../../kernel/json.ts";
import { standardBase64 } from "../../../kernel/media_source.ts";
import { asRatio, notAllowed } from "../../../kernel/picture_shape.ts";
import { withOptions } from "../../../kernel/vendor_options.ts";
import { isBlocked } from "../finish_reason.ts";
import { upstreamPath } from "../models.ts";
import { camelNames } from "../request/fields.ts";
import { readUsage } from "../usage.ts";

const ratios = ["1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"];

const decided = ["contents", "generationConfig.candidateCount", "generationConfig.imageConfig"]
  .concat(["generationConfig.responseModalities"]);

/** `:generateContent` of models that can answer with images. */
export function encodeContent(
  ask: ImageAsk,
  lossesOf: (carried: readonly "seed"[]) => EncodedImages["losses"],
): EncodedImages {
  if (ask.format !== undefined && ask.format !== "png") {
    throw notAllowed("output_format", "this model supports", ["png"]);
  }
  const isOlder = ask.model.startsWith("gemini-2");
  const resolutions = isOlder ? ["1K"] as const : ["1K", "2K", "4K"] as const;
  const { ratio, resolution } = asRatio(ask, { ratios, resolutions });
  const config = {
    ...optionalField("aspectRatio", ratio),
    ...optionalField("imageSize", resolution),
  };
  const pictures = ask.references.flatMap((one) =>
    one.type === "base64" ? [{ inlineData: { mimeType: one.mimeType, data: one.data } }] : []
  );
  const body = withOptions(
    {
      contents: [{ role: "user", parts: [...pictures, { text: ask.prompt }] }],
      generationConfig: {
        responseModalities: ["TEXT", "IMAGE"],
        ...(Object.keys(config).length > 0 ? { imageConfig: config } : {}),
        ...optionalField("seed", ask.seed),
      },
    },
    camelNames(ask.options),
    decided,
  );
  // A call returns one image: more images take more calls.
  const calls = Array.from({ length: ask.count }, () => ({
    path: upstreamPath(ask.model, false),
    count: 1,
    body: { type: "json", value: body } as const,
  }));
  return {
    calls,
    losses: lossesOf(["seed"]),
    // The models' output limit.
    tokensPerImage: 32_768,
    priced: { size: resolution ?? "1K" },
  };
}

/** Reads the images of an answer. Drafts are marked as thoughts and left out. */
export function decodeContent(json: unknown): ImageAnswer {
  if (!isRecord(json)) throw unreadableAnswer("an answer that isn't an object");
  const [candidate] = recordsIn(json.candidates);
  const images = partsOf(candidate).flatMap((part) => {
    const data = isRecord(part.inlineData)
      ? standardBase64(asString(part.inlineData.data) ?? "")
      : "";
    return data && part.thought !== true ? [{ data }] : [];
  });
  const reported = readUsage(json.usageMetadata);
  // Without a list of modalities all output beside thoughts counts as images.
  const usage = reported && images.length > 0 && reported.imageOutput === undefined
    ? { ...reported, imageOutput: reported.output - (reported.reasoning ?? 0) }
    : reported;
  return {
    images,
    ...(images.length > 0 ? {} : missingReason(json, candidate)),
    ...optionalField("usage", usage),
  };
}

/** Returns why there is no image: withheld by a rule, or not generated. */
function missingReason(
  json: JsonRecord,
  candidate: JsonRecord | undefined,
): { refusal: string } | { failure: string } {
  const feedback = asRecord(json.promptFeedback);
  const finish = asString(candidate?.finishReason) ?? "";
  const message = asString(candidate?.finishMessage);
  const hasText = partsOf(candidate).some(({ thought, text }) =>
    thought !== true && asString(text)
  );
  if (isBlocked(feedback.blockReason)) {
    return { refusal: asString(feedback.blockReasonMessage) ?? `prompt: ${feedback.blockReason}` };
  }
  if (withheld.test(finish)) return { refusal: message ?? finish };
  return { failure: `no image, finish ${finish || "none"}${hasText ? ", but text" : ""}` };
}

const withheld = /SAFETY|PROHIBITED|RECITATION|BLOCKLIST|SPII/;

function partsOf(candidate: JsonRecord | undefined): JsonRecord[] {
  return recordsIn(asRecord(candidate?.content).parts);
}
