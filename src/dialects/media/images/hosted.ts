import type { EncodedImages, ImageAsk, ImageCodec } from "../../kernel/image_codec.ts";
import { invalidValue } from "../../../shared/fault.ts";
import { optionalField } from "../../kernel/fields.ts";
import {
  checkAnySize,
  notAllowed,
  type PixelSize,
  readRatio,
  sizeText,
} from "../../kernel/picture_shape.ts";
import { withOptions } from "../../kernel/vendor_options.ts";
import { readImageList } from "./answer.ts";
import { lossesOf, noStream } from "../../kernel/image_losses.ts";

/** `/images/generations` of a host of open models: width, height, seed and the like. */
export const hosted: ImageCodec = {
  takesAddresses: true,
  hasModel: () => true,
  encode,
  decode: (json) => readImageList(json),
};

const decided = ["model", "prompt", "n", "response_format", "width", "height"];

function encode(ask: ImageAsk): EncodedImages {
  if (ask.stream) throw noStream(ask.model);
  if (ask.references.length > 0) {
    throw invalidValue("images", "this vendor does not support image editing");
  }
  if (ask.format === "webp") throw notAllowed("output_format", "this vendor has", ["png", "jpeg"]);
  checkAnySize(ask.size);
  const size = sizeOf(ask);
  const body = withOptions(
    {
      model: ask.model,
      prompt: ask.prompt,
      n: ask.count,
      response_format: "b64_json",
      ...optionalField("width", size?.width),
      ...optionalField("height", size?.height),
      ...optionalField("seed", ask.seed),
      ...optionalField("negative_prompt", ask.negativePrompt),
      ...optionalField("output_format", ask.format),
    },
    ask.options,
    decided,
  );
  return {
    calls: [{ path: "/images/generations", body: { type: "json", value: body }, count: ask.count }],
    losses: lossesOf(ask, ["seed", "negativePrompt"]),
    tokensPerImage: 0,
    priced: optionalField("size", size && sizeText(size)),
  };
}

const side = { "1K": 1024, "2K": 2048, "4K": 4096 } as const;
/** Sides are multiples of this number of pixels. */
const step = 16;

/**
 * Returns the requested size, or else the ratio in pixels: about as many as a square of the
 * resolution has, with sides in whole steps.
 */
function sizeOf({ size, ratio, resolution }: ImageAsk): PixelSize | undefined {
  if (size || (ratio === undefined && resolution === undefined)) return size;
  const shape = readRatio(ratio ?? "1:1");
  const quotient = Math.sqrt(shape.width / shape.height);
  const pixels = (length: number) => Math.max(step, Math.round(length / step) * step);
  const length = side[resolution ?? "1K"];
  return { width: pixels(length * quotient), height: pixels(length / quotient) };
}
