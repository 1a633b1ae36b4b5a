import type { EncodedImages, ImageAsk, ImageCodec, Reference } from "../../kernel/image_codec.ts";
import { optionalField } from "../../kernel/fields.ts";
import { dataUrl } from "../../kernel/media_source.ts";
import { asRatio } from "../../kernel/picture_shape.ts";
import { withOptions } from "../../kernel/vendor_options.ts";
import { readImageList } from "./answer.ts";
import { lossesOf, noStream } from "../../kernel/image_losses.ts";

/** `/images/generations` with ratios instead of sizes, and edits as JSON. */
export const ratioGenerations: ImageCodec = {
  takesAddresses: true,
  hasModel: (model) => /\bimag/.test(model),
  encode,
  decode: (json) => readImageList(json, (entry) => entry.respect_moderation === false),
};

const shapes = {
  ratios: ["1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3", "2:1", "1:2"]
    .concat(["19.5:9", "9:19.5", "20:9", "9:20"]),
  resolutions: ["1K", "2K"],
} as const;

const decided = ["model", "prompt", "n", "response_format", "aspect_ratio", "resolution", "quality"]
  .concat(["image", "images"]);

function encode(ask: ImageAsk): EncodedImages {
  if (ask.stream) throw noStream(ask.model);
  const { ratio, resolution } = asRatio(ask, shapes);
  const pictures = ask.references.map(pictureOf);
  const body = withOptions(
    {
      model: ask.model,
      prompt: ask.prompt,
      n: ask.count,
      response_format: "b64_json",
      ...optionalField("aspect_ratio", ratio),
      ...optionalField("resolution", resolution?.toLowerCase()),
      ...optionalField("quality", ask.quality),
      ...optionalField("output_format", ask.format),
      ...optionalField("user", ask.user),
      ...(pictures.length > 1 ? { images: pictures } : optionalField("image", pictures[0])),
    },
    ask.options,
    decided,
  );
  return {
    calls: [{
      path: pictures.length > 0 ? "/images/edits" : "/images/generations",
      body: { type: "json", value: body },
      count: ask.count,
    }],
    losses: lossesOf(ask, ["quality", "user"]),
    tokensPerImage: 0,
    priced: { ...optionalField("quality", ask.quality), size: resolution ?? "1K" },
  };
}

function pictureOf(reference: Reference) {
  const url = reference.type === "url"
    ? reference.url
    : dataUrl(reference.mimeType, reference.data);
  return { url, type: "image_url" };
}
