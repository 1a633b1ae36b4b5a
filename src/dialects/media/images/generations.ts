import type {
  EncodedImages,
  FormPart,
  ImageAsk,
  ImageCall,
  ImageCodec,
  ImageStreamReader,
  VendorBody,
} from "../../kernel/image_codec.ts";
import { invalidValue } from "../../../shared/fault.ts";
import { optionalField } from "../../kernel/fields.ts";
import { asString, isRecord, type JsonRecord } from "../../kernel/json.ts";
import { notAllowed, type PixelSize, sizeText } from "../../kernel/picture_shape.ts";
import { carriesError } from "../../kernel/vendor_error.ts";
import { withOptions } from "../../kernel/vendor_options.ts";
import { imageWork } from "../../kernel/image_work.ts";
import { readImage, readImageList, readImageUsage } from "./answer.ts";
import { lossesOf, noStream } from "../../kernel/image_losses.ts";
import { framesOf, imageTokens, partialImageTokens } from "../../kernel/image_tokens.ts";
import { pixelSize, type Sizes } from "./pixel_sizes.ts";

/** OpenAI's `/images/generations` and `/images/edits`, which define this format. */
export const generations: ImageCodec = {
  takesAddresses: false,
  hasModel: (model) => /^(gpt-image|chatgpt-image|dall-e-[23]\b)/.test(model),
  hostedWork: imageWork,
  encode,
  decode: (json) => readImageList(json),
  stream: { read: readEvent },
};

/** The limits and features of a family of models. */
interface Family {
  readonly begins: string;
  readonly sizes: Sizes;
  readonly promptChars: number;
  readonly most: number;
  /** Accepts output format, background, moderation and streaming; always returns base64. */
  readonly isModern: boolean;
  readonly hasEdits: boolean;
}

const squares = ["1024x1024", "1536x1024", "1024x1536"] as const;
const modern = { promptChars: 32_000, most: 10, isModern: true, hasEdits: true } as const;
const older = { isModern: false } as const;

/** The first entry that the model's name starts with applies. */
const families: readonly Family[] = [
  {
    ...older,
    begins: "dall-e-2",
    sizes: ["1024x1024", "256x256", "512x512"],
    promptChars: 1000,
    most: 10,
    hasEdits: true,
  },
  {
    ...older,
    begins: "dall-e-3",
    sizes: ["1024x1024", "1792x1024", "1024x1792"],
    promptChars: 4000,
    most: 1,
    hasEdits: false,
  },
  { ...modern, begins: "gpt-image-2", sizes: "any" },
  { ...modern, begins: "", sizes: squares },
];

function encode(ask: ImageAsk): EncodedImages {
  const family = families.find(({ begins }) => ask.model.startsWith(begins))!;
  const [size, quality] = [pixelSize(ask, family.sizes), qualityOf(ask, family)];
  check(ask, family);
  const isStyled = ask.model.startsWith("dall-e-3");
  const newer = ["background", "moderation", "compression"] as const;
  const common = {
    model: ask.model,
    prompt: ask.prompt,
    ...optionalField("size", size && sizeText(size)),
    ...optionalField("quality", quality),
    ...optionalField("user", ask.user),
    ...(family.isModern ? modernFields(ask) : { response_format: "b64_json" }),
    ...(isStyled ? optionalField("style", ask.style) : {}),
  };
  const bodies = sizeShares(ask.count, family.most).map((n) => ({ ...common, n }));
  return {
    calls: bodies.map((body) => callOf(ask, body)),
    losses: lossesOf(ask, [
      "user",
      ...(family.isModern ? newer : []),
      ...(quality === undefined ? [] : ["quality"] as const),
      ...(isStyled ? ["style"] as const : []),
    ]),
    tokensPerImage: tokensAtMost(size, quality, ask),
    priced: {
      ...optionalField("quality", quality ?? (family.isModern ? undefined : "standard")),
      ...optionalField("size", size ? sizeText(size) : family.isModern ? undefined : "1024x1024"),
    },
  };
}

