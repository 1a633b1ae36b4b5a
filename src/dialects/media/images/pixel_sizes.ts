import { invalidValue } from "../../../shared/fault.ts";
import type { ImageAsk } from "../../kernel/image_codec.ts";
import {
  nearest,
  notAllowed,
  type PixelSize,
  type Ratio,
  readRatio,
  readSize,
  type Resolution,
  sizeText,
} from "../../kernel/picture_shape.ts";

/** The sizes of a model: a list, or any that follows some rules. */
export type Sizes = readonly [string, ...string[]] | "any";

/**
 * The requested size in pixels; undefined: the model decides. Throws `invalid_value` with the
 * allowed values.
 */
export function pixelSize(
  { size, ratio, resolution }: Pick<ImageAsk, "size" | "ratio" | "resolution">,
  sizes: Sizes,
): PixelSize | undefined {
  const shape = ratio === undefined ? undefined : readRatio(ratio);
  if (sizes === "any") {
    if (size) return checked(size);
    return shape || resolution ? computed(shape ?? { width: 1, height: 1 }, resolution) : undefined;
  }
  if (resolution !== undefined && resolution !== "1K") {
    throw notAllowed("resolution", "this model supports", ["1K"]);
  }
  if (size && !sizes.includes(sizeText(size))) {
    throw notAllowed("size", "this model supports", ["auto", ...sizes]);
  }
  const [first, ...others] = sizes;
  return size ?? (shape && nearest(shape, [readSize(first), ...others.map(readSize)]));
}

/** Both sides are multiples of this. */
const step = 16;
const longest = { width: 3840, height: 2160 };
const rules =
  "this model accepts any size whose sides are multiples of 16, with a ratio between 1:3 and 3:1 and at most 3840x2160 pixels; for example";
const examples = ["auto", "1024x1024", "1536x1024", "1024x1536", "3840x2160"];

function checked(size: PixelSize): PixelSize {
  if (isPossible(size)) return size;
  throw notAllowed("size", rules, examples);
}

function isPossible({ width, height }: PixelSize): boolean {
  const [long, short] = [Math.max(width, height), Math.min(width, height)];
  return width > 0 && width % step === 0 && height % step === 0 && long <= 3 * short &&
    long <= longest.width && width * height <= longest.width * longest.height;
}

/** Standard sizes of the common shapes. */
const standardSizes: readonly PixelSize[] = [
  { width: 1024, height: 1024 },
  { width: 1536, height: 1024 },
  { width: 1024, height: 1536 },
];
const pixelsOf: Readonly<Record<Resolution, number>> = {
  "1K": 1024 ** 2,
  "2K": 2048 ** 2,
  "4K": longest.width * longest.height,
};

/** The size of exactly this shape that is closest to the resolution. */
function computed(shape: Ratio, resolution: Resolution | undefined): PixelSize {
  const standard = standardSizes.find(({ width, height }) =>
    width * shape.height === height * shape.width
  );
  if (standard && resolution === undefined) return standard;
  const divisor = common(shape.width, shape.height);
  const unit = { width: step * shape.width / divisor, height: step * shape.height / divisor };
  const ideal = Math.sqrt(pixelsOf[resolution ?? "1K"] / (unit.width * unit.height));
  for (let times = Math.max(1, Math.round(ideal)); times > 0; times--) {
    const size = { width: unit.width * times, height: unit.height * times };
    if (isPossible(size)) return size;
  }
  throw invalidValue("aspect_ratio", `${rules} ${examples.join(", ")}`);
}

function common(one: number, other: number): number {
  return other === 0 ? one : common(other, one % other);
}
