import { Fault } from "../../shared/fault.ts";
import { invalidValue } from "./fields.ts";

/** Pixels. */
export interface PixelSize {
  readonly width: number;
  readonly height: number;
}

/** Whole numbers, as written, such as 16 and 9. */
export type Ratio = PixelSize;

/** How large a picture is, in words: about one, four or sixteen million pixels. */
export type Resolution = "1K" | "2K" | "4K";

/** Stands for a text that is no size, until the model is known whose sizes the refusal lists. */
export const noSize: PixelSize = { width: 0, height: 0 };

/** A caller's text. */
export function readAskedSize(text: string): PixelSize {
  return /^[1-9]\d{0,4}x[1-9]\d{0,4}$/.test(text) ? readSize(text) : noSize;
}

/** For vendors that take any size. Throws `invalid_value` for a text that was none. */
export function checkAnySize(size: PixelSize | undefined): void {
  if (size !== noSize) return;
  throw notAllowed("size", "expected auto or pixels such as", ["1024x1024", "1536x1024"]);
}

/** `1024x1024`; the text has been checked. */
export function readSize(text: string): PixelSize {
  const [width, height] = text.split("x").map(Number);
  return { width: width!, height: height! };
}

/** `16:9`; the text has been checked. */
export function readRatio(text: string): Ratio {
  const [width, height] = text.split(":").map(Number);
  return { width: width!, height: height! };
}

export function sizeText({ width, height }: PixelSize): string {
  return `${width}x${height}`;
}

/** A picture of this size has this ratio to within 2 %. */
export function isOfRatio(size: PixelSize, ratio: Ratio): boolean {
  return Math.abs(quotient(size) / quotient(ratio) - 1) <= 0.02;
}

/** Of those listed, the one whose shape is the least different. */
export function nearest<Shape extends PixelSize>(
  wanted: PixelSize,
  shapes: readonly [Shape, ...Shape[]],
): Shape {
  const distance = (shape: PixelSize) => Math.abs(Math.log(quotient(wanted) / quotient(shape)));
  return shapes.reduce((best, shape) => distance(shape) < distance(best) ? shape : best);
}

/** The resolution whose number of pixels is the least different. */
export function resolutionOf({ width, height }: PixelSize): Resolution {
  const megapixels = Math.log2(width * height / 2 ** 20);
  return megapixels < 1 ? "1K" : megapixels < 3 ? "2K" : "4K";
}

/** Shape and size of a picture for a vendor that has ratios and resolutions in place of pixels. */
export interface RatioAndResolution {
  /** As the vendor writes it; undefined: not asked for. */
  ratio: string | undefined;
  resolution: Resolution | undefined;
}

/**
 * What is asked for in ratios and resolutions. Throws `invalid_value` with the allowed values
 * when no ratio is within 2 % of the size, or the resolution is none of the model's.
 */
export function asRatio(
  ask: {
    size: PixelSize | undefined;
    ratio: string | undefined;
    resolution: Resolution | undefined;
  },
  model: { ratios: readonly string[]; resolutions: readonly Resolution[] },
): RatioAndResolution {
  const { size } = ask;
  const wanted = ask.ratio === undefined ? size : readRatio(ask.ratio);
  const ratio = wanted &&
    model.ratios.find((one) => isOfRatio(wanted, readRatio(one)));
  if (wanted && ratio === undefined) {
    const field = ask.ratio === undefined ? "size" : "aspect_ratio";
    throw notAllowed(field, "this model has the aspect ratios", model.ratios);
  }
  const resolution = ask.resolution ?? (size && resolutionOf(size));
  if (resolution !== undefined && !model.resolutions.includes(resolution)) {
    const field = ask.resolution === undefined ? "size" : "resolution";
    throw notAllowed(field, "this model has the resolutions", model.resolutions);
  }
  // A vendor that has one resolution knows no field for it.
  return { ratio, resolution: model.resolutions.length > 1 ? resolution : undefined };
}

/** `invalid_value` that lists what is allowed. */
export function notAllowed(field: string, what: string, allowed: readonly string[]): Fault {
  return invalidValue(field, `${what} ${allowed.join(", ")}`);
}

function quotient({ width, height }: PixelSize): number {
  return width / height;
}