/** Splits a number of images into calls of at most `most`. */
function sizeShares(count: number, most: number): number[] {
  const calls = Math.ceil(count / most);
  return Array.from({ length: calls }, (_, index) => Math.min(most, count - index * most));
}

function check(ask: ImageAsk, family: Family): void {
  if ([...ask.prompt].length > family.promptChars) {
    throw invalidValue("prompt", `at most ${family.promptChars} characters for ${ask.model}`);
  }
  if (!family.isModern && ask.format !== undefined && ask.format !== "png") {
    throw notAllowed("output_format", "this model supports", ["png"]);
  }
  if (!family.isModern && ask.stream) throw noStream(ask.model);
  if (ask.references.length > 0 && !family.hasEdits) {
    throw invalidValue(
      "images",
      `${ask.model} does not support image editing; gpt-image models do`,
    );
  }
  if (ask.background === "transparent" && ask.format === "jpeg") {
    throw notAllowed("output_format", "a transparent background needs", ["png", "webp"]);
  }
}

function qualityOf({ model, quality }: ImageAsk, family: Family): string | undefined {
  if (family.isModern) return quality;
  if (quality === undefined || !model.startsWith("dall-e-3")) return undefined;
  return quality === "high" ? "hd" : "standard";
}

function modernFields(ask: ImageAsk): JsonRecord {
  return {
    ...optionalField("output_format", ask.format),
    ...optionalField("output_compression", ask.compression),
    ...optionalField("background", ask.background),
    ...optionalField("moderation", ask.moderation),
    ...(ask.stream ? { stream: true, ...optionalField("partial_images", ask.partialImages) } : {}),
  };
}

/** Fields that only this service may set, since the price depends on them. */
const decided = ["model", "prompt", "n", "size", "quality", "stream", "response_format", "image"]
  .concat("partial_images");

function callOf(ask: ImageAsk, fields: JsonRecord & { n: number }): ImageCall {
  const body = withOptions(fields, ask.options, decided);
  if (ask.references.length === 0) {
    const value = { type: "json", value: body } as const;
    return { path: "/images/generations", body: value, count: fields.n };
  }
  return { path: "/images/edits", body: formOf(body, ask), count: fields.n };
}

/** Edits are forms with the images as files. */
function formOf(body: JsonRecord, ask: ImageAsk): VendorBody {
  const parts = Object.entries(body).map(([name, value]): FormPart => ({
    name,
    text: typeof value === "string" ? value : JSON.stringify(value),
  }));
  const files = ask.references.flatMap((picture, index): FormPart[] => {
    if (picture.type !== "base64") return [];
    const kind = picture.mimeType.slice("image/".length);
    return [{
      name: ask.references.length > 1 ? "image[]" : "image",
      fileName: `image-${index}.${kind}`,
      mimeType: picture.mimeType,
      data: picture.data,
    }];
  });
  return { type: "form", parts: [...parts, ...files] };
}

/** Returns the maximum number of output tokens of one image, including its partial images. */
function tokensAtMost(size: PixelSize | undefined, quality: string | undefined, ask: ImageAsk) {
  // A model without fixed sizes may choose a larger one than usual.
  const larger = size === undefined && ask.model.startsWith("gpt-image-2") ? 2 : 1;
  const named = quality === "auto" ? undefined : quality;
  const picture = imageTokens(named, size && sizeText(size));
  return framesOf(ask.options) * larger * picture + (ask.partialImages ?? 0) * partialImageTokens;
}

function readEvent(event: unknown): ReturnType<ImageStreamReader["read"]> {
  if (!isRecord(event)) return {};
  if (carriesError(event)) return { error: event };
  if (event.type === "error") return { error: { error: event } };
  const type = asString(event.type) ?? "";
  if (type.endsWith(".partial_image")) return { isPartial: true };
  if (!type.endsWith(".completed")) return {};
  const [image] = readImage(event);
  const usage = readImageUsage(event.usage);
  return { ...(image ? { image } : {}), ...(usage ? { usage } : {}) };
}
