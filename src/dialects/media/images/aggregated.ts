import type { EncodedImages, ImageAsk, ImageCodec } from "../../kernel/image_codec.ts";
import { invalidValue } from "../../../shared/fault.ts";
import { optionalField } from "../../kernel/fields.ts";
import { dataUrl } from "../../kernel/media_source.ts";
import { checkAnySize, sizeText } from "../../kernel/picture_shape.ts";
import { withOptions } from "../../kernel/vendor_options.ts";
import { readImageList } from "./answer.ts";
import { lossesOf, noStream } from "../../kernel/image_losses.ts";

/** `/images` of OpenRouter: one format for the models of many vendors. */
export const aggregated: ImageCodec = {
  takesAddresses: true,
  hasModel: () => true,
  encode,
  decode: (json) => readImageList(json),
};

const decided = ["model", "prompt", "n", "size", "aspect_ratio", "resolution", "quality", "stream"]
  .concat(["input_references"]);

function encode(ask: ImageAsk): EncodedImages {
  if (ask.stream) throw noStream(ask.model);
  checkAnySize(ask.size);
  if (ask.size && ask.resolution) {
    throw invalidValue("resolution", "this vendor takes either a size or a resolution, not both");
  }
  const body = withOptions(
    {
      model: ask.model,
      prompt: ask.prompt,
      n: ask.count,
      ...optionalField("size", ask.size && sizeText(ask.size)),
      // A size implies the ratio.
      ...(ask.size ? {} : optionalField("aspect_ratio", ask.ratio)),
      ...optionalField("resolution", ask.resolution),
      ...optionalField("quality", ask.quality),
      ...optionalField("background", ask.background),
      ...optionalField("output_format", ask.format),
      ...optionalField("output_compression", ask.compression),
      ...optionalField("seed", ask.seed),
      ...optionalField("user", ask.user),
      ...(ask.references.length === 0 ? {} : {
        input_references: ask.references.map((one) => ({
          type: "image_url",
          image_url: { url: one.type === "url" ? one.url : dataUrl(one.mimeType, one.data) },
        })),
      }),
    },
    ask.options,
    decided,
  );
  return {
    calls: [{ path: "/images", body: { type: "json", value: body }, count: ask.count }],
    losses: lossesOf(ask, ["quality", "background", "compression", "seed", "user"]),
    // The largest limit of any of its models.
    tokensPerImage: 32_768,
    priced: {
      ...optionalField("quality", ask.quality),
      ...optionalField("size", ask.size ? sizeText(ask.size) : ask.resolution),
    },
  };
}
